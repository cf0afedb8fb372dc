//! Loops that wait for others end, and hide nothing.

mod common;

use common::{all, optimal, random};
use reweave::{
    hint,
    sync::{
        Arc, Condvar, Mutex, OnceLock, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    target::model::{End, Kind},
    thread,
};
use reweave_explore::AlgorithmName as Algorithm;
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
    let program = std::sync::Arc::new(program);
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

/// Main looks in a loop at what a lock protects, and another thread sets it.
fn looking<L: Default + Send + Sync + 'static>(
    set: impl Fn(&L) + Copy + Send + Sync + 'static,
    wait: impl Fn(&L) + Copy + Send + Sync + 'static,
) {
    let program = move || {
        let lock = Arc::new(L::default());
        let theirs = lock.clone();
        let t = thread::spawn(move || set(&theirs));
        wait(&lock);
        t.join().unwrap();
    };
    for algorithm in [Algorithm::Optimal, Algorithm::Dpor, Algorithm::Dfs] {
        let seen = all(algorithm, program);
        seen.correct();
        let ends: Vec<_> = seen
            .ends
            .iter()
            .filter(|end| **end != End::Redundant)
            .collect();
        assert_eq!(ends, [&End::Done], "{algorithm:?}");
        if algorithm == Algorithm::Optimal {
            // The setter's section comes before the first look, the second, or the third, at which the loop is parked.
            assert_eq!(seen.executions, 3);
        }
    }
    random(200, program).correct();
    let endless = move || wait(&L::default());
    let seen = optimal(endless);
    assert_eq!(seen.kinds(), [Kind::Livelock]);
    assert_eq!(seen.executions, 1);
}

fn set(lock: &Mutex<bool>) {
    *lock.lock().unwrap() = true;
}

#[test]
fn a_loop_that_looks_under_a_mutex() {
    looking(set, |lock| while !*lock.lock().unwrap() {});
    looking(set, |lock| {
        while !*lock.lock().unwrap() {
            thread::yield_now();
        }
    });
    looking(set, |lock| {
        while !*lock.lock().unwrap() {
            hint::spin_loop();
        }
    });
    looking(set, |lock| {
        while !*lock.lock().unwrap() {
            thread::sleep(Duration::from_millis(1));
        }
    });
    looking(set, |lock| {
        loop {
            let set = lock.lock().unwrap();
            if *set {
                break;
            }
            drop(set);
            thread::yield_now();
        }
    });
}

#[test]
fn a_loop_that_looks_under_a_read_lock() {
    looking(
        |lock: &RwLock<Vec<u32>>| lock.write().unwrap().push(1),
        |lock| {
            loop {
                if !lock.read().unwrap().is_empty() {
                    break;
                }
            }
        },
    );
}

#[test]
fn a_loop_that_takes_what_it_waited_for() {
    #[derive(Default, PartialEq)]
    enum State {
        #[default]
        Empty,
        Full,
        Taken,
    }
    looking(
        |lock: &Mutex<State>| *lock.lock().unwrap() = State::Full,
        |lock| {
            loop {
                let mut state = lock.lock().unwrap();
                match *state {
                    State::Full => {
                        *state = State::Taken;
                        break;
                    }
                    State::Empty | State::Taken => {}
                }
                drop(state);
                thread::yield_now();
            }
        },
    );
}

#[test]
fn a_loop_that_waits_for_poison() {
    let seen = optimal(|| {
        let lock = Arc::new(Mutex::new(()));
        let theirs = lock.clone();
        let t = thread::spawn(move || {
            let _held = theirs.lock().unwrap();
            panic!("poisons");
        });
        while !lock.is_poisoned() {
            thread::yield_now();
        }
        assert!(t.join().is_err());
    });
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
    // The looks are not in the section's way: before, inside or behind it. Two looks are made before the loop is parked.
    assert_eq!(seen.executions, 6);
}

#[test]
fn two_loops_look_under_one_mutex() {
    let program = |sets: bool| {
        move || {
            let lock = Arc::new(Mutex::new(false));
            let wait = |lock: &Mutex<bool>| {
                while !*lock.lock().unwrap() {
                    thread::yield_now();
                }
            };
            let theirs = lock.clone();
            let t = thread::spawn(move || wait(&theirs));
            if sets {
                let theirs = lock.clone();
                thread::spawn(move || *theirs.lock().unwrap() = true);
            }
            wait(&lock);
            t.join().unwrap();
        }
    };
    let seen = optimal(program(true));
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
    // Sections of one mutex in all orders: i looks of one and j of the other come before the setter's section (each up to
    // two, then it is parked), in any order; behind it each looks once more, in any order: 2 * sum of C(i+j, i).
    assert_eq!(seen.executions, 2 * 19);
    random(200, program(true)).correct();
    let seen = optimal(program(false));
    assert_eq!(seen.kinds(), [Kind::Livelock]);
    // Two looks of each, in any order.
    assert_eq!(seen.executions, 6);
}

#[test]
fn loops_under_a_lock_hide_no_deadlock() {
    // Main looks at `b` inside of `a`; the other takes them the other way round.
    let seen = optimal(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(false)));
        let theirs = locks.clone();
        let t = thread::spawn(move || {
            let mut b = theirs.1.lock().unwrap();
            let _a = theirs.0.lock().unwrap();
            *b = true;
        });
        loop {
            let _a = locks.0.lock().unwrap();
            if *locks.1.lock().unwrap() {
                break;
            }
        }
        t.join().unwrap();
    });
    assert_eq!(seen.kinds(), [Kind::Deadlock]);
}

#[test]
fn a_loop_is_not_parked_inside_a_section() {
    // The loop begins with the lock held; the other needs it.
    let seen = optimal(|| {
        let shared = Arc::new((Mutex::new(()), AtomicBool::new(false)));
        let theirs = shared.clone();
        let t = thread::spawn(move || {
            let _held = theirs.0.lock().unwrap();
            theirs.1.store(true, SeqCst);
        });
        let mut held = shared.0.lock().unwrap();
        while !shared.1.load(SeqCst) {
            drop(held);
            held = shared.0.lock().unwrap();
        }
        drop(held);
        t.join().unwrap();
    });
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
}

#[test]
fn a_loop_that_looks_at_two_mutexes() {
    let program = || {
        let locks = Arc::new((Mutex::new(false), Mutex::new(false)));
        let theirs = locks.clone();
        let t = thread::spawn(move || *theirs.1.lock().unwrap() = true);
        while !*locks.0.lock().unwrap() && !*locks.1.lock().unwrap() {}
        t.join().unwrap();
    };
    let seen = optimal(program);
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
    random(200, program).correct();
}

#[test]
fn a_count_under_a_lock_is_noticed() {
    let seen = optimal(|| {
        let lock = Arc::new(Mutex::new(std::cell::Cell::new(5)));
        let theirs = lock.clone();
        let t = thread::spawn(move || theirs.lock().unwrap().set(0));
        loop {
            let left = lock.lock().unwrap();
            if left.get() == 0 {
                break;
            }
            left.set(left.get() - 1);
        }
        t.join().unwrap();
    });
    seen.correct();
    // The other section before each of six looks, or behind all.
    assert_eq!(seen.executions, 7);
}

#[test]
fn a_loop_that_waits_for_a_once_lock() {
    let program = || {
        let cell = Arc::new(OnceLock::new());
        let theirs = cell.clone();
        let t = thread::spawn(move || theirs.set(1).unwrap());
        while cell.get().is_none() {
            thread::yield_now();
        }
        t.join().unwrap();
    };
    let seen = optimal(program);
    seen.correct();
    assert_eq!(seen.ends, [End::Done]);
    random(200, program).correct();
    let seen = optimal(|| {
        let cell = OnceLock::<u32>::new();
        while cell.get().is_none() {}
    });
    assert_eq!(seen.kinds(), [Kind::Livelock]);
}

#[test]
fn a_loop_that_waits_for_the_end_of_a_thread() {
    let program = || {
        let t = thread::spawn(|| ());
        while !t.is_finished() {
            thread::yield_now();
        }
        t.join().unwrap();
    };
    for algorithm in [Algorithm::Optimal, Algorithm::Dpor, Algorithm::Dfs] {
        let seen = all(algorithm, program);
        seen.correct();
        assert_eq!(seen.ends, [End::Done]);
        // The end comes before the first look, the second, or the third, at which the loop is parked.
        assert_eq!(seen.executions, 3);
    }
    random(200, program).correct();
}

#[test]
fn a_loop_until_some_time_is_no_livelock() {
    use reweave::time::Instant;
    use std::time::Duration;
    for sleeps in [false, true] {
        let report = reweave::Builder::new().run(move || {
            let flag = Arc::new(AtomicUsize::new(0));
            let end = Instant::now() + Duration::from_millis(50);
            while flag.load(SeqCst) == 0 {
                if Instant::now() > end {
                    return;
                }
                if sleeps {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        });
        assert!(report.complete && report.errors.is_empty(), "{report:?}");
    }
}
