//! Inspect's way to share a search: every class is met, and executions that were run before are counted.

use crate::{Broker, Worker, checked, program, reweave};

/// 90 orders of three times two lock sections.
#[test]
fn executions_that_were_run_before_are_counted() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let _workers = [(); 3].map(|()| Worker::start(&broker, place));
    let file = program("papers/aget.c");
    let run = |balance: &str| {
        let words = ["--algorithm", "dpor", "--balance", balance, "--first", "1"];
        let words = [
            &words[..],
            &["--slice", "50ms", "--cluster", &broker.url, &file],
        ]
        .concat();
        let (document, code) = checked(place, &words);
        assert_eq!(
            (code, document["complete"].as_bool()),
            (0, Some(true)),
            "{document}"
        );
        let executions = document["executions"].as_u64().expect("it is there");
        (executions, document["duplicates"].as_u64())
    };
    assert_eq!(run("owners"), (90, None));
    for balance in ["inspect", "inspect-lazy"] {
        let (executions, duplicates) = run(balance);
        // No two schedules of this program are in one class, unless they are the same.
        assert!(executions >= 90, "{balance}: {executions}");
        assert!(
            duplicates <= Some(executions - 90),
            "{balance}: {duplicates:?}"
        );
        assert!(duplicates.is_some(), "{balance}");
    }
}

#[test]
fn it_is_for_backtrack_sets() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = program("papers/aget.c");
    for (words, sentence) in [
        (vec!["--balance", "inspect"], "--cluster URL is missing"),
        (
            vec!["--balance", "inspect", "--cluster", "nats://127.0.0.1:1"],
            "--balance inspect is about the backtrack sets of --algorithm dpor",
        ),
        (
            vec!["--balance", "fair", "--cluster", "nats://127.0.0.1:1"],
            "owners, inspect or inspect-lazy is expected",
        ),
    ] {
        let mut command = reweave(place.path(), &["check", &file]);
        let done = command.args(&words).output().expect("it starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}
