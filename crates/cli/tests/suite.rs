//! `reweave suite` as a user meets it, on small C programs and some of the corpus.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

struct Bench {
    place: TempDir,
}

struct Told {
    code: Option<i32>,
    out: String,
    err: String,
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

    fn try_run(&self, line: &str) -> Told {
        let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
            .args(line.split_whitespace())
            .current_dir(self.place.path())
            .env(
                "XDG_CACHE_HOME",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
            )
            .env_remove("CC")
            .env_remove("CXX")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Told {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    #[track_caller]
    fn run(&self, line: &str, code: i32) -> Told {
        let told = self.try_run(line);
        assert_eq!(told.code, Some(code), "{line}\n{}{}", told.out, told.err);
        told
    }
}

impl Told {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{}{}", self.out, self.err))
    }
}

fn corpus(name: &str) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    programs
        .join(name)
        .canonicalize()
        .unwrap()
        .display()
        .to_string()
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    let tests = document["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["name"] == name);
    test.unwrap_or_else(|| panic!("{name}: {document}"))
}

/// N threads count up under a lock, in any order: N! executions.
const COUNTER: &str = "#include <pthread.h>\n\
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
    static int value;\n\
    static void *up(void *unused) {\n\
      pthread_mutex_lock(&lock);\n\
      value++;\n\
      pthread_mutex_unlock(&lock);\n\
      return unused;\n\
    }\n\
    int main(void) {\n\
      pthread_t threads[N];\n\
      for (int i = 0; i < N; i++) pthread_create(&threads[i], 0, up, 0);\n\
      for (int i = 0; i < N; i++) pthread_join(threads[i], 0);\n\
      return 0;\n\
    }\n";

fn counter(name: &str, n: u32) -> String {
    format!("[[test]]\nname = \"{name}\"\nfiles = [\"counter.c\"]\nflags = [\"-DN={n}\"]\n")
}

#[test]
fn tests_are_held_against_what_is_expected() {
    let file = |name: &str| format!("files = [\"{}\"]", corpus(name));
    let text = format!(
        "[[test]]\nname = \"order\"\n{}\nexpect = \"deadlock\"\n\
         [[test]]\nname = \"fixed\"\n{}\n\
         [[test]]\nname = \"wrong\"\n{}\nexpect = \"deadlock\"\n\
         [[test]]\nname = \"race\"\n{}\n\
         [[test]]\nname = \"bounded\"\nfiles = [\"counter.c\"]\nflags = [\"-DN=3\"]\npreemptions = 0\nexpect = \"no-error\"\n\
         [[test]]\nname = \"gone\"\nprogram = \"./nowhere\"\n\
         [[test]]\nname = \"bad\"\nfiles = [\"bad.c\"]\n",
        file("classics/lock-order.c"),
        file("classics/lock-order-fixed.c"),
        file("classics/lock-order-fixed.c"),
        file("classics/lost-update-plain.c"),
    );
    let bench = Bench::new(&[
        ("s.toml", &text),
        ("counter.c", COUNTER),
        ("bad.c", "int main(\n"),
    ]);
    let told = bench.run("suite s.toml --format json --budget 5m --junit j.xml", 1);
    let document = told.json();
    assert_eq!(document["schema"], "reweave.suite/1");
    let verdict = |name: &str| test(&document, name)["verdict"].clone();
    for (name, wanted) in [
        ("order", "ok"),
        ("fixed", "ok"),
        ("wrong", "failed"),
        ("race", "failed"),
        ("bounded", "ok"),
        ("gone", "broken"),
        ("bad", "broken"),
    ] {
        assert_eq!(verdict(name), wanted, "{name}: {}", told.out);
    }
    let message = |name: &str| test(&document, name)["message"].to_string();
    assert!(message("wrong").contains("deadlock was expected, and there is none"));
    assert!(message("race").contains("data-race at"));
    assert!(
        message("gone").contains("nowhere: cannot be started"),
        "{}",
        message("gone")
    );
    assert!(message("bad").contains("bad.c does not compile"));
    assert_eq!(test(&document, "fixed")["result"]["complete"], true);
    let trace = bench.path("reweave-out/race-1.rwt");
    assert!(trace.exists());
    let junit = fs::read_to_string(bench.path("j.xml")).unwrap();
    assert!(
        junit.contains("tests=\"7\" failures=\"2\" errors=\"2\""),
        "{junit}"
    );
    // Shown again, it is the table.
    fs::write(bench.path("suite.json"), &told.out).unwrap();
    let shown = bench.run("report suite.json --junit k.xml", 0);
    assert_eq!(fs::read_to_string(bench.path("k.xml")).unwrap(), junit);
    assert!(
        shown.out.contains("7 tests: 3 ok, 2 failed, 2 broken"),
        "{}",
        shown.out
    );
}

#[test]
fn everything_as_expected() {
    let text = counter("two", 2) + &counter("four", 4);
    let bench = Bench::new(&[("reweave.toml", &text), ("counter.c", COUNTER)]);
    for policy in ["finish-most", "even", "round-robin"] {
        let told = bench.run(&format!("suite --policy {policy} --format json"), 0);
        let document = told.json();
        assert_eq!(test(&document, "two")["result"]["executions"], 2);
        assert_eq!(test(&document, "four")["result"]["executions"], 24);
        assert_eq!(document["policy"], policy);
    }
    let told = bench.run("suite", 0);
    assert!(
        told.out.starts_with("test  verdict  executions"),
        "{}",
        told.out
    );
    assert!(
        told.out.contains("reweave.toml: 2 tests: 2 ok;"),
        "{}",
        told.out
    );
}

/// 8! = 40,320 executions, by many small budgets: the first ones are too small for anything.
#[test]
fn an_unfinished_search_goes_on_where_it_stopped() {
    let text = "[[test]]\nprogram = \"./large\"\n".to_owned() + &counter("small", 3);
    let bench = Bench::new(&[("s.toml", &text), ("counter.c", COUNTER)]);
    bench.run("cc -DN=8 counter.c -o large", 0);
    let (mut seen, mut parts) = (0, 0);
    let last = loop {
        parts += 1;
        let budget = 100 * parts;
        let line =
            format!("suite s.toml --budget {budget}ms --workers 1 --state state --format json");
        let told = bench.try_run(&line);
        let document = told.json();
        let large = test(&document, "large").clone();
        if told.code == Some(0) {
            break large;
        }
        assert_eq!(told.code, Some(3), "{document}");
        let executions = large["result"]["executions"].as_u64().unwrap_or(seen);
        assert!(executions >= seen, "nothing is lost: {document}");
        assert!(parts < 200, "{document}");
        seen = executions;
    };
    // Eight times lock, unlock and join.
    let result = &last["result"];
    assert_eq!(result["executions"], 40_320);
    assert_eq!(result["events"], 40_320 * 24);
    assert!(parts > 1 && seen > 0, "it was explored in parts");
}

#[test]
fn a_program_that_changed_begins_from_the_beginning() {
    let text = "[[test]]\nprogram = \"./large\"\n";
    let bench = Bench::new(&[("s.toml", text), ("counter.c", COUNTER)]);
    bench.run("cc -DN=10 counter.c -o large", 0);
    let line = "suite s.toml --budget 1s --state state";
    bench.run(line, 3);
    bench.run("cc -DN=9 counter.c -o large", 0);
    let told = bench.run(line, 3);
    let says = "large: the program has changed since";
    assert!(told.err.contains(says), "{}", told.err);
    assert_eq!(bench.run(line, 3).err, "");
}

#[test]
fn bad_input_has_a_sentence() {
    let bench = Bench::new(&[
        ("s.toml", &counter("two", 2)),
        ("counter.c", COUNTER),
        (
            "wrong.toml",
            "[[test]]\nfiles = [\"counter.c\"]\nexpct = \"clean\"\n",
        ),
        (
            "cut",
            "{\"schema\": \"reweave.suite-state/1\", \"tests\": {",
        ),
        (
            "newer",
            "{\"schema\": \"reweave.suite-state/2\", \"tests\": {}}",
        ),
    ]);
    for (line, says) in [
        (
            "suite",
            "reweave.toml: no such file; `reweave suite --init`",
        ),
        ("suite wrong.toml", "wrong.toml:3: unknown field `expct`"),
        ("suite s.toml --budget 0s", "a budget of nothing"),
        (
            "suite s.toml --budget soon",
            "--budget soon: a time such as",
        ),
        ("suite s.toml --policy fair", "no policy is called `fair`"),
        ("suite s.toml --state cut", "cut: not the state of a suite"),
        (
            "suite s.toml --state newer",
            "newer: it is a `reweave.suite-state/2`",
        ),
    ] {
        let told = bench.run(line, 2);
        assert!(told.err.contains(says), "{line}: {}", told.err);
        assert_eq!(told.out, "", "{line}");
    }
}

#[test]
fn a_first_file_is_written_once() {
    let bench = Bench::new(&[
        ("counter.c", COUNTER),
        ("part.c", "void helper(void) { main_loop(); }\n"),
        (
            "it's \"odd\".cc",
            "int\nmain (int argc, char **argv)\n{ return 0; }\n",
        ),
    ]);
    let told = bench.run("suite --init", 0);
    assert_eq!(told.out, "reweave.toml: 2 tests\n");
    let text = fs::read_to_string(bench.path("reweave.toml")).unwrap();
    assert!(text.contains("files = [\"counter.c\"]"), "{text}");
    assert!(text.contains(r#"files = ["it's \"odd\".cc"]"#), "{text}");
    assert!(!text.contains("part.c"), "{text}");
    let told = bench.run("suite --init", 2);
    assert!(told.err.contains("reweave.toml: is there already"));
    assert_eq!(
        fs::read_to_string(bench.path("reweave.toml")).unwrap(),
        text
    );
    // It can be run as it is; the counter does not compile without its N.
    let told = bench.run("suite --format json", 1);
    assert_eq!(test(&told.json(), "it's \"odd\"")["verdict"], "ok");
    assert_eq!(test(&told.json(), "counter")["verdict"], "broken");
}

#[test]
fn policies_are_compared_on_what_is_known() {
    let text = counter("six", 6) + &counter("four", 4) + &counter("five", 5);
    let bench = Bench::new(&[("s.toml", &text), ("counter.c", COUNTER)]);
    let told = bench.run("suite s.toml --simulate", 0);
    assert!(
        told.out.contains("finish-most   even  optimal"),
        "{}",
        told.out
    );
    let again = bench.run("suite s.toml --simulate", 0);
    assert_eq!(told.out, again.out, "time is counted in events");
    let means = bench.run("suite s.toml --simulate --seeds 2", 0);
    assert_eq!(told.out.lines().count(), means.out.lines().count());
    assert_ne!(told.out, means.out, "other dice, other estimates");
    bench.run("suite s.toml --simulate --seeds 0", 2);
    bench.run("suite s.toml --seeds 2", 2);
}
