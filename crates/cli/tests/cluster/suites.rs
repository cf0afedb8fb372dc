//! A suite on a cluster comes to what it comes to on one machine, at once and in many short budgets while workers die.

use crate::{Broker, Worker, program, run};
use serde_json::Value;
use std::{fs, path::Path};

/// (N + 3) * 2^(N - 2) executions of `lastzero`, 2^N of `readers`.
const LASTZERO: u64 = 32_768;
const READERS: u64 = 16_384;

fn write(place: &Path, tests: &[(&str, &str, &str, &str)]) {
    let test = |(name, file, define, expect): &(&str, &str, &str, &str)| {
        let file = program(file);
        format!(
            "[[test]]\nname = \"{name}\"\nfiles = [\"{file}\"]\nflags = [\"{define}\"]\nexpect = \"{expect}\"\n"
        )
    };
    let text: String = tests.iter().map(test).collect();
    fs::write(place.join("suite.toml"), text).expect("room");
}

/// The document of the suite, with its exit code.
fn suite(place: &Path, words: &[&str]) -> (Value, i32) {
    let all = [&["suite", "suite.toml", "--format", "json"], words].concat();
    let done = run(place, &all);
    let text = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    let document = serde_json::from_str(&text);
    let document = document.unwrap_or_else(|error| panic!("{words:?}: {error}: {text}{said}"));
    (document, done.status.code().expect("it ended by itself"))
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut tests = document["tests"].as_array().expect("a list").iter();
    let found = tests.find(|test| test["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {document}"))
}

#[test]
fn tests_of_a_suite_share_the_workers() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let _workers = [Worker::start(&broker, place), Worker::start(&broker, place)];
    write(
        place,
        &[
            ("small", "papers/readers.c", "-DN=3", "clean"),
            ("large", "papers/lastzero.c", "-DN=13", "clean"),
            ("other", "papers/readers.c", "-DN=14", "clean"),
            ("wrong", "papers/database.c", "-DSEEN", "deadlock"),
            ("broken", "papers/readers.c", "-DN=nonsense", "clean"),
        ],
    );
    for policy in ["finish-most", "even"] {
        let (document, code) = suite(place, &["--cluster", &broker.url, "--policy", policy]);
        // Two workers were seen: the tests did not end in this process.
        assert_eq!(document["workers"], 2, "{document}");
        for (name, executions) in [("small", 8), ("large", LASTZERO), ("other", READERS)] {
            let test = test(&document, name);
            assert_eq!(test["result"]["executions"], executions, "{test}");
            assert_eq!(test["verdict"], "ok", "{test}");
        }
        let wrong = test(&document, "wrong");
        assert_eq!(wrong["verdict"], "ok", "{wrong}");
        assert_eq!(wrong["result"]["errors"][0]["kind"], "deadlock", "{wrong}");
        assert_eq!(test(&document, "broken")["verdict"], "broken");
        assert_eq!(code, 1, "{document}");
    }
    let seen = run(place, &["cluster", "status", "--cluster", &broker.url]);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(text.contains("no searches"), "{text}");
}

/// A budget ends in the middle of pieces; those that dead workers had come home as they were dealt.
#[test]
fn a_suite_goes_on_where_its_budget_ended_while_workers_die() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    // (N + 3) * 2^(N - 2): more than a fast machine explores within the first budget.
    write(place, &[("large", "papers/lastzero.c", "-DN=14", "clean")]);
    let mut workers = vec![Worker::start(&broker, place), Worker::start(&broker, place)];
    for parts in 1.. {
        assert!(parts < 100, "it does not end");
        let budget = format!("{}ms", 300 + 200 * parts);
        let words = [
            "--cluster",
            &broker.url,
            "--state",
            "state",
            "--budget",
            &budget,
        ];
        let (document, code) = suite(place, &words);
        if code == 0 {
            let test = test(&document, "large");
            assert_eq!(test["result"]["executions"], 69_632, "{test}");
            assert!(parts > 1, "one budget was enough, and nothing was stored");
            break;
        }
        assert_eq!(code, 3, "{document}");
        workers.remove(0).kill();
        workers.push(Worker::start(&broker, place));
    }
}
