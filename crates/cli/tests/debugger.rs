//! `reweave replay --gdb`, with gdb in batch mode.

use std::{
    fs,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// Two threads take two locks in opposite orders. The second one has a name.
const INVERSION: &str = r#"#define _GNU_SOURCE
#include <pthread.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int there_at, back_at;
static void *there(void *unused) {
  there_at = 1;
  pthread_mutex_lock(&first);
  there_at = 2;
  pthread_mutex_lock(&second);
  there_at = 3;
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&first);
  return unused;
}
static void *back(void *unused) {
  pthread_setname_np(pthread_self(), "second-one");
  back_at = 1;
  pthread_mutex_lock(&second);
  back_at = 2;
  pthread_mutex_lock(&first);
  pthread_mutex_unlock(&first);
  pthread_mutex_unlock(&second);
  return unused;
}
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, there, 0);
  pthread_create(&threads[1], 0, back, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
"#;

/// One thread fails an assertion, after the other one has stored.
const ASSERTION: &str = r#"#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag;
static void check(int value) {
  assert(value == 0);
}
static void *look(void *unused) {
  check(atomic_load(&flag));
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, look, 0);
  atomic_store(&flag, 1);
  pthread_join(thread, 0);
}
"#;

/// What a thread of C++ throws is caught by nobody.
const EXCEPTION: &str = r#"#include <stdexcept>
#include <thread>
static void fail(int value) {
  throw std::runtime_error(value == 3 ? "three" : "another");
}
int main() {
  std::thread thread(fail, 3);
  thread.join();
}
"#;

struct Bench {
    place: TempDir,
}

impl Bench {
    /// Checks a program, which has an error, and so leaves `reweave-out/it-1.rwt`.
    fn new(source: &str) -> Bench {
        Bench::of("it.c", source)
    }

    fn of(file: &str, source: &str) -> Bench {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(file), source).unwrap();
        let bench = Bench { place };
        bench.run(&["check", "-O0", file], 1);
        bench
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/cache");
        command.args(args).current_dir(self.place.path());
        command.env("XDG_CACHE_HOME", cache).stdin(Stdio::null());
        command
    }

    /// What the command says, on standard output and after it on standard error.
    #[track_caller]
    fn run(&self, args: &[&str], code: i32) -> String {
        told(self.command(args), code)
    }

    /// What gdb and the command say after the execution was shown.
    #[track_caller]
    fn gdb(&self, options: &[&str], commands: &[&str]) -> String {
        let mut args = vec!["replay", "reweave-out/it-1.rwt", "--gdb"];
        args.extend(options);
        args.extend(["--", "-nx", "-batch"]);
        args.extend(commands.iter().flat_map(|command| ["-ex", command]));
        let text = self.run(&args, 1);
        let (_, after) = text.split_once("reweave: reweave-step [N]").expect(&text);
        after.into()
    }
}

#[track_caller]
fn told(mut command: Command, code: i32) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let text = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// Whether the parts come in this order.
#[track_caller]
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part);
        let at = at.unwrap_or_else(|| panic!("`{part}` is missing, or too early, in\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn it_stops_at_the_failure_with_all_threads() {
    let bench = Bench::new(ASSERTION);
    let text = bench.gdb(&[], &["info threads", "backtrace", "up", "info locals"]);
    in_order(
        &text,
        &[
            "after step 2: assertion: assertion `value == 0` failed",
            "in check (value=1) at it.c:6",
            "\"main\"",
            "\"main.0\"",
            "in check (value=1) at it.c:6",
            "in look (unused=0x0) at it.c:9",
        ],
    );
    assert!(!text.contains("thread_entry"), "{text}");
}

#[test]
fn it_stops_in_code_that_the_user_wrote() {
    let bench = Bench::of("it.cc", EXCEPTION);
    let text = bench.gdb(&[], &["print value", "reweave-threads"]);
    in_order(
        &text,
        &[
            "uncaught exception: std::runtime_error: three",
            "in fail (value=3) at it.cc:4",
            "$1 = 3",
            "main  main at it.cc:7  next: join main.0",
            "main.0  fail at it.cc:4  next: nothing more",
        ],
    );
}

#[test]
fn a_deadlock_is_seen_from_every_thread() {
    let bench = Bench::new(INVERSION);
    let text = bench.gdb(
        &[],
        &["reweave-threads", "thread apply all -ascending backtrace"],
    );
    in_order(
        &text,
        &[
            "the execution is at its end: deadlock",
            "main  main at it.c:29  next: join main.0",
            "main.0  there at it.c:9  next: lock second",
            "second-one  back at it.c:20  next: lock first",
            "\"main\"",
            "main () at it.c:29",
            "\"main.0\"",
            "there (unused=0x0) at it.c:9",
            "\"second-one\"",
            "back (unused=0x0) at it.c:20",
        ],
    );
}

#[test]
fn stepping_keeps_to_the_schedule() {
    let bench = Bench::new(INVERSION);
    let text = bench.gdb(
        &["--until", "1"],
        &[
            "print there_at",
            "reweave-step",
            "reweave-step",
            "print there_at",
            "print back_at",
            "continue",
            "print back_at",
            "continue",
        ],
    );
    in_order(
        &text,
        &[
            "about to do step 1 of 3: main.0: lock first",
            "there (unused=0x0) at it.c:7",
            "$1 = 1",
            "about to do step 2 of 3: second-one: change the name of thread 2",
            "about to do step 3 of 3: second-one: lock second",
            "back (unused=0x0) at it.c:18",
            "$2 = 2",
            "$3 = 1",
            "the execution is at its end: deadlock",
            "$4 = 2",
            "exited normally",
        ],
    );
}

#[test]
fn line_by_line_the_others_come_in_between() {
    let bench = Bench::new(INVERSION);
    // After its first lock `there` is at its second one, and the other thread has come as far as it can.
    let commands = ["next", "print there_at", "next", "next", "print back_at"];
    let text = bench.gdb(&["--until", "1"], &commands);
    in_order(&text, &["$1 = 1", "$2 = 2"]);
}

#[test]
fn a_program_that_is_changed_goes_another_way() {
    let bench = Bench::new(ASSERTION);
    let args = "replay reweave-out/it-1.rwt --gdb --until 1 -- -nx -batch -ex";
    let mut args: Vec<&str> = args.split(' ').collect();
    args.extend(["break check", "-ex", "continue", "-ex"]);
    args.push("set variable value = 0");
    let text = bench.run(&args, 4);
    assert!(text.contains("it went another way in gdb"), "{text}");
}

#[test]
fn who_ends_the_program_is_not_told_off() {
    let bench = Bench::new(ASSERTION);
    let text = bench.gdb(&[], &["kill"]);
    assert!(text.contains("did not come to its end in gdb"), "{text}");
}

#[test]
fn mistakes_have_sentences() {
    let bench = Bench::new(ASSERTION);
    let replay = ["replay", "reweave-out/it-1.rwt"];
    let say = |rest: &[&str]| bench.run(&[&replay, rest].concat(), 2);
    for step in ["0", "3"] {
        let text = say(&["--gdb", "--until", step]);
        assert!(text.contains("has the steps 1 to 2"), "{text}");
    }
    let text = say(&["--until", "1"]);
    assert!(text.contains("--gdb"), "{text}");
    let mut command = bench.command(&["replay", "reweave-out/it-1.rwt", "--gdb"]);
    command.env("PATH", bench.place.path());
    let text = told(command, 2);
    assert!(text.contains("apt-get install gdb"), "{text}");
}
