//! Real compilers, with a stand-in for the runtime that counts the calls of its hooks.

use reweave_toolchain::{
    Kit,
    compile::{Built, CompileError, Compiler, Language, build, run_as_compiler},
};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Counts hooks and calls; `told()` says how many there were since the last time.
const STAND_IN: &str = r#"
#include <stddef.h>
static int count;
int told(void) { int n = count; count = 0; return n; }
void __tsan_init(void) {}
void __tsan_func_entry(void *pc) { (void)pc; }
void __tsan_func_exit(void) {}
#define ACCESS(name) void name(void *a) { (void)a; count++; }
ACCESS(__tsan_read1) ACCESS(__tsan_read2) ACCESS(__tsan_read4) ACCESS(__tsan_read8)
ACCESS(__tsan_write1) ACCESS(__tsan_write2) ACCESS(__tsan_write4) ACCESS(__tsan_write8)
void __tsan_read_range(void *a, unsigned long n) { (void)a; (void)n; count++; }
void __tsan_write_range(void *a, unsigned long n) { (void)a; (void)n; count++; }
int __tsan_atomic32_load(int *a, int order) { (void)order; count++; return *(volatile int *)a; }
int __tsan_atomic32_fetch_add(int *a, int n, int order) { (void)order; count++; return __sync_fetch_and_add(a, n); }
void *__wrap_memset(void *to, int byte, size_t n) { for (volatile char *p = to; n--; p++) *p = (char)byte; count++; return to; }
void *__wrap_memcpy(void *to, const void *from, size_t n) {
  volatile char *p = to;
  const char *q = from;
  for (count++; n--;) *p++ = *q++;
  return to;
}
int __wrap_memcmp(const void *a, const void *b, size_t n) {
  const volatile char *p = a, *q = b;
  for (count++; n--; p++, q++) if (*p != *q) return *p - *q;
  return 0;
}
#define ADDED(name) ".globl __reweave_unhooked_" #name "\n__reweave_unhooked_" #name ": ret\n"
__asm__(".text\n" ADDED(read) ADDED(peek) ADDED(stack_peek) ADDED(write) ADDED(change) ADDED(stack_read) ADDED(stack_write) ADDED(stack_change) ADDED(moves));
char *__wrap_strcpy(char *to, const char *from) { volatile char *p = to; while ((*p++ = *from++)) {} count++; return to; }
"#;

/// A kit with the stand-in, and a directory to work in.
struct Bench {
    place: TempDir,
    kit: Kit,
}

impl Bench {
    fn new() -> Bench {
        let place = tempfile::tempdir().unwrap();
        // A name that has to be passed on with care.
        let directory = place.path().join("the kit, v1");
        fs::create_dir(&directory).unwrap();
        for name in ["reweave.h", Kit::FIRST] {
            let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
            fs::copy(headers.join(name), directory.join(name)).unwrap();
        }
        let bench = Bench {
            kit: Kit {
                directory,
                assembler: None,
            },
            place,
        };
        let source = bench.file("runtime.c", STAND_IN);
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-o"])
            .arg(bench.kit.runtime())
            .arg(source)
            .status();
        assert!(made.unwrap().success());
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn build(&self, files: &[&Path], options: &str) -> Result<Built, CompileError> {
        let files = files.iter().map(OsString::from);
        let options = options.split_whitespace().map(OsString::from);
        build(&self.kit, options.chain(files).collect())
    }

    /// As `reweave cc` (or `c++`), with `%` standing for the directory.
    fn cc(&self, compiler: &Compiler, words: &str) -> u8 {
        let directory = self.place.path().to_str().unwrap();
        let words = words
            .split_whitespace()
            .map(|word| word.replace('%', directory));
        run_as_compiler(&self.kit, compiler, words.map(OsString::from).collect()).unwrap()
    }
}

/// What the program prints.
fn run(program: &Path) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// All dynamic libraries that a program names.
fn needed(program: &Path) -> String {
    let output = Command::new("readelf").arg("-d").arg(program).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let needed = text.lines().filter(|line| line.contains("(NEEDED)"));
    needed.collect::<Vec<_>>().join("\n")
}

fn c() -> Compiler {
    Compiler::find(Language::C).unwrap()
}

/// Two accesses by hooks and four functions that would be expanded in place.
const ACCESSES: &str = r#"
#include <stdio.h>
#include <string.h>
int told(void);
struct { char bytes[64]; } a, b, c;
int x;
int main(void) {
  told();
  x++;
  int hooks = told();
  memset(&a, 0, 32);
  strcpy(b.bytes, "a literal that fits");
  int same = memcmp(&a, &b, 32) == 0;
  int calls = told();
  c = a;
  printf("%d %d %d %d %s\n", hooks, calls, told() > 0, same, NAME);
}
"#;

#[test]
fn accesses_and_calls_are_seen_at_every_level() {
    let bench = Bench::new();
    let file = bench.file("accesses.c", ACCESSES);
    for level in ["", "-O0", "-O1", "-O2", "-O3", "-Os"] {
        let options = format!("{level} -DNAME=\"N\" -D_FORTIFY_SOURCE=2 -Wall -Werror -std=c11");
        let built = bench.build(&[&file], &options).unwrap();
        assert_eq!(run(&built.program), "2 3 1 0 N\n", "{level}");
        assert_eq!(built.program.file_stem(), file.file_stem());
    }
}

#[test]
fn the_runtime_comes_first_and_the_sanitizer_never() {
    let bench = Bench::new();
    let file = bench.file("accesses.c", ACCESSES);
    let options = "-DNAME=\"N\" -fsanitize=thread -flto -lm -s";
    let built = bench.build(&[&file], options).unwrap();
    let needed = needed(&built.program);
    let first = needed.lines().next().unwrap();
    assert!(first.contains("[libreweave_runtime.so]"), "{needed}");
    assert!(!needed.contains("libtsan"), "{needed}");
    assert_eq!(run(&built.program), "2 3 1 0 N\n");
    let program = built.program.clone();
    drop(built);
    assert!(
        !program.parent().unwrap().exists(),
        "objects and program go when nobody needs them"
    );
}

#[test]
fn the_header_is_good_in_every_language() {
    let bench = Bench::new();
    let text = "#include <reweave.h>\nint main(void) { if (0) { reweave_assume(1 < 2); reweave_check(reweave_any(2) < 2, \"two\"); } }\n";
    // The stand-in has none of the functions: they are only compiled.
    for (name, standards) in [
        ("header.c", ["c11", "c17", "gnu11", "gnu17"].as_slice()),
        ("header.cc", &["c++11", "c++14", "c++17", "c++20"]),
    ] {
        let file = bench.file(name, text);
        let compiler = Compiler::find(Language::of(file.as_os_str(), None).unwrap()).unwrap();
        for standard in standards {
            let strict = "-Wall -Wextra -Wstrict-prototypes -pedantic-errors -Werror";
            let strict = match name {
                "header.c" => strict.to_owned(),
                _ => strict.replace("-Wstrict-prototypes", "-Wold-style-cast"),
            };
            let words = format!("-std={standard} {strict} -c %/{name} -o %/header.o");
            assert_eq!(bench.cc(&compiler, &words), 0, "{standard}");
        }
    }
}

#[test]
fn c_and_cxx_make_one_program() {
    let bench = Bench::new();
    let one = bench.file(
        "one.c",
        "int told(void);\nint one(void) { int new = told(); return new >= 0; }\n",
    );
    let two = bench.file(
        "two.cc",
        "#include <string>\n#include <cstdio>\nextern \"C\" int one();\nint main() { std::string s(3u, 'x'); if constexpr (true) std::printf(\"%d %s\\n\", one(), s.c_str()); }\n",
    );
    let built = bench.build(&[&two, &one], "-std=c++17 -Werror").unwrap();
    assert_eq!(run(&built.program), "1 xxx\n");
    assert!(needed(&built.program).contains("libstdc++"));
    // The other way round, the program goes by the name of the first.
    let built = bench.build(&[&one, &two], "-std=c++17 -Werror").unwrap();
    assert!(built.program.ends_with("one"));
}

#[test]
fn libraries_may_stand_anywhere() {
    let bench = Bench::new();
    let part = bench.file("part.c", "int part(void) { return 7; }\n");
    bench.cc(&c(), "-c %/part.c -o %/part.o");
    let archive = bench.path("libpart.a");
    let made = Command::new("ar")
        .arg("rc")
        .arg(archive)
        .arg(bench.path("part.o"))
        .status();
    assert!(made.unwrap().success());
    fs::remove_file(part).unwrap();
    let main = bench.file(
        "main.c",
        "#include <stdio.h>\nint part(void);\nint main(void) { printf(\"%d\\n\", part()); }\n",
    );
    let options = format!("-l part -L{}", bench.place.path().display());
    let built = bench.build(&[&main], &options).unwrap();
    assert_eq!(run(&built.program), "7\n");
}

#[test]
fn what_cannot_be_built_has_a_sentence() {
    let bench = Bench::new();
    let good = bench.file("good.c", "int main(void) { return 0; }\n");
    let bad = bench.file("bad.c", "int main(void) { return nothing; }\n");
    let lone = bench.file("lone.c", "int other(void) { return 0; }\n");
    let none = bench.path("none.c");
    let says = |files: &[&Path]| bench.build(files, "-w").unwrap_err().to_string();
    assert_eq!(says(&[&none]), format!("{}: no such file", none.display()));
    assert_eq!(
        says(&[&lone, &bad]),
        format!("{} does not compile", bad.display())
    );
    assert!(says(&[&lone]).starts_with("the program could not be linked"));
    let other = bench.file("other.c", "int;;x y\n");
    let both = format!("{}, {} do not compile", bad.display(), other.display());
    assert_eq!(says(&[&bad, &good, &other]), both);
    let missing = Compiler::of(vec!["no-such-compiler".into()]).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("no-such-compiler: cannot be run")
    );
}

#[test]
fn one_step_compiles_and_links() {
    let bench = Bench::new();
    bench.file("accesses.c", ACCESSES);
    assert_eq!(
        bench.cc(
            &c(),
            "-fsanitize=thread -DNAME=\"N\" -MD %/accesses.c -o %/program"
        ),
        0
    );
    assert_eq!(run(&bench.path("program")), "2 3 1 0 N\n");
    assert!(!needed(&bench.path("program")).contains("libtsan"));
    let list = fs::read_to_string(bench.path("program.d")).unwrap();
    let begins = format!(
        "{}: {}",
        bench.path("program").display(),
        bench.path("accesses.c").display()
    );
    assert!(list.starts_with(&begins), "{list}");
}

#[test]
fn steps_one_by_one() {
    let bench = Bench::new();
    bench.file("accesses.c", ACCESSES);
    bench.file("empty.c", "int empty(void) { return 0; }\n");
    assert_eq!(
        bench.cc(&c(), "-E -DNAME=\"N\" %/accesses.c -o %/accesses.i"),
        0
    );
    assert!(
        fs::read_to_string(bench.path("accesses.i"))
            .unwrap()
            .contains("told")
    );
    assert_eq!(bench.cc(&c(), "-MM %/accesses.c -MF %/list"), 0);
    assert!(
        fs::read_to_string(bench.path("list"))
            .unwrap()
            .starts_with("accesses.o:")
    );
    assert_eq!(bench.cc(&c(), "-S %/accesses.i -o %/accesses.s"), 0);
    assert!(
        fs::read_to_string(bench.path("accesses.s"))
            .unwrap()
            .contains("__tsan_write4")
    );
    assert_eq!(bench.cc(&c(), "-c %/accesses.s -o %/accesses.o"), 0);
    assert_eq!(
        bench.cc(
            &c(),
            "-fsanitize=thread %/accesses.o %/empty.c -o %/program"
        ),
        0
    );
    assert_eq!(run(&bench.path("program")), "2 3 1 0 N\n");
}

#[test]
fn a_shared_library_is_instrumented() {
    let bench = Bench::new();
    bench.file(
        "counter.c",
        "static int n;\nint *counter(void) { n++; return &n; }\n",
    );
    bench.file(
        "main.c",
        "#include <stdio.h>\nint told(void);\nint *counter(void);\nint main(void) { told(); counter(); printf(\"%d\\n\", told()); }\n",
    );
    assert_eq!(
        bench.cc(&c(), "-shared -fPIC %/counter.c -o %/libcounter.so"),
        0
    );
    assert_eq!(
        bench.cc(&c(), "%/main.c -L%/ -lcounter -Wl,-rpath,%/ -o %/program"),
        0
    );
    assert_eq!(run(&bench.path("program")), "2\n");
}

#[test]
fn response_files_and_long_lines() {
    let bench = Bench::new();
    bench.file("accesses.c", ACCESSES);
    let many: Vec<String> = (1000..8500).map(|n| format!("-DU{n}=")).collect();
    let place = bench.place.path().display();
    bench.file(
        "args",
        &format!(
            "'-DNAME=\"a b\"' {}\n{place}/accesses.c -o {place}/program",
            many.join(" ")
        ),
    );
    assert_eq!(bench.cc(&c(), "@%/args"), 0);
    assert_eq!(run(&bench.path("program")), "2 3 1 0 a b\n");
}

#[test]
fn codes_are_the_compilers() {
    let bench = Bench::new();
    bench.file("bad.c", "int main(void) { return nothing; }\n");
    assert_eq!(bench.cc(&c(), "-w -c %/bad.c -o %/bad.o"), 1);
    assert_eq!(bench.cc(&c(), "-w %/bad.c -o %/bad"), 1);
    assert_eq!(bench.cc(&c(), "%/none.o -o %/bad"), 1);
    assert!(!bench.path("bad").exists());
    let odd = bench.file("odd", "#!/bin/sh\n[ \"$1\" = --version ] || exit 7\n");
    let made = Command::new("chmod").arg("+x").arg(&odd).status();
    assert!(made.unwrap().success());
    let odd = Compiler::of(vec![odd.into()]).unwrap();
    assert_eq!(bench.cc(&odd, "-c %/bad.c"), 7);
    assert_eq!(bench.cc(&odd, "%/bad.c"), 7);
}

/// What gcc does, clang does where it is there.
#[test]
fn clang_too() {
    let there = Command::new("clang")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if there.is_err() {
        println!("clang is not installed: not tried");
        return;
    }
    let bench = Bench::new();
    let clang = Compiler::of(vec!["clang".into()]).unwrap();
    assert!(clang.is_clang());
    bench.file(
        "increment.c",
        "#include <stdio.h>\nint told(void);\nint x;\nint main(void) { told(); x++; printf(\"%d\\n\", told()); }\n",
    );
    assert_eq!(
        bench.cc(&clang, "-Wall -Werror -O1 %/increment.c -o %/program"),
        0
    );
    assert_eq!(run(&bench.path("program")), "2\n");
}

#[test]
fn gcc_is_not_taken_for_clang() {
    if Command::new("gcc")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
    {
        assert!(!Compiler::of(vec!["gcc".into()]).unwrap().is_clang());
    }
}
