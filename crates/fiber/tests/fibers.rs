//! Turns, identity and reuse of fibers. Tests of faults and of thread counts have processes of their own.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, panicking};

use reweave_fiber::{Fiber, Pool, Resumed, on_fiber, suspend, unwinding};

const STACK_BYTES: usize = 64 << 10;

thread_local! {
    static LAZY: RefCell<Vec<usize>> = RefCell::new(vec![usize::MAX]);
    static CONST: Cell<usize> = const { Cell::new(0) };
}

fn errno() -> i32 {
    std::io::Error::last_os_error()
        .raw_os_error()
        .expect("an OS error has a number")
}

fn set_errno(value: i32) {
    // SAFETY: __errno_location returns the address of the calling thread's errno.
    unsafe { *libc::__errno_location() = value };
}

/// Resumes in turn until all have finished; returns the number of turns.
fn round_robin(fibers: &mut Vec<Fiber>) -> usize {
    let mut turns = 0;
    while !fibers.is_empty() {
        turns += fibers.len();
        fibers.retain_mut(|fiber| fiber.resume() == Resumed::Suspended);
    }
    turns
}

#[test]
fn a_job_runs_by_turns() {
    let mut pool = Pool::new(STACK_BYTES);
    let log = Rc::new(RefCell::new(Vec::new()));
    let job = |name: &'static str| {
        let log = log.clone();
        Box::new(move || {
            for turn in 0..2 {
                log.borrow_mut().push((name, turn));
                suspend();
            }
        })
    };
    let mut fibers = vec![pool.spawn(job("a")), pool.spawn(job("b"))];
    assert!(log.borrow().is_empty(), "spawning does not run");
    assert_eq!(round_robin(&mut fibers), 6);
    assert_eq!(*log.borrow(), [("a", 0), ("b", 0), ("a", 1), ("b", 1)]);
}

#[test]
fn what_a_job_asks_about_itself() {
    assert!(!on_fiber() && !unwinding());
    let mut pool = Pool::new(STACK_BYTES);
    let answers = Rc::new(Cell::new(None));
    let out = answers.clone();
    assert_eq!(
        pool.spawn(Box::new(move || out.set(Some((on_fiber(), unwinding())))))
            .resume(),
        Resumed::Finished
    );
    assert_eq!(answers.get(), Some((true, false)));
    assert!(!on_fiber() && !unwinding());
}

#[test]
fn thread_locals_are_each_fibers_own() {
    const FIBERS: usize = 300;
    let mut pool = Pool::new(STACK_BYTES);
    let ids = Rc::new(RefCell::new(HashSet::from([thread::current().id()])));
    LAZY.with_borrow_mut(|own| own.push(7));
    set_errno(1);
    let mut fibers: Vec<_> = (0..FIBERS)
        .map(|n| {
            let ids = ids.clone();
            pool.spawn(Box::new(move || {
                let id = thread::current().id();
                assert!(ids.borrow_mut().insert(id), "an id of its own");
                assert_eq!(
                    (CONST.get(), LAZY.take()),
                    (0, vec![usize::MAX]),
                    "as in a new thread"
                );
                CONST.set(n);
                for turn in 0..3 {
                    LAZY.with_borrow_mut(|own| own.push(n * turn));
                    set_errno(100 + n as i32);
                    suspend();
                    assert_eq!(
                        (errno(), CONST.get(), thread::current().id()),
                        (100 + n as i32, n, id)
                    );
                }
                assert_eq!(LAZY.take(), [0, n, 2 * n]);
                ids.borrow_mut().remove(&id);
            }))
        })
        .collect();
    assert_eq!(round_robin(&mut fibers), FIBERS * 4);
    // A job whose assertion failed has not taken its id out again: a panic that leaves a job only ends it.
    assert_eq!(ids.borrow().len(), 1);
    assert_eq!(
        (errno(), CONST.get(), LAZY.take()),
        (1, 0, vec![usize::MAX, 7])
    );
}

/// Suspends in a destructor that runs for a panic: the moment in which shared panic counts would show.
struct SuspendOnDrop;

impl Drop for SuspendOnDrop {
    fn drop(&mut self) {
        suspend();
        assert!(panicking(), "still in its own panic");
    }
}

#[test]
fn a_panic_is_its_fibers_own() {
    let mut pool = Pool::new(STACK_BYTES);
    let innocent = Rc::new(Mutex::new(0));
    let mut unlucky: Vec<_> = (0..2)
        .map(|n| {
            pool.spawn(Box::new(move || {
                let caught = catch_unwind(|| {
                    let _guard = SuspendOnDrop;
                    resume_unwind(Box::new(n));
                });
                assert_eq!(
                    caught.unwrap_err().downcast_ref(),
                    Some(&n),
                    "its own payload"
                );
                assert!(!panicking());
                suspend();
            }))
        })
        .collect();
    let shared = innocent.clone();
    let mut lucky = pool.spawn(Box::new(move || {
        for _ in 0..2 {
            let mut held = shared.lock().expect("nobody panicked with it");
            suspend();
            assert!(!panicking());
            *held += 1;
        }
    }));
    assert_eq!(lucky.resume(), Resumed::Suspended);
    for fiber in &mut unlucky {
        assert_eq!(
            fiber.resume(),
            Resumed::Suspended,
            "both are in their destructors at once"
        );
    }
    assert!(!panicking());
    assert_eq!(lucky.resume(), Resumed::Suspended);
    for fiber in &mut unlucky {
        assert_eq!(
            fiber.resume(),
            Resumed::Suspended,
            "caught, and all assertions held"
        );
    }
    assert_eq!(lucky.resume(), Resumed::Finished);
    assert!(!innocent.is_poisoned());
    assert_eq!(*innocent.lock().expect("not poisoned"), 2);
}

#[test]
fn a_panic_that_leaves_the_job_ends_it() {
    struct PanicOnDrop;
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            resume_unwind(Box::new("a payload with a hostile destructor"));
        }
    }
    let mut pool = Pool::new(STACK_BYTES);
    assert_eq!(
        pool.spawn(Box::new(|| resume_unwind(Box::new(PanicOnDrop))))
            .resume(),
        Resumed::Finished
    );
    let id = Rc::new(Cell::new(None));
    let out = id.clone();
    assert_eq!(
        pool.spawn(Box::new(move || out.set(Some(panicking()))))
            .resume(),
        Resumed::Finished
    );
    assert_eq!(id.get(), Some(false), "the same fiber, as good as new");
}

#[test]
fn a_finished_fiber_is_not_resumed() {
    let mut pool = Pool::new(STACK_BYTES);
    let mut fiber = pool.spawn(Box::new(|| ()));
    assert_eq!(fiber.resume(), Resumed::Finished);
    assert!(catch_unwind(AssertUnwindSafe(|| fiber.resume())).is_err());
    assert!(
        catch_unwind(suspend).is_err(),
        "nor does an ordinary thread suspend"
    );
}

#[test]
fn the_last_fiber_to_end_is_the_next_to_run() {
    let mut pool = Pool::new(STACK_BYTES);
    let ids = Rc::new(RefCell::new(Vec::new()));
    for _ in 0..3 {
        let out = ids.clone();
        pool.spawn(Box::new(move || {
            out.borrow_mut().push(thread::current().id())
        }))
        .resume();
    }
    assert_eq!(ids.borrow().len(), 3);
    assert!(ids.borrow().iter().all(|id| *id == ids.borrow()[0]));
}

/// A fiber may itself resume fibers, of its own pool or another's.
#[test]
fn fibers_nest() {
    let mut outer = Pool::new(STACK_BYTES);
    let log = Rc::new(RefCell::new(Vec::new()));
    let out = log.clone();
    let mut fiber = outer.spawn(Box::new(move || {
        CONST.set(1);
        let mut inner = Pool::new(STACK_BYTES);
        let deep = out.clone();
        let mut fiber = inner.spawn(Box::new(move || {
            CONST.set(2);
            suspend();
            deep.borrow_mut().push(CONST.get());
        }));
        assert_eq!(fiber.resume(), Resumed::Suspended);
        suspend();
        out.borrow_mut().push(CONST.get());
        assert_eq!(fiber.resume(), Resumed::Finished);
    }));
    assert_eq!(fiber.resume(), Resumed::Suspended);
    assert_eq!(fiber.resume(), Resumed::Finished);
    assert_eq!(*log.borrow(), [1, 2]);
}

#[test]
fn two_pools_on_two_threads_at_once() {
    const ROUNDS: usize = 20_000;
    let start = Arc::new(Barrier::new(2));
    let work = |start: Arc<Barrier>| {
        let mut pool = Pool::new(STACK_BYTES);
        let sum = Rc::new(Cell::new(0));
        start.wait();
        let mut fibers: Vec<_> = (0..4)
            .map(|_| {
                let sum = sum.clone();
                pool.spawn(Box::new(move || {
                    for _ in 0..ROUNDS {
                        CONST.set(CONST.get() + 1);
                        suspend();
                    }
                    sum.set(sum.get() + CONST.get());
                }))
            })
            .collect();
        round_robin(&mut fibers);
        sum.get()
    };
    let threads = [0, 1].map(|_| {
        let start = start.clone();
        thread::spawn(move || work(start))
    });
    assert_eq!(
        threads.map(|thread| thread.join().expect("no panic")),
        [4 * ROUNDS; 2]
    );
}

/// What a job prints belongs to the test that runs it: libtest shows it only when that test fails.
#[test]
fn output_is_captured() {
    const CHILD: &str = "REWEAVE_FIBER_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let mut pool = Pool::new(STACK_BYTES);
        pool.spawn(Box::new(|| println!("printed by a job")))
            .resume();
        return;
    }
    let own = std::env::current_exe().expect("a test has an executable");
    let run = |flag| {
        let output = Command::new(&own)
            .args(["--exact", "output_is_captured", flag])
            .env(CHILD, "1")
            .output();
        String::from_utf8(output.expect("it starts").stdout)
            .expect("text")
            .contains("printed by a job")
    };
    assert_eq!((run("--nocapture"), run("--color=never")), (true, false));
}
