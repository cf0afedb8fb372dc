//! One execution leaves nothing to the next: statics, memory, threads; and what breaks is reported.

mod common;

use common::{optimal, random, target};
use reweave::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    target::{
        Target, TargetError,
        model::{Choice, End, Kind, Mark, OpKind, Plan, Policy, Site, Step, ThreadId},
    },
    thread,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::AtomicUsize as StdUsize,
};

static COUNT: AtomicUsize = AtomicUsize::new(7);
static ZERO: AtomicUsize = AtomicUsize::new(0);
static LIST: Mutex<Vec<String>> = Mutex::new(Vec::new());
static TEXT: Mutex<&str> = Mutex::new("at first");

#[test]
fn statics_are_reset_in_every_execution() {
    COUNT.store(100, SeqCst);
    LIST.lock().unwrap().push("outside".into());
    let seen = optimal(|| {
        assert_eq!(COUNT.load(SeqCst), 7);
        assert_eq!(ZERO.swap(3, SeqCst), 0);
        assert_eq!(*TEXT.lock().unwrap(), "at first");
        *TEXT.lock().unwrap() = "then";
        let work = || {
            COUNT.fetch_add(1, SeqCst);
            LIST.lock().unwrap().push("inside".into());
        };
        let t = thread::spawn(work);
        work();
        t.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 9);
        assert_eq!(LIST.lock().unwrap().len(), 2);
    });
    seen.correct();
    assert!(seen.executions >= 2);
    assert_eq!(COUNT.load(SeqCst), 100);
    assert_eq!(*LIST.lock().unwrap(), ["outside"]);
}

#[test]
fn an_object_from_outside_is_misuse() {
    let outside = Arc::new(Mutex::new(0));
    let seen = random(2, move || *outside.lock().unwrap() += 1);
    assert_eq!(seen.kinds(), [Kind::Misuse]);
    let message = &seen.errors[0].message;
    assert!(message.contains("the mutex used at"), "{message}");
    assert!(message.contains("hygiene.rs"), "{message}");
}

/// Resident memory in KiB.
fn resident_kib() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text.split(' ').nth(1).expect("resident pages");
    pages.parse::<usize>().expect("a number") * 4
}

#[test]
fn memory_stays_flat() {
    let mut target = target(|| {
        let list = Arc::new(Mutex::new(Vec::new()));
        LIST.lock().unwrap().push("x".repeat(100));
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let list = list.clone();
                thread::spawn(move || {
                    list.lock().unwrap().push(vec![i; 100]);
                    assert!(i < 2 || list.lock().unwrap().len() > 1, "sometimes");
                })
            })
            .collect();
        // A lock held for ever by a thread that nobody joins: such executions are unwound.
        let held = list.lock().unwrap();
        if held.len() == 1 {
            thread::park();
        }
        drop(held);
        for thread in threads {
            let _ = thread.join();
        }
    });
    let mut run = |seeds: std::ops::Range<u64>| {
        let mut ends = Vec::new();
        for seed in seeds {
            let plan = Plan {
                policy: Policy::Random(seed),
                ..Plan::default()
            };
            let execution = target.run(&plan).expect("fits");
            if !ends.contains(&execution.end) {
                ends.push(execution.end);
            }
        }
        ends
    };
    let ends = run(0..5_000);
    assert!(ends.contains(&End::Done) && ends.contains(&End::Deadlock));
    let before = resident_kib();
    run(5_000..100_000);
    let after = resident_kib();
    // An execution that leaked 100 bytes would show as 9 MiB. The other tests of this process run meanwhile and take some.
    assert!(after < before + 4_096, "{before} KiB, then {after} KiB");
    assert_eq!(target.leaked(), 0);
}

#[test]
fn a_stack_overflow_is_a_crash_and_the_others_go_on() {
    #[expect(unconditional_recursion, reason = "on purpose")]
    #[inline(never)]
    fn deep(n: usize, count: &AtomicUsize) -> usize {
        let frame = [n; 64];
        count.load(SeqCst);
        std::hint::black_box(&frame);
        deep(n + 1, count) + frame[n % 64]
    }
    let seen = random(2, || {
        let count = Arc::new(AtomicUsize::new(0));
        let theirs = count.clone();
        thread::spawn(move || deep(0, &theirs));
        count.store(1, SeqCst);
    });
    assert_eq!(seen.kinds(), [Kind::Crash]);
    assert!(seen.errors[0].message.contains("main.0 crashed"));
    assert_eq!(seen.executions, 2);
}

#[test]
fn a_panic_while_unwinding_is_a_crash_and_the_others_go_on() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("second");
        }
    }
    let seen = random(2, || {
        let done = Arc::new(AtomicUsize::new(0));
        let theirs = done.clone();
        thread::spawn(move || {
            theirs.store(1, SeqCst);
            let _bomb = Bomb;
            panic!("first");
        });
        done.store(2, SeqCst);
    });
    assert_eq!(seen.kinds(), [Kind::Crash]);
    assert!(seen.errors[0].message.contains("second"));
    // The crashed thread stays where it was.
    assert_eq!(seen.ends, [End::Blocked]);
}

#[test]
fn threads_that_will_not_end_are_given_up() {
    let mut target = target(|| {
        let lock = Arc::new(Mutex::new(()));
        std::mem::forget(lock.lock().unwrap());
        thread::spawn(move || {
            loop {
                let _ = catch_unwind(AssertUnwindSafe(|| drop(lock.lock())));
            }
        });
    });
    let execution = target.run(&Plan::default()).expect("fits");
    assert_eq!(execution.end, End::Deadlock);
    assert_eq!(target.leaked(), 1);
}

#[test]
fn destructors_of_abandoned_threads_do_nothing_visible() {
    static DROPS: StdUsize = StdUsize::new(0);
    struct Noisy(Arc<Mutex<u32>>, Arc<AtomicUsize>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            *self.0.lock().unwrap_or_else(|error| error.into_inner()) += 1;
            self.1.fetch_add(1, SeqCst);
            DROPS.fetch_add(1, SeqCst);
        }
    }
    let seen = random(10, || {
        let noisy = Noisy(Arc::default(), Arc::default());
        let other = Noisy(noisy.0.clone(), noisy.1.clone());
        thread::spawn(move || {
            let _other = other;
            thread::park();
        });
        thread::park();
        drop(noisy);
    });
    assert_eq!(seen.kinds(), [Kind::Deadlock]);
    assert_eq!(seen.events, 0);
    assert_eq!(DROPS.load(SeqCst), 20);
}

#[test]
fn a_plan_of_another_program_diverges() {
    let mut target = target(|| {
        AtomicUsize::new(0).load(SeqCst);
    });
    let plan = Plan {
        steps: vec![Step {
            choice: Choice {
                thread: ThreadId::MAIN,
                outcome: 0,
            },
            kind: OpKind(8),
            ok: None,
            site: Site::ANY,
            mark: Mark::Default,
        }],
        ..Plan::default()
    };
    let divergence = target.run(&plan).expect_err("it does not lock");
    let TargetError::Diverged(divergence) = divergence else {
        panic!("{divergence}");
    };
    assert_eq!(divergence.step, 0);
    assert_eq!(divergence.actual.expect("it loads").0, OpKind(3));
    assert!(target.run(&Plan::default()).is_ok());
}
