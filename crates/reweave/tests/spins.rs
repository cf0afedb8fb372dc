//! Loops that wait for others end, and hide nothing.

mod common;

use common::{optimal, random};
use reweave::{
    hint,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    target::model::{End, Kind},
    thread,
};
use std::time::Duration;

/// Main waits in a loop for a flag that another thread sets.
fn waiting(round: impl Fn(&AtomicBool) + Send + Sync + 'static) {
    let program = move || {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let t = thread::spawn(move || theirs.store(true, SeqCst));
        round(&flag);
        t.join().unwrap();
    };
    let program = Arc::new(program);
    let again = program.clone();
    let seen = optimal(move || program());
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
    // The store comes before the first look, the second, or the third, at which the loop is parked.
    assert!((2..=4).contains(&seen.executions), "{}", seen.executions);
    random(200, move || again()).correct();
}

#[test]
fn a_loop_with_nothing_in_it() {
    waiting(|flag| while !flag.load(SeqCst) {});
}

#[test]
fn a_loop_that_yields() {
    waiting(|flag| {
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_hints() {
    waiting(|flag| {
        while !flag.load(SeqCst) {
            hint::spin_loop();
        }
    });
}

#[test]
fn a_loop_that_sleeps() {
    waiting(|flag| {
        while !flag.load(SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

#[test]
fn a_loop_of_compare_exchange() {
    waiting(
        |flag| {
            while flag.compare_exchange(true, false, SeqCst, SeqCst).is_err() {}
        },
    );
}

#[test]
fn spin_locks_exclude() {
    fn program(take: fn(&AtomicBool)) -> impl Fn() + Send + Sync + 'static {
        move || {
            let lock = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
            let work = move |lock: &(AtomicBool, AtomicUsize)| {
                take(&lock.0);
                let before = lock.1.load(SeqCst);
                lock.1.store(before + 1, SeqCst);
                lock.0.store(false, SeqCst);
            };
            let theirs = lock.clone();
            let t = thread::spawn(move || work(&theirs));
            work(&lock);
            t.join().unwrap();
            assert_eq!(lock.1.load(SeqCst), 2);
        }
    }
    optimal(program(|lock| while lock.swap(true, SeqCst) {})).correct();
    optimal(program(|lock| {
        while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            hint::spin_loop();
        }
    }))
    .correct();
    // Not atomic: both may get in.
    let broken = optimal(program(|lock| {
        while lock.load(SeqCst) {}
        lock.store(true, SeqCst);
    }));
    assert_eq!(broken.kinds(), [Kind::Assertion]);
}

#[test]
fn a_loop_of_try_lock() {
    let seen = optimal(|| {
        let lock = Arc::new(Mutex::new(0));
        let theirs = lock.clone();
        let t = thread::spawn(move || *theirs.lock().unwrap() += 1);
        loop {
            if let Ok(mut value) = lock.try_lock() {
                *value += 1;
                break;
            }
        }
        t.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
    });
    seen.correct();
}

fn peterson(correct: bool) {
    let shared = Arc::new((
        [AtomicBool::new(false), AtomicBool::new(false)],
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    ));
    let work = move |me: usize, shared: &([AtomicBool; 2], AtomicUsize, AtomicUsize)| {
        let other = 1 - me;
        shared.0[me].store(true, SeqCst);
        if correct {
            shared.1.store(other, SeqCst);
        }
        while shared.0[other].load(SeqCst) && shared.1.load(SeqCst) == other {}
        let before = shared.2.load(SeqCst);
        shared.2.store(before + 1, SeqCst);
        shared.0[me].store(false, SeqCst);
    };
    let theirs = shared.clone();
    let t = thread::spawn(move || work(1, &theirs));
    work(0, &shared);
    t.join().unwrap();
    assert_eq!(shared.2.load(SeqCst), 2);
}

#[test]
fn peterson_excludes() {
    let seen = optimal(|| peterson(true));
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
    let broken = optimal(|| peterson(false));
    assert_eq!(broken.kinds(), [Kind::Assertion]);
}

#[test]
fn two_loops_that_wait_for_each_other_are_a_livelock() {
    let seen = optimal(|| {
        let flags = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let theirs = flags.clone();
        let t = thread::spawn(move || {
            while !theirs.0.load(SeqCst) {}
            theirs.1.store(true, SeqCst);
        });
        while !flags.1.load(SeqCst) {
            thread::yield_now();
        }
        flags.0.store(true, SeqCst);
        t.join().unwrap();
    });
    assert_eq!(seen.kinds(), [Kind::Livelock]);
    let message = &seen.errors[0].message;
    assert!(message.contains("spins until atomic"), "{message}");
}

#[test]
fn a_bounded_spin_is_no_loop_to_park() {
    // Sixteen looks, then a real wait: with the lost wake-up behind it.
    let seen = optimal(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (theirs, main) = (flag.clone(), thread::current());
        let t = thread::spawn(move || {
            theirs.store(true, SeqCst);
            drop(main);
        });
        let mut left = 16;
        while !flag.load(SeqCst) {
            left -= 1;
            if left == 0 {
                thread::park();
            }
        }
        t.join().unwrap();
    });
    assert_eq!(seen.kinds(), [Kind::Deadlock]);
    // The store before each of sixteen looks, or after all.
    assert_eq!(seen.executions, 17);
}

#[test]
fn a_count_on_the_heap_is_noticed() {
    let seen = optimal(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let t = thread::spawn(move || theirs.store(true, SeqCst));
        let left = Box::new(std::cell::Cell::new(20));
        while !flag.load(SeqCst) && left.get() > 0 {
            left.set(left.get() - 1);
        }
        t.join().unwrap();
    });
    seen.correct();
    assert_eq!(seen.executions, 22);
}

#[test]
fn timed_waits_in_a_loop_end() {
    let seen = optimal(|| {
        let cell = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = cell.clone();
        let t = thread::spawn(move || {
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_one();
        });
        let mut set = cell.0.lock().unwrap();
        while !*set {
            set = cell
                .1
                .wait_timeout(set, Duration::from_millis(1))
                .unwrap()
                .0;
        }
        drop(set);
        t.join().unwrap();
    });
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
}
