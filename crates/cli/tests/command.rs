//! The command as a user meets it: output, messages, exit codes.

use reweave_conduct::{Next, Run};
use reweave_model::{Choice, Execution, Object, ObjectId, Op, Pending, Plan, Site, ThreadId};
use reweave_report::{Context, Options, Position, Program, ResultDocument, Trace};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

fn reweave(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(args)
        .output()
        .expect("the command was built with the tests")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// One thread stores to an atomic so often.
fn execution(stores: u64) -> Execution {
    let mut run = Run::default();
    run.begin(&Plan::default());
    run.object(Object::Atomic(0));
    let main = ThreadId::MAIN;
    for value in 0..stores {
        let pending = Pending::new(Op::Store(ObjectId(0), value), Site(7));
        run.announce(main, pending);
        run.step(Choice {
            thread: main,
            outcome: 0,
        });
    }
    run.finish(main);
    let Next::End(end) = run.next() else {
        panic!("nothing is left to do")
    };
    run.end(end).clone()
}

fn store(dir: &Path, name: &str, stores: u64) -> PathBuf {
    let trace = Trace::from_execution(
        &execution(stores),
        Context {
            program: Program {
                name: "tests::handoff".into(),
                kind: "rust-test".into(),
                replay: Some("REWEAVE_REPLAY={trace} cargo test handoff".into()),
                ..Program::default()
            },
            options: Options {
                max_steps: 1000,
                spurious_wakeups: false,
                thread_ends: false,
            },
            site: &|site| {
                Some(Position {
                    file: "src/lib.rs".into(),
                    line: site.0,
                    column: 5,
                })
            },
            output: None,
            blame: &[],
        },
    );
    let path = dir.join(name);
    trace.write(&path).unwrap();
    path
}

#[test]
fn it_says_its_version() {
    let output = reweave(&["--version"]);
    assert_eq!(
        out(&output),
        format!("reweave {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn help_names_commands_and_codes() {
    let output = reweave(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    for word in ["report", "replay", "check", "Exit codes"] {
        assert!(out(&output).contains(word), "{}", out(&output));
    }
}

#[test]
fn a_trace_is_shown_without_colour_in_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let path = store(dir.path(), "bug.rwt", 3);
    let output = reweave(&["report", path.to_str().unwrap()]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        text.contains("   3  src/lib.rs:7  store atomic#1: writes 2"),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            "REWEAVE_REPLAY={} cargo test handoff",
            path.display()
        )),
        "{text}"
    );
    assert!(!text.contains('\x1b'));
    assert_eq!(err(&output), "");
}

#[test]
fn a_path_with_blanks_is_quoted() {
    let dir = tempfile::tempdir().unwrap();
    let path = store(dir.path(), "my bug.rwt", 1);
    let text = out(&reweave(&["report", path.to_str().unwrap()]));
    assert!(
        text.contains(&format!("REWEAVE_REPLAY='{}' cargo", path.display())),
        "{text}"
    );
}

/// 100 lines without an end that would tell them apart: the 60 latest are shown.
#[test]
fn full_unfolds() {
    let dir = tempfile::tempdir().unwrap();
    let path = store(dir.path(), "bug.rwt", 100);
    let path = path.to_str().unwrap();
    assert!(out(&reweave(&["report", path])).contains("...  40 steps"));
    assert!(!out(&reweave(&["report", path, "--full"])).contains("...  "));
}

#[test]
fn json_is_the_document_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = store(dir.path(), "bug.rwt", 2);
    let output = reweave(&["report", "--format", "json", path.to_str().unwrap()]);
    assert_eq!(out(&output), std::fs::read_to_string(&path).unwrap());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["schema"], "reweave.trace/1");
}

/// Each format begins as its readers expect.
#[test]
fn other_programs_have_their_formats() {
    let dir = tempfile::tempdir().unwrap();
    let trace = store(dir.path(), "bug.rwt", 3);
    let result = dir.path().join("result.json");
    let mut document = ResultDocument::new("handoff", "optimal", "mazurkiewicz");
    document.executions = 6;
    document.write(&result).unwrap();
    let (trace, result) = (trace.to_str().unwrap(), result.to_str().unwrap());
    let cases = [
        (trace, "sarif", "\"version\": \"2.1.0\""),
        (result, "sarif", "\"results\": []"),
        (trace, "dot", "digraph execution {"),
        (trace, "chrome", "\"traceEvents\": ["),
        (trace, "github", ""),
        (result, "junit", "<testsuite name=\"handoff\" tests=\"1\""),
    ];
    for (file, format, has) in cases {
        let output = reweave(&["report", file, "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", err(&output));
        assert!(out(&output).contains(has), "{format}: {}", out(&output));
    }
    let wrong = [
        (result, "dot", "name a trace"),
        (result, "chrome", "name a trace"),
        (result, "svg", "explored by one machine"),
        (trace, "svg", "name its result"),
        (trace, "junit", "this is a trace"),
        (trace, "xml", "invalid value"),
    ];
    for (file, format, says) in wrong {
        let output = reweave(&["report", file, "--format", format]);
        assert_eq!(output.status.code(), Some(2), "{format}");
        assert!(err(&output).contains(says), "{format}: {}", err(&output));
    }
    let plain = out(&reweave(&["report", trace, "--plain"]));
    assert!(
        plain.contains("Step 1, main: store atomic#1: writes 0."),
        "{plain}"
    );
}

#[test]
fn a_page_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = store(dir.path(), "bug.rwt", 2);
    let page = dir.path().join("bug.html");
    let html = |from: &Path, to: &Path| {
        reweave(&[
            "report",
            from.to_str().unwrap(),
            "--html",
            to.to_str().unwrap(),
        ])
    };
    let output = html(&path, &page);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(out(&output), format!("{}\n", page.display()));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!doctype html>"), "{text}");
    assert!(text.contains("store atomic#1: writes 1"), "{text}");
    let again = format!("REWEAVE_REPLAY={} cargo test handoff", path.display());
    assert!(text.contains(&again), "{text}");

    let result = dir.path().join("result.json");
    ResultDocument::new("handoff", "optimal", "mazurkiewicz")
        .write(&result)
        .unwrap();
    let output = html(&result, &page);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.contains("complete, 0 executions, no error"), "{text}");
    for (from, to, says) in [
        (&path, &dir.path().join("no/page.html"), "create it first"),
        (&dir.path().join("none.rwt"), &page, "no such file"),
    ] {
        let output = html(from, to);
        assert_eq!(output.status.code(), Some(2), "{says}");
        assert!(err(&output).contains(says), "{}", err(&output));
    }
}

#[test]
fn a_directory_is_served_to_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), "bug.rwt", 2);
    let mut server = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["report", "--serve", dir.path().to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command was built with the tests");
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("http://").unwrap();
    let address = address.strip_suffix('/').unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{line}");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /trace/bug.rwt HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("store atomic#1: writes 1"), "{answer}");
}

#[test]
fn a_result_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("result.json");
    let mut result = ResultDocument::new("handoff", "optimal", "mazurkiewicz");
    result.executions = 6;
    result.write(&path).unwrap();
    let output = reweave(&["report", path.to_str().unwrap()]);
    let line = "handoff: complete, 6 executions, no error under sequential consistency";
    assert!(out(&output).starts_with(line), "{}", out(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bad_files_end_with_a_sentence_and_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let whole = std::fs::read_to_string(store(dir.path(), "bug.rwt", 2)).unwrap();
    let cases = [
        (dir.path().join("none.rwt"), "no such file"),
        (
            write("cut.rwt", &whole[..whole.len() / 2]),
            "the file is cut",
        ),
        (
            write("text.rwt", "hello"),
            "not a reweave file: no JSON at byte 0",
        ),
        (
            write("other.rwt", "{\"schema\": \"x\"}"),
            "its schema is `x`",
        ),
        (
            write("new.rwt", "{\"schema\": \"reweave.trace/2\"}"),
            "written by a newer reweave",
        ),
        (
            write("odd.rwt", &whole.replace("\"store\"", "\"steal\"")),
            "contradicts itself",
        ),
    ];
    for (path, says) in cases {
        for command in ["report", "replay"] {
            let output = reweave(&[command, path.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(2), "{says}");
            assert_eq!(out(&output), "");
            assert!(err(&output).starts_with("reweave: "), "{}", err(&output));
            assert!(err(&output).contains(says), "{}", err(&output));
        }
    }
}

#[test]
fn replay_of_a_test_says_what_to_type() {
    let dir = tempfile::tempdir().unwrap();
    let path = store(dir.path(), "bug.rwt", 2);
    let output = reweave(&["replay", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let line = format!("\n  REWEAVE_REPLAY={} cargo test handoff\n", path.display());
    assert!(err(&output).ends_with(&line), "{}", err(&output));
    let output = reweave(&["replay", path.to_str().unwrap(), "--gdb"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--gdb is for native programs"));
    assert!(err(&output).ends_with(&line), "{}", err(&output));
}

#[test]
fn every_verb_has_help() {
    for verb in [
        "report", "replay", "check", "suite", "estimate", "evaluate", "simulate", "build", "cc",
        "c++",
    ] {
        let output = reweave(&["help", verb]);
        assert_eq!(output.status.code(), Some(0), "{verb}: {}", err(&output));
        let usage = format!("Usage: reweave {verb}");
        assert!(out(&output).contains(&usage), "{}", out(&output));
    }
    let help = out(&reweave(&["help", "check"]));
    assert_eq!(help, out(&reweave(&["check", "--help"])));
    assert!(help.contains("--races"), "{help}");
}

#[test]
fn misspelt_verbs_and_options_have_a_hint() {
    let cases: [(&[&str], &str); 4] = [
        (&["chek", "a.c"], "did you mean check?"),
        (
            &["check", "a.c", "--keep-goin"],
            "did you mean --keep-going?",
        ),
        (&["report", "--ful", "x"], "did you mean --full?"),
        (&["fly"], "`--help` shows the usage"),
    ];
    for (args, says) in cases {
        let output = reweave(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(err(&output).starts_with("reweave: "), "{}", err(&output));
        assert!(err(&output).contains(says), "{}", err(&output));
        assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
    }
}

#[test]
fn wrong_usage_is_code_2() {
    for args in [
        &["fly"][..],
        &[],
        &["report"],
        &["report", "--format", "xml", "x"],
        &["report", "x", "--port", "80"],
        &["report", "--serve", "--html", "page.html"],
        &["report", "--serve", "nowhere"],
        &["build", "make"],
        &["build", "--"],
    ] {
        let output = reweave(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!err(&output).is_empty());
    }
}
