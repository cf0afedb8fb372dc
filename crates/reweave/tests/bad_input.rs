//! What cannot be done is said in a sentence, and what was found is never lost over it.

use reweave::{
    Builder, Kind,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const NAME: &str = "bad_input::inversion";

fn inversion() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let theirs = locks.clone();
    let other = thread::spawn(move || {
        let _b = theirs.1.lock().unwrap();
        let _a = theirs.0.lock().unwrap();
    });
    let a = locks.0.lock().unwrap();
    let b = locks.1.lock().unwrap();
    drop((a, b));
    other.join().unwrap();
}

/// Has nothing to do with the other one, except that it has two threads.
fn counter() {
    let count = Arc::new(AtomicUsize::new(0));
    let theirs = count.clone();
    let other = thread::spawn(move || theirs.fetch_add(1, SeqCst));
    count.fetch_add(1, SeqCst);
    other.join().unwrap();
}

/// An empty directory of its own.
fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bad-input-{name}"));
    let _ = fs::remove_dir_all(&path); // there is none on the first run
    fs::create_dir_all(&path).expect("the build directory is ours");
    path
}

/// The trace of the inversion.
fn recorded(name: &str) -> PathBuf {
    let report = Builder::new()
        .name(NAME)
        .trace_dir(directory(name))
        .run(inversion);
    report.errors[0].trace.clone().expect("written")
}

/// The sentence with which a replay of the inversion is refused.
#[track_caller]
fn refused(trace: &Path) -> String {
    let report = Builder::new().name(NAME).replay(trace).try_run(inversion);
    report.expect_err("no such replay").to_string()
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Runs the test `child` of this binary in a process with another environment.
fn run_child(change: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("running"));
    command
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("BAD_INPUT_CHILD", "1")
        .env("RUST_BACKTRACE", "0");
    change(&mut command);
    command.output().expect("this binary can be run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Does something only when it is run by another test.
#[test]
fn child() {
    if std::env::var_os("BAD_INPUT_CHILD").is_some() {
        Builder::new().name(NAME).check(inversion);
    }
}

#[test]
fn a_directory_that_cannot_be_made() {
    let file = directory("not-a-directory").join("file");
    fs::write(&file, "in the way").expect("ours");
    let report = Builder::new()
        .name(NAME)
        .trace_dir(file.join("traces"))
        .run(inversion);
    let error = &report.errors[0];
    assert_eq!((error.kind, &error.trace), (Kind::Deadlock, &None));
    let place = file.join("traces").display().to_string();
    has(
        &error.story,
        &[
            "deadlock in bad_input::inversion",
            "lock mutex#1",
            "There is no trace file to run this execution again from: ",
            &format!("{place}: cannot be created: Not a directory"),
            "REWEAVE_OUTPUT=<directory>",
        ],
    );
    assert!(!error.story.contains("REWEAVE_REPLAY"), "{}", error.story);
    let text = report.story().expect("an error was found");
    has(&text, &["1 error found", "waits for mutex#"]);
    assert_eq!(report.document().errors[0].trace, None);
}

#[test]
fn a_name_that_is_taken() {
    let directory = directory("file");
    // By a directory that is not empty: the next number is free.
    fs::create_dir_all(directory.join("inversion-1.rwt/x")).expect("ours");
    let report = Builder::new()
        .name(NAME)
        .trace_dir(&directory)
        .run(inversion);
    let trace = directory.join("inversion-2.rwt");
    assert_eq!(report.errors[0].trace.as_deref(), Some(&*trace));
    // No half-written neighbour is left: there are the directory, the trace and the result.
    let left = fs::read_dir(&directory).expect("ours").count();
    assert_eq!(left, 3);
}

/// A limit on the size of files, which is what a full disk looks like to a writer: some bytes go, then no more.
#[test]
fn a_disk_without_room() {
    let directory = directory("room");
    let output = {
        let program = std::env::current_exe().expect("running");
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .arg(program)
            .args(["--exact", "child", "--nocapture"])
            .env("BAD_INPUT_CHILD", "1")
            .env("RUST_BACKTRACE", "0")
            .env("REWEAVE_OUTPUT", &directory);
        command.output().expect("sh")
    };
    assert!(!output.status.success());
    has(
        &said(&output),
        &[
            "deadlock in bad_input::inversion",
            "inversion-1.rwt: cannot be written: File too large",
            "waits for mutex#1",
        ],
    );
    assert_eq!(fs::read_dir(&directory).expect("ours").count(), 0);
    let full = reweave_report::WriteError {
        path: "traces/x.rwt".into(),
        source: std::io::Error::from_raw_os_error(libc::ENOSPC),
    };
    let text = full.to_string();
    has(
        &text,
        &["traces/x.rwt: cannot be written: the disk is full"],
    );
}

#[test]
fn settings_that_make_no_sense() {
    let cases = [
        (
            "REWEAVE_ALGORITHM",
            "quick",
            "no algorithm is called `quick`; there are auto, dfs",
        ),
        ("REWEAVE_WORKERS", "many", "a number is expected"),
        ("REWEAVE_WORKERS", "0", "a number is expected"),
        (
            "REWEAVE_BUDGET",
            "30",
            "a time such as 500ms, 30s, 10m or 2h is expected",
        ),
        ("REWEAVE_BUDGET", "-1s", "a time such as"),
        ("REWEAVE_MAX_EXECUTIONS", "-1", "a number is expected"),
        (
            "REWEAVE_MAX_STEPS",
            "5000000000",
            "a number is expected: number too large",
        ),
        ("REWEAVE_PREEMPTIONS", "two", "a number is expected"),
        ("REWEAVE_SEED", "0x10", "a number is expected"),
        ("REWEAVE_KEEP_GOING", "maybe", "1 or 0 is expected"),
        ("REWEAVE_SPURIOUS_WAKEUPS", "2", "1 or 0 is expected"),
        ("REWEAVE_MINIMISE", "less", "1 or 0 is expected"),
        (
            "REWEAVE_REPLAY",
            "/nowhere/x.rwt",
            "/nowhere/x.rwt: no such file",
        ),
    ];
    for (variable, value, sentence) in cases {
        let output = run_child(|command| {
            command.env(variable, value);
        });
        assert!(!output.status.success(), "{variable}={value}");
        let text = said(&output);
        has(&text, &["reweave: ", sentence]);
        if variable != "REWEAVE_REPLAY" {
            has(&text, &[&format!("{variable}={value}: ")]);
        }
        assert!(
            !text.contains("deadlock"),
            "it was run all the same: {text}"
        );
    }
    // An empty one is none.
    let traces = directory("settings");
    let output = run_child(|command| {
        command
            .env("REWEAVE_WORKERS", "")
            .env("REWEAVE_OUTPUT", &traces);
    });
    has(&said(&output), &["deadlock in bad_input::inversion"]);
}

#[test]
fn a_variable_that_is_no_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let output = run_child(|command| {
        command.env("REWEAVE_BUDGET", OsStr::from_bytes(b"\xff\xfe"));
    });
    assert!(!output.status.success());
    has(&said(&output), &["reweave: REWEAVE_BUDGET: "]);
}

#[test]
fn a_trace_of_another_test() {
    let trace = recorded("other");
    let other = Builder::new()
        .name("bad_input::counter")
        .replay(&trace)
        .try_run(counter);
    has(
        &other.expect_err("another test").to_string(),
        &[
            &trace.display().to_string(),
            "was recorded from `bad_input::inversion`, and this is `bad_input::counter`",
            "run that test, or record a new trace",
        ],
    );
    // The same name, another program: the first step that does not fit.
    let changed = Builder::new().name(NAME).replay(&trace).try_run(counter);
    has(
        &changed.expect_err("another program").to_string(),
        &[
            "went another way when it was run again",
            "step 1: ",
            "was to do lock",
            "bad_input.rs:",
        ],
    );
}

#[test]
fn a_cut_file() {
    let trace = recorded("cut");
    let bytes = fs::read(&trace).expect("written");
    let part = trace.with_file_name("part.rwt");
    let body = bytes.trim_ascii_end().len();
    for length in [1, 10, body / 2, body - 1] {
        fs::write(&part, &bytes[..length]).expect("ours");
        let sentence = refused(&part);
        let end = format!("part.rwt: the file is cut: it ends at byte {length} ");
        has(&sentence, &[&end, "copy or record it again"]);
    }
    fs::write(&part, "").expect("ours");
    has(&refused(&part), &["part.rwt: not a reweave file"]);
    fs::write(&part, "step  place\n").expect("ours");
    has(&refused(&part), &["part.rwt: not a reweave file"]);
    // A part is not taken for the whole: no prefix is replayed.
    for length in (0..body).step_by(7) {
        fs::write(&part, &bytes[..length]).expect("ours");
        refused(&part);
    }
}

#[test]
fn a_file_of_a_newer_version_or_another_kind() {
    let trace = recorded("newer");
    let text = fs::read_to_string(&trace).expect("written");
    let other = trace.with_file_name("other.rwt");
    fs::write(&other, text.replace("reweave.trace/1", "reweave.trace/2")).expect("ours");
    has(
        &refused(&other),
        &[
            "other.rwt: written by a newer reweave (schema `reweave.trace/2`",
            "update reweave to open it",
        ],
    );
    let result = Builder::new().run(counter).document();
    fs::write(&other, result.to_json()).expect("ours");
    has(
        &refused(&other),
        &["other.rwt: not a reweave.trace/1 document: its schema is `reweave.result/1`"],
    );
    fs::write(&other, text.replace("\"lock\"", "\"latch\"")).expect("ours");
    has(
        &refused(&other),
        &[
            "other.rwt: the document contradicts itself",
            "it was damaged or edited",
        ],
    );
    has(
        &refused(trace.parent().expect("a directory")),
        &["cannot be read: "],
    );
    assert!(refused(&trace.with_file_name("missing.rwt")).ends_with("missing.rwt: no such file"));
}
