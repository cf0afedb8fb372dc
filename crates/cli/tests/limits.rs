//! What ends a program, its processes and the command itself, and what they leave behind.

use serde_json::Value;
use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// A directory to work in, with a cache that all tests share.
struct Bench {
    place: TempDir,
}

impl Bench {
    fn new(name: &str, text: &str) -> Bench {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(name), text).unwrap();
        Bench { place }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        command
            .args(line.split_whitespace())
            .current_dir(self.place.path())
            .env(
                "XDG_CACHE_HOME",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
            )
            .env_remove("CC")
            .env_remove("CXX")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }
}

const ENDLESS: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
static atomic_int total;
static int early[2];
__attribute__((constructor)) static void make(void) {
  if (pipe(early))
    _exit(1);
}
static inline void compute(void) {
  for (volatile long i = 0;; i++)
    ;
}
static inline void waits(void) {
  char text[9];
  fgets(text, 9, fdopen(early[0], "r"));
}
static inline void *add(void *unused) {
  for (int i = 0; i < 20000; i++)
    atomic_fetch_add(&total, 1);
  return unused;
}
static inline void create(void) {
  for (pthread_t thread;;)
    pthread_create(&thread, 0, add, 0);
}
static inline void both(void) {
  pthread_t thread;
  pthread_create(&thread, 0, add, 0);
  add(0);
  pthread_join(thread, 0);
}
int main(void) {
  HOW();
  return 0;
}
"#;

/// A program that computes, waits or creates threads for ever, or has very long executions: a budget ends it.
#[test]
fn a_budget_holds_inside_an_execution() {
    let bench = Bench::new("endless.c", ENDLESS);
    for how in ["compute", "waits", "create", "both"] {
        let line = format!("check --budget 700ms --format json -DHOW={how} endless.c");
        let output = bench.run(&line);
        assert_eq!(output.status.code(), Some(3), "{how}: {output:?}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["incomplete"], serde_json::json!(["budget"]), "{how}");
        // The machine may be busy, but it does not take what the program would.
        let elapsed = result["elapsed_s"].as_f64().unwrap();
        assert!(elapsed < 8.0, "{how}: {elapsed} s");
    }
}

/// Forks by a system call of its own (57); the child opens a session (112) and waits for ever (34).
const FORKS: &str = r#"
static inline long direct(long number) {
  long answer;
  __asm__ volatile("syscall" : "=a"(answer) : "a"(number) : "rcx", "r11", "memory");
  return answer;
}
int main(void) {
  if (!direct(57)) {
    direct(112);
    for (;;)
      direct(34);
  }
  return 0;
}
"#;

/// How many processes have this name.
fn running(name: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let named = |process: &PathBuf| {
        let found = fs::read_to_string(process.join("comm"));
        found.is_ok_and(|found| found.trim() == name)
    };
    all.map(|entry| entry.path()).filter(named).count()
}

#[test]
fn no_process_of_a_program_stays() {
    for restart in ["warm", "fork", "exec"] {
        let name = format!("stays-{restart}");
        let bench = Bench::new(&format!("{name}.c"), FORKS);
        let line = format!("check --format json --restart {restart} {name}.c");
        let output = bench.run(&line);
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(running(&name), 0, "{restart}");
    }
}

/// Ten threads: 10! executions, far too many.
const COUNTER: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *up(void *unused) {
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; i++)
    pthread_create(&threads[i], 0, up, 0);
  for (int i = 0; i < N; i++)
    pthread_join(threads[i], 0);
  return 0;
}
"#;

/// Whether this process was started to ignore SIGHUP, and so are those that it starts.
fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(mask.unwrap().trim(), 16).unwrap() & 1 != 0
}

/// Whatever ends the command, the next one finds and removes what it left.
#[test]
fn no_temporary_directory_stays() {
    let bench = Bench::new("counter.c", COUNTER);
    let temporary = bench.place.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    // Compilers have files of their own there.
    let left = || {
        let all = fs::read_dir(&temporary).unwrap().flatten();
        let ours = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        ours.filter(|name| name.starts_with("reweave-")).count()
    };
    for signal in ["HUP", "TERM", "KILL"] {
        // As with `nohup`.
        if signal == "HUP" && ignores_hangups() {
            continue;
        }
        let mut command = bench.command("check --format json -DN=10 counter.c");
        command.env("TMPDIR", &temporary);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        for _ in 0..3000 {
            if left() > 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        // Of SIGKILL the command itself hears nothing.
        if signal != "KILL" {
            assert_eq!(left(), 0, "{signal}");
        }
    }
    let mut command = bench.command("check -DN=2 counter.c");
    let last = command.env("TMPDIR", &temporary).output().unwrap();
    assert_eq!(last.status.code(), Some(0), "{last:?}");
    assert_eq!(left(), 0);
}
