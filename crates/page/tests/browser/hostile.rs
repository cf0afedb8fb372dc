//! What must not go wrong with any trace: hostile strings, sources that changed or are gone, traces without sense.

use crate::{
    chromium::Browser,
    samples::{inversion, open, store},
};
use reweave_model::Kind;
use reweave_page::{Links, page};
use reweave_report::{WatchedEntry, record_sources};
use serde_json::json;
use std::fs;

#[test]
fn hostile_strings_are_only_text() {
    let evil =
        "</script><img src=x onerror=\"window.hit=1\"><script>window.hit=2</script>\u{2028}<!--";
    let mut trace = inversion();
    trace.program.name = evil.into();
    trace.output = Some(evil.into());
    trace.errors[0].message = evil.into();
    trace.errors[0].kind = Kind::Assertion;
    trace.objects[0].name = evil.into();
    trace.threads[1].name = Some(evil.into());
    trace.watched.push(WatchedEntry {
        name: evil.into(),
        first: evil.into(),
        changes: Vec::new(),
    });
    let stored = store(trace);
    let source = format!("{evil}\n{evil}\n");
    fs::write(stored.directory.path().join("src/demo.rs"), source).unwrap();
    let mut trace = inversion();
    trace.program.directory = Some(stored.directory.path().display().to_string());
    let links = Links {
        again: Some(evil),
        home: None,
    };
    fs::write(
        stored.directory.path().join("other.html"),
        page(&trace, &links),
    )
    .unwrap();
    let mut browser = open(&stored);
    let check = |browser: &mut Browser| {
        browser.keys(&["Home", "ArrowDown", "ArrowDown"]);
        assert_eq!(browser.eval("window.hit ?? 0"), json!(0));
        assert_eq!(
            browser.eval("document.querySelectorAll('img').length"),
            json!(0)
        );
        assert_eq!(browser.eval("document.scripts.length"), json!(2));
    };
    check(&mut browser);
    assert_eq!(browser.text("#output pre").trim_end(), evil.trim_end());
    assert!(browser.text("#title").contains("onerror"));
    assert!(browser.text("#variables").contains("onerror"));
    browser.open_file(&stored.directory.path().join("other.html"));
    check(&mut browser);
    assert!(browser.text(".line code").contains("onerror"));
    // What got in all the same would not be run.
    browser.eval(
        "{ const script = document.createElement('script'); script.textContent = 'window.hit = 3'; document.body.append(script) }",
    );
    assert_eq!(browser.eval("window.hit ?? 0"), json!(0));
}

/// A trace says by hashes what its sources were like.
#[test]
fn changed_sources_are_told() {
    let stored = store(inversion());
    let mut trace = inversion();
    trace.program.directory = Some(stored.directory.path().display().to_string());
    record_sources(&mut trace);
    fs::write(&stored.path, page(&trace, &Links::default())).unwrap();
    let mut browser = open(&stored);
    assert_eq!(browser.text("#note"), "");
    fs::write(
        stored.directory.path().join("src/demo.rs"),
        "something else\n",
    )
    .unwrap();
    fs::write(&stored.path, page(&trace, &Links::default())).unwrap();
    browser.open_file(&stored.path);
    let note = "src/demo.rs has changed since this was recorded: its lines are those of today.";
    assert_eq!(browser.text("#note"), note);
    assert_eq!(browser.text(".line code"), "something else");
}

#[test]
fn missing_sources_are_told() {
    let stored = store(inversion());
    fs::remove_file(stored.directory.path().join("src/demo.rs")).unwrap();
    let mut trace = inversion();
    trace.program.directory = Some(stored.directory.path().display().to_string());
    fs::write(&stored.path, page(&trace, &Links::default())).unwrap();
    let mut browser = open(&stored);
    assert_eq!(browser.text("#note"), "The file is not there.");
    browser.keys(&["Home", "ArrowDown", "ArrowDown"]);
    assert!(
        browser
            .text("#live")
            .ends_with("lock mutex#1, at src/demo.rs:10")
    );
}

#[test]
fn a_trace_without_sense_says_where_it_ends() {
    let mut trace = inversion();
    // The second thread takes what the first one has.
    trace.events[1].operation.object = Some(0);
    let stored = store(trace);
    let mut browser = open(&stored);
    let hidden = "document.querySelector('#unknown').hidden";
    browser.keys(&["Home", "ArrowDown", "ArrowDown"]);
    assert_eq!(browser.eval(hidden), json!(true));
    browser.keys(&["ArrowDown"]);
    assert_eq!(browser.eval(hidden), json!(false));
    assert_eq!(browser.text("#where"), "step 2 of 2");
    assert_eq!(browser.complaints, [""; 0]);
}
