//! The page in a real browser: stepping, filters, search, marks, and pictures to look at.
//!
//! Pictures go to `screenshots/` at the root. Times are printed and never judged.

mod chromium;
mod hostile;
mod length;
mod samples;

use chromium::Browser;
use reweave_model::{Kind, Object, ObjectId, Op, Policy, ThreadId};
use reweave_page::serve;
use reweave_report::{AccessEntry, Failure, Position, ResultDocument};
use reweave_testing::script::{Script, Thread, run, trace};
use samples::{A, B, inversion, long, lost_wakeup, open, store};
use serde_json::json;
use std::{net::TcpListener, thread};

/// Rows: two creations, steps 1 and 2, the deadlock, three that wait.
#[test]
fn a_deadlock_is_stepped_through() {
    let stored = store(inversion());
    let mut browser = open(&stored);
    assert_eq!(browser.text("#kind"), "deadlock");
    assert_eq!(browser.text("#facts"), "2 steps, 3 threads, 2 objects");
    assert!(
        browser
            .text("#why")
            .contains("waits for mutex#2, held by right since step 2")
    );
    let cycle = browser.eval("document.querySelector('.cycle').getAttribute('aria-label')");
    assert_eq!(
        cycle,
        json!(
            "A cycle: left waits for mutex#2, which right has; right waits for mutex#1, which left has"
        )
    );
    browser.picture("deadlock-light.png");

    browser.keys(&["Home", "ArrowDown", "ArrowDown"]);
    assert_eq!(browser.text("#where"), "step 1 of 2");
    assert_eq!(
        browser.text("#live"),
        "step 1, left: lock mutex#1, at src/demo.rs:10"
    );
    assert_eq!(browser.text(".line.here .chip.full"), "left");
    assert!(browser.text(".line.here code").contains("line 10"));
    let objects = browser.text("#objects tbody");
    assert!(
        objects.starts_with("mutex#1\tfree → locked\tleft"),
        "{objects}"
    );

    browser.keys(&["o"]);
    assert_eq!(
        browser.text("#live"),
        "at the end, right: lock mutex#1 …, at src/demo.rs:21"
    );
    browser.keys(&["O", "ArrowRight"]);
    assert_eq!(
        browser.text("#live"),
        "at the end, left: lock mutex#2 …, at src/demo.rs:11"
    );
    assert!(
        browser
            .text("#step")
            .contains("waits for mutex#2, held by right")
    );
    browser.keys(&["ArrowLeft", "j", "k", "t"]);
    assert!(browser.text("#live").starts_with("at the end, left"));
    let threads = browser.text("#threads tbody");
    assert!(threads.contains("waits for the end of left"), "{threads}");
    browser.keys(&["e", "e", "e"]);
    browser.keys(&["End"]);
    assert!(browser.text("#live").contains("right: lock mutex#1"));
    // The selected row is the one that assistive technology announces.
    let active = "document.getElementById(document.querySelector('#scroll').getAttribute('aria-activedescendant')).ariaSelected";
    assert_eq!(browser.eval(active), json!("true"));
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn buttons_do_what_keys_do() {
    let stored = store(inversion());
    let mut browser = open(&stored);
    for (button, says) in [
        ("#first", "main: spawn left"),
        ("#next", "main: spawn right"),
        (
            "#thread-next",
            "at the end, main: join left …, at src/demo.rs:31",
        ),
        ("#thread-previous", "main: spawn right"),
        (
            "#last",
            "at the end, right: lock mutex#1 …, at src/demo.rs:21",
        ),
        (
            "#object-previous",
            "step 1, left: lock mutex#1, at src/demo.rs:10",
        ),
        (
            "#object-next",
            "at the end, right: lock mutex#1 …, at src/demo.rs:21",
        ),
        (
            "#previous",
            "at the end, left: lock mutex#2 …, at src/demo.rs:11",
        ),
    ] {
        browser.click(button);
        assert_eq!(browser.text("#live"), says, "{button}");
    }
}

#[test]
fn threads_are_filtered_and_rows_found() {
    let stored = store(inversion());
    let mut browser = open(&stored);
    browser.keys(&["f"]);
    browser.click("#filter-list label:nth-child(1) input");
    browser.picture("filter.png");
    let heads = "[...document.querySelectorAll('.head')].map((it) => it.textContent)";
    assert_eq!(browser.eval(heads), json!(["left main.0", "right main.1"]));
    let rows = "document.querySelectorAll('.row').length";
    assert_eq!(browser.eval(rows), json!(5));
    browser.click("#show-all");
    assert_eq!(browser.eval(rows), json!(8));

    browser.keys(&["Escape", "/"]);
    browser.type_text("demo.rs:21");
    assert_eq!(browser.text("#matches"), "1 found");
    browser.keys(&["Enter"]);
    assert!(browser.text("#live").ends_with("at src/demo.rs:21"));
    browser.eval("document.querySelector('#search').select()");
    browser.type_text("MUTEX#1");
    assert_eq!(browser.text("#matches"), "2 found");
    assert_eq!(
        browser.eval("document.querySelectorAll('.row.match').length"),
        json!(2)
    );
    // Letters that are typed are no commands.
    assert_eq!(
        browser.eval("document.documentElement.dataset.theme ?? ''"),
        json!("")
    );
}

#[test]
fn help_theme_and_zoom_are_keys() {
    let stored = store(inversion());
    let mut browser = open(&stored);
    browser.keys(&["?"]);
    assert!(browser.text("#keys").contains("next step on this object"));
    browser.picture("help.png");
    browser.keys(&["?"]);
    assert_eq!(
        browser.eval("document.querySelector('#keys').open"),
        json!(false)
    );

    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.medium("dark", "screen");
    let dark = browser.eval(ground);
    browser.picture("deadlock-dark.png");
    browser.keys(&["d"]);
    let light = browser.eval(ground);
    assert_ne!(dark, light);
    browser.medium("light", "screen");
    assert_eq!(browser.eval(ground), light);

    let words = "document.querySelectorAll('.row text').length";
    let before = browser.eval(words);
    browser.keys(&["-", "-", "-"]);
    assert_eq!(browser.eval(words), json!(0));
    browser.keys(&["+", "+", "+"]);
    assert_eq!(browser.eval(words), before);
    browser.size(480, 800);
    browser.frame();
    browser.picture("deadlock-small.png");
    let wide = browser.eval("document.documentElement.scrollWidth <= 480");
    assert_eq!(wide, json!(true), "the page is no wider than its window");
}

#[test]
fn a_lost_wakeup_shows_the_notification() {
    let stored = store(lost_wakeup());
    let mut browser = open(&stored);
    browser.picture("lost-wakeup.png");
    assert!(
        browser
            .text("#why")
            .contains("step 2 by main.0, found nobody waiting")
    );
    assert_eq!(
        browser.eval("document.querySelectorAll('#drawing .arrow.reason').length"),
        json!(1)
    );
    browser.click("#why li .link:last-of-type");
    assert!(
        browser
            .text("#live")
            .contains("notify-one condvar#1: nobody waits")
    );
    // The lock goes from step 3 to step 4.
    browser.keys(&["ArrowRight"]);
    let step = browser.text("#step");
    assert!(step.contains("before step 4 of main (lock)"), "{step}");
}

/// A race in the words of the native runtime: the first access is the earlier one.
#[test]
fn both_accesses_of_a_race_are_marked() {
    let mut trace = long(2, 1);
    let place = |line| Position {
        file: "src/demo.rs".into(),
        line,
        column: 0,
    };
    trace.errors.push(Failure {
        kind: Kind::DataRace,
        rule: None,
        message: "write by main and read by main.0 of total: nothing orders them".into(),
        places: vec![place(7), place(9)],
        stacks: vec![
            vec!["add at src/demo.rs:7".into()],
            vec!["look at src/demo.rs:9".into()],
        ],
        accesses: Vec::new(),
        variables: Vec::new(),
        after: Some((1, 1)),
    });
    let stored = store(trace);
    let mut browser = open(&stored);
    browser.picture("race.png");
    assert_eq!(browser.text("#live"), "main.0: data-race, at src/demo.rs:9");
    assert_eq!(browser.text("#where"), "after step 4 of 6");
    assert_eq!(browser.text("#why li:nth-child(1)"), "main src/demo.rs:7");
    assert_eq!(browser.text("#why li:nth-child(2)"), "main.0 src/demo.rs:9");
    assert_eq!(
        browser.eval("document.querySelectorAll('circle.clash').length"),
        json!(1)
    );
    let guilty = "[...document.querySelectorAll('.guilty .number')].map((it) => it.textContent)";
    assert_eq!(browser.eval(guilty), json!(["7", "9"]));
}

/// Both accesses are on one line, and both have rows in the lanes of their threads.
#[test]
fn accesses_on_one_line_belong_to_their_threads() {
    let mut trace = long(2, 1);
    let place = Position {
        file: "src/demo.rs".into(),
        line: 7,
        column: 0,
    };
    let access = |thread, after| AccessEntry {
        value: None,
        access: "write".into(),
        thread,
        after: Some(after),
    };
    trace.errors.push(Failure {
        kind: Kind::DataRace,
        rule: None,
        message: "write by main and write by main.0 of total: nothing orders them".into(),
        places: vec![place.clone(), place],
        stacks: Vec::new(),
        accesses: vec![access(0, 0), access(1, 1)],
        variables: Vec::new(),
        after: Some((1, 1)),
    });
    let stored = store(trace);
    let mut browser = open(&stored);
    assert_eq!(browser.text("#live"), "main.0: data-race, at src/demo.rs:7");
    assert_eq!(browser.text("#why li:nth-child(1)"), "main src/demo.rs:7");
    assert_eq!(browser.text("#why li:nth-child(2)"), "main.0 src/demo.rs:7");
    let rows = "[...document.querySelectorAll('.row')].map((it) => it.textContent).join()";
    let rows = browser.eval(rows);
    assert!(
        rows.to_string().contains("write: data-race with main.0"),
        "{rows}"
    );
}

#[test]
fn everything_has_a_name_and_can_be_reached() {
    let stored = store(inversion());
    let mut browser = open(&stored);
    browser.keys(&["f"]);
    let controls = [
        "button",
        "searchbox",
        "checkbox",
        "combobox",
        "listbox",
        "option",
        "link",
    ];
    let seen = browser.accessible();
    let found: Vec<_> = seen
        .iter()
        .filter(|(role, _)| controls.contains(&role.as_str()))
        .collect();
    assert!(found.len() > 30, "{found:?}");
    for (role, name) in found {
        assert!(!name.trim().is_empty(), "a {role} has no name");
    }
    // Whatever reacts to a click is a control of the browser's, which keys reach, or a row, which arrow keys select.
    let mice = "[...document.querySelectorAll('[onclick], [tabindex=\"-1\"]')].length";
    assert_eq!(browser.eval(mice), json!(0));
}

/// 300 steps of one thread come before the deadlock, and it does not depend on them: each thread takes its first lock after they are over.
#[test]
fn what_does_not_matter_can_be_left_out() {
    let idle: Vec<_> = (0..300).map(|n| (Op::Store(ObjectId(2), n), 40)).collect();
    let one = vec![(Op::Lock(A), 10), (Op::Lock(B), 11)];
    let other = vec![(Op::Lock(B), 20), (Op::Lock(A), 21)];
    let script = Script {
        objects: vec![Object::mutex(), Object::mutex(), Object::Atomic(0)],
        threads: vec![
            Thread(None, vec![(Op::Join(ThreadId(1)), 30)]),
            Thread(None, one),
            Thread(None, other),
            Thread(None, idle),
        ],
    };
    let order: Vec<u32> = [vec![3; 300], vec![1, 2]].concat();
    let trace = trace("idle", &run(&script, &order, Policy::First, 1000));
    let stored = store(trace);
    let mut browser = open(&stored);
    browser.keys(&["m"]);
    // Three creations, two locks, the deadlock, three that wait.
    assert_eq!(
        browser.eval("document.querySelectorAll('.row').length"),
        json!(9)
    );
    assert_eq!(
        browser.eval("document.querySelector('#matter').ariaPressed"),
        json!("true")
    );
    browser.picture("what-matters.png");
    // Whoever looks for what is left out finds it.
    browser.keys(&["/"]);
    browser.type_text("writes 7");
    browser.keys(&["Enter"]);
    assert!(browser.text("#live").contains("store atomic#1: writes 7"));
    assert_eq!(
        browser.eval("document.querySelector('#matter').ariaPressed"),
        json!("false")
    );
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn paper_shows_every_step() {
    let stored = store(inversion());
    let mut browser = open(&stored);
    browser.medium("light", "print");
    browser.eval("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(
        browser.eval("document.querySelectorAll('#paper tbody tr').length"),
        json!(8)
    );
    assert_eq!(
        browser.eval("getComputedStyle(document.querySelector('#story')).display"),
        json!("none")
    );
    browser.picture("print.png");
}

/// From the list to a trace and back, and on to a comparison.
#[test]
fn a_directory_is_looked_through() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    inversion().write(&path.join("inversion-1.rwt")).unwrap();
    lost_wakeup()
        .write(&path.join("lost_wakeup-1.rwt"))
        .unwrap();
    for executions in [7, 9] {
        let mut result = ResultDocument::new("inversion", "optimal", "mazurkiewicz");
        result.executions = executions;
        result.keep(path, "inversion").unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = format!("http://{}/", listener.local_addr().unwrap());
    let served = path.to_owned();
    thread::spawn(move || serve(&listener, &served, |_, _| None));

    let mut browser = Browser::start(1200, 900);
    browser.open(&home);
    browser.picture("list.png");
    assert!(
        browser
            .text("main")
            .contains("complete, 9 executions, no error")
    );
    // Words choose among errors and searches.
    let shown = "[...document.querySelectorAll('[data-entry]')].filter((it) => !it.hidden).length";
    assert_eq!(browser.eval(shown), json!(4));
    browser.eval("document.getElementById('words').focus()");
    browser.type_text("lost wakeup");
    assert_eq!(browser.eval(shown), json!(1));
    assert_eq!(browser.text("#shown"), "1 of 4 shown");
    browser.eval("document.getElementById('words').value = ''");
    browser.click("#news");
    assert_eq!(browser.eval(shown), json!(0));
    browser.click("#news");
    assert_eq!(browser.eval(shown), json!(4));
    assert!(!browser.text("time").contains("UTC"));
    browser.follow("a[href='/trace/inversion-1.rwt']");
    assert_eq!(browser.text("#kind"), "deadlock");
    browser.follow("#home");
    browser.follow("form button");
    browser.medium("dark", "screen");
    browser.picture("compare.png");
    assert!(browser.text("main").contains("executions\t7\t9\t+2"));
    browser.click("#theme");
    assert_eq!(
        browser.eval("document.documentElement.dataset.theme"),
        json!("light")
    );
    assert_eq!(browser.complaints, [""; 0]);
}
