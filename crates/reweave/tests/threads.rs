//! Threads, locks, panics: as in std, under every schedule.

mod common;

use common::{optimal, random};
use reweave::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    target::model::{End, Kind},
    thread,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

fn handoff() {
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

#[test]
fn handoff_is_never_lost() {
    random(10_000, handoff).correct();
    let seen = optimal(handoff);
    seen.correct();
    // The consumer locks first (and waits) or second.
    assert!(seen.executions >= 2, "{}", seen.executions);
}

#[test]
fn a_held_guard_across_a_join_is_a_deadlock() {
    // As in the README's first version: the guard is still held while the other thread is joined; only when the notification came
    // before the lock can that work.
    let seen = optimal(|| {
        let lock = Arc::new(Mutex::new(()));
        let theirs = lock.clone();
        let held = lock.lock().unwrap();
        let t = thread::Builder::new()
            .name("worker".into())
            .spawn(move || drop(theirs.lock()))
            .unwrap();
        t.join().unwrap();
        drop(held);
    });
    assert_eq!(seen.kinds(), [Kind::Deadlock]);
    let message = &seen.errors[0].message;
    let parts = [
        "main, at ",
        ", waits for the end of main.0 \"worker\"\nmain.0 \"worker\", at ",
        ", waits for mutex#1, held by main",
        "threads.rs:",
    ];
    for part in parts {
        assert!(message.contains(part), "{part} is not in {message}");
    }
}

#[test]
fn threads_on_one_mutex() {
    for (n, factorial) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
        let seen = optimal(move || {
            let sum = Arc::new(Mutex::new(0));
            let threads: Vec<_> = (0..n)
                .map(|_| {
                    let sum = sum.clone();
                    thread::spawn(move || *sum.lock().unwrap() += 1)
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(*sum.lock().unwrap(), n);
        });
        seen.correct();
        assert_eq!(seen.executions, factorial);
    }
}

#[test]
fn a_panic_is_handed_to_the_joiner_and_poisons() {
    let seen = optimal(|| {
        let lock = Arc::new(Mutex::new(1));
        let theirs = lock.clone();
        let t = thread::spawn(move || {
            let _held = theirs.lock().unwrap();
            panic!("on purpose");
        });
        let payload = t.join().unwrap_err();
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "on purpose");
        assert!(lock.is_poisoned());
        assert_eq!(*lock.lock().unwrap_err().into_inner(), 1);
        lock.clear_poison();
        assert!(lock.lock().is_ok());
    });
    seen.correct();
    assert_eq!(seen.executions, 1);
}

#[test]
fn a_panic_nobody_joins_is_an_error() {
    let seen = optimal(|| {
        thread::spawn(|| panic!("alone"));
    });
    assert_eq!(seen.kinds(), [Kind::Assertion]);
    assert!(seen.errors[0].message.contains("main.0 panicked: "));
    assert!(seen.errors[0].message.contains("alone"));
}

#[test]
fn a_panic_of_main_is_an_error_that_tells_what_led_to_it() {
    let seen = optimal(|| {
        let t = thread::spawn(|| panic!("the cause"));
        t.join().unwrap();
    });
    assert_eq!(seen.kinds(), [Kind::Assertion]);
    assert!(seen.errors[0].message.contains("the cause"));
    assert_eq!(seen.errors[0].sites.len(), 2);
}

#[test]
fn a_caught_panic_is_nothing() {
    optimal(|| {
        let result = catch_unwind(AssertUnwindSafe(|| panic!("caught")));
        assert!(result.is_err());
        assert!(!thread::panicking());
    })
    .correct();
}

#[test]
fn panicking_is_each_thread_its_own() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            // Two events during an unwinding: other threads run meanwhile.
            self.0.fetch_add(1, SeqCst);
            assert!(thread::panicking());
            self.0.fetch_add(1, SeqCst);
        }
    }
    let seen = optimal(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let theirs = count.clone();
        let t = thread::spawn(move || {
            let _on_drop = OnDrop(theirs);
            panic!("unwind");
        });
        let lock = Mutex::new(());
        let guard = lock.lock().unwrap();
        count.fetch_add(1, SeqCst);
        assert!(!thread::panicking());
        drop(guard);
        assert!(!lock.is_poisoned());
        assert!(t.join().is_err());
        assert_eq!(count.load(SeqCst), 3);
    });
    seen.correct();
    assert_eq!(seen.executions, 3);
}

#[test]
fn scoped_threads_borrow() {
    let seen = optimal(|| {
        let count = AtomicUsize::new(0);
        let two = thread::scope(|s| {
            s.spawn(|| count.fetch_add(1, SeqCst));
            let t = s.spawn(|| {
                s.spawn(|| count.fetch_add(1, SeqCst));
                2
            });
            t.join().unwrap()
        });
        assert_eq!(two, 2);
        assert_eq!(count.load(SeqCst), 2);
    });
    seen.correct();
    assert_eq!(seen.executions, 2);
}

#[test]
fn a_scope_passes_panics_on() {
    optimal(|| {
        let joined = thread::scope(|s| s.spawn(|| panic!("taken")).join().is_err());
        assert!(joined);
        let result = catch_unwind(|| {
            thread::scope(|s| {
                s.spawn(|| panic!("not taken"));
            });
        });
        let payload = result.unwrap_err();
        assert_eq!(
            *payload.downcast_ref::<&str>().unwrap(),
            "a scoped thread panicked"
        );
    })
    .correct();
}

#[test]
fn park_and_unpark() {
    let seen = optimal(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (theirs, main) = (flag.clone(), thread::current());
        let t = thread::spawn(move || {
            theirs.store(true, SeqCst);
            main.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park();
        }
        t.join().unwrap();
    });
    seen.correct();
    let lost = optimal(|| {
        let t = thread::spawn(thread::park);
        t.join().unwrap();
    });
    assert_eq!(lost.kinds(), [Kind::Deadlock]);
    optimal(|| {
        let t = thread::spawn(|| thread::park_timeout(Duration::from_secs(1)));
        t.join().unwrap();
    })
    .correct();
}

#[test]
fn three_hundred_threads() {
    let seen = random(20, || {
        let count = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..300)
            .map(|_| {
                let count = count.clone();
                thread::spawn(move || count.fetch_add(1, SeqCst))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(count.load(SeqCst), 300);
    });
    seen.correct();
}

#[test]
fn names_and_ids() {
    optimal(|| {
        assert_eq!(thread::current().name(), Some("main"));
        let t = thread::Builder::new()
            .name("named".into())
            .spawn(|| {
                (
                    thread::current().id(),
                    thread::current().name().map(str::to_owned),
                )
            })
            .unwrap();
        let id = t.thread().id();
        assert_ne!(id, thread::current().id());
        assert_eq!(t.join().unwrap(), (id, Some("named".into())));
    })
    .correct();
}

#[test]
fn a_thread_that_is_never_joined_runs_to_its_end() {
    let seen = optimal(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let theirs = count.clone();
        thread::spawn(move || {
            theirs.fetch_add(1, SeqCst);
            theirs.fetch_add(1, SeqCst);
        });
        count.load(SeqCst);
    });
    seen.correct();
    assert_eq!((seen.executions, seen.ends), (3, vec![End::Done]));
}

#[test]
fn timeouts_are_explored() {
    let seen = optimal(|| {
        let cell = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = cell.clone();
        let t = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_all();
        });
        let guard = cell.0.lock().unwrap();
        let wait = cell
            .1
            .wait_timeout_while(guard, Duration::from_millis(5), |set| !*set);
        let (set, timeout) = wait.unwrap();
        assert_eq!(*set, !timeout.timed_out());
        drop(set);
        t.join().unwrap();
    });
    seen.correct();
    assert!(seen.executions > 3);
}

#[test]
fn outside_a_check_all_is_as_in_std() {
    handoff();
    let count = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| count.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(count.into_inner(), 4);
    assert!(
        thread::spawn(|| panic!("expected in the output"))
            .join()
            .is_err()
    );
}

/// The answers that main gets to its two questions, in all executions.
fn answers(program: impl Fn() -> (bool, bool) + Send + Sync + 'static) -> Vec<(bool, bool)> {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let theirs = told.clone();
    let ask = move || {
        let answers = program();
        theirs.lock().unwrap().push(answers);
    };
    optimal(ask).correct();
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    told.dedup();
    told
}

#[test]
fn a_thread_may_or_may_not_have_ended() {
    let all = [(false, false), (false, true), (true, true)];
    let spawned = || {
        let t = thread::spawn(|| ());
        (t.is_finished(), t.is_finished())
    };
    assert_eq!(answers(spawned), all);
    let scoped = || {
        thread::scope(|scope| {
            let t = scope.spawn(|| ());
            (t.is_finished(), t.is_finished())
        })
    };
    assert_eq!(answers(scoped), all);
    // One that panics ends too, and a join that was done before settles the answer.
    let panicked = || {
        let t = thread::spawn(|| panic!("ends"));
        let told = (t.is_finished(), t.is_finished());
        assert!(t.join().is_err());
        told
    };
    assert_eq!(answers(panicked), all);
}

#[test]
fn ends_are_events_only_for_those_who_ask() {
    let two = |asks: bool| {
        move || {
            let (a, b) = (thread::spawn(|| ()), thread::spawn(|| ()));
            if asks {
                a.is_finished();
            }
            b.join().unwrap();
            a.join().unwrap();
        }
    };
    let seen = optimal(two(false));
    // Two joins, nothing else.
    assert_eq!((seen.executions, seen.events), (1, 2));
    let seen = optimal(two(true));
    // Two joins, two ends, one question with two answers.
    assert_eq!((seen.executions, seen.events), (2, 10));
}

#[test]
fn the_end_may_be_asked_for_late_in_a_search() {
    // Only one of three executions asks.
    let program = || {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        let t = thread::spawn(move || {
            theirs.store(1, SeqCst);
            theirs.store(2, SeqCst);
        });
        let asked = x.load(SeqCst) == 1 && t.is_finished();
        t.join().unwrap();
        assert!(!asked, "ended");
    };
    let seen = optimal(program);
    assert_eq!(seen.kinds(), [Kind::Assertion]);
    // The load before, between and behind the stores; between, the question before and behind the end.
    assert_eq!(seen.executions, 4);
}
