//! Suites as documents, as tables, and as JUnit XML.

use reweave_model::Kind;
use reweave_report::{
    Document, Estimated, ExitCode, Finding, ResultDocument, Style, SuiteDocument, TestEntry,
    Verdict, junit_result, junit_suite, render_suite,
};
use std::path::Path;

fn entry(name: &str, verdict: Verdict, message: &str) -> TestEntry {
    TestEntry {
        name: name.into(),
        expected: "clean".into(),
        verdict,
        message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        result: None,
    }
}

fn searched(mut entry: TestEntry, executions: u64, seconds: f64, incomplete: &[&str]) -> TestEntry {
    let mut result = ResultDocument::new(&entry.name, "optimal", "mazurkiewicz");
    result.executions = executions;
    result.elapsed_s = seconds;
    result.incomplete = incomplete.iter().map(|why| (*why).into()).collect();
    result.complete = incomplete.is_empty();
    entry.result = Some(result);
    entry
}

fn sized(mut entry: TestEntry, log10: f64, covered: f64) -> TestEntry {
    let result = entry.result.as_mut().expect("searched");
    result.estimate = Some(Estimated::new(log10, 600.0, covered));
    entry
}

/// One test of each kind, with names and messages that somebody made up to do harm.
fn suite() -> SuiteDocument {
    let mut suite = SuiteDocument::new("reweave.toml", "finish-most");
    suite.budget_s = Some(600.0);
    suite.elapsed_s = 600.04;
    suite.workers = 2;
    let budget = &["budget"];
    let late = "the time was up";
    let queue = entry("queue", Verdict::Ok, "");
    suite.tests.push(searched(queue, 7168, 0.09, &[]));
    let evil = "deadlock at <a.c>:7: \"]]>\x1b[31m & 'so'\0";
    let mut race = entry("e\x1bvil & <name>\n", Verdict::Failed, evil);
    race = searched(race, 12, 0.01, &["stopped-at-error"]);
    race.result.as_mut().unwrap().errors.push(Finding {
        kind: Kind::Deadlock,
        rule: None,
        message: "a\u{ffff}b\tc".into(),
        location: Some("<a.c>:7".into()),
        events: 9,
        trace: Some("reweave-out/evil-1.rwt".into()),
        seen: 1,
        doubtful: false,
        because: None,
    });
    suite.tests.push(race);
    suite
        .tests
        .push(entry("gone", Verdict::Broken, "./gone: cannot be started"));
    let steps = entry("steps", Verdict::Incomplete, "not everything: max-steps");
    suite
        .tests
        .push(sized(searched(steps, 10, 0.5, &["max-steps"]), 1.0, 1.0));
    let large = searched(
        entry("large", Verdict::Unfinished, late),
        123_456,
        300.0,
        budget,
    );
    suite.tests.push(sized(large, 493_826f64.log10(), 0.25));
    let huge = searched(entry("huge", Verdict::Unfinished, late), 99, 299.5, budget);
    suite.tests.push(sized(huge, 2000.0, 0.0));
    suite.tests.push(entry(
        "late",
        Verdict::Unfinished,
        "there was no time for it",
    ));
    suite
}

#[test]
fn the_table_is_as_it_was() {
    let text = render_suite(&suite(), Style::default());
    let wanted = "\
test            verdict     executions  of about          covered      time
queue           ok               7,168     7,168              all    0.09 s
e\u{fffd}vil & <name>  failed              12                               0.01 s
gone            broken
steps           incomplete          10        10             100%    0.50 s
large           unfinished     123,456   493,826              25%  300.00 s
huge            unfinished          99   10^2000  less than 0.01%  299.50 s
late            unfinished

reweave.toml: 7 tests: 1 ok, 1 failed, 1 broken, 1 incomplete, 3 unfinished; 600.0 s of 600 s, 2 workers, finish-most
e\u{fffd}vil & <name>: deadlock at <a.c>:7: \"]]>\u{fffd}[31m & 'so'\u{fffd}
  reweave report reweave-out/evil-1.rwt
gone: ./gone: cannot be started
steps: not everything: max-steps
large: the time was up
huge: the time was up
late: there was no time for it
";
    assert_eq!(text, wanted, "{text}");
}

#[test]
fn the_worst_verdict_decides() {
    let mut suite = suite();
    assert_eq!(suite.exit_code(), ExitCode::Found);
    suite.tests.retain(|test| test.verdict != Verdict::Failed);
    assert_eq!(suite.exit_code(), ExitCode::Found, "one is broken");
    suite.tests.retain(|test| test.verdict != Verdict::Broken);
    assert_eq!(suite.exit_code(), ExitCode::Incomplete);
    suite
        .tests
        .retain(|test| test.verdict != Verdict::Unfinished);
    assert_eq!(suite.exit_code(), ExitCode::Incomplete, "for other reasons");
    suite.tests.retain(|test| test.verdict == Verdict::Ok);
    assert_eq!(suite.exit_code(), ExitCode::Clean);
}

#[test]
fn a_document_comes_back_as_it_was() {
    let suite = suite();
    let read = Document::parse(Path::new("s.json"), suite.to_json().as_bytes());
    assert_eq!(read.unwrap(), Document::Suite(suite));
}

/// What the schema that Jenkins checks by (junit-10) allows: elements with what may be inside them and their attributes; those with
/// `!` must be there.
const SCHEMA: [(&str, &str, &str); 6] = [
    ("testsuites", "testsuite", "name time tests failures errors"),
    (
        "testsuite",
        "testcase",
        "!name !tests !failures !errors time skipped",
    ),
    ("testcase", "skipped error failure", "!name time classname"),
    ("failure", "", "type message"),
    ("error", "", "type message"),
    ("skipped", "", "type message"),
];

fn check(node: roxmltree::Node<'_, '_>) {
    let name = node.tag_name().name();
    let (_, inside, allowed) = SCHEMA
        .iter()
        .find(|(known, ..)| *known == name)
        .unwrap_or_else(|| panic!("{name} is no element"));
    for attribute in node.attributes() {
        let mut allowed = allowed.split(' ').map(|it| it.trim_start_matches('!'));
        let attribute = attribute.name();
        assert!(allowed.any(|it| it == attribute), "{name} has {attribute}");
    }
    for needed in allowed.split(' ').filter_map(|it| it.strip_prefix('!')) {
        assert!(node.has_attribute(needed), "{name} has no {needed}");
    }
    for child in node.children().filter(|child| child.is_element()) {
        let child_name = child.tag_name().name();
        assert!(
            inside.split(' ').any(|it| it == child_name),
            "{child_name} in {name}"
        );
        check(child);
    }
}

#[test]
fn junit_is_what_servers_read() {
    let text = junit_suite(&suite());
    let document = roxmltree::Document::parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    check(root);
    let suite = root.first_element_child().unwrap();
    let count = |name| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    let counts = ["tests", "failures", "errors", "skipped"].map(count);
    assert_eq!(counts, [7, 1, 1, 4]);
    let tags = |tag| {
        root.descendants()
            .filter(move |node| node.has_tag_name(tag))
    };
    let counted = ["testcase", "failure", "error", "skipped"].map(|tag| tags(tag).count());
    assert_eq!(counted, counts);
    // What XML can hold comes back; what it cannot is replaced.
    let evil = tags("testcase").nth(1).unwrap();
    assert_eq!(evil.attribute("name"), Some("e\u{fffd}vil & <name>\n"));
    let failure = tags("failure").next().unwrap();
    assert_eq!(failure.attribute("type"), Some("deadlock"));
    let message = failure.attribute("message").unwrap();
    assert_eq!(
        message,
        "deadlock at <a.c>:7: \"]]>\u{fffd}[31m & 'so'\u{fffd}"
    );
    let wanted = "deadlock at <a.c>:7\na\u{fffd}b\tc\nreweave report reweave-out/evil-1.rwt\n";
    assert_eq!(failure.text(), Some(wanted));
}

#[test]
fn one_result_is_a_suite_of_one() {
    let mut result = ResultDocument::new("queue.c", "optimal", "mazurkiewicz");
    let tags = |result: &ResultDocument, tag: &str| {
        let text = junit_result(result);
        let document = roxmltree::Document::parse(&text).unwrap();
        check(document.root_element());
        let tags = document.descendants().filter(|node| node.has_tag_name(tag));
        tags.count()
    };
    assert_eq!(tags(&result, "testcase"), 1);
    assert_eq!(tags(&result, "skipped") + tags(&result, "failure"), 0);
    result.complete = false;
    result.incomplete = vec!["budget".into()];
    assert_eq!(tags(&result, "skipped"), 1);
    result.errors = suite().tests[1].result.as_ref().unwrap().errors.clone();
    assert_eq!(tags(&result, "failure"), 1);
}
