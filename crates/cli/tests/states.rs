//! `--algorithm stateful` on compiled programs: few runs, nothing missed, and another algorithm where states do not hold everything.

mod bench;

use bench::{Bench, err};
use serde_json::Value;

/// The result of a check of a source.
fn check(source: &str, name: &str, options: &[&str]) -> Value {
    let bench = Bench::new();
    bench.file(name, source);
    let always = ["check", "--format", "json", "--algorithm", "stateful", name];
    let output = bench.run(&[&always[..], options].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)))
}

fn paper(name: &str) -> String {
    let path = format!(
        "{}/../../programs/papers/{name}",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(path).unwrap()
}

/// Explored by states, completely, and without an error: how many runs that were.
fn runs(result: &Value) -> u64 {
    assert_eq!(result["algorithm"], "stateful", "{result}");
    assert_eq!(result["complete"], true, "{result}");
    assert_eq!(result["errors"], Value::Array(Vec::new()), "{result}");
    let redundant = result["blocked_by"]["redundant"].as_u64().unwrap();
    result["executions"].as_u64().unwrap() + redundant
}

/// The kinds of the errors of a program.
fn kinds(result: &Value) -> Vec<&str> {
    let errors = result["errors"].as_array().unwrap().iter();
    errors
        .map(|error| error["kind"].as_str().unwrap())
        .collect()
}

/// No more runs to an end than Table 1 of the paper has.
#[test]
fn the_papers_programs_take_few_runs() {
    let cases: [(&str, &[&str], u64); 4] = [
        ("example1.c", &["-DN=64"], 35),
        ("sharedarray.c", &[], 98),
        ("pfscan.c", &["-DWORKERS=1"], 71),
        ("bzip2smp.c", &["-DWORKERS=1"], 4598),
    ];
    for (name, options, most) in cases {
        let options = [options, &["--workers", "1"]].concat();
        let result = check(&paper(name), name, &options);
        let (all, whole) = (runs(&result), result["executions"].as_u64().unwrap());
        println!("{name} {options:?}: {whole} of {all} runs to an end");
        assert!(whole <= most, "{name} {options:?}: {whole} runs");
    }
}

/// Each of two threads has 13 sections under one lock, so there are 14 times 14 places between sections; optimal has C(26, 13) executions.
#[test]
fn many_orders_have_few_states() {
    let result = check(
        &paper("example1.c"),
        "example1.c",
        &["-DN=64", "--workers", "1"],
    );
    assert!(runs(&result) <= 14 * 14);
}

/// Two threads take two locks in opposite orders and back off from each other: a cycle of states that every schedule can leave.
const BACKING_OFF: &str = r#"
#include <mutex>
#include <thread>
std::mutex first, second;
int value;
int main() {
  std::thread other([] { std::scoped_lock both(second, first); value++; });
  { std::scoped_lock both(first, second); value++; }
  other.join();
  return value - 2;
}
"#;

#[test]
fn threads_that_back_off_are_explored_completely() {
    assert!(runs(&check(BACKING_OFF, "back.cc", &[])) > 1);
}

/// It waits for what nothing brings.
const WAITS: &str = r#"
#include <stdatomic.h>
#include <pthread.h>
static atomic_int ready;
static void *wait(void *unused) {
  while (atomic_load(&ready) != 2) {}
  return unused;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, wait, 0);
  atomic_store(&ready, LAST);
  pthread_join(thread, 0);
}
"#;

#[test]
fn a_cycle_that_nothing_leaves_is_a_livelock() {
    let result = check(WAITS, "waits.c", &["-DLAST=1"]);
    assert_eq!(kinds(&result), ["livelock"], "{result}");
    let result = check(WAITS, "waits.c", &["-DLAST=2"]);
    assert_eq!(
        (&result["complete"], kinds(&result)),
        (&true.into(), vec![]),
        "{result}"
    );
}

/// Which thread was last is in no object of the model, but in a variable that only code without hooks writes.
const UNSEEN: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int last, looked;
__attribute__((no_sanitize_thread, noinline)) static void put(int who) { *(volatile int *)&last = who; }
static void *work(void *who) {
  pthread_mutex_lock(&lock);
  put(who ? 1 : 2);
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
  looked++;
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, work, &lock);
  pthread_create(&two, 0, work, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  assert(last != BAD);
}
"#;

#[test]
fn memory_that_no_hook_sees_belongs_to_the_state() {
    for bad in ["-DBAD=1", "-DBAD=2"] {
        let result = check(UNSEEN, "unseen.c", &[bad, "--races", "ignore"]);
        assert_eq!(kinds(&result), ["assertion"], "{bad}: {result}");
        assert_eq!(result["algorithm"], "stateful");
    }
}

/// The race is between what comes before and after a state that is reached with and without it.
const RACE: &str = r#"
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value, other;
static void *work(void *first) {
  if (first) value = 1;
  pthread_mutex_lock(&lock);
  other++;
  pthread_mutex_unlock(&lock);
  if (!first) value = 1;
  return 0;
}
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, work, &lock);
  pthread_create(&two, 0, work, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
}
"#;

#[test]
fn memory_without_a_lock_is_left_to_whole_runs() {
    let result = check(RACE, "race.c", &[]);
    assert_eq!(
        (&result["algorithm"], kinds(&result)),
        (&"optimal".into(), vec!["data-race"])
    );
    let because = result["algorithm_because"].as_str().unwrap();
    assert!(because.contains("without one lock"), "{because}");
}

/// What a pipe holds, and when a clock says what, is in no state.
#[test]
fn what_no_state_holds_is_left_to_optimal() {
    let around = |body: &str| {
        format!(
            "#include <pthread.h>\n#include <stdlib.h>\n#include <time.h>\n#include <unistd.h>\n\
             static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
             static void *work(void *unused) {{ pthread_mutex_lock(&lock); {body} pthread_mutex_unlock(&lock); return unused; }}\n\
             int main(void) {{ pthread_t one; pthread_create(&one, 0, work, 0); work(0); pthread_join(one, 0); }}"
        )
    };
    for (body, why) in [
        (
            "struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now);",
            "clock",
        ),
        (
            "int ends[2]; if (pipe(ends)) abort(); close(ends[0]); close(ends[1]);",
            "no part of a state",
        ),
    ] {
        let result = check(&around(body), "program.c", &[]);
        assert_eq!(result["algorithm"], "optimal", "{body}: {result}");
        let because = result["algorithm_because"].as_str().unwrap();
        assert!(because.contains(why), "{body}: {because}");
    }
}
