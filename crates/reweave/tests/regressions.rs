//! Programs that once got a wrong verdict, each with the outcomes it can have.

use reweave::{
    Algorithm, Builder, Kind,
    sync::{
        Arc, Condvar, Mutex, Semaphore,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};
use std::{collections::BTreeSet, time::Duration};

type Outcomes = std::sync::Arc<std::sync::Mutex<BTreeSet<String>>>;

/// All outcomes that each algorithm sees; they must be these.
fn outcomes(
    expected: &[&str],
    spurious: bool,
    program: impl Fn() -> String + Clone + Send + Sync + 'static,
) {
    for algorithm in [Algorithm::Dfs, Algorithm::Dpor, Algorithm::Optimal] {
        let seen = Outcomes::default();
        let (into, program) = (seen.clone(), program.clone());
        let report = Builder::new()
            .algorithm(algorithm)
            .spurious_wakeups(spurious)
            .run(move || {
                let outcome = program();
                into.lock().unwrap().insert(outcome);
            });
        assert!(
            report.complete && report.errors.is_empty(),
            "{algorithm:?}: {report:?}"
        );
        let seen = seen.lock().unwrap();
        assert_eq!(
            *seen,
            expected.iter().map(|text| text.to_string()).collect(),
            "{algorithm:?}"
        );
    }
}

#[test]
fn a_wait_without_a_loop_sees_a_spurious_wakeup() {
    let program = || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            let mut guard = theirs.0.lock().unwrap();
            if !*guard {
                guard = theirs.1.wait(guard).unwrap();
            }
            *guard
        });
        *shared.0.lock().unwrap() = true;
        shared.1.notify_one();
        t.join().unwrap().to_string()
    };
    outcomes(&["true"], false, program);
    outcomes(&["false", "true"], true, program);
}

#[test]
fn a_lock_and_a_look_at_its_poison_race() {
    outcomes(&["false", "true"], false, || {
        let lock = Arc::new(Mutex::new(()));
        let theirs = lock.clone();
        let t = thread::spawn(move || {
            let _guard = theirs.lock();
            panic!("poisons it");
        });
        let poisoned = lock.is_poisoned();
        assert!(t.join().is_err());
        poisoned.to_string()
    });
}

#[test]
fn polling_an_atomic_and_a_channel() {
    outcomes(&["1", "stop"], false, || {
        let stop = Arc::new(AtomicUsize::new(0));
        let theirs = stop.clone();
        let (sender, receiver) = mpsc::channel();
        let t = thread::spawn(move || {
            loop {
                if theirs.load(SeqCst) == 1 {
                    return "stop".to_string();
                }
                if let Ok(value) = receiver.try_recv() {
                    return format!("{value}");
                }
            }
        });
        // The receiver may be gone.
        let s = thread::spawn(move || {
            let _ = sender.send(1);
        });
        stop.store(1, SeqCst);
        s.join().unwrap();
        t.join().unwrap()
    });
}

#[test]
fn a_message_in_between_is_news_to_a_timed_receive() {
    outcomes(&["m.t.", "t.m.", "t.t."], false, || {
        let (sender, receiver) = mpsc::channel();
        let (other, steps) = mpsc::channel();
        let t = thread::spawn(move || {
            let mut text = String::new();
            for _ in 0..2 {
                let got = receiver.recv_timeout(Duration::from_millis(1)).is_ok();
                text += if got { "m." } else { "t." };
                steps.recv().unwrap();
            }
            text
        });
        other.send(()).unwrap();
        other.send(()).unwrap();
        // The receiver may be gone.
        let _ = sender.send(());
        t.join().unwrap()
    });
}

#[test]
fn weak_exchanges_fail_each_on_its_own() {
    outcomes(&["00", "01", "10", "11"], false, || {
        let (a, b) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let first = a.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok();
        let second = b.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok();
        format!("{}{}", u8::from(first), u8::from(second))
    });
}

#[test]
fn an_error_in_a_run_that_is_given_up_is_found_elsewhere() {
    let report = Builder::new()
        .algorithm(Algorithm::Dpor)
        .keep_going(true)
        .run(|| {
            let z = Arc::new(AtomicUsize::new(0));
            let units = Arc::new(Semaphore::new(1));
            let theirs = z.clone();
            thread::spawn(move || assert_ne!(theirs.load(SeqCst), 0));
            for _ in 0..3 {
                let (z, units) = (z.clone(), units.clone());
                thread::spawn(move || {
                    if units.try_acquire() {
                        z.fetch_add(1, SeqCst);
                        units.release();
                    }
                });
            }
        });
    assert_eq!(report.errors.len(), 1);
    assert_eq!(report.errors[0].kind, Kind::Assertion);
}

#[test]
fn another_value_in_another_run_is_told() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let told = Builder::new().try_run(|| {
        let x = AtomicUsize::new(0);
        x.store(RUNS.fetch_add(1, SeqCst), SeqCst);
    });
    assert!(
        told.expect_err("no two runs are the same")
            .to_string()
            .contains("does not do the same")
    );
}

#[test]
fn a_thread_stopped_by_the_limit_hides_nothing_of_the_others() {
    let report = Builder::new().max_steps(20).run(|| {
        let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (xs, ys) = (x.clone(), y.clone());
        thread::spawn(move || assert_ne!(ys.swap(1, SeqCst), 0, "nobody else writes it"));
        let mut rounds = 0;
        while xs.fetch_add(1, SeqCst) != usize::MAX {
            rounds += 1;
        }
        assert!(rounds > 0 && y.load(SeqCst) < 2 && x.load(SeqCst) > 0);
    });
    assert_eq!(report.errors[0].kind, Kind::Assertion);
}

#[test]
fn time_does_not_go_back_from_thread_to_thread() {
    use reweave::time::Instant;
    outcomes(&["later"], false, || {
        let (sender, receiver) = mpsc::channel();
        let last = Arc::new(Mutex::new(None));
        let theirs = last.clone();
        let t = thread::spawn(move || {
            thread::sleep(Duration::from_millis(10));
            sender.send(Instant::now()).unwrap();
            *theirs.lock().unwrap() = Some(Instant::now());
        });
        let sent = receiver.recv().unwrap();
        assert!(Instant::now() >= sent);
        if let Some(last) = *last.lock().unwrap() {
            assert!(Instant::now() >= last);
        }
        t.join().unwrap();
        "later".into()
    });
}

#[test]
fn a_thread_stopped_at_a_lock_or_a_send_is_not_planned_for() {
    for sends in [false, true] {
        for algorithm in [Algorithm::Dfs, Algorithm::Dpor, Algorithm::Optimal] {
            let report = Builder::new()
                .algorithm(algorithm)
                .max_steps(4)
                .run(move || {
                    let lock = Arc::new(Mutex::new(0));
                    let (sender, receiver) = mpsc::channel();
                    let (theirs, mine) = (lock.clone(), sender.clone());
                    thread::spawn(move || {
                        loop {
                            *theirs.lock().unwrap() += 1;
                            if sends {
                                sender.send(1).unwrap();
                            }
                        }
                    });
                    *lock.lock().unwrap() += 1;
                    if sends {
                        mine.send(2).unwrap();
                    }
                    std::mem::forget(receiver);
                });
            assert_eq!(report.incomplete, ["max-steps"], "{algorithm:?}");
            assert!(report.errors.is_empty(), "{algorithm:?}: {report:?}");
        }
    }
}

#[test]
fn timeouts_in_a_row_are_seen() {
    const SHORT: Duration = Duration::from_millis(1);
    // At two places.
    outcomes(&["m", "tm", "tt"], false, || {
        let permits = Arc::new(Semaphore::new(0));
        let theirs = permits.clone();
        let t = thread::spawn(move || theirs.release());
        let text = if permits.acquire_timeout(SHORT) {
            "m"
        } else if permits.acquire_timeout(SHORT) {
            "tm"
        } else {
            "tt"
        };
        t.join().unwrap();
        text.into()
    });
    // At one place, counted on the heap.
    outcomes(&["0", "1", "2", "3"], false, || {
        let permits = Arc::new(Semaphore::new(0));
        let theirs = permits.clone();
        let t = thread::spawn(move || theirs.release());
        let mut tries = Box::new(0);
        while *tries < 3 && !permits.acquire_timeout(SHORT) {
            *tries += 1;
        }
        t.join().unwrap();
        tries.to_string()
    });
}

/// Such a loop is cut, and the check is complete.
#[test]
fn loops_of_timed_waits_are_complete() {
    const SHORT: Duration = Duration::from_millis(1);
    outcomes(&["done"], false, || {
        let cell = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = cell.clone();
        let t = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let mut set = cell.0.lock().unwrap();
        while !*set {
            set = cell.1.wait_timeout(set, SHORT).unwrap().0;
        }
        drop(set);
        t.join().unwrap();
        "done".into()
    });
    outcomes(&["done"], false, || {
        let permits = Arc::new(Semaphore::new(0));
        let theirs = permits.clone();
        let t = thread::spawn(move || theirs.release());
        while !permits.acquire_timeout(SHORT) {}
        t.join().unwrap();
        "done".into()
    });
    outcomes(&["done"], false, || {
        let (sender, receiver) = mpsc::channel();
        let t = thread::spawn(move || sender.send(1).unwrap());
        while receiver.recv_timeout(SHORT) != Ok(1) {}
        t.join().unwrap();
        "done".into()
    });
}

#[test]
fn a_spurious_wakeup_is_no_progress() {
    let report = Builder::new().spurious_wakeups(true).run(|| {
        let cell = Arc::new((Mutex::new(()), Condvar::new()));
        let theirs = cell.clone();
        let t = thread::spawn(move || theirs.1.notify_one());
        let guard = cell.0.lock().unwrap();
        drop(cell.1.wait(guard).unwrap());
        t.join().unwrap();
    });
    assert_eq!(report.errors.len(), 1, "{report:?}");
    assert_eq!(report.errors[0].kind, Kind::Deadlock);
}

/// Also two of them in a row, and none more in a loop.
#[test]
fn spurious_wakeups_happen_at_every_wait() {
    outcomes(&["0", "1", "2"], true, || {
        let cell = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = cell.clone();
        let t = thread::spawn(move || {
            let mut guard = theirs.0.lock().unwrap();
            let mut woken = 0;
            if *guard == 0 {
                guard = theirs.1.wait(guard).unwrap();
                woken += usize::from(*guard == 0);
            }
            if *guard == 0 {
                guard = theirs.1.wait(guard).unwrap();
                woken += usize::from(*guard == 0);
            }
            while *guard == 0 {
                guard = theirs.1.wait(guard).unwrap();
            }
            woken
        });
        *cell.0.lock().unwrap() = 1;
        cell.1.notify_one();
        t.join().unwrap().to_string()
    });
}

#[test]
fn either_of_two_looks_at_the_clock_is_the_first() {
    use reweave::time::Instant;
    outcomes(&["mine", "theirs"], false, || {
        let t = thread::spawn(Instant::now);
        let mine = Instant::now();
        let theirs = t.join().unwrap();
        assert_ne!(mine, theirs);
        if mine < theirs { "mine" } else { "theirs" }.into()
    });
}
