//! What a broker and workers demand, for real: TLS with an authority of one's own, passwords, keys, and signed programs.

use crate::{Broker, Worker, program, reweave, run};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

fn openssl(place: &Path, line: &str) {
    let mut command = Command::new("openssl");
    command.args(line.split(' ')).current_dir(place);
    let done = command.output().expect("apt-get install openssl");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "openssl {line}: {said}");
}

/// An authority, and a certificate of it for this machine.
fn certificates(place: &Path) {
    let key = "-newkey rsa:2048 -nodes -days 2";
    openssl(
        place,
        &format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=ours"),
    );
    openssl(
        place,
        &format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"),
    );
    fs::write(place.join("names"), "subjectAltName=DNS:localhost\n").expect("room");
    openssl(
        place,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
}

/// What `cluster status` says, with its exit code.
fn status(place: &Path, url: &str, credentials: &str) -> (String, Option<i32>) {
    let words = ["cluster", "status", "--cluster", url];
    let done = match credentials {
        "" => run(place, &words),
        file => run(place, &[&words[..], &["--credentials", file]].concat()),
    };
    let said = [done.stdout, done.stderr].concat();
    (
        String::from_utf8_lossy(&said).into_owned(),
        done.status.code(),
    )
}

const USER: &str = "user = me\npassword = secret\nauthority = ca.pem\n";

fn write(place: &Path, name: &str, text: &str) {
    fs::write(place.join(name), text).expect("room");
}

/// A broker with TLS and a password, and its address.
fn secured(place: &Path) -> (Broker, String) {
    certificates(place);
    let path = |name: &str| place.join(name).display().to_string();
    let (certificate, key) = (path("server.pem"), path("server.key"));
    let tls = ["-js", "--tls", "--tlscert", &certificate, "--tlskey", &key];
    let user = ["--user", "me", "--pass", "secret"];
    let broker = Broker::with(&[&tls[..], &user].concat());
    let port = broker.url.rsplit(':').next().expect("it has a port");
    let url = format!("tls://localhost:{port}");
    (broker, url)
}

/// The certificate is not known, the password is wrong, both are right.
#[test]
fn tls_and_passwords() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let (_broker, url) = secured(place);
    write(place, "stranger", "user = me\npassword = secret\n");
    write(
        place,
        "guest",
        "user = me\npassword = wrong\nauthority = ca.pem\n",
    );
    write(place, "user", USER);
    let (said, code) = status(place, &url, "stranger");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot be secured"), "{said}");
    let (said, code) = status(place, &url, "guest");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("does not accept these credentials"), "{said}");
    let (said, code) = status(place, &url, "user");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no searches"), "{said}");
}

fn worker(place: &Path, url: &str, credentials: &str) -> Worker {
    let words = ["worker", "--cluster", url, "--workers", "1"];
    let words = [&words[..], &["--credentials", credentials]].concat();
    let mut command = reweave(place, &words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Worker(command.spawn().expect("the command can be started"))
}

/// A worker that trusts another key says so and stays up; one that trusts this key explores.
#[test]
fn only_signed_programs_are_explored() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let (_broker, url) = secured(place);
    let (ours, other) = ("a1".repeat(32), "b2".repeat(32));
    write(place, "user", &format!("{USER}sign = {ours}\n"));
    for (name, key) in [("distrusts", &other), ("trusts", &ours)] {
        write(place, "sign", &format!("sign = {key}\n"));
        let done = run(place, &["cluster", "key", "sign"]);
        let line = String::from_utf8_lossy(&done.stdout).into_owned();
        write(place, name, &format!("{USER}{line}"));
    }
    let mut distrusts = worker(place, &url, "distrusts");
    let file = program("papers/lastzero.c");
    let words = ["check", "--cluster", &url, "--credentials", "user"];
    let words = [&words[..], &["--first", "5", "-DN=8", &file]].concat();
    let mut check = reweave(place, &words);
    check.stdout(Stdio::piped()).stderr(Stdio::piped());
    let check = check.spawn().expect("the command can be started");
    let begun = Instant::now();
    loop {
        let (said, _) = status(place, &url, "user");
        if said.contains("not signed by a key that this worker was started with") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{said}");
    }
    let ended = distrusts.0.try_wait().expect("it was started here");
    assert!(ended.is_none(), "{ended:?}");
    let _trusts = worker(place, &url, "trusts");
    let done = check.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    // (8 + 3) * 2^6
    assert!(text.contains("complete, 704 executions"), "{text}{said}");
    let refusal = "cannot explore it: its manifest is not signed";
    assert!(said.contains(refusal), "{said}");
}

/// A user of NATS is a key; this pair is the one in its documentation.
#[test]
fn keys_of_nats() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let public = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    let settings = format!("authorization: {{ users: [ {{ nkey: {public} }} ] }}\n");
    fs::write(place.join("nats.conf"), settings).expect("room");
    let settings = place.join("nats.conf").display().to_string();
    let broker = Broker::with(&["-js", "-c", &settings]);
    fs::write(place.join("key"), format!("nkey = {seed}\n")).expect("room");
    let (said, code) = status(place, &broker.url, "");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("does not accept these credentials"), "{said}");
    let (said, code) = status(place, &broker.url, "key");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no searches"), "{said}");
}

/// The program does not fit into the broker.
#[test]
fn a_full_broker_is_said_to_be_full() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let settings = "jetstream: { max_file_store: 8KB }\n";
    fs::write(place.join("nats.conf"), settings).expect("room");
    let settings = place.join("nats.conf").display().to_string();
    let broker = Broker::with(&["-js", "-c", &settings]);
    let file = program("papers/example1.c");
    let done = run(place, &["check", "--cluster", &broker.url, &file]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("the broker's storage is full"), "{said}");
}
