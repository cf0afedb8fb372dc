//! `reweave check` and `replay` as a user meets them, on small C and C++ programs.

use serde_json::Value;
use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A directory to work in, with a cache that all tests share.
struct Bench {
    place: TempDir,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Bench {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(place.path().join(name), text).unwrap();
        }
        Bench { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
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

    fn run(&self, line: &str) -> Told {
        Told::of(self.command(line).output().unwrap())
    }
}

struct Told {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Told {
    fn of(output: Output) -> Told {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Told {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    #[track_caller]
    fn ends(self, code: i32) -> Told {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        self
    }

    #[track_caller]
    fn says(self, parts: &[&str]) -> Told {
        for part in parts {
            let said = self.out.contains(part) || self.err.contains(part);
            assert!(said, "{part}:\n{}{}", self.out, self.err);
        }
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}{}", self.out, self.err))
    }
}

/// N threads count up under a lock, in any order: N! executions.
const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#ifndef N
#define N 2
#endif
static struct { pthread_mutex_t lock; int value; } counter = { PTHREAD_MUTEX_INITIALIZER, 0 };
static void *up(void *unused) {
  pthread_mutex_lock(&counter.lock);
  counter.value++;
  pthread_mutex_unlock(&counter.lock);
  return unused;
}
int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; i++) pthread_create(&threads[i], 0, up, 0);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  puts("all done");
  assert(counter.value == N);
}
"#;

/// As above without the lock: line 8 races with itself.
const RACE: &str = r#"
#include <pthread.h>
#include <stdio.h>
static int value;
static void *up(void *unused) {
  printf("going up\n");
  for (int i = 0; i < 1; i++)
    value++;
  return unused;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, up, 0);
  up(0);
  pthread_join(other, 0);
}
"#;

const INVERSION: &str = r#"
#include <mutex>
#include <thread>
std::mutex first, second;
int main() {
  std::thread other([] {
    std::lock_guard one(second);
    std::lock_guard two(first);
  });
  {
    std::lock_guard one(first);
    std::lock_guard two(second);
  }
  other.join();
}
"#;

#[test]
fn a_correct_program_is_explored_completely() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    let told = bench.run("check counter.c").ends(0);
    let line = "counter.c: complete, 2 executions, no error under sequential consistency\n";
    assert!(told.out.starts_with(line), "{}", told.out);
    assert_eq!(told.err, "");
    assert!(!told.out.contains("all done"), "{}", told.out);
    // 4! = 24; the options of the compiler may stand anywhere.
    bench
        .run("check -DN=4 -O2 --workers 1 -Wall counter.c -std=c11")
        .ends(0)
        .says(&["complete, 24 executions"]);
    assert!(!bench.path("reweave-out").exists());
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    let told = bench.run("check --format json -D N=3 counter.c").ends(0);
    let result = told.json();
    assert_eq!(result["schema"], "reweave.result/1");
    assert_eq!(result["program"], "counter.c");
    assert_eq!(
        (&result["executions"], &result["complete"]),
        (&6.into(), &true.into())
    );
    assert_eq!(
        (&result["algorithm"], &result["restart"]),
        (&"rf".into(), &"warm".into())
    );
    assert_eq!(result["threads_max"], 4);
    assert_eq!(told.err, "");
}

/// Compiled code looks at the guard of a function-local static with an acquire load, which nobody wrote.
#[test]
fn a_static_asks_for_no_weaker_order() {
    let text = "#include <atomic>\n#include <thread>\nstatic std::atomic<int> n;\n\
        static int &get() { static int &made = *new int(n.load(ORDER)); return made; }\n\
        int main() { std::thread t(get); get(); t.join(); delete &get(); }\n";
    let bench = Bench::new(&[("static.cc", text)]);
    let weak = |order: &str| {
        let line = format!("check --format json -DORDER=std::memory_order_{order} static.cc");
        bench.run(&line).ends(0).json()["weak_orders"].clone()
    };
    assert_eq!(weak("seq_cst"), 0);
    assert_eq!(weak("relaxed"), 1);
}

#[test]
fn forked_runs_count_the_same() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    let told = bench
        .run("check --format json -DN=3 --restart fork counter.c")
        .ends(0);
    assert_eq!(told.json()["executions"], 6);
    assert_eq!(told.json()["restart"], "fork");
}

#[test]
fn a_race_is_told_and_run_again() {
    let bench = Bench::new(&[("race.c", RACE)]);
    bench.run("check race.c").ends(1).says(&[
        "data-race in race.c\n",
        " of value: nothing orders them",
        "write by up (1): at race.c:8  value++;",
        "in up at race.c:8\n    in main at race.c:14\n",
        "The program printed:\n  | going up\n",
        "reweave replay reweave-out/race-1.rwt",
        "race.c: 1 error found in 1 execution",
    ]);
    let trace = bench.path("reweave-out/race-1.rwt");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(!text.contains("0x"), "no addresses: {text}");
    // From anywhere, as often as one likes.
    for _ in 0..3 {
        let mut elsewhere = bench.command(&format!("replay {}", trace.display()));
        let told = Told::of(elsewhere.current_dir("/").output().unwrap());
        told.ends(1).says(&["data-race in race.c", "race.c:8"]);
    }
    bench
        .run("report reweave-out/race-1.rwt")
        .ends(0)
        .says(&["data-race"]);
}

/// Beside its traces, and once more where there are some; the one before it is kept to be compared with.
#[test]
fn a_result_is_kept_beside_its_traces() {
    let bench = Bench::new(&[("race.c", RACE)]);
    let read = |name: &str| fs::read_to_string(bench.path(&format!("reweave-out/{name}")));
    bench.run("check race.c").ends(1);
    let first = read("race.result.json").unwrap();
    assert!(
        first.contains("\"trace\": \"reweave-out/race-1.rwt\""),
        "{first}"
    );
    assert!(read("race.previous.json").is_err());
    let told = bench
        .run("check race.c --races ignore --format json")
        .ends(3);
    assert_eq!(read("race.result.json").unwrap(), told.out);
    assert_eq!(read("race.previous.json").unwrap(), first);
}

#[test]
fn a_deadlock_names_who_holds_and_who_waits() {
    let bench = Bench::new(&[("inversion.cc", INVERSION)]);
    let told = bench
        .run("check --format json -std=c++17 --output traces inversion.cc")
        .ends(1);
    let error = &told.json()["errors"][0];
    assert_eq!(
        (&error["kind"], &error["seen"]),
        (&"deadlock".into(), &1.into())
    );
    assert_eq!(error["location"], "inversion.cc:12");
    assert_eq!(error["trace"], "traces/inversion-1.rwt");
    let message = error["message"].as_str().unwrap();
    for part in [
        "main, at inversion.cc:12, waits for second, held by lambda since step 2 (inversion.cc:7)",
        "lambda, at inversion.cc:8, waits for first, held by main since step 1 (inversion.cc:11)",
    ] {
        assert!(message.contains(part), "{message}");
    }
    bench
        .run("replay traces/inversion-1.rwt")
        .ends(1)
        .says(&["deadlock in inversion.cc"]);
}

/// Its value is another one in every process.
const UNSTEADY: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/auxv.h>
static atomic_ulong n;
static void *look(void *unused) {
    atomic_load(&n);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, look, 0);
    atomic_store(&n, *(unsigned long *)getauxval(AT_RANDOM));
    pthread_join(thread, 0);
    return 0;
}
"#;

#[test]
fn a_program_that_does_not_repeat_itself_has_a_document_too() {
    let bench = Bench::new(&[("unsteady.c", UNSTEADY)]);
    let told = bench.run("check --format json unsteady.c").ends(4);
    let result = told.json();
    assert_eq!(result["schema"], "reweave.result/1");
    assert_eq!(result["program"], "unsteady.c");
    assert_eq!(result["complete"], false);
    let why = result["incomplete"][0].as_str().unwrap();
    assert!(why.starts_with("unsupported: the program does not do the same"));
}

#[test]
fn a_program_that_changed_no_longer_fails() {
    let bench = Bench::new(&[("race.c", RACE)]);
    bench.run("check race.c").ends(1);
    fs::write(bench.path("race.c"), RACE.replace("value++", "(void)value")).unwrap();
    bench
        .run("replay reweave-out/race-1.rwt")
        .ends(0)
        .says(&["race-1.rwt no longer fails: the program has changed"]);
    fs::remove_file(bench.path("race.c")).unwrap();
    bench
        .run("replay reweave-out/race-1.rwt")
        .ends(2)
        .says(&["race.c: no such file"]);
}

/// Two threads, two racy variables, each on a line of its own.
const TWO_RACES: &str = r#"
#include <pthread.h>
int one, two;
static void *up(void *unused) {
  one = 1;
  two = 1;
  return unused;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, up, 0);
  up(0);
  pthread_join(other, 0);
}
"#;

#[test]
fn every_distinct_error_is_listed() {
    let bench = Bench::new(&[("two.c", TWO_RACES)]);
    let told = bench.run("check --format json --keep-going two.c").ends(1);
    let result = told.json();
    let places = result["errors"].as_array().unwrap().iter();
    let places: Vec<_> = places
        .map(|error| error["location"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["two.c:5", "two.c:6"]);
    assert_eq!(result["incomplete"], serde_json::json!(["races"]));
    let told = bench.run("check --format json two.c").ends(1);
    assert_eq!(told.json()["errors"].as_array().unwrap().len(), 1);
    let told = bench
        .run("check --format json --races ignore two.c")
        .ends(3);
    assert_eq!(
        told.json()["incomplete"],
        serde_json::json!(["races-unchecked"])
    );
}

#[test]
fn what_is_left_is_said() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    bench
        .run("check -DN=4 --max-executions 5 counter.c")
        .ends(3)
        .says(&["incomplete (max-executions), 5 executions, no error so far"]);
    bench
        .run("check -DN=4 --budget 0ms counter.c")
        .ends(3)
        .says(&["incomplete (budget)"]);
    bench
        .run("check -DN=3 --preemptions 0 counter.c")
        .ends(3)
        .says(&["incomplete (preemptions)", "algorithm dfs"]);
    bench
        .run("check -DN=3 --algorithm random --max-executions 20 counter.c")
        .ends(3)
        .says(&["incomplete (sampling), 20 executions"]);
}

/// Prints its arguments and its input, and fails.
const ECHO: &str = r#"
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char line[100] = "";
  long length = read(0, line, sizeof line - 1);
  printf("%d %s %.*s\n", argc, argv[argc - 1], (int)length, line);
  return 3;
}
"#;

#[test]
fn a_program_as_it_is_with_arguments_and_input() {
    let bench = Bench::new(&[("echo.c", ECHO)]);
    bench.run("cc echo.c -o echo").ends(0);
    for line in ["check -- ./echo --help last", "check echo.c -- --help last"] {
        let mut command = bench.command(line);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"typed").unwrap();
        let told = Told::of(child.wait_with_output().unwrap()).ends(1);
        told.says(&["exit-status in echo", "| 3 last typed"]);
    }
}

const OPENS: &str = r#"
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <sys/resource.h>
#include <unistd.h>

static void *start(void *unused) {
    for (int i = 0; i < 3; i++) {
        int file = open("/dev/null", O_RDONLY);
        reweave_check(fcntl(file, F_GETFD) == 0 && close(file) == 0, "it is not open");
    }
    return unused;
}

int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    reweave_check(limit.rlim_cur <= 1060, "it may have more");
    pthread_t threads[12];
    for (int i = 0; i < 12; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 12; i++)
        pthread_join(threads[i], 0);
}
"#;

/// The runtime has descriptors of its own, none of which a run that is cut leaves behind.
#[test]
fn few_descriptors_are_enough() {
    let bench = Bench::new(&[("opens.c", OPENS)]);
    bench.run("cc opens.c -o opens").ends(0);
    let under = |limit: &str, line: &str| {
        let checked = bench.command(line);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]);
        shell.arg(checked.get_program()).args(checked.get_args());
        Told::of(shell.current_dir(bench.place.path()).output().unwrap())
    };
    under("-Sn 1020", "check -- ./opens").ends(0);
    let cut = "check --workers 1 --max-steps 7 --max-executions 300 --algorithm dfs -- ./opens";
    let told = under("-n 1060", cut).ends(3);
    told.says(&["incomplete (max-executions, max-steps)", "300 executions"]);
    let told = under("-n 256", "check -- ./opens").ends(2);
    told.says(&["the limit on open files is 256", "needs 1024"]);
}

#[test]
fn what_cannot_be_started_has_a_sentence() {
    let bench = Bench::new(&[
        ("bad.c", "int main(void) { return nothing; }\n"),
        ("lone.c", "int x;\n"),
        ("plain", "no program"),
    ]);
    let cases = [
        ("check bad.c", "bad.c:1:25: error:"),
        ("check bad.c", "reweave: bad.c does not compile\n"),
        ("check none.c", "reweave: none.c: no such file\n"),
        ("check lone.c", "reweave: the program could not be linked"),
        ("check -- ./none", "reweave: ./none: cannot be started"),
        ("check -- ./plain", "reweave: ./plain: cannot be started"),
        ("check -- /bin/true", "reweave: /bin/true"),
        ("check lone.c --bugdet 3s", "did you mean --budget?"),
        ("check", "what is to be explored?"),
    ];
    for (line, says) in cases {
        let told = bench.run(line).ends(2);
        assert!(told.err.contains(says), "{line}: {}", told.err);
        assert_eq!(told.out, "", "{line}");
    }
    let mut without = bench.command("check lone.c");
    let told = Told::of(without.env("PATH", "").output().unwrap()).ends(2);
    told.says(&["reweave: no C compiler: none of cc, gcc, clang is in PATH"]);
}

/// Files that are programs, but none that can be explored.
#[test]
fn programs_of_other_kinds_have_a_sentence() {
    let bench = Bench::new(&[
        ("it.c", "int main(void) { return 0; }\n"),
        ("script", "#!/bin/sh\nexec it\n"),
    ]);
    let compiled = |words: &[&str]| {
        let made = Command::new("cc")
            .args(words)
            .current_dir(bench.place.path())
            .status();
        assert!(made.unwrap().success(), "{words:?}");
    };
    let allow = |name: &str, mode: u32| {
        fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    compiled(&["it.c", "-o", "plain"]);
    compiled(&["it.c", "-static", "-o", "static"]);
    fs::copy(bench.path("plain"), bench.path("as-root")).unwrap();
    let mut bytes = fs::read(bench.path("plain")).unwrap();
    // Where the machine is named: AArch64.
    bytes[18] = 183;
    fs::write(bench.path("other"), bytes).unwrap();
    fs::write(bench.path("data"), "no program").unwrap();
    for (name, mode) in [
        ("as-root", 0o4755),
        ("other", 0o755),
        ("data", 0o755),
        ("script", 0o755),
    ] {
        allow(name, mode);
    }
    let cases = [
        ("as-root", "set-uid"),
        ("static", "it is linked statically"),
        ("other", "it is for another kind of machine"),
        ("data", "it is no program"),
        (
            "script",
            "it is a script (#!/bin/sh), and only programs are explored; name the program",
        ),
        ("it.c", "it is not executable"),
        ("../", "it is no file"),
    ];
    for (name, says) in cases {
        let told = bench.run(&format!("check -- ./{name}")).ends(2);
        assert!(told.err.contains(says), "{name}: {}", told.err);
        assert_eq!(
            (told.err.lines().count(), told.out.as_str()),
            (1, ""),
            "{name}"
        );
    }
    fs::create_dir(bench.path(".libs")).unwrap();
    fs::copy(bench.path("plain"), bench.path(".libs/script")).unwrap();
    let told = bench.run("check -- ./script").ends(2);
    told.says(&["the program that it starts is likely ./.libs/script"]);
}

#[test]
fn without_debug_information_places_are_functions() {
    let race = "#include <pthread.h>\nint x;\nvoid *up(void *u) { x++; return u; }\nint main(void) {\n\
        pthread_t t;\npthread_create(&t, 0, up, 0);\nx++;\npthread_join(t, 0);\n}\n";
    let bench = Bench::new(&[("race.c", race)]);
    bench.run("cc race.c -o race").ends(0);
    for (strip, place) in [("--strip-debug", " in up"), ("--strip-all", "at race+0x")] {
        let status = Command::new("strip")
            .arg(strip)
            .arg(bench.path("race"))
            .status();
        assert!(status.unwrap().success());
        let told = bench.run("check -- ./race").ends(1);
        told.says(&["./race: has no debug information", "data-race", place]);
        bench.run("replay reweave-out/race-1.rwt").ends(1);
    }
}

/// A run that hangs is given up when the time is over, and is not over before.
#[test]
fn a_budget_ends_a_run_that_hangs() {
    let bench = Bench::new(&[(
        "hang.c",
        "int main(void) { for (;;) __asm__ volatile(\"\"); }\n",
    )]);
    let start = Instant::now();
    let told = bench.run("check --budget 1s hang.c").ends(3);
    told.says(&["incomplete (budget)"]);
    assert!(start.elapsed() >= Duration::from_secs(1));
    let told = bench.run("check --max-time 50ms hang.c").ends(1);
    told.says(&["livelock in hang.c"]);
}

#[test]
fn every_rung_counts_the_same() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    for rung in ["auto", "warm", "fork", "exec"] {
        let told = bench
            .run(&format!(
                "check --format json -DN=3 --restart {rung} counter.c"
            ))
            .ends(0);
        let result = told.json();
        assert_eq!(result["executions"], 6, "{rung}");
        assert_eq!(
            result["restart"],
            if rung == "auto" { "warm" } else { rung }
        );
    }
}

#[test]
fn a_thread_before_main_has_a_sentence() {
    let bench = Bench::new(&[(
        "early.c",
        "#include <pthread.h>\n\
         static void *start(void *argument) { return argument; }\n\
         __attribute__((constructor)) static void early(void) {\n\
             pthread_t thread;\n\
             pthread_create(&thread, 0, start, 0);\n\
         }\n\
         int main(void) { return 0; }\n",
    )]);
    bench
        .run("check early.c")
        .ends(2)
        .says(&["creates a thread before its `main`"]);
}

#[test]
fn no_more_output_is_kept_than_asked_for() {
    let program = "#include <stdio.h>\n#include <stdlib.h>\n\
                   int main(void) { for (int i = 0; i < 9000; i++) puts(\"0123456789\"); abort(); }\n";
    let bench = Bench::new(&[("wordy.c", program)]);
    let says = "  | 01\n  | (cut after 1025 bytes)\n";
    bench
        .run("check --max-output 1025 wordy.c")
        .ends(1)
        .says(&[says]);
    let trace = fs::read(bench.path("reweave-out/wordy-1.rwt")).unwrap();
    let trace: Value = serde_json::from_slice(&trace).unwrap();
    let output = trace["output"].as_str().unwrap();
    assert_eq!(output.len(), 1025 + "\n(cut after 1025 bytes)".len());
    // All of it is less than what is kept otherwise.
    let told = bench.run("check wordy.c").ends(1);
    assert!(!told.out.contains("(cut after"), "{}", told.out);
}

#[test]
fn help_names_every_option() {
    let told = Bench::new(&[]).run("check --help").ends(0);
    for option in [
        "--algorithm",
        "--races",
        "--keep-going",
        "--output",
        "--max-time",
        "--max-memory",
        "--max-output",
        "Exit codes",
    ] {
        assert!(told.out.contains(option), "{option}");
    }
}

/// The trace file cannot be written; the error is reported all the same.
#[test]
fn a_place_for_traces_that_is_none() {
    let bench = Bench::new(&[("race.c", RACE), ("out", "a file")]);
    bench.run("check --output out race.c").ends(1).says(&[
        "data-race",
        "There is no trace file",
        "out: cannot be created",
    ]);
}

/// Ten threads: 10! executions, far too many.
#[test]
fn ctrl_c_reports_what_is_known() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    let mut command = bench.command("check --format json -DN=10 counter.c");
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let own = child.id();
    // The signal is caught from before the program is started.
    let started = || {
        let tasks = fs::read_dir(format!("/proc/{own}/task"));
        let tasks = tasks.into_iter().flatten().flatten();
        let children = tasks.map(|task| fs::read_to_string(task.path().join("children")));
        let children: String = children.map(Result::unwrap_or_default).collect();
        children.split_whitespace().any(|child| {
            let name = fs::read_to_string(format!("/proc/{child}/comm"));
            name.is_ok_and(|name| name.trim() == "counter")
        })
    };
    for _ in 0..3000 {
        if started() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Command::new("kill")
        .args(["-INT", &own.to_string()])
        .status();
    assert!(sent.unwrap().success());
    let told = Told::of(child.wait_with_output().unwrap()).ends(3);
    let result = told.json();
    assert_eq!(result["complete"], false);
    assert_eq!(result["incomplete"], serde_json::json!(["interrupted"]));
    assert_eq!(
        told.err,
        "reweave: interrupted; to continue:\n  reweave check --resume --format json -DN=10 counter.c\n"
    );
    assert!(bench.path("reweave-out/counter.search").exists());
}

#[test]
fn every_way_is_estimated() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    let sizes = bench
        .run("estimate --format json -DN=2 counter.c")
        .ends(0)
        .json();
    assert_eq!(sizes["schema"], "reweave.estimate/1");
    let all = sizes["estimates"].as_array().unwrap();
    let of = |algorithm: &str| {
        let found = all.iter().find(|size| size["algorithm"] == algorithm);
        found.expect("every algorithm is tried")
    };
    // Two threads take one lock, in either order.
    assert_eq!(of("optimal")["executions"], 2.0);
    assert_eq!(
        (&of("optimal")["exact"], &of("optimal")["covered"]),
        (&true.into(), &1.0.into())
    );
    assert!(of("dfs")["executions"].as_f64() >= Some(2.0));
    assert_eq!(
        all.iter()
            .filter(|size| size["preemptions"].is_number())
            .count(),
        3
    );
    let text = bench.run("estimate -DN=2 counter.c").ends(0).out;
    assert!(
        text.contains("\n  optimal                     2 "),
        "{text}"
    );
}

#[test]
fn logs_are_evaluated_and_cut_ones_are_not() {
    let bench = Bench::new(&[("counter.c", COUNTER)]);
    let line = "check --algorithm optimal --log counter.log -DN=4 counter.c";
    bench.run(line).ends(0);
    let table = bench.run("evaluate counter.log").ends(0).out;
    assert!(table.contains("Accuracy after 25%"), "{table}");
    assert!(table.contains("\nl+w+log "), "{table}");
    assert!(table.contains("\nprobing often "), "{table}");
    assert!(table.contains("\nMeans by size "), "{table}");
    let whole = std::fs::read(bench.path("counter.log")).unwrap();
    std::fs::write(bench.path("cut.log"), &whole[..whole.len() / 2]).unwrap();
    let told = bench.run("evaluate cut.log").ends(2);
    assert_eq!(
        told.err,
        "reweave: cut.log: the exploration log is cut: it does not say how the search ended\n"
    );
    bench.run("check --log no/such/place.log counter.c").ends(2);
    // 4! orders, on clusters.
    let line = "simulate --workers 1,8 --execution 500ms --lost 20 --seed 3 counter.log";
    let table = bench.run(line).ends(0).out;
    assert!(table.starts_with("24 executions, "), "{table}");
    assert_eq!(table.lines().count(), 5, "{table}");
    assert_eq!(
        bench.run(line).ends(0).out,
        table,
        "a seed reproduces a run"
    );
    let made_up = bench.run("simulate --workers 4 --tree resource:6,3 --format json");
    let courses: serde_json::Value = serde_json::from_str(&made_up.ends(0).out).unwrap();
    assert_eq!(courses[0]["executions"], 162);
    let told = bench.run("simulate --workers 4 cut.log").ends(2).err;
    assert!(told.contains("the exploration log is cut"), "{told}");
    let told = bench.run("simulate --workers 4 --tree bush:3").ends(2).err;
    assert!(told.contains("there are scheduling:THREADS"), "{told}");
}
