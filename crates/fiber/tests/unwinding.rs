//! Ending a fiber before its job is done.

use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, resume_unwind};
use std::rc::Rc;
use std::thread::{self, panicking};

use reweave_fiber::{Fiber, Pool, Resumed, Unwound, on_fiber, suspend, unwinding};

const STACK_BYTES: usize = 64 << 10;

type Log = Rc<RefCell<Vec<(&'static str, bool)>>>;

/// Notes its name and whether the fiber was being unwound.
struct Note(&'static str, Log);

impl Drop for Note {
    fn drop(&mut self) {
        assert!(on_fiber());
        self.1.borrow_mut().push((self.0, unwinding()));
    }
}

fn id_of_next(pool: &mut Pool) -> thread::ThreadId {
    let id = Rc::new(Cell::new(None));
    let out = id.clone();
    assert_eq!(
        pool.spawn(Box::new(move || out.set(Some(thread::current().id()))))
            .resume(),
        Resumed::Finished
    );
    id.get().expect("the job ran")
}

fn suspended(pool: &mut Pool, job: impl FnOnce() + 'static) -> Fiber {
    let mut fiber = pool.spawn(Box::new(job));
    assert_eq!(fiber.resume(), Resumed::Suspended);
    fiber
}

#[test]
fn destructors_run_inside_out() {
    let mut pool = Pool::new(STACK_BYTES);
    let log = Log::default();
    let [outer, first, second] = ["outer", "first", "second"].map(|name| Note(name, log.clone()));
    let fiber = suspended(&mut pool, move || {
        let _outer = outer;
        let inner = move || {
            let _first = first;
            let _second = second;
            suspend();
            unreachable!("it is unwound instead");
        };
        inner();
    });
    assert_eq!(fiber.unwind(0), Unwound::Done);
    assert_eq!(
        *log.borrow(),
        [("second", true), ("first", true), ("outer", true)]
    );
    let before = id_of_next(&mut pool);
    assert_eq!(
        before,
        id_of_next(&mut pool),
        "the fiber went back to its pool"
    );
}

#[test]
fn a_job_that_never_began_is_dropped_on_its_fiber() {
    let mut pool = Pool::new(STACK_BYTES);
    let log = Log::default();
    let note = Note("job", log.clone());
    let fiber = pool.spawn(Box::new(move || {
        let _note = note;
        unreachable!("it never runs");
    }));
    assert_eq!(fiber.unwind(0), Unwound::Done);
    assert_eq!(*log.borrow(), [("job", true)]);
}

#[test]
fn dropping_a_fiber_unwinds_it() {
    let mut pool = Pool::new(STACK_BYTES);
    let log = Log::default();
    let note = Note("job", log.clone());
    drop(suspended(&mut pool, move || {
        let _note = note;
        suspend();
    }));
    assert_eq!(*log.borrow(), [("job", true)]);
}

/// One suspension in the first turn, then each attempt of 1 + `attempts` meets a job that suspends again.
#[test]
fn a_job_that_will_not_end_is_leaked() {
    for attempts in [0, 1, 5] {
        let mut pool = Pool::new(STACK_BYTES);
        let own = id_of_next(&mut pool);
        let caught = Rc::new(Cell::new(0));
        let count = caught.clone();
        let fiber = suspended(&mut pool, move || {
            loop {
                if catch_unwind(suspend).is_err() {
                    count.set(count.get() + 1);
                }
            }
        });
        assert_eq!(fiber.unwind(attempts), Unwound::Leaked);
        assert_eq!(caught.get(), 1 + attempts);
        assert_ne!(
            id_of_next(&mut pool),
            own,
            "a leaked fiber is not used again"
        );
    }
}

#[test]
fn a_job_that_catches_twice_ends_within_two_attempts() {
    let mut pool = Pool::new(STACK_BYTES);
    let fiber = suspended(&mut pool, || {
        for _ in 0..2 {
            assert!(catch_unwind(suspend).is_err());
        }
    });
    assert_eq!(fiber.unwind(1), Unwound::Done);
}

/// Suspends when dropped; counts how often that returned.
struct Turns {
    count: u32,
    returned: Rc<Cell<u32>>,
}

impl Drop for Turns {
    fn drop(&mut self) {
        for _ in 0..self.count {
            suspend();
            self.returned.set(self.returned.get() + 1);
        }
        assert!(panicking() || !unwinding());
    }
}

/// A panic of the job is under way, its destructor is suspended, and then the fiber is unwound: a second panic would abort.
#[test]
fn a_fiber_suspended_in_a_panics_destructor_is_unwound() {
    let mut pool = Pool::new(STACK_BYTES);
    let returned = Rc::new(Cell::new(0));
    let turns = Turns {
        count: 3,
        returned: returned.clone(),
    };
    let fiber = suspended(&mut pool, move || {
        let _turns = turns;
        resume_unwind(Box::new("the job's own"));
    });
    assert_eq!(fiber.unwind(0), Unwound::Done);
    assert_eq!(returned.get(), 3, "suspensions there are inert");
}

/// A destructor that waits for ever, as one that joins another thread would.
#[test]
fn a_destructor_that_will_not_end_is_leaked() {
    let mut pool = Pool::new(STACK_BYTES);
    let returned = Rc::new(Cell::new(0));
    let turns = Turns {
        count: u32::MAX,
        returned: returned.clone(),
    };
    let fiber = suspended(&mut pool, move || {
        let _turns = turns;
        suspend();
    });
    assert_eq!(fiber.unwind(4), Unwound::Leaked);
    assert!(returned.get() < 100_000);
}

#[test]
fn unwinding_is_no_state_of_the_next_job() {
    let mut pool = Pool::new(STACK_BYTES);
    assert_eq!(suspended(&mut pool, suspend).unwind(0), Unwound::Done);
    let seen = Rc::new(Cell::new(true));
    let out = seen.clone();
    let mut fiber = suspended(&mut pool, move || {
        suspend();
        out.set(unwinding());
    });
    assert_eq!(fiber.resume(), Resumed::Finished);
    assert!(!seen.get());
}
