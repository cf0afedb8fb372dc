//! The report of a failing execution: where it failed and what each thread did, by the names of the listing.

use reweave::{
    Builder, Kind,
    cell::UnsafeCell,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};
use std::path::PathBuf;

/// The only error's story, with this file's name shortened.
fn story(name: &str, kind: Kind, body: fn()) -> String {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("stories-{name}"));
    let report = Builder::new()
        .name(name)
        .workers(1)
        .trace_dir(directory)
        .run(body);
    assert_eq!(report.errors.len(), 1, "{report:?}");
    assert_eq!(report.errors[0].kind, kind);
    let story = report.errors[0].story.replace(file!(), "here.rs");
    println!("{story}");
    story
}

/// The place of the line of this file that ends with a mark, such as `here.rs:42`.
fn place(mark: &str) -> String {
    let mark = format!("// {mark}");
    let line = include_str!("stories.rs")
        .lines()
        .position(|line| line.ends_with(&mark));
    format!("here.rs:{}", line.expect("marked") + 1)
}

#[track_caller]
fn has(story: &str, part: &str) {
    assert!(story.contains(part), "{part:?} is not in\n{story}");
}

fn late() {
    let count = Arc::new(AtomicU32::new(0));
    let theirs = count.clone();
    let checker = thread::Builder::new()
        .name("checker".into())
        .spawn(move || {
            let seen = theirs.load(SeqCst);
            assert_eq!(seen, 0, "too late"); // fails
        })
        .unwrap();
    count.store(1, SeqCst);
    count.store(2, SeqCst);
    drop(checker);
}

#[test]
fn an_assertion_in_a_spawned_thread() {
    let story = story("late", Kind::Assertion, late);
    has(
        &story,
        "  checker panicked: assertion `left == right` failed: too late\n",
    );
    let line = "assert_eq!(seen, 0, \"too late\"); // fails\n";
    has(&story, &format!("  at {}:13  {line}", place("fails")));
    has(&story, "assertion here");
    let at = |part: &str| story.find(part).expect("checked above");
    assert!(at("load atomic#1") < at("assertion here"), "{story}");
    assert!(at("   !  ") < at("assertion here"), "{story}");
}

struct Shared(UnsafeCell<u32>);
// SAFETY: not at all, and that is what is to be found.
unsafe impl Sync for Shared {}

fn race() {
    let cell = Arc::new(Shared(UnsafeCell::new(0)));
    let theirs = cell.clone();
    let other = thread::spawn(move || {
        // SAFETY: the two accesses are never at the same time, only not ordered.
        theirs.0.with_mut(|place| unsafe { *place += 1 }); // writes
    });
    // SAFETY: the pointer is that of a live cell; the race is what the test is about.
    cell.0.with(|place| unsafe { *place }); // reads
    other.join().unwrap();
}

#[test]
fn a_data_race_with_both_places() {
    let story = story("race", Kind::DataRace, race);
    let (reads, writes) = (place("reads"), place("writes"));
    has(
        &story,
        &format!(
            "\n  main reads at {reads}:12,\n  main.0 writes at {writes}:18,\n  and nothing orders the two\n"
        ),
    );
    has(&story, "data-race here");
    has(&story, &format!(" at {reads}:12  cell.0.with(|place|"));
    has(
        &story,
        &format!(" at {writes}:18  theirs.0.with_mut(|place|"),
    );
}

fn inversion() {
    let shared = Arc::new((
        Mutex::new(()),
        AtomicU32::new(0),
        Mutex::new(()),
        Condvar::new(),
    ));
    let theirs = shared.clone();
    let other = thread::spawn(move || {
        let _b = theirs.2.lock().unwrap();
        theirs.1.store(1, SeqCst);
        let _a = theirs.0.lock().unwrap(); // waits too
    });
    let a = shared.0.lock().unwrap();
    let b = shared.2.lock().unwrap(); // waits
    drop((a, b));
    other.join().unwrap();
}

#[test]
fn a_deadlock_with_who_holds_what() {
    let story = story("inversion", Kind::Deadlock, inversion);
    let (mine, theirs) = (place("waits"), place("waits too"));
    has(
        &story,
        &format!("\n  +-> main waits for mutex#2 at {mine}:22,\n  |     held since step 2"),
    );
    has(
        &story,
        &format!("\n  |   main.0 waits for mutex#1 at {theirs}:27,\n  |     held since step 1"),
    );
    assert!(!story.contains('!'), "it has no moment of its own: {story}");
}
