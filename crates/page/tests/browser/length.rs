//! Long traces: what is drawn, and how long it takes.

use crate::{
    chromium::Browser,
    samples::{long, open, store},
};

/// However long a trace, only what can be seen exists.
#[test]
fn fifty_thousand_events_are_drawn_by_the_window() {
    // 8 threads, 2084 rounds of 3 steps: 50,016 events.
    let stored = store(long(8, 2084));
    let mut browser = open(&stored);
    assert_eq!(browser.text("#facts"), "50,016 steps, 8 threads, 2 objects");
    tell_times(&mut browser, "50,016 events");
    let elements = "document.querySelectorAll('#drawing *').length";
    for keys in [
        &["End"][..],
        &["Home", "PageDown", "PageDown"],
        &["-", "-", "-", "-"],
    ] {
        browser.keys(keys);
        let count = browser.eval(elements).as_u64().unwrap();
        assert!((50..6000).contains(&count), "{keys:?}: {count} elements");
    }
    browser.picture("long-overview.png");
    browser.keys(&["+", "+", "+", "+", "End"]);
    assert_eq!(browser.text("#where"), "step 50016 of 50016");
    browser.keys(&["O"]);
    assert_eq!(browser.text("#where"), "step 50014 of 50016");
    browser.picture("long.png");
    browser.keys(&["/"]);
    browser.type_text("writes 2083");
    assert_eq!(browser.text("#matches"), "8 found");
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn five_thousand_events_open() {
    // 4 threads, 417 rounds of 3 steps: 5,004 events.
    let stored = store(long(4, 417));
    let mut browser = open(&stored);
    assert_eq!(browser.text("#facts"), "5,004 steps, 4 threads, 2 objects");
    tell_times(&mut browser, "5,004 events");
}

/// How long the page took to open and takes to draw, for whoever looks.
fn tell_times(browser: &mut Browser, what: &str) {
    let opened = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd");
    let frames = browser.eval(
        "new Promise((done) => { const times = []; const scroll = document.querySelector('#scroll'); \
         const frame = (last) => requestAnimationFrame((now) => { if (last) times.push(now - last); \
         scroll.scrollTop += 400; if (times.length < 100) frame(now); else done(times.sort((a, b) => a - b)); }); frame(); })",
    );
    let frames: Vec<f64> = serde_json::from_value(frames).unwrap();
    println!(
        "{what}: opened in {opened} ms; frames while scrolling: median {:.1} ms, longest {:.1} ms",
        frames[frames.len() / 2],
        frames[frames.len() - 1]
    );
}
