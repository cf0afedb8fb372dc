//! The builder, the attribute, trace files and replay.

use reweave::{
    Algorithm, Builder, Kind,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
};
use std::{path::PathBuf, sync::atomic::AtomicUsize as StdUsize, time::Duration};

#[reweave::test]
fn handoff_is_never_lost() {
    let cell = Arc::new((Mutex::new(None), Condvar::new()));
    let theirs = cell.clone();
    let t = thread::spawn(move || {
        *theirs.0.lock().unwrap() = Some(7);
        theirs.1.notify_one();
    });
    let mut got = cell.0.lock().unwrap();
    while got.is_none() {
        got = cell.1.wait(got).unwrap();
    }
    drop(got);
    t.join().unwrap();
}

#[reweave::test(expect = "deadlock", workers = 1)]
fn locks_in_two_orders() {
    inversion();
}

fn inversion() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let theirs = locks.clone();
    let t = thread::spawn(move || {
        let _b = theirs.1.lock().unwrap();
        let _a = theirs.0.lock().unwrap();
    });
    let a = locks.0.lock().unwrap();
    let b = locks.1.lock().unwrap();
    drop((a, b));
    t.join().unwrap();
}

fn lastzero(n: usize) {
    let cells: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let theirs = cells.clone();
    let mut threads = vec![thread::spawn(move || {
        let mut i = n;
        while theirs[i].load(SeqCst) != 0 {
            i -= 1;
        }
    })];
    for j in 1..=n {
        let theirs = cells.clone();
        threads.push(thread::spawn(move || {
            let before = theirs[j - 1].load(SeqCst);
            theirs[j].store(before + 1, SeqCst);
        }));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn counts_are_the_same_with_any_number_of_workers() {
    for workers in [1, 2, 3] {
        let report = Builder::new().workers(workers).run(|| lastzero(5));
        assert!(report.complete && report.errors.is_empty(), "{report:?}");
        // (n + 3) * 2^(n - 2)
        assert_eq!((report.executions, report.blocked), (64, 0));
        assert_eq!(report.threads_max, 7);
    }
}

#[test]
fn an_error_is_written_and_replayed() {
    let directory = std::env::temp_dir().join(format!("reweave-checks-{}", std::process::id()));
    let builder = || Builder::new().name("checks::inversion").workers(1);
    let report = builder().trace_dir(&directory).run(inversion);
    assert_eq!(report.errors.len(), 1, "{report:?}");
    let found = &report.errors[0];
    assert_eq!(found.kind, Kind::Deadlock);
    let text = &found.story;
    assert!(text.contains("REWEAVE_REPLAY="), "{text}");
    let trace = found.trace.clone().expect("written");
    for _ in 0..2 {
        let again = builder().replay(&trace).run(inversion);
        assert_eq!(again.errors.len(), 1);
        assert_eq!(again.errors[0].message, found.message);
        assert_eq!(again.errors[0].events, found.events);
    }
    let other = builder().replay(&trace).try_run(|| lastzero(2));
    assert!(other.is_err());
    std::fs::remove_dir_all(&directory).expect("made above");
}

#[test]
fn keep_going_collects_distinct_errors() {
    let report = Builder::new().keep_going(true).run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let t = thread::spawn(move || theirs.fetch_add(1, SeqCst));
        let early = x.load(SeqCst) == 0;
        assert!(!early || reweave::any_bool(), "one");
        assert!(early || reweave::any_bool(), "two");
        t.join().unwrap();
    });
    assert!(report.complete, "{report:?}");
    assert_eq!(report.errors.len(), 2);
    assert_eq!(report.executions, 4);
}

#[test]
fn what_was_left_out_is_said() {
    let cut = Builder::new()
        .workers(1)
        .max_executions(5)
        .run(|| lastzero(5));
    assert_eq!(
        (cut.executions, &cut.incomplete[..]),
        (5, &["max-executions".to_owned()][..])
    );
    let late = Builder::new().budget(Duration::ZERO).run(|| lastzero(5));
    assert_eq!(
        (late.executions, &late.incomplete[..]),
        (0, &["budget".to_owned()][..])
    );
    let sampled = Builder::new()
        .algorithm(Algorithm::Random)
        .max_executions(50)
        .run(|| lastzero(5));
    assert_eq!(
        (sampled.executions, &sampled.incomplete[..]),
        (50, &["sampling".to_owned()][..])
    );
    let long = Builder::new().max_steps(2).run(|| lastzero(2));
    assert!(long.incomplete.contains(&"max-steps".to_owned()));
}

#[test]
fn a_test_that_is_not_deterministic_is_told_so() {
    static RUNS: StdUsize = StdUsize::new(0);
    let report = Builder::new().workers(1).try_run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let t = thread::spawn(move || theirs.store(1, SeqCst));
        if RUNS.fetch_add(1, SeqCst).is_multiple_of(2) {
            x.load(SeqCst);
        } else {
            x.store(2, SeqCst);
        }
        t.join().unwrap();
    });
    let text = report.expect_err("it differs").to_string();
    assert!(text.contains("checks.rs:"), "{text}");
}

#[test]
fn weak_orders_are_counted_by_place() {
    let report = Builder::new().run(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let t = thread::spawn(move || theirs.store(1, Relaxed));
        x.load(Relaxed);
        x.load(SeqCst);
        t.join().unwrap();
    });
    assert_eq!(report.weak_orders, 2);
}

#[test]
fn a_failing_check_panics_with_the_report() {
    let directory: PathBuf =
        std::env::temp_dir().join(format!("reweave-fails-{}", std::process::id()));
    let theirs = directory.clone();
    let result = std::panic::catch_unwind(move || {
        Builder::new().trace_dir(theirs).check(|| panic!("inside"));
    });
    let payload = result.expect_err("an error was found");
    let text = payload.downcast_ref::<String>().expect("a report");
    assert!(text.contains("inside"), "{text}");
    std::fs::remove_dir_all(&directory).expect("made above");
}

/// Wrong only when the thread has ended at that moment, which only one of the first executions asks for.
fn asks_for_an_end() {
    let x = Arc::new(AtomicUsize::new(0));
    let theirs = x.clone();
    let t = thread::spawn(move || {
        theirs.store(1, SeqCst);
        theirs.store(2, SeqCst);
    });
    let ended = x.load(SeqCst) == 1 && t.is_finished();
    t.join().unwrap();
    assert!(!ended, "ended");
}

#[test]
fn the_search_restarts_when_an_end_is_asked_for() {
    let directory = std::env::temp_dir().join(format!("reweave-ends-{}", std::process::id()));
    let builder = || Builder::new().name("checks::ends").keep_going(true);
    for workers in [1, 2] {
        let report = builder()
            .workers(workers)
            .trace_dir(&directory)
            .run(asks_for_an_end);
        assert_eq!(report.errors.len(), 1, "{report:?}");
        // The load before, between and behind the stores; between, the question before and behind the end.
        assert_eq!((report.executions, report.complete), (4, true));
        let trace = report.errors[0].trace.clone().expect("written");
        let again = builder().replay(&trace).run(asks_for_an_end);
        assert_eq!(again.errors[0].message, report.errors[0].message);
    }
    std::fs::remove_dir_all(&directory).expect("made above");
}
