//! Programs of several processes: what their runs leave behind.
//!
//! Each program is explored in thousands of runs; meanwhile and afterwards the processes of the machine are listed. Every process of a
//! program carries its name.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A counter that a parent and two children share, and that each adds to several times.
const COUNTER: &str = r#"
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    atomic_int *count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            for (int j = 0; j < STEPS; j++) atomic_fetch_add(count, 1);
            if (ESCAPES) setsid();
            if (STAYS) for (;;) pause();
            _exit(0);
        }
    }
    for (int j = 0; j < STEPS; j++) atomic_fetch_add(count, 1);
    if (!STAYS) for (int i = 0; i < 2; i++) waitpid(children[i], 0, 0);
    return 0;
}
"#;

fn built(place: &Path, name: &str, steps: u32, flags: [u8; 2]) -> PathBuf {
    let file = place.join(format!("{name}.c"));
    fs::write(&file, COUNTER).expect("there is room");
    let program = place.join(name);
    let [escapes, stays] = flags;
    let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["cc", "-O1", "-w", "-o"])
        .arg(&program)
        .arg(&file)
        .arg(format!("-DSTEPS={steps}"))
        .arg(format!("-DESCAPES={escapes}"))
        .arg(format!("-DSTAYS={stays}"))
        .output()
        .expect("the command was built with the tests");
    assert!(output.status.success(), "{output:?}");
    program
}

fn check(program: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["check", "--format", "json", "--keep-going"])
        .arg("--output")
        .arg(program.with_extension("out"))
        .args(arguments)
        .arg("--")
        .arg(program)
        .output()
        .expect("the command was built with the tests");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// How many processes run this program.
fn living(program: &Path) -> usize {
    let processes = fs::read_dir("/proc").expect("there are processes");
    let executables = processes.flatten().map(|entry| entry.path().join("exe"));
    let executables = executables.filter_map(|exe| fs::read_link(exe).ok());
    executables.filter(|exe| exe == program).count()
}

/// 9! / (3! * 3! * 3!) = 1680 interleavings of the additions; with the two waits, each of which may come before additions of the
/// second child, 2400. With one addition each 8, on `exec`.
#[test]
fn runs_leave_no_process_behind() {
    let place = tempfile::tempdir().expect("there is room");
    let program = built(place.path(), "counter", 3, [0, 0]);
    let result = check(&program, &["--algorithm", "dfs", "--workers", "2"]);
    assert_eq!(result["complete"], true, "{result}");
    assert_eq!(result["executions"], 2400);
    assert_eq!(living(&program), 0);
    let small = built(place.path(), "small", 1, [0, 0]);
    let result = check(&small, &["--algorithm", "dfs", "--restart", "exec"]);
    assert_eq!(result["executions"], 8, "{result}");
    assert_eq!(living(&small), 0);
}

/// Children that are there when the run ends, and those that have left the group, are gone too.
#[test]
fn children_that_stay_or_leave_their_group_are_ended() {
    let place = tempfile::tempdir().expect("there is room");
    for (name, flags) in [("stays", [0, 1]), ("escapes", [1, 0])] {
        let program = built(place.path(), name, 1, flags);
        check(&program, &["--algorithm", "dfs"]);
        assert_eq!(living(&program), 0, "{name}");
    }
}

/// A search that is stopped in the middle of runs leaves nothing either.
#[test]
fn a_budget_ends_all_processes() {
    let place = tempfile::tempdir().expect("there is room");
    let program = built(place.path(), "long", 8, [0, 0]);
    let result = check(&program, &["--algorithm", "dfs", "--budget", "1s"]);
    assert_eq!(result["complete"], false);
    let reasons: Vec<&str> = result["incomplete"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        reasons,
        ["budget"],
        "no process counts as one that the program hid"
    );
    assert_eq!(living(&program), 0);
}
