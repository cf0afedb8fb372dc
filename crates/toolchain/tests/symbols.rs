//! Names from real compilers' output: the programs in `tests/symbols` print places of themselves with the names those should
//! have, and the file they were compiled to must tell the same.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use reweave_toolchain::symbols::{Cfa, Symbols};

const C: &[&str] = &["symbols/objects.c", "symbols/other.c"];
const CXX: &[&str] = &["symbols/objects.cc"];

/// Where the compiler is started, so that file names are `symbols/objects.c`.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Compiles files, with this name for the program.
fn compile(program: &str, compiler: &str, files: &[&str], flags: &[&str]) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("symbols-{program}"));
    let mut command = Command::new(compiler);
    command.current_dir(sources());
    command.args(["-pthread", "-w", "-fpie", "-pie"]);
    if files.iter().all(|file| file.ends_with(".cc")) {
        command.arg("-std=c++17");
    }
    command.args(flags).args(files).arg("-o").arg(&output);
    let status = command.status().expect("there is a compiler");
    assert!(status.success(), "{command:?}");
    output
}

fn run(program: &Path) -> Vec<String> {
    let output = Command::new(program).output().expect("it can be started");
    assert!(output.status.success());
    let output = String::from_utf8(output.stdout).expect("it prints text");
    output.lines().map(String::from).collect()
}

fn load(program: &Path) -> Symbols {
    Symbols::load(program).expect("it is a program")
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a number")
}

/// What the file tells about the place in this line, put as the line puts it.
fn answer(symbols: &Symbols, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let told = |count: usize, name: Option<String>| {
        let name = name.unwrap_or_else(|| "(nothing)".into());
        format!("{} {name}", words[..count].join(" "))
    };
    match words[0] {
        "variable" => told(3, symbols.variable(number(words[1]), number(words[2]))),
        "thread" => told(
            3,
            symbols.thread_variable(number(words[1]), number(words[2])),
        ),
        "local" => {
            let offset = number(words[2]);
            told(4, symbols.local(number(words[1]), offset, number(words[3])))
        }
        "frames" => {
            let frames = symbols.frames(number(words[1]));
            let functions = frames.iter().map(|frame| frame.function.as_deref());
            let functions: Vec<&str> = functions.map(|name| name.unwrap_or("?")).collect();
            let inner = frames
                .first()
                .map(|frame| format!("{} {}", frame.file, frame.line));
            let inner = inner.unwrap_or_default();
            format!("frames {} {inner} {}", words[1], functions.join(" "))
        }
        // Which of the two registers a compiler takes is its own affair.
        "cfa" => match symbols.cfa(number(words[1])) {
            Some(Cfa::StackPointer(offset)) => format!("cfa {} {offset} {}", words[1], words[3]),
            Some(Cfa::BasePointer(offset)) => format!("cfa {} {} {offset}", words[1], words[2]),
            None => "(nothing)".into(),
        },
        word => panic!("the program prints {word}"),
    }
}

/// Compiles, runs and compares.
fn check(program: &str, compiler: &str, files: &[&str], flags: &[&str]) {
    let path = compile(program, compiler, files, flags);
    let symbols = load(&path);
    let lines = run(&path);
    // Fewer would mean that a program stopped early.
    assert!(lines.len() >= 40, "{lines:?}");
    let wrong: Vec<String> = lines
        .iter()
        .map(|line| (line, answer(&symbols, line)))
        .filter(|(line, answer)| *line != answer)
        .map(|(line, answer)| format!("  expected {line}\n      told {answer}"))
        .collect();
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "{compiler} {flags:?}:\n{wrong}");
}

fn check_all(compiler: &str, files: &[&str], all_flags: &[&str]) {
    for (at, flags) in all_flags.iter().enumerate() {
        let flags: Vec<&str> = flags.split(' ').collect();
        check(&format!("{compiler}-{at}"), compiler, files, &flags);
    }
}

#[test]
fn c_programs() {
    let flags = [
        "-g -O0",
        "-g -O2",
        "-g -O2 -flto",
        "-g -O0 -fno-pie -no-pie",
        "-gdwarf-4 -DDWARF4 -O0",
        "-gdwarf-4 -DDWARF4 -O2 -fdebug-types-section",
        "-gdwarf-5 -O2 -fdebug-types-section -fdata-sections -Wl,--gc-sections",
    ];
    check_all("gcc", C, &flags);
}

#[test]
fn cxx_programs() {
    let flags = ["-g -O0", "-g -O2", "-g -O2 -flto", "-gdwarf-4 -O2"];
    check_all("g++", CXX, &flags);
}

/// The same with clang, where there is one: it counts from other registers and knows other forms.
#[test]
fn programs_of_clang() {
    if Command::new("clang").arg("--version").output().is_ok() {
        let flags = [
            "-g -O0",
            "-g -O2 -fomit-frame-pointer",
            "-gdwarf-4 -DDWARF4 -O2",
            "-gdwarf-5 -O1 -fno-omit-frame-pointer",
        ];
        check_all("clang", C, &flags);
        check_all("clang++", CXX, &flags);
    }
}

/// Names that end at the first member, element or `+`.
fn stem(name: &str) -> &str {
    &name[..name.find(['.', '[', '+']).unwrap_or(name.len())]
}

#[test]
fn programs_without_debug_information() {
    // Compressed, it is as good as none.
    for (program, flags) in [("bare", "-g0"), ("compressed", "-gz=zlib")] {
        let path = compile(program, "gcc", C, &["-g", flags]);
        only_the_symbol_table(&path);
    }
}

fn only_the_symbol_table(path: &Path) {
    let symbols = load(path);
    for line in run(path) {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words[words.len() - 1];
        match words[0] {
            // The symbol `count.0` does not say whose it is.
            "variable" | "thread" => {
                let told = answer(&symbols, &line);
                let own = stem(last).rsplit("::").next();
                let (place, name) = told.rsplit_once(' ').expect("a name");
                assert_eq!(Some(stem(name)), own, "{line}");
                assert!(line.starts_with(place));
                assert!(!name.contains(['.', '[']), "{name}");
            }
            "local" => assert!(answer(&symbols, &line).ends_with("(nothing)")),
            "frames" => {
                let frames = symbols.frames(number(words[1]));
                assert_eq!(frames.len(), 1);
                assert_eq!(frames[0].function.as_deref(), Some(last));
                assert_eq!((frames[0].file.as_str(), frames[0].line), ("", 0));
            }
            // That is in a section that a program needs to run.
            "cfa" => assert_eq!(answer(&symbols, &line), line),
            word => panic!("the program prints {word}"),
        }
    }
    let queue = run(path);
    let queue = queue.iter().find(|line| line.ends_with(" 48 queue.filled"));
    let at = queue.and_then(|line| line.split(' ').nth(1)).map(number);
    let at: u64 = at.expect("it is printed");
    assert_eq!(symbols.variable(at, 48).as_deref(), Some("queue+40"));
}

#[test]
fn places_that_are_nobodys() {
    let path = compile("nobody", "gcc", C, &["-g", "-O0"]);
    let symbols = load(&path);
    for address in [0, 1, 64, 1 << 40, u64::MAX] {
        assert_eq!(symbols.frames(address), []);
        assert_eq!(symbols.variable(address, 4), None);
        assert_eq!(symbols.local(address, -16, 4), None);
        assert_eq!(symbols.cfa(address), None);
    }
    for offset in [0, 8, i64::MIN, i64::MAX] {
        assert_eq!(symbols.thread_variable(offset, 4), None);
    }
    let lines = run(&path);
    let place = lines.iter().find(|line| line.starts_with("frames"));
    let place = place.and_then(|line| line.split(' ').nth(1)).map(number);
    for offset in [i64::MIN, i64::MAX, 1 << 20] {
        assert_eq!(
            symbols.local(place.expect("it is printed"), offset, 4),
            None
        );
    }
}

/// Files are called as someone in the directory of the compilation would call them.
#[test]
fn files() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("symbols-files");
    let root = root.to_str().expect("it is text");
    let write = |name: &str, text: &str| {
        let path = Path::new(root).join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    };
    write(
        "src/main.c",
        r#"
        #include "../include/where.h"
        __attribute__((noinline)) void here(void) { printf("%lu", RETURN_ADDRESS); }
        int main(void) { where(); return 0; }
        "#,
    );
    write(
        "include/where.h",
        r#"
        #include "expect.h"
        void here(void);
        static inline __attribute__((always_inline)) void where(void) { here(); }
        "#,
    );
    let full = &format!("{root}/src/main.c");
    let outside = [
        &format!("{root}/include/where.h"),
        &format!("{root}/src/main.c"),
    ];
    let cases: [(&str, &str, [&str; 2]); 5] = [
        (".", "src/main.c", ["include/where.h", "src/main.c"]),
        (".", full, ["include/where.h", "src/main.c"]),
        ("src", "main.c", ["../include/where.h", "main.c"]),
        ("include", "../src/main.c", ["where.h", "../src/main.c"]),
        ("include", full, ["where.h", outside[1]]),
    ];
    for (directory, source, expected) in cases {
        let output = Path::new(root).join("program");
        let mut command = Command::new("gcc");
        command.current_dir(Path::new(root).join(directory));
        command.args(["-w", "-g", "-fpie", "-pie", "-I"]);
        command.arg(sources().join("symbols"));
        command.arg(source).arg("-o").arg(&output);
        assert!(command.status().expect("there is a compiler").success());
        let frames = load(&output).frames(number(&run(&output)[0]));
        let files: Vec<&str> = frames.iter().map(|frame| frame.file.as_str()).collect();
        assert_eq!(files, expected, "{source} in {directory}");
    }
}

/// References in circles end.
#[test]
fn knots() {
    let path = compile("knot", "gcc", &["symbols/knot.s"], &["-no-pie"]);
    let symbols = load(&path);
    let list = Command::new("nm").arg(&path).output();
    let list = String::from_utf8(list.expect("nm comes with gcc").stdout).expect("it is text");
    let told = |name: &str| {
        let line = list
            .lines()
            .find(|line| line.ends_with(&format!(" {name}")));
        let address = line.and_then(|line| line.split(' ').next());
        let address = address.map(|address| u64::from_str_radix(address, 16));
        let address = address.expect("it is there").expect("a number");
        symbols.variable(address + 4, 4).expect("it has a name")
    };
    // In itself as often as anyone has the patience to look.
    assert!(told("twice").starts_with("twice.left.left.left"));
    // Not of a type, not a variable: what the symbol table says.
    assert_eq!(told("alias"), "alias+4");
    assert_eq!(told("origin"), "origin+4");
}

/// One reader of a file may be handed to another thread.
#[test]
fn symbols_can_be_sent() {
    fn sent<T: Send>() {}
    sent::<Symbols>();
}

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Whatever the bytes are, there is an answer and no panic, and it does not take for ever.
#[test]
fn damaged_files() {
    let path = compile("damaged", "gcc", C, &["-g", "-O2"]);
    let bytes = fs::read(&path).expect("it was just made");
    let lines = run(&path);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut opened = 0;
    for round in 0..150 {
        let mut bytes = bytes.clone();
        if round % 10 == 0 {
            bytes.truncate(random.below(bytes.len()));
        } else {
            for _ in 0..1 << (round % 10) {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
        }
        if let Ok(symbols) = Symbols::parse(bytes) {
            opened += 1;
            for line in &lines {
                answer(&symbols, line);
            }
        }
    }
    assert!(opened > 50, "only {opened} could be opened at all");
    assert!(Symbols::parse(Vec::new()).is_err());
    assert!(Symbols::parse(b"#!/bin/sh".to_vec()).is_err());
    let nowhere = Symbols::load(Path::new("nowhere")).err();
    assert!(nowhere.is_some_and(|error| error.to_string().starts_with("nowhere: ")));
}
