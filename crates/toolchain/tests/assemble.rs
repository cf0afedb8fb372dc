//! The assembler adds hooks where compilers have none, and nowhere else.

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use reweave_toolchain::assemble::{UNREAD, run_as_assembler};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn assemble(text: &Path, object: &Path) {
    let args: [OsString; 4] = ["--64".into(), "-o".into(), object.into(), text.into()];
    assert_eq!(run_as_assembler(&args).expect("it assembles"), 0);
}

/// The hooks of ours that each function of an object calls, and the functions on memory.
fn added(object: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let bytes = fs::read(object).expect("it was written");
    let file = object::File::parse(&*bytes).expect("it is an object");
    let mut found = BTreeMap::new();
    for function in file.symbols().filter(|it| it.kind() == SymbolKind::Text) {
        let names: &mut BTreeSet<String> = found
            .entry(function.name().expect("it has a name").to_owned())
            .or_default();
        let Some(section) = function.section_index() else {
            continue;
        };
        let section = file.section_by_index(section).expect("it is there");
        let range = function.address()..function.address() + function.size();
        for (at, relocation) in section.relocations() {
            if let RelocationTarget::Symbol(symbol) = relocation.target()
                && range.contains(&at)
            {
                let symbol = file.symbol_by_index(symbol).expect("it is there");
                let name = symbol.name().unwrap_or_default();
                // Clang copies and fills by calls.
                let called = ["memset", "memcpy"].contains(&name).then_some(name);
                let hook = name.strip_prefix("__reweave_unhooked_").or(called);
                names.extend(hook.map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn hooks_are_added_where_there_are_none() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assemble/accesses.c");
    for compiler in ["gcc", "clang"] {
        if Command::new(compiler).arg("--version").output().is_err() {
            continue;
        }
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let (text, object) = (
                scratch(&format!("accesses-{compiler}{level}.s")),
                scratch(&format!("accesses-{compiler}{level}.o")),
            );
            let own: &[&str] = match compiler {
                "clang" => &[
                    "-fno-integrated-as",
                    "-mllvm",
                    "-tsan-instrument-read-before-write=1",
                ],
                _ => &[],
            };
            let status = Command::new(compiler)
                .args(own)
                .args([
                    "-fsanitize=thread",
                    "-fno-omit-frame-pointer",
                    "-fPIE",
                    "-S",
                    level,
                ])
                .arg(&source)
                .arg("-o")
                .arg(&text)
                .status();
            assert!(status.is_ok_and(|status| status.success()));
            assemble(&text, &object);
            let mut seen = 0;
            for (function, hooks) in added(&object) {
                let shared: Vec<_> = hooks.iter().filter(|it| !it.starts_with("stack")).collect();
                let what = format!("{compiler} {level} {function}: {hooks:?}");
                if function == "covered_loop" && compiler == "clang" {
                    // Of a vectorised loop, some accesses are taken for not covered.
                    seen += 1;
                } else if function.starts_with("covered_") {
                    assert!(shared.iter().all(|it| it.starts_with("mem")), "{what}");
                    seen += 1;
                } else if function.starts_with("added_") {
                    assert!(!shared.is_empty(), "{what}");
                    seen += 1;
                }
            }
            assert_eq!(seen, 19);
        }
    }
}

#[test]
fn every_kind_of_assembly_has_its_hook() {
    let text = scratch("kinds.s");
    let cases = [
        ("lock; incl x(%rip)", "add"),
        ("lock subl %eax, x(%rip)", "sub"),
        ("lock andl $-2, x(%rip)", "and"),
        ("lock orl $1, x(%rip)", "or"),
        ("lock notl x(%rip)", "xor"),
        ("xchgl %eax, x(%rip)", "swap"),
        ("xchgl x(%rip), %edi", "swap"),
        ("lock cmpxchgq %rdi, x(%rip)", "compare"),
        ("lock addl $0, (%rsp)", "fence"),
        ("mfence", "fence"),
        ("movl x(%rip), %eax", "load"),
        ("movb $1, x(%rip)", "store"),
        ("movl %edi, %fs:x@tpoff", "store"),
        ("addl $1, x(%rip)", "change"),
        ("rep stosb", "fills"),
        ("movsq", "move"),
        ("lock btsl %eax, x(%rip)", "unknown"),
        ("lock cmpxchg16b x(%rip)", "unknown"),
        ("repne scasb", "unknown"),
        ("syscall", "syscall"),
    ];
    let mut lines = String::from(".text\ncall __tsan_init\n");
    for (index, (instruction, _)) in cases.iter().enumerate() {
        lines += &format!(
            ".type f{index}, @function\nf{index}:\n#APP\n{instruction}\n#NO_APP\nret\n.size f{index}, .-f{index}\n"
        );
    }
    fs::write(&text, lines).expect("it can be written");
    let object = scratch("kinds.o");
    assemble(&text, &object);
    let added = added(&object);
    for (index, (instruction, hook)) in cases.iter().enumerate() {
        let hooks = &added[&format!("f{index}")];
        assert_eq!(
            hooks,
            &BTreeSet::from([(*hook).to_owned()]),
            "{instruction}"
        );
    }
}

#[test]
fn what_is_not_understood_is_assembled_and_named() {
    let text = scratch("odd.s");
    // It insists on the length of its code.
    let odd = "\t.file \"odd.c\"\n0:\n#APP\nlock; incl x(%rip)\n#NO_APP\ncall __tsan_init\n\
               .if (. - 0b) > 12\n.error \"moved\"\n.endif\n";
    fs::write(&text, odd).expect("it can be written");
    let object = scratch("odd.o");
    assemble(&text, &object);
    let bytes = fs::read(&object).expect("it was written");
    let file = object::File::parse(&*bytes).expect("it is an object");
    let section = file.section_by_name(UNREAD).expect("it is named");
    assert_eq!(section.data().expect("it is there"), b"odd.c\0");
}

/// Files of assembly are left as they are, and named if they access memory that others may know.
#[test]
fn assembly_by_hand_that_accesses_memory_is_named() {
    let cases = [
        ("incl counter(%rip)\nret\n", true),
        ("movl (%rdi), %eax\nret\n", true),
        ("push %rbx\nmov %rdi, %rax\npop %rbx\nret\n", false),
        (".section .note.GNU-stack,\"\",@progbits\n", false),
    ];
    for (index, (code, named)) in cases.iter().enumerate() {
        let (text, object) = (scratch(&format!("by-hand-{index}.s")), scratch("by-hand.o"));
        let before = "# 0 \"hand.S\"\n.text\n.globl hand\n.type hand,@function\nhand:\n";
        fs::write(&text, format!("{before}{code}")).expect("it can be written");
        assemble(&text, &object);
        let bytes = fs::read(&object).expect("it was written");
        let file = object::File::parse(&*bytes).expect("it is an object");
        let section = file.section_by_name(UNREAD);
        let name = section.map(|section| section.data().expect("it is there").to_vec());
        assert_eq!(name, named.then(|| b"hand.S\0".to_vec()), "{code}");
    }
}
