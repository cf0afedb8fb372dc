//! Bad input is answered with a sentence and exit code 2, or by a worker that says it and stays up.

use crate::{Broker, program, run};
use std::path::Path;

/// What a check on this cluster says when it cannot begin.
fn refused(place: &Path, words: &[&str]) -> String {
    let file = program("papers/example1.c");
    let done = run(place, &[&["check", &file], words].concat());
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    said
}

#[test]
fn brokers_that_cannot_be_used_have_sentences() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let said = refused(place, &["--cluster", "nats://127.0.0.1:1"]);
    assert!(said.contains("no broker answers there"), "{said}");
    let said = refused(place, &["--cluster", "nats://10.1.2.3:4222"]);
    assert!(said.contains("with credentials only"), "{said}");
    let plain = Broker::with(&[]);
    let said = refused(place, &["--cluster", &plain.url]);
    assert!(said.contains("the broker has no JetStream"), "{said}");
    let said = refused(
        place,
        &["--cluster", &plain.url, "--credentials", "missing"],
    );
    assert!(said.contains("missing: No such file"), "{said}");
    let said = refused(place, &["--credentials", "missing"]);
    assert!(said.contains("--cluster URL is missing"), "{said}");
}

#[test]
fn users_are_checked() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let closed = Broker::with(&["-js", "--user", "me", "--pass", "secret"]);
    let said = refused(place, &["--cluster", &closed.url]);
    assert!(said.contains("does not accept these credentials"), "{said}");
    std::fs::write(place.join("key"), "user = me\npassword = secret\n").expect("room");
    let words = [
        "cluster",
        "status",
        "--cluster",
        &closed.url,
        "--credentials",
        "key",
    ];
    let seen = run(place, &words);
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert_eq!(
        text,
        "0 workers with 0 slots, 0 of them busy\nno searches\n"
    );
    let said = run(
        place,
        &[
            "cluster",
            "stop",
            "abc",
            "--cluster",
            &closed.url,
            "--credentials",
            "key",
        ],
    );
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("no search is called so"), "{said}");
}
