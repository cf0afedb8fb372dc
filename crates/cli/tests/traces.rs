//! Trace files in daily use: how they are called, and replays of programs that have changed since.

mod bench;

use bench::{Bench, err};
use std::{fs, process::Output};

/// A consumer takes an item, or with argument `twice` another one that is not there: a deadlock.
const QUEUE: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;
static void *consume(void *unused) {
  pthread_mutex_lock(&lock);
  while (items == 0) pthread_cond_wait(&filled, &lock);
  items--;
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(int count, char **words) {
  (void)words;
  pthread_t first, second;
  pthread_create(&first, 0, consume, 0);
  if (count > 1) pthread_create(&second, 0, consume, 0);
  pthread_mutex_lock(&lock);
  items++;
  pthread_cond_signal(&filled);
  pthread_mutex_unlock(&lock);
  pthread_join(first, 0);
  if (count > 1) pthread_join(second, 0);
  assert(count < 3);
}
"#;

/// Two threads read a balance, and write back what they read, more or less: one of both is lost.
const BALANCE: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 10;
static int read_balance(void) {
  pthread_mutex_lock(&lock);
  int read = balance;
  pthread_mutex_unlock(&lock);
  return read;
}
static void write_balance(int written) {
  pthread_mutex_lock(&lock);
  balance = written;
  pthread_mutex_unlock(&lock);
}
static void *pay(void *unused) {
  int now = read_balance();
  write_balance(now - 1);
  return unused;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, pay, 0);
  pay(0);
  pthread_join(other, 0);
  assert(read_balance() == 8);
}
"#;

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn traces(bench: &Bench) -> Vec<String> {
    let files = fs::read_dir(bench.path("reweave-out")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".rwt")).collect();
    names.sort();
    names
}

#[track_caller]
fn ends(output: &Output, code: i32, says: &str) {
    let text = out(output) + &err(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(says), "{says}:\n{text}");
}

#[test]
fn traces_have_names_of_their_own() {
    let bench = Bench::new();
    bench.file("queue.c", QUEUE);
    let fails = |words: &[&str], file: &str| {
        let output = bench.run(&[&["check", "queue.c"], words].concat());
        ends(&output, 1, &format!("reweave replay reweave-out/{file}"));
        out(&output)
    };
    fails(&["--", "twice"], "queue_twice-1.rwt");
    fails(&["--", "two", "by/two"], "queue_two_by-two-1.rwt");
    let long = "x".repeat(300);
    let told = fails(&["--", &long], "queue_xxx");
    assert!(told.contains("-1.rwt"), "{told}");
    assert_eq!(traces(&bench).len(), 3);
}

/// The same error keeps its file; another one never takes it.
#[test]
fn another_error_gets_another_file() {
    let bench = Bench::new();
    bench.file("balance.c", BALANCE);
    let check = |says: &str| {
        let output = bench.run(&["check", "balance.c"]);
        ends(&output, 1, says);
        out(&output)
    };
    let first = check("reweave-out/balance-1.rwt");
    let trace = fs::read(bench.path("reweave-out/balance-1.rwt")).unwrap();
    assert!(
        !check("reweave-out/balance-1.rwt").contains("earlier trace"),
        "{first}"
    );
    assert_eq!(
        fs::read(bench.path("reweave-out/balance-1.rwt")).unwrap(),
        trace
    );
    // One line further down it is an error at another place.
    bench.file("balance.c", &format!("\n{BALANCE}"));
    check("reweave-out/balance-2.rwt");
    assert_eq!(
        fs::read(bench.path("reweave-out/balance-1.rwt")).unwrap(),
        trace
    );
    // At the same place, in another execution: the file is replaced, and that is said.
    bench.file(
        "balance.c",
        &BALANCE
            .replace("int balance = 10", "int balance = 9")
            .replace("== 8", "== 7"),
    );
    let again = check("reweave-out/balance-1.rwt");
    assert!(
        again.contains("The file held an earlier trace of the same error."),
        "{again}"
    );
    assert_eq!(traces(&bench), ["balance-1.rwt", "balance-2.rwt"]);
    // A file that is none of ours is left alone.
    fs::write(bench.path("reweave-out/balance-1.rwt"), "mine").unwrap();
    check("reweave-out/balance-3.rwt");
    assert_eq!(
        fs::read(bench.path("reweave-out/balance-1.rwt")).unwrap(),
        b"mine"
    );
}

#[test]
fn a_replay_follows_a_program_that_has_changed() {
    let bench = Bench::new();
    bench.file("balance.c", BALANCE);
    ends(&bench.run(&["check", "balance.c"]), 1, "assertion");
    let replay = |text: &str, code: i32, says: &str| {
        bench.file("balance.c", text);
        ends(
            &bench.run(&["replay", "reweave-out/balance-1.rwt"]),
            code,
            says,
        );
    };
    replay(BALANCE, 1, "assertion in balance.c");
    let moved = BALANCE.replace(
        "static void *pay",
        "/* Moved\n   by two lines. */\nstatic void *pay",
    );
    replay(
        &moved,
        1,
        "balance-1.rwt still fails: the program has changed",
    );
    // Output is an operation on the stream, and here there is a lock as well.
    let wordy = BALANCE.replace(
        "  write_balance",
        "  printf(\"%d\\n\", read_balance());\n  write_balance",
    );
    replay(&wordy, 1, "still fails");
    let fixed = "static pthread_mutex_t whole = PTHREAD_MUTEX_INITIALIZER;\nstatic void *pay(void *unused) {\n  pthread_mutex_lock(&whole);";
    let fixed = BALANCE.replace("static void *pay(void *unused) {", fixed);
    let fixed = fixed.replace("now - 1);", "now - 1);\n  pthread_mutex_unlock(&whole);");
    replay(&fixed, 0, "balance-1.rwt no longer fails");
    replay(&fixed, 0, "reweave check balance.c");
    let other = fixed
        .replace("assert(read", "abort(); assert(read")
        .replace("#include <stdio.h>", "#include <stdlib.h>");
    replay(&other, 1, "still fails");
    let dead = fixed.replace("  pthread_mutex_unlock(&whole);", "");
    replay(
        &dead,
        1,
        "instead of the recorded assertion there is now this deadlock",
    );
}

#[test]
fn a_changed_program_is_debugged_where_it_fails_now() {
    let bench = Bench::new();
    bench.file("balance.c", BALANCE);
    ends(&bench.run(&["check", "-O0", "balance.c"]), 1, "assertion");
    bench.file("balance.c", &format!("\n\n{BALANCE}"));
    let words = [
        "replay",
        "reweave-out/balance-1.rwt",
        "--gdb",
        "--",
        "-batch",
        "-ex",
        "bt",
    ];
    ends(&bench.run(&words), 1, "balance.c:29");
}
