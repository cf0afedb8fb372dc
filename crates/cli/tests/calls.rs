//! Programs that were built without hooks, explored by their library calls: `check --granularity calls`.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tempfile::TempDir;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");

/// Two threads that add to a counter, three places in all, one of which waits for the other by memory alone.
const SPINS: &str = r#"
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *set(void *unused) {
    // At its first call the thread lets the other one go on, which comes to none.
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&ready, 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, set, 0);
    while (!atomic_load(&ready)) {}
    atomic_fetch_add(&ready, 2);
    pthread_join(thread, 0);
    atomic_fetch_add(&ready, 4);
    return 0;
}
"#;

/// A thread that a constructor creates, which is before `main`.
const EARLY: &str = r#"
#include <pthread.h>

static void *nothing(void *unused) { return unused; }

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
}

int main(void) { return 0; }
"#;

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("there is room"))
    }

    /// A program as any compiler makes it.
    fn plain(&self, name: &str, sources: &[&Path], flags: &[&str]) -> PathBuf {
        let program = self.0.path().join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-O1", "-w", "-pthread", "-o"]);
        let output = compiler
            .arg(&program)
            .args(sources)
            .args(flags)
            .output()
            .expect("there is a compiler");
        assert!(output.status.success(), "{output:?}");
        program
    }

    fn plain_text(&self, name: &str, source: &str) -> PathBuf {
        let file = self.0.path().join(format!("{name}.c"));
        fs::write(&file, source).expect("there is room");
        self.plain(name, &[&file], &[])
    }

    /// A program of the corpus.
    fn corpus(&self, name: &str) -> PathBuf {
        let file = Path::new(PROGRAMS).join(name).with_extension("c");
        let name = file.file_stem().expect("it has a name").to_string_lossy();
        self.plain(&name, &[&file], &[])
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_reweave"))
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .expect("the command was built with the tests")
    }

    /// Explores a program: its exit code and its result.
    fn check(&self, program: &Path, options: &[&str]) -> (Option<i32>, Value) {
        let mut words = vec!["check", "--granularity", "calls", "--format", "json"];
        words.extend(options);
        let program = program.to_string_lossy();
        words.extend(["--", &program]);
        let output = self.run(&words);
        let text = String::from_utf8_lossy(&output.stdout);
        let result = serde_json::from_str(&text);
        let result = result.unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.status.code(), result)
    }

    /// What the command says about words that do not go together.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// One before the other, the other before the one, and the deadlock: 3 classes. In the corrected program, 2.
#[test]
fn a_deadlock_is_found_and_replayed_without_hooks() {
    let place = Place::new();
    let program = place.corpus("classics/lock-order");
    for restart in ["warm", "fork", "exec"] {
        let options = ["--keep-going", "--restart", restart];
        let (code, result) = place.check(&program, &options);
        assert_eq!(code, Some(1), "{result}");
        assert_eq!(result["incomplete"], serde_json::json!(["calls-only"]));
        assert_eq!(result["errors"][0]["kind"], "deadlock");
        assert_eq!(result["executions"], 3);
        assert_eq!(result["algorithm"], "dpor");
        let trace = result["errors"][0]["trace"].as_str().expect("it is stored");
        let again = place.run(&["replay", trace]);
        assert_eq!(again.status.code(), Some(1), "{again:?}");
    }
    let program = place.corpus("classics/lock-order-fixed");
    let (code, result) = place.check(&program, &[]);
    assert_eq!(code, Some(3), "{result}");
    assert_eq!(result["executions"], 2);
    assert_eq!(result["complete"], false);
    assert_eq!(result["incomplete"], serde_json::json!(["calls-only"]));
}

/// A thread that waits by memory alone is no livelock: what ends the wait is not seen. The three additions are found.
#[test]
fn a_loop_that_is_not_seen_is_no_error() {
    let place = Place::new();
    let program = place.plain_text("spins", SPINS);
    let (code, result) = place.check(&program, &["--max-time", "500ms"]);
    assert_eq!(code, Some(3), "{result}");
    assert_eq!(result["errors"], serde_json::json!([]));
    let why = "unsupported: a thread that goes on for long without a call";
    assert_eq!(result["incomplete"], serde_json::json!(["calls-only", why]));
    let unseen = serde_json::json!({"file": "spins", "atomics": 3, "system_calls": 0});
    assert_eq!(result["unseen"], serde_json::json!([unseen]));
    let program = program.to_string_lossy();
    let words = ["check", "--granularity", "calls", "--max-time", "500ms"];
    let text = place.run(&[&words[..], &["--", &program]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("3 atomic instructions: 3 in spins"), "{text}");
}

#[test]
fn threads_before_main_are_refused_by_name() {
    let place = Place::new();
    let program = place.plain_text("early", EARLY);
    let words = ["check", "--granularity", "calls", "--"];
    let program = program.to_string_lossy();
    let text = place.refused(&[&words[..], &[&program]].concat());
    assert!(text.contains("before its `main`"), "{text}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let place = Place::new();
    let file = Path::new(PROGRAMS).join("classics/lock-order.c");
    let source = file.to_string_lossy();
    let plain = place.plain("plain", &[&file], &[]);
    let plain = plain.to_string_lossy();
    let fixed = place.plain("static", &[&file], &["-static"]);
    let fixed = fixed.to_string_lossy();
    let hooked = place.0.path().join("hooked");
    let hooked = hooked.to_string_lossy();
    let built = place.run(&["cc", "-o", &hooked, &source, "-pthread"]);
    assert!(built.status.success(), "{built:?}");
    let calls = ["check", "--granularity", "calls"];
    let cases: [(&[&str], &str); 6] = [
        (&[&source], "for a program after `--`"),
        (&["--", &hooked], "leave out `--granularity calls`"),
        (&["--", &fixed], "linked statically"),
        (
            &["--algorithm", "rf", "--", &plain],
            "--algorithm rf has to",
        ),
        (
            &["--algorithm", "optimal", "--", &plain],
            "--algorithm optimal has to",
        ),
        (
            &["--races", "explore", "--", &plain],
            "--races explore needs",
        ),
    ];
    for (words, expected) in cases {
        let text = place.refused(&[&calls[..], words].concat());
        assert!(text.contains(expected), "{words:?}: {text}");
    }
    let text = place.refused(&["check", "--", &plain]);
    assert!(text.contains("`--granularity calls`"), "{text}");
}
