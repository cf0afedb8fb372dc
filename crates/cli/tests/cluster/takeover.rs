//! A search outlives the processes that explore it: it is stopped, killed, looked at and resumed.

use crate::{Broker, Worker, checked, program, reweave, run};
use std::{
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

/// The name of the only search, once so many reports about it were taken in.
fn search(broker: &Broker, place: &Path, reports: u64) -> String {
    let begun = Instant::now();
    loop {
        let seen = run(place, &["cluster", "status", "--cluster", &broker.url]);
        let text = String::from_utf8_lossy(&seen.stdout).into_owned();
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(": running, ") else {
                continue;
            };
            let numbers = rest.split(", ").find(|part| part.ends_with(" reports"));
            let count = numbers.and_then(|part| part.split(' ').next()?.parse::<u64>().ok());
            if count.is_some_and(|count| count >= reports) {
                return name.into();
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{text}");
    }
}

/// A search of a few seconds.
fn begin(broker: &Broker, place: &Path) -> Child {
    let file = program("papers/lastzero.c");
    let words = [
        "check",
        "--cluster",
        &broker.url,
        "--first",
        "5",
        "--slice",
        "20ms",
        "-DN=14",
        &file,
    ];
    let mut command = reweave(place, &words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the command can be started")
}

/// (N + 3) * 2^(N - 2) executions: 69,632 for 14.
fn resumed(broker: &Broker, place: &Path, name: &str) {
    let done = run(
        place,
        &["cluster", "resume", name, "--cluster", &broker.url],
    );
    let text = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(text.contains("complete, 69,632 executions"), "{text}{said}");
    assert_eq!(done.status.code(), Some(0), "{said}");
}

#[test]
fn another_process_takes_over_when_the_coordinator_is_killed() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let _workers = [Worker::start(&broker, place), Worker::start(&broker, place)];
    let mut first = begin(&broker, place);
    let name = search(&broker, place, 3);
    first.kill().expect("it runs");
    first.wait().expect("it was started here");
    resumed(&broker, place, &name);
    let seen = run(place, &["cluster", "status", "--cluster", &broker.url]);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(text.contains("no searches"), "{text}");
}

#[test]
fn a_search_is_stopped_and_resumed() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let _worker = Worker::start(&broker, place);
    let mut first = begin(&broker, place);
    let name = search(&broker, place, 2);
    let stopped = run(place, &["cluster", "stop", &name, "--cluster", &broker.url]);
    assert_eq!(stopped.status.code(), Some(0));
    let code = first.wait().expect("it was started here").code();
    assert_eq!(code, Some(3), "stopped and incomplete");
    resumed(&broker, place, &name);
    let again = run(
        place,
        &["cluster", "resume", &name, "--cluster", &broker.url],
    );
    assert_eq!(again.status.code(), Some(2));
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(said.contains("there is no such search"), "{said}");
}

#[test]
fn an_error_ends_the_search_and_is_traced_here() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let _worker = Worker::start(&broker, place);
    let file = program("papers/database.c");
    let words = [
        "--cluster",
        &broker.url,
        "--first",
        "1",
        "--output",
        "traces",
        &file,
    ];
    let (document, code) = checked(place, &words);
    assert_eq!(code, 1);
    assert_eq!(document["errors"][0]["kind"], "deadlock");
    let trace = document["errors"][0]["trace"].as_str().expect("a file");
    let again = run(place, &["replay", trace]);
    assert_eq!(again.status.code(), Some(1));
}
