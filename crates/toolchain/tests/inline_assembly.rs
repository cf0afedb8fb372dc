//! Inline assembly is distinguished from the code that compilers emit for atomics, and from code without hooks.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use reweave_toolchain::symbols::Symbols;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inline_assembly")
}

fn cc(words: &[&str]) {
    let status = Command::new("cc")
        .current_dir(sources())
        .args(words)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{words:?}");
}

/// A library of both files; nobody calls it, so hooks may be missing.
fn library(name: &str, level: &str, link: &[&str]) -> Symbols {
    let file = |end: &str| {
        let name = format!("assembly-{name}{level}{end}");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        path.into_os_string().into_string().expect("it is text")
    };
    let (hooked, plain, whole) = (file("-hooked.o"), file("-plain.o"), file(".so"));
    let compile = ["-c", "-g", "-fPIC", "-w", level];
    cc(&[
        &compile[..],
        &["-fsanitize=thread", "hooked.c", "-o", &hooked],
    ]
    .concat());
    cc(&[&compile[..], &["plain.c", "-o", &plain]].concat());
    cc(&[link, &["-shared", &hooked, &plain, "-o", &whole]].concat());
    Symbols::load(Path::new(&whole)).expect("it is a library")
}

#[test]
fn assembly_of_instrumented_code_is_found() {
    let source = fs::read_to_string(sources().join("hooked.c")).expect("it is there");
    let lines = source.lines().zip(1..);
    let marked = lines.filter(|(line, _)| line.ends_with("// found"));
    let expected: BTreeSet<(String, u32)> = marked
        .map(|(_, line)| ("hooked.c".to_owned(), line))
        .collect();
    assert_eq!(expected.len(), 2);
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let symbols = library("whole", level, &[]);
        let found = symbols.uninstrumented().into_iter().map(|address| {
            let innermost = symbols.frames(address).swap_remove(0);
            (innermost.file, innermost.line)
        });
        assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{level}");
    }
}

#[test]
fn sources_without_hooks_are_known() {
    assert_eq!(library("whole", "-O1", &[]).plain_sources(), ["plain.c"]);
    let stripped = library("unknown", "-O1", &["-s"]);
    assert_eq!(stripped.plain_sources(), [""; 0]);
}

#[test]
fn without_debug_information_all_code_counts() {
    assert_eq!(
        library("stripped", "-O1", &["-s"]).uninstrumented().len(),
        3
    );
}
