//! The server as a client meets it: addresses, refusals, what the list and the comparison say.

use reweave_model::Kind;
use reweave_page::serve;
use reweave_report::{
    Coverage, CoveredPlace, Finding, FleetCourse, FleetSample, LineCoverage, Met, PlacePair,
    ResultDocument, UnreachedLines,
};
use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::symlink,
    path::Path,
    thread,
};

/// Serves a directory for as long as the test runs.
fn start(directory: &Path) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let directory = directory.to_owned();
    thread::spawn(move || serve(&listener, &directory, |_, _| None));
    address
}

fn send(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answer = Vec::new();
    // A refusal may come before all of the request is read.
    let _ = stream.write_all(request.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn get(address: SocketAddr, path: &str) -> String {
    send(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    )
}

fn status(answer: &str) -> &str {
    answer.split("\r\n").next().unwrap_or_default()
}

fn finding(kind: Kind, location: &str, message: &str) -> Finding {
    Finding {
        kind,
        rule: None,
        message: message.into(),
        location: Some(location.into()),
        events: 4,
        trace: Some("reweave-out/queue-1.rwt".into()),
        seen: 3,
        doubtful: false,
        because: None,
    }
}

fn result(errors: Vec<Finding>) -> ResultDocument {
    let mut result = ResultDocument::new("queue.c", "optimal", "mazurkiewicz");
    result.executions = 10 + errors.len() as u64;
    result.errors = errors;
    result
}

#[test]
fn only_what_the_directory_holds_is_served() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.json");
    result(Vec::new()).write(&secret).unwrap();
    let directory = tempfile::tempdir_in(outside.path()).unwrap();
    symlink(&secret, directory.path().join("linked.json")).unwrap();
    symlink(outside.path(), directory.path().join("linked")).unwrap();
    fs::write(directory.path().join("notes.txt"), "hello").unwrap();
    let address = start(directory.path());
    assert_eq!(status(&get(address, "/")), "HTTP/1.1 200 OK");
    for path in [
        "/notes.txt",
        "/trace/../secret.json",
        "/trace/..%2fsecret.json",
        "/trace/linked.json",
        "/trace//etc/passwd",
        "/trace/%00",
        "/compare?a=linked.json&b=linked.json",
        "/compare?a=linked/secret.json&b=../secret.json",
    ] {
        assert_eq!(
            status(&get(address, path)),
            "HTTP/1.1 404 Not Found",
            "{path}"
        );
    }
}

#[test]
fn hostile_requests_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let address = start(directory.path());
    let bad = "HTTP/1.1 400 Bad Request";
    for request in [
        "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: ",
        "",
        "\0\0\0\0",
    ] {
        assert_eq!(status(&send(address, request)), bad, "{request:?}");
    }
    assert_eq!(status(&get(address, "/compare")), bad);
    let posted = send(
        address,
        &format!("POST / HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    );
    assert_eq!(status(&posted), "HTTP/1.1 405 Method Not Allowed");
    let long = "x".repeat(1 << 20);
    let answer = get(address, &format!("/{long}"));
    // The server hangs up on what it does not read: the answer may be cut.
    assert!(bad.starts_with(status(&answer)), "{answer:?}");
    let head = send(
        address,
        &format!("HEAD / HTTP/1.1\r\nHost: {address}\r\n\r\n"),
    );
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    // After all that it still answers.
    assert_eq!(status(&get(address, "/")), "HTTP/1.1 200 OK");
}

#[test]
fn errors_are_listed_by_cause_and_runs_compared() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let race = finding(Kind::DataRace, "queue.c:7", "write <b>and</b> read");
    let stuck = |step, lock| {
        let message = format!("main waits for {lock}, held by main.0 since step {step}");
        finding(Kind::Deadlock, "queue.c:9", &message)
    };
    // The second deadlock waits for another lock; the third is the first one, in another execution.
    result(vec![race.clone(), stuck(2, "a")])
        .keep(directory.path(), "queue")
        .unwrap();
    result(vec![stuck(12, "a"), stuck(2, "b")])
        .keep(directory.path(), "queue")
        .unwrap();
    fs::write(path("broken.rwt"), "{").unwrap();
    fs::write(path("foreign.json"), "{\"a\": 1}").unwrap();
    let address = start(directory.path());

    let list = get(address, "/");
    // Results of earlier runs are in the table, and of their errors only those are listed that are fixed.
    assert_eq!(list.matches("class=\"badge kind\"").count(), 3, "{list}");
    assert_eq!(list.matches("data-news=\"fixed\"").count(), 1, "{list}");
    assert_eq!(list.matches("<th scope=\"row\">queue.c</th>").count(), 2);
    assert!(list.contains("broken.rwt: the file is cut"), "{list}");
    assert!(!list.contains("foreign"), "{list}");

    let compared = get(
        address,
        "/compare?a=queue.previous.json&b=queue.result.json",
    );
    assert!(compared.contains("New errors: 1</h2>"), "{compared}");
    assert!(compared.contains("Errors that are gone: 1</h2>"));
    assert!(compared.contains("The same errors: 1</h2>"));
    assert!(compared.contains("write &lt;b&gt;and&lt;/b&gt; read"));
    let turned = get(
        address,
        "/compare?b=queue.previous.json&a=queue.result.json",
    );
    assert!(
        turned.contains("data-race</strong> at <code>queue.c:7</code>"),
        "{turned}"
    );
}

/// Of two searches of one program: what is new, what is fixed, and what only moved to another line.
#[test]
fn the_list_says_what_is_new_and_what_is_fixed() {
    let directory = tempfile::tempdir().unwrap();
    let deadlock = finding(Kind::Deadlock, "queue.c:30", "left waits");
    let race = |line: u32| finding(Kind::DataRace, &format!("queue.c:{line}"), "two writes");
    let crash = finding(Kind::Crash, "queue.c:50", "a signal");
    let keep = |result: ResultDocument| result.keep(directory.path(), "queue").unwrap();
    keep(result(vec![deadlock.clone(), race(10)]));
    let first = get(start(directory.path()), "/");
    assert!(
        !first.contains("data-news=\"new\"") && !first.contains("data-news=\"fixed\""),
        "{first}"
    );
    keep(result(vec![race(12), crash.clone()]));
    let second = get(start(directory.path()), "/");
    let entries: Vec<&str> = second.split("<article").skip(1).collect();
    let news = |word: &str| {
        entries
            .iter()
            .find(|it| it.contains(word))
            .map(|it| it.split('"').nth(1))
    };
    assert_eq!(news("two writes"), Some(Some("")), "{second}");
    assert_eq!(news("a signal"), Some(Some("new")));
    assert_eq!(news("left waits"), Some(Some("fixed")));
    assert!(second.contains(
        "1 program; 1 search, 0 of them complete without an error; 12 executions; 2 errors by cause"
    ));
    // A search that stopped at its first error fixes nothing.
    let mut stopped = result(vec![race(12)]);
    stopped.complete = false;
    stopped.incomplete = vec!["stopped-at-error".into()];
    keep(stopped);
    let third = get(start(directory.path()), "/");
    assert!(!third.contains("data-news=\"fixed\""), "{third}");
    keep(result(Vec::new()));
    let last = get(start(directory.path()), "/");
    assert!(
        last.contains("No error was found") && last.contains("data-news=\"fixed\""),
        "{last}"
    );
    assert!(
        last.contains("1 of them complete without an error")
            && last.contains("<time datetime=\"20")
    );
}

fn covered() -> Coverage {
    let place = |line: u32, branches: u64| CoveredPlace {
        location: format!("<queue>.c:{line}"),
        operations: vec!["lock".into(), "store".into()],
        threads: 2,
        steps: 12,
        branches,
    };
    let pair = |met, second: u32, in_order, reversed| PlacePair {
        first: "<queue>.c:3".into(),
        second: format!("<queue>.c:{second}"),
        met,
        in_order,
        reversed,
    };
    Coverage {
        places: vec![place(3, 1), place(9, 3)],
        pairs: vec![
            pair(Met::Never, 3, 0, 0),
            pair(Met::OneOrder, 9, 10, 0),
            pair(Met::Both, 20, 4, 6),
        ],
        lines: Some(LineCoverage {
            known: 14,
            reached: 10,
            unreached: vec![UnreachedLines {
                file: "<queue>.c".into(),
                lines: vec![(5, 7), (11, 11)],
            }],
        }),
    }
}

/// A search whose coverage is known has a page about it, which says what is open as long as the search is.
#[test]
fn what_a_search_covers_is_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let mut clean = result(Vec::new());
    clean.coverage = Some(covered());
    clean.keep(directory.path(), "queue").unwrap();
    result(Vec::new()).keep(directory.path(), "plain").unwrap();
    let address = start(directory.path());
    let list = get(address, "/");
    assert_eq!(list.matches("what it covers").count(), 1, "{list}");
    assert!(list.contains("href=\"/coverage?of=queue.result.json\""));
    let page = get(address, "/coverage?of=queue.result.json");
    for part in [
        "Lines: 10 of 14 reached",
        "<code>&lt;queue&gt;.c:5-7, 11</code>",
        "Pairs of places on the same objects: 3",
        "Never met: 1",
        "for this input it cannot happen",
        "In one order only: 1",
        "the other order is impossible, or makes no difference",
        "<td><code>&lt;queue&gt;.c:3</code></td><td><code>&lt;queue&gt;.c:20</code></td><td class=\"count\">4</td><td class=\"count\">6</td>",
        "Where executions branch: 4 branches",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The place with most branches comes first.
    let row = |line: u32| page.find(&format!("<th scope=\"row\"><code>&lt;queue&gt;.c:{line}<"));
    assert!(row(9) < row(3), "{page}");
    assert!(page.contains("<meter min=\"0\" max=\"100\" value=\"75\">"));
    assert!(get(address, "/coverage?of=plain.result.json").contains("check --coverage"));
    assert!(status(&get(address, "/coverage?of=../x.json")).contains("404"));
    assert!(status(&get(address, "/coverage")).contains("400"));

    clean.complete = false;
    clean.incomplete = vec!["budget".into()];
    clean.keep(directory.path(), "queue").unwrap();
    let open = get(address, "/coverage?of=queue.result.json");
    assert!(open.contains("The other order may be possible"), "{open}");
    assert!(!open.contains("The search is complete"));
}

/// A search on a cluster has a page with its workers over time, and faults.
#[test]
fn workers_over_time_are_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let sample = |at_s, busy, executions, lost| FleetSample {
        at_s,
        slots: 8,
        busy,
        pieces: 2 * busy,
        executions,
        reports: executions / 100,
        repeated: lost,
        lost,
    };
    let mut course = FleetCourse::default();
    course.note(sample(0.0, 0, 500, 0));
    course.note(sample(1.5, 8, 2500, 0));
    course.note(sample(3.0, 6, 4500, 1));
    let mut clustered = result(Vec::new());
    clustered.fleet = Some(course.ended());
    clustered.keep(directory.path(), "queue").unwrap();
    result(Vec::new()).keep(directory.path(), "plain").unwrap();
    let address = start(directory.path());
    let list = get(address, "/");
    assert_eq!(list.matches("its workers").count(), 1, "{list}");
    assert!(list.contains("href=\"/fleet?of=queue.result.json\""));
    let page = get(address, "/fleet?of=queue.result.json");
    for part in [
        "<svg xmlns=",
        "at most 8 workers active",
        "45 reports taken in",
        "1 report came again or too late, and did not count",
        "1 worker fell silent",
        "3.0 s: workers lost: 1, reports that came again: 1",
        "<td class=\"count\">1.50</td><td class=\"count\">8</td>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(get(address, "/fleet?of=plain.result.json").contains("check --cluster"));
    assert!(status(&get(address, "/fleet?of=../x.json")).contains("404"));
    assert!(status(&get(address, "/fleet")).contains("400"));
}
