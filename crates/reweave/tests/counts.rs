//! `Arc` and `Weak`: counts are explored where they matter, and cost nothing where they do not.

mod common;

use common::optimal;
use reweave::{
    Builder, Kind, Report,
    cell::UnsafeCell,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
};
use std::{
    collections::BTreeSet,
    sync::Mutex as StdMutex,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

fn run(f: impl Fn() + Send + Sync + 'static) -> Report {
    let directory = concat!(env!("CARGO_TARGET_TMPDIR"), "/counts");
    let name = std::thread::current().name().unwrap_or("counts").to_owned();
    Builder::new().name(&name).trace_dir(directory).run(f)
}

/// All that a closure shows in a complete search without errors, and the number of executions.
fn outcomes<T: Ord + Clone + Send + 'static>(
    f: impl Fn() -> T + Send + Sync + 'static,
) -> (Vec<T>, u64) {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let all = seen.clone();
    let report = run(move || {
        let outcome = f();
        all.lock().unwrap().insert(outcome);
    });
    assert!(
        report.errors.is_empty() && report.complete,
        "{:?} {}",
        report.story(),
        report.summary()
    );
    let seen = seen.lock().unwrap().iter().cloned().collect();
    (seen, report.executions)
}

/// A value that writes to a checked cell when it is dropped.
struct Cleared(UnsafeCell<u32>);

// SAFETY: the tests use it under the checker's eyes, in threads that never run at the same time.
unsafe impl Sync for Cleared {}

#[test]
fn clones_and_drops_cost_nothing() {
    let report = run(|| {
        let shared = Arc::new(vec![1, 2, 3]);
        let threads = [1, 2, 3].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || drop(shared.clone()))
        });
        drop(shared);
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!((report.executions, report.complete), (1, true));
}

/// Either thread may drop the value with the cell: no race, one class for each that comes last.
#[test]
fn a_cell_is_dropped_by_either_thread() {
    let report = run(|| {
        let shared = Arc::new(Cleared(UnsafeCell::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.0.with(|_| ()));
        shared.0.with(|_| ());
        drop(shared);
        other.join().unwrap();
    });
    assert!(report.errors.is_empty(), "{}", report.story().unwrap());
    assert_eq!((report.executions, report.complete), (2, true));
}

/// The main thread joins before it drops: nothing else is possible, so nothing is explored.
#[test]
fn what_a_join_settles_is_not_explored() {
    let report = run(|| {
        let shared = Arc::new(Cleared(UnsafeCell::new(0)));
        let threads = [1, 2, 3].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || shared.0.with(|_| ()))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(Arc::strong_count(&shared), 1);
        assert!(Arc::try_unwrap(shared).is_ok());
    });
    assert!(report.errors.is_empty(), "{}", report.story().unwrap());
    assert_eq!((report.executions, report.complete), (1, true));
}

/// An access after the own reference was dropped: a race with the destructor of the thread that comes last.
#[test]
fn a_use_after_the_own_drop_is_found() {
    struct Address(*const Cleared);
    // SAFETY: only the address of the cell is passed on.
    unsafe impl Send for Address {}
    let report = run(|| {
        let shared = Arc::new(Cleared(UnsafeCell::new(0)));
        // Keeps the memory, not the value.
        let memory = Arc::downgrade(&shared);
        let theirs = (shared.clone(), Address(Arc::as_ptr(&shared)));
        let other = thread::spawn(move || {
            let (shared, address) = theirs;
            let address = std::hint::black_box(address);
            drop(shared);
            // SAFETY: the memory is still there.
            unsafe { (*address.0).0.with(|_| ()) };
        });
        drop(shared);
        other.join().unwrap();
        drop(memory);
    });
    assert_eq!(report.errors[0].kind, Kind::DataRace);
}

struct Sends(mpsc::Sender<u32>);

impl Drop for Sends {
    fn drop(&mut self) {
        let _ = self.0.send(7);
    }
}

/// A destructor with an operation, run by the thread that comes last.
#[test]
fn an_operation_in_a_destructor() {
    let report = run(|| {
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::new(Sends(sender));
        let threads = [1, 2].map(|_| {
            let shared = shared.clone();
            thread::spawn(move || drop(shared))
        });
        drop(shared);
        assert_eq!(receiver.recv(), Ok(7));
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert!(report.errors.is_empty(), "{}", report.story().unwrap());
    // Three drops in every order.
    assert_eq!((report.executions, report.complete), (6, true));
}

/// The last one panics, and any may be the last.
#[test]
fn a_destructor_that_panics() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            assert_eq!(thread::current().name(), Some("main"), "not by main");
        }
    }
    let report = run(|| {
        let shared = Arc::new(Panics);
        let theirs = shared.clone();
        let other = thread::spawn(move || drop(theirs));
        drop(shared);
        let _ = other.join();
    });
    let report_has = |kind| report.errors.iter().any(|error| error.kind == kind);
    assert!(report.errors.is_empty() || report_has(Kind::Assertion));
    assert!(report.executions >= 2 || !report.errors.is_empty());
}

/// A reference inside a value that any of two threads may drop.
#[test]
fn a_reference_inside_another() {
    struct Holds {
        _inner: Arc<Sends>,
    }
    let (seen, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let inner = Arc::new(Sends(sender));
        let done = Arc::new(AtomicUsize::new(0));
        let outer = Arc::new(Holds {
            _inner: inner.clone(),
        });
        let (theirs, flag) = (outer.clone(), done.clone());
        let other = thread::spawn(move || {
            drop(theirs);
            flag.store(1, Relaxed);
        });
        drop(outer);
        drop(inner);
        // Sent by now, unless the other thread is yet to drop its reference.
        let sent = receiver.try_recv().is_ok();
        let before = done.load(Relaxed) == 1;
        other.join().unwrap();
        (sent, before)
    });
    assert_eq!(
        seen,
        [(false, false), (false, true), (true, false), (true, true)]
    );
}

#[test]
fn both_fail_to_unwrap() {
    let (seen, executions) = outcomes(|| {
        let shared = Arc::new(5);
        let theirs = shared.clone();
        let other = thread::spawn(move || Arc::try_unwrap(theirs).is_ok());
        let mine = Arc::try_unwrap(shared).is_ok();
        (mine, other.join().unwrap())
    });
    // Each tries, and drops what it failed to unwrap: one of them, or none.
    assert_eq!(seen, [(false, false), (false, true), (true, false)]);
    assert!(executions >= 3);
}

#[test]
fn one_of_two_takes_the_value_out() {
    let (seen, executions) = outcomes(|| {
        let shared = Arc::new(5);
        let theirs = shared.clone();
        let other = thread::spawn(move || Arc::into_inner(theirs).is_some());
        let mine = Arc::into_inner(shared).is_some();
        (mine, other.join().unwrap())
    });
    assert_eq!(seen, [(false, true), (true, false)]);
    assert_eq!(executions, 2);
}

#[test]
fn a_mutable_reference_if_the_other_is_gone() {
    let (seen, executions) = outcomes(|| {
        let mut shared = Arc::new(5);
        let theirs = shared.clone();
        let other = thread::spawn(move || drop(theirs));
        let got = Arc::get_mut(&mut shared).is_some();
        other.join().unwrap();
        got
    });
    assert_eq!((seen, executions), (vec![false, true], 2));
}

#[test]
fn the_count_while_another_thread_clones() {
    let (seen, executions) = outcomes(|| {
        let shared = Arc::new(5);
        let theirs = shared.clone();
        let other = thread::spawn(move || drop(theirs.clone()));
        let count = Arc::strong_count(&shared);
        other.join().unwrap();
        count
    });
    // Before the clone, after it, after its drop, after the drop of the reference it was made from.
    assert_eq!((seen, executions), (vec![1, 2, 3], 4));
}

#[test]
fn an_upgrade_while_the_last_reference_is_dropped() {
    let (seen, executions) = outcomes(|| {
        let shared = Arc::new(5);
        let weak = Arc::downgrade(&shared);
        let other = thread::spawn(move || weak.upgrade().is_some());
        drop(shared);
        other.join().unwrap()
    });
    assert_eq!(seen, [false, true]);
    assert!(executions >= 2);
}

#[test]
fn upgrades_that_cannot_fail_are_not_explored() {
    let (seen, executions) = outcomes(|| {
        let shared = Arc::new(5);
        let threads = [1, 2].map(|_| {
            let weak = Arc::downgrade(&shared);
            thread::spawn(move || weak.upgrade().is_some())
        });
        let all = threads.map(|thread| thread.join().unwrap());
        drop(shared);
        all
    });
    assert_eq!((seen, executions), (vec![[true, true]], 1));
}

/// A loop that waits until the other reference is gone.
#[test]
fn a_loop_polls_the_count() {
    let report = run(|| {
        let mut shared = Arc::new(AtomicUsize::new(0));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.store(1, Relaxed);
            drop(theirs);
        });
        while Arc::get_mut(&mut shared).is_none() {
            thread::yield_now();
        }
        assert_eq!(*Arc::get_mut(&mut shared).unwrap().get_mut(), 1);
        other.join().unwrap();
    });
    assert!(report.errors.is_empty(), "{}", report.story().unwrap());
    assert!(report.complete && report.executions <= 3);
}

/// What a relaxed look at the count does not order is a race; `get_mut` orders.
#[test]
fn a_look_at_the_count_orders_nothing() {
    let races = |ask: fn(&mut Arc<Cleared>) -> bool| {
        run(move || {
            let mut shared = Arc::new(Cleared(UnsafeCell::new(0)));
            let theirs = shared.clone();
            let other = thread::spawn(move || theirs.0.with_mut(|_| ()));
            if ask(&mut shared) {
                shared.0.with(|_| ());
            }
            other.join().unwrap();
        })
    };
    let relaxed = races(|shared| Arc::strong_count(shared) == 1);
    assert_eq!(relaxed.errors[0].kind, Kind::DataRace);
    let ordered = races(|shared| Arc::get_mut(shared).is_some());
    assert!(ordered.errors.is_empty(), "{}", ordered.story().unwrap());
}

/// A trace of an execution with visible counts replays.
#[test]
fn a_failure_that_depends_on_a_count_replays() {
    let body = || {
        let mut shared = Arc::new(5);
        let theirs = shared.clone();
        let other = thread::spawn(move || drop(theirs));
        assert!(Arc::get_mut(&mut shared).is_none(), "it came first");
        other.join().unwrap();
    };
    let report = run(body);
    let trace = report.errors[0].trace.clone().expect("written");
    let again = Builder::new()
        .name("a_failure_that_depends_on_a_count_replays")
        .replay(trace)
        .run(body);
    assert_eq!(again.errors[0].message, report.errors[0].message);
}

/// An `Arc` from outside the closure has a count that other executions change.
#[test]
fn a_count_from_outside_is_misuse() {
    let outside = Arc::new(5);
    let report = run(move || {
        let mine = outside.clone();
        std::hint::black_box(Arc::strong_count(&mine));
    });
    assert_eq!(
        report.errors[0].rule.as_deref(),
        Some("object-from-outside")
    );
}

#[test]
fn the_interface_is_that_of_std() {
    let mut number = Arc::new(1);
    *Arc::make_mut(&mut number) += 1;
    let weak: Weak<i32> = Arc::downgrade(&number);
    assert_eq!((Arc::weak_count(&number), weak.strong_count()), (1, 1));
    assert_eq!(weak.upgrade().as_deref(), Some(&2));
    let raw = Arc::into_raw(number.clone());
    // SAFETY: from `into_raw`, and taken back once.
    drop(unsafe { Arc::from_raw(raw) });
    assert_eq!(Arc::unwrap_or_clone(number), 2);
    assert!(weak.upgrade().is_none());
    let text: Arc<str> = Arc::from("text");
    let bytes: Arc<[u8]> = text.into();
    assert_eq!(&*bytes, b"text");
    let add: Arc<dyn Fn(u32) -> u32> =
        Arc::from(Box::new(|n: u32| n + 1) as Box<dyn Fn(u32) -> u32>);
    assert_eq!(add(1), 2);
    let list: Arc<[u32]> = (1..4).collect();
    let array: Arc<[u32; 3]> = list.try_into().unwrap();
    assert_eq!(*array, [1, 2, 3]);
    let any: Arc<dyn std::any::Any + Send + Sync> = Arc::from_std(std::sync::Arc::new(3_u8));
    assert_eq!(*any.downcast::<u8>().unwrap(), 3);
    struct Own(Weak<Own>);
    let own = Arc::new_cyclic(|weak| Own(weak.clone()));
    assert!(Arc::ptr_eq(&own, &own.0.upgrade().unwrap()));
    static CALLED: AtomicBool = AtomicBool::new(false);
    struct Wakes;
    impl std::task::Wake for Wakes {
        fn wake(self: std::sync::Arc<Self>) {
            CALLED.store(true, SeqCst);
        }
    }
    std::task::Waker::from(Arc::new(Wakes)).wake();
    assert!(CALLED.load(SeqCst));
}

/// A channel in an `Arc` whose last owner hangs up: the receiver sees the end in every order.
#[test]
fn a_sender_behind_an_arc() {
    let seen = optimal(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        let shared = Arc::new(Mutex::new(sender));
        let threads = [1, 2].map(|n| {
            let shared = shared.clone();
            thread::spawn(move || shared.lock().unwrap().send(n).unwrap())
        });
        drop(shared);
        assert_eq!(receiver.iter().sum::<u32>(), 3);
        for thread in threads {
            thread.join().unwrap();
        }
    });
    seen.correct();
}
