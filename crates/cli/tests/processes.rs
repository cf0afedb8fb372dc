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

/// Two children that begin again as workers, each of which writes three letters to a pipe. The first is spawned.
const WORKERS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int ends[2];
    pid_t children[2];
    char letters[8], *arguments[] = {argv[0], "a", 0};
    posix_spawn_file_actions_t actions;
    if (argc > 1) {
        for (int i = 0; i < 3; i++) if (write(1, argv[1], 1) != 1) return 1;
        return 0;
    }
    if (pipe2(ends, O_CLOEXEC)) return 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (posix_spawn(&children[0], "/proc/self/exe", &actions, 0, arguments, environ)) return 2;
    children[1] = fork();
    if (children[1] == 0) {
        dup2(ends[1], 1);
        execlp(argv[0], argv[0], "b", (char *)0);
        _exit(3);
    }
    for (int i = 0; i < 2; i++) {
        int status;
        if (waitpid(children[i], &status, 0) < 0 || status) return 4;
    }
    posix_spawn_file_actions_destroy(&actions);
    return read(ends[0], letters, sizeof letters) != 6;
}
"#;

fn built(place: &Path, name: &str, steps: u32, flags: [u8; 2]) -> PathBuf {
    let [escapes, stays] = flags;
    let defined = [
        format!("-DSTEPS={steps}"),
        format!("-DESCAPES={escapes}"),
        format!("-DSTAYS={stays}"),
    ];
    built_from(COUNTER, place, name, &defined)
}

fn built_from(source: &str, place: &Path, name: &str, defined: &[String]) -> PathBuf {
    let file = place.join(format!("{name}.c"));
    fs::write(&file, source).expect("there is room");
    let program = place.join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["cc", "-O1", "-w", "-o"])
        .arg(&program)
        .arg(&file)
        .args(defined)
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

/// Each worker closes its end for reading when it begins again, and writes three letters; a letter meets the letters and the closing of
/// the other worker. Of the 8! / (4! * 4!) = 70 orders, those that begin with the two closings are the same in pairs: 70 - 6! / (3! * 3!)
/// = 50.
#[test]
fn processes_that_begin_again_leave_nothing_behind() {
    let place = tempfile::tempdir().expect("there is room");
    let program = built_from(WORKERS, place.path(), "workers", &[]);
    for restart in ["warm", "exec"] {
        let arguments = ["--algorithm", "optimal", "--restart", restart];
        let result = check(&program, &arguments);
        assert_eq!(result["complete"], true, "{result}");
        assert_eq!(result["executions"], 50, "{result}");
        assert_eq!(living(&program), 0);
    }
    let arguments = ["--algorithm", "dfs", "--max-executions", "500"];
    let result = check(&program, &arguments);
    assert_eq!(result["incomplete"][0], "max-executions", "{result}");
    assert_eq!(result["errors"].as_array().map(Vec::len), Some(0));
    assert_eq!(living(&program), 0);
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
