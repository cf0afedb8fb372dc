//! Names from real compilers' output: the programs in `tests/symbols` print places of themselves with the names those should
//! have, and the file they were compiled to must tell the same.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use reweave_drive::symbols::Symbols;

/// Where the compiler is started, so that file names are `symbols/objects.c`.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Compiles files, with this name for the program.
fn compile(program: &str, compiler: &str, files: &[&str], flags: &[&str]) -> PathBuf {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("symbols-{program}"));
    let mut command = Command::new(compiler);
    command.current_dir(sources()).args(["-pthread", "-w"]);
    command.args(["-fpie", "-pie"]);
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
        word => panic!("the program prints {word}"),
    }
}

/// Compiles, runs and compares; how many lines there were.
fn check(program: &str, compiler: &str, files: &[&str], flags: &[&str]) -> usize {
    let path = compile(program, compiler, files, flags);
    let symbols = Symbols::load(&path).expect("it is a program");
    let lines = run(&path);
    let wrong: Vec<String> = lines
        .iter()
        .map(|line| (line, answer(&symbols, line)))
        .filter(|(line, answer)| *line != answer)
        .map(|(line, answer)| format!("  expected {line}\n      told {answer}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "{compiler} {flags:?}:\n{}",
        wrong.join("\n")
    );
    lines.len()
}

const C: &[&str] = &["symbols/objects.c", "symbols/other.c"];
const CXX: &[&str] = &["symbols/objects.cc"];

#[test]
fn c_programs() {
    for (at, flags) in [
        &["-g", "-O0"][..],
        &["-g", "-O2"],
        &["-gdwarf-4", "-DDWARF4", "-O0"],
        &["-gdwarf-4", "-DDWARF4", "-O2", "-fdebug-types-section"],
        &[
            "-gdwarf-5",
            "-O2",
            "-fdebug-types-section",
            "-ffunction-sections",
            "-Wl,--gc-sections",
        ],
        &["-g", "-O2", "-flto"],
        &["-g", "-O0", "-fno-pie", "-no-pie"],
    ]
    .into_iter()
    .enumerate()
    {
        check(&format!("c{at}"), "gcc", C, flags);
    }
}

#[test]
fn cxx_programs() {
    for (at, flags) in [
        &["-g", "-O0"][..],
        &["-g", "-O2"],
        &["-gdwarf-4", "-DDWARF4", "-O2"],
        &["-g", "-O2", "-flto"],
    ]
    .into_iter()
    .enumerate()
    {
        check(&format!("cxx{at}"), "g++", CXX, flags);
    }
}

/// The same with clang, where there is one.
#[test]
fn programs_of_clang() {
    if Command::new("clang").arg("--version").output().is_err() {
        return;
    }
    for (at, flags) in [
        &["-g", "-O0"][..],
        &["-g", "-O2"],
        &["-gdwarf-4", "-DDWARF4", "-O2"],
        &["-gdwarf-5", "-O1", "-fno-omit-frame-pointer"],
    ]
    .into_iter()
    .enumerate()
    {
        check(&format!("clang-c{at}"), "clang", C, flags);
        check(&format!("clang-cxx{at}"), "clang++", CXX, flags);
    }
}
