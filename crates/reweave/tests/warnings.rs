//! What is not wrong but worth a look.

use reweave::{
    Builder, Report,
    sync::{
        Arc,
        atomic::{
            AtomicU32,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
};

/// The place of the line of this file that ends with a mark.
fn line(mark: &str) -> u32 {
    let mark = format!("// {mark}");
    let mut lines = include_str!("warnings.rs").lines();
    lines
        .position(|line| line.ends_with(&mark))
        .expect("marked") as u32
        + 1
}

/// Rule, line and number of executions.
fn warnings(report: &Report) -> Vec<(&str, u32, u64)> {
    let told = |warning: &'_ reweave::Warning| {
        let place = warning.location.as_deref().expect("it has a place");
        let line = place.split(':').nth(1).expect("file:line:column");
        (line.parse().expect("a number"), warning.seen)
    };
    report
        .warnings
        .iter()
        .map(|warning| {
            let (line, seen) = told(warning);
            (warning.rule.as_str(), line, seen)
        })
        .collect()
}

#[test]
fn threads_left_to_themselves_are_listed_by_place() {
    for workers in [1, 2] {
        let report = Builder::new().workers(workers).run(|| {
            let x = Arc::new(AtomicU32::new(0));
            for _ in 0..2 {
                let theirs = x.clone();
                thread::spawn(move || theirs.load(SeqCst)); // loop
            }
            let theirs = x.clone();
            thread::Builder::new()
                .spawn(move || theirs.fetch_add(1, SeqCst)) // once
                .unwrap();
            let theirs = x.clone();
            thread::spawn(move || theirs.load(SeqCst)).join().unwrap();
            thread::scope(|scope| {
                scope.spawn(|| ());
            });
        });
        assert!(report.complete && report.errors.is_empty(), "{report:?}");
        // The loads of three threads, each before or after the addition.
        assert_eq!(report.executions, 8);
        let mut listed = warnings(&report);
        listed.sort_unstable();
        // The addition happens before the end of main when the load that is joined comes after it, in 4 of 8. A load of the loop does
        // when it comes before the addition too: both do in one of these 4.
        let expected = [
            ("main-returned-early", line("loop"), 7),
            ("main-returned-early", line("once"), 4),
            ("unjoined", line("loop"), 8),
            ("unjoined", line("once"), 8),
        ];
        assert_eq!(listed, expected);
        let document = report.document();
        assert_eq!(document.warnings.len(), 4);
        assert_eq!(document.warnings[0].rule.as_deref(), Some("unjoined"));
        assert_eq!(document.exit_code(false).code(), 0);
        assert_eq!(document.exit_code(true).code(), 1);
    }
}

#[test]
fn threads_that_are_waited_for_are_not() {
    let report = Builder::new().run(|| {
        let x = Arc::new(AtomicU32::new(0));
        let theirs = x.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        thread::scope(|scope| {
            scope.spawn(|| x.load(SeqCst));
        });
        other.join().unwrap();
    });
    assert_eq!(report.warnings, []);
    assert_eq!(report.document().warnings, []);
}

/// Which place is reached depends on the order; every worker sees some.
#[test]
fn weak_orders_of_all_workers_are_counted_once() {
    for workers in [1, 2, 4] {
        let report = Builder::new().workers(workers).run(|| {
            let x = Arc::new(AtomicU32::new(0));
            let threads = [0, 1, 2, 3, 4, 5].map(|n| {
                let theirs = x.clone();
                thread::spawn(move || match (theirs.fetch_add(1, SeqCst), n) {
                    (0, 0) => drop(theirs.load(Relaxed)),
                    (0, 1) => drop(theirs.load(Relaxed)),
                    (5, 2) => drop(theirs.load(Relaxed)),
                    (5, 3) => drop(theirs.load(Relaxed)),
                    _ => {}
                })
            });
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert!(report.complete, "{report:?}");
        assert_eq!(report.weak_orders, 4);
    }
}
