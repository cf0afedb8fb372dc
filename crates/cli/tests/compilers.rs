//! `reweave cc`, `c++` and `build` with the compilers of this machine, and where the runtime is put for them.

mod bench;

use bench::{Bench, err, fine};
use std::{fs, path::Path, process::Command};

/// What `readelf` says of a file: symbols and libraries.
fn inside(file: &Path) -> String {
    let mut command = Command::new("readelf");
    let output = command.args(["-W", "-s", "-d"]).arg(file).output().unwrap();
    fine(&output);
    String::from_utf8(output.stdout).unwrap()
}

const COUNTER: &str = "int n;\nint counter(void) { return n++; }\n";

#[test]
fn objects_are_instrumented() {
    let bench = Bench::new();
    bench.file("one.c", COUNTER);
    bench.file(
        "two.cc",
        "#include <reweave.h>\nextern int n;\nvoid two() { reweave_assume(n++ > 0); }\n",
    );
    fine(&bench.run(&["cc", "-fPIC", "-c", "one.c"]));
    fine(&bench.run(&["c++", "-std=c++20", "-c", "two.cc"]));
    assert!(inside(&bench.path("one.o")).contains("__tsan_write4"));
    assert!(inside(&bench.path("two.o")).contains("reweave_assume"));
    fine(&bench.run(&["cc", "-shared", "one.o", "-o", "libone.so"]));
    assert!(inside(&bench.path("libone.so")).contains("[libreweave_runtime.so]"));
}

/// What a file of assembly accesses is not seen, so no search with it is complete.
#[test]
fn files_of_assembly_are_named() {
    let bench = Bench::new();
    let code = ".text\n.globl bump\n.type bump,@function\nbump:\n  incl counter(%rip)\n  ret\n\
                .section .note.GNU-stack,\"\",@progbits\n";
    bench.file("bump.S", code);
    bench.file("plain.s", code);
    bench.file(
        "main.c",
        "int counter;\nvoid bump(void);\nint main(void) { bump(); }\n",
    );
    for file in ["bump.S", "plain.s"] {
        let checked = bench.run(&["check", "main.c", file]);
        fine(&bench.run(&["cc", "-c", "main.c", file]));
        let object = file.replace(".S", ".o").replace(".s", ".o");
        fine(&bench.run(&["cc", "main.o", &object, "-o", "main"]));
        for output in [checked, bench.run(&["check", "--", "./main"])] {
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(output.status.code(), Some(3), "{file}: {text}");
            assert!(text.contains("uninstrumented"), "{file}: {text}");
        }
    }
}

/// `next` and `start` without hooks, as a library and as an object without debug information.
fn counting(bench: &Bench) {
    let code = "static int n;\nint next(void) { return __atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST); }\n\
                void *start(void *to) { *(int *)to = next(); return to; }\n\
                static int taken;\nvoid take(void) { while (__atomic_exchange_n(&taken, 1, __ATOMIC_SEQ_CST)); }\n\
                void give(void) { __atomic_store_n(&taken, 0, __ATOMIC_SEQ_CST); }\n";
    bench.file("count.c", code);
    let main = "#include <assert.h>\n#include <pthread.h>\nint next(void);\nvoid *start(void *);\nvoid take(void);\nvoid give(void);\n\
                static int held;\n\
                static void *own(void *to) { *(int *)to = next(); return to; }\n\
                static void *locked(void *to) { take(); held++; give(); return to; }\n\
                static void *(*const ways[])(void *) = {0, own, start, locked};\n\
                int main(void) {\n\
                pthread_t threads[2];\nint got[3] = {0};\n\
                if (WAY == 0) got[2] = next();\n\
                for (int i = 0; i < 2 && WAY; i++) pthread_create(&threads[i], 0, ways[WAY], &got[i]);\n\
                for (int i = 0; i < 2 && WAY; i++) pthread_join(threads[i], 0);\n\
                if (WAY == 0) got[2] = next();\n\
                assert(got[0] == 0);\n}\n";
    bench.file("main.c", main);
    for args in [
        ["-fPIC", "-shared", "count.c", "-o", "libcount.so"],
        ["-O1", "-c", "count.c", "-o", "count.o"],
    ] {
        let mut plain = Command::new("cc");
        plain.args(args).current_dir(bench.place.path());
        fine(&plain.output().unwrap());
    }
}

/// The threads of a library, and calls of it beside other threads, may synchronise and meet where nothing sees it.
#[test]
fn libraries_without_hooks_are_named() {
    let bench = Bench::new();
    counting(&bench);
    let rpath = format!("-Wl,-rpath,{}", bench.place.path().display());
    let check = |way: &str, options: &[&str]| {
        let usual = ["check", "main.c", way, "-L.", "-lcount", &rpath];
        let output = bench.run(&[&usual, options].concat());
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, said) = check("-DWAY=0", &[]);
    assert_eq!(code, Some(0), "{said}");
    for way in ["-DWAY=1", "-DWAY=2"] {
        for options in [
            &[][..],
            &["--restart", "fork"],
            &["--restart", "exec"],
            &["--threads", "os"],
            &["--races", "ignore"],
        ] {
            let (code, said) = check(way, options);
            assert_eq!(code, Some(3), "{way} {options:?}: {said}");
            assert!(said.contains("uninstrumented: libcount.so"), "{said}");
        }
    }
    // A lock that is not seen makes a race doubtful.
    let (code, said) = check("-DWAY=3", &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("1 doubtful error found"), "{said}");
    let (code, said) = check("-DWAY=3", &["--format", "json"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("\"doubtful\": true"), "{said}");
    // With hooks the other order is found, and the lock is seen.
    fine(&bench.run(&["cc", "-fPIC", "-shared", "count.c", "-o", "libcount.so"]));
    let (code, said) = check("-DWAY=1", &[]);
    assert_eq!(code, Some(1), "{said}");
    let (code, said) = check("-DWAY=3", &[]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn objects_without_hooks_and_debug_information_are_named() {
    let bench = Bench::new();
    counting(&bench);
    let output = bench.run(&["check", "main.c", "-DWAY=1", "count.o"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("uninstrumented: give, next, start and 1 more"),
        "{said}"
    );
}

#[test]
fn compilers_are_asked_as_themselves() {
    let bench = Bench::new();
    let asked = bench.run(&["cc", "--version"]);
    let plain = Command::new("cc").arg("--version").output().unwrap();
    fine(&asked);
    assert_eq!(asked.stdout, plain.stdout);
}

#[test]
fn what_the_compiler_says_is_said() {
    let bench = Bench::new();
    bench.file("bad.c", "int x = nothing;\n");
    let ours = bench.run(&["cc", "-c", "bad.c"]);
    let mut plain = Command::new("cc");
    let plain = plain.args(["-c", "bad.c"]).current_dir(bench.place.path());
    let plain = plain.output().unwrap();
    assert_eq!(ours.status.code(), plain.status.code());
    assert_eq!(err(&ours), err(&plain));
}

#[test]
fn a_compiler_may_be_named_and_may_be_missing() {
    let bench = Bench::new();
    bench.file("one.c", COUNTER);
    let mut named = bench.command(&["cc", "-c", "one.c"]);
    let output = named.env("CC", "nice-compiler").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let says = "reweave: nice-compiler: cannot be run:";
    assert!(err(&output).starts_with(says), "{}", err(&output));
    let mut with = bench.command(&["cc", "-c", "one.c", "-o", "named.o"]);
    fine(&with.env("CC", " cc  -DUNUSED ").output().unwrap());
    assert!(bench.path("named.o").exists());
    for (verb, language) in [("cc", "C"), ("c++", "C++")] {
        let mut without = bench.command(&[verb, "-c", "one.c"]);
        let output = without.env("PATH", bench.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let says = format!("reweave: no {language} compiler: none of ");
        assert!(err(&output).starts_with(&says), "{}", err(&output));
        assert_eq!(err(&output).lines().count(), 1);
    }
}

/// Every way in which builds find their compilers.
#[test]
fn a_build_uses_our_compilers() {
    let bench = Bench::new();
    bench.file("one.c", COUNTER);
    bench.file("two.cc", "int m;\nint two() { return m++; }\n");
    let script = "cc -c one.c -o a.o && gcc -c one.c -o b.o && $CC -c one.c -o c.o && \
                  c++ -c two.cc -o d.o && g++ -c two.cc -o e.o && $CXX -c two.cc -o f.o && \
                  echo $CC > where";
    let output = bench.run(&["build", "--", "sh", "-c", script]);
    fine(&output);
    for name in ["a", "b", "c", "d", "e", "f"] {
        let object = inside(&bench.path(&format!("{name}.o")));
        assert!(object.contains("__tsan_write4"), "{name}");
    }
    // A build that was configured once goes on with the compiler that it was told of.
    let compiler = fs::read_to_string(bench.path("where")).unwrap();
    let mut later = Command::new(compiler.trim());
    later.args(["-c", "one.c", "-o", "later.o"]);
    later.env("XDG_CACHE_HOME", bench.path("cache"));
    fine(&later.current_dir(bench.place.path()).output().unwrap());
    assert!(inside(&bench.path("later.o")).contains("__tsan_write4"));
    // The same again is the same place; a build within a build ends.
    let nested = ["build", "--", env!("CARGO_BIN_EXE_reweave"), "build", "--"];
    let nested = [
        &nested[..],
        &["sh", "-c", "cc -c one.c && echo $CC > there"],
    ]
    .concat();
    fine(&bench.run(&nested));
    fine(&bench.run(&["build", "--", "sh", "-c", "echo $CC > there"]));
    assert_eq!(fs::read_to_string(bench.path("there")).unwrap(), compiler);
}

#[test]
fn a_build_that_is_not_there_has_a_sentence() {
    let output = Bench::new().run(&["build", "--", "./no-such-build"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).starts_with("reweave: ./no-such-build: cannot be run:"));
}

#[test]
fn the_runtime_is_put_into_the_cache_once() {
    let bench = Bench::new();
    bench.file("one.c", COUNTER);
    fine(&bench.run(&["cc", "-c", "one.c"]));
    let kit = bench.kit(&bench.path("cache/reweave"));
    let runtime = kit.join("libreweave_runtime.so");
    let header = kit.join("reweave.h");
    let before = fs::metadata(&runtime).unwrap().modified().unwrap();
    fs::write(&header, "#error damaged\n").unwrap();
    bench.file("uses.c", "#include <reweave.h>\n");
    fine(&bench.run(&["cc", "-c", "uses.c"]));
    assert_eq!(fs::metadata(&runtime).unwrap().modified().unwrap(), before);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../toolchain/include/reweave.h");
    assert_eq!(fs::read(&header).unwrap(), fs::read(own).unwrap());
}

#[test]
fn without_a_cache_there_is_the_temporary_directory() {
    let bench = Bench::new();
    bench.file("one.c", COUNTER);
    bench.file("cache", "not a directory");
    let mut command = bench.command(&["cc", "-c", "one.c"]);
    fine(&command.env("TMPDIR", bench.place.path()).output().unwrap());
    let entries = fs::read_dir(bench.place.path()).unwrap();
    let own = entries.map(|entry| entry.unwrap().path());
    let mut own = own.filter(|path| path.to_string_lossy().contains("/reweave-"));
    let own = own.next().expect("a directory of one's own");
    assert!(bench.kit(&own).join("libreweave_runtime.so").exists());
    let mut command = bench.command(&["cc", "-c", "one.c"]);
    let output = command.env("TMPDIR", bench.path("one.c")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).starts_with("reweave: the runtime cannot be put anywhere"));
}

#[test]
fn openmp_needs_nothing_else() {
    let bench = Bench::new();
    bench.file(
        "sum.c",
        "#include <assert.h>\n\
         int main(void) {\n\
             int sum = 0;\n\
         #pragma omp parallel reduction(+ : sum)\n\
             sum++;\n\
             assert(sum >= 2);\n\
         }\n",
    );
    fine(&bench.run(&["cc", "-fopenmp", "sum.c", "-o", "sum"]));
    // By itself, with threads of libgomp's, which the linker had no use for.
    let mut alone = Command::new(bench.path("sum"));
    fine(&alone.env("OMP_NUM_THREADS", "2").output().unwrap());
    // Each thread's part is added to the sum: in 2! orders, or 3!.
    for (threads, executions) in [(None, "2 executions"), (Some("3"), "6 executions")] {
        let mut check = bench.command(&["check", "--algorithm", "optimal", "--", "./sum"]);
        check.env_remove("OMP_NUM_THREADS");
        check.envs(threads.map(|threads| ("OMP_NUM_THREADS", threads)));
        let output = check.output().unwrap();
        fine(&output);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains(executions), "{told}");
    }
}

#[test]
fn a_libgomp_of_ones_own_has_a_sentence() {
    let bench = Bench::new();
    bench.file("own.c", "int main(void) { return 0; }\n");
    let gcc = Command::new("gcc")
        .arg("-print-file-name=libgomp.a")
        .output();
    let archive = String::from_utf8(gcc.unwrap().stdout).unwrap();
    let whole = [
        "-Wl,--whole-archive",
        archive.trim(),
        "-Wl,--no-whole-archive",
    ];
    let line = [
        "cc", "own.c", "-o", "own", whole[0], whole[1], whole[2], "-ldl",
    ];
    fine(&bench.run(&line));
    let output = bench.run(&["check", "--", "./own"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("libgomp.a"), "{}", err(&output));
}
