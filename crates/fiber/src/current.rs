//! What a job sees of its fiber: [`suspend`], [`unwinding`], [`on_fiber`].
//!
//! *Decides:* what a suspension means while its fiber is being unwound. *Called by:* jobs; `strand` makes the [`Core`].
//! *Owns:* one thread-local, the core of the fiber whose TLS it is; null on every other thread.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::thread::panicking;

use corosensei::Yielder;
use corosensei::trap::CoroutineTrapHandler;

use crate::machine::FpControl;

/// How often `suspend` simply returns to a destructor during an unwinding before the fiber is given up. Only a destructor that
/// loops until another fiber does something comes near; 10,000 rounds of nothing take well below a millisecond.
const INERT_SUSPENSIONS: u32 = 10_000;

thread_local! {
    /// Set by the first run of a fiber's body, in the fiber's TLS, and cleared before its thread ends.
    static CURRENT: Cell<*const Core> = const { Cell::new(ptr::null()) };
}

/// What a job runs.
pub(crate) type Job = Box<dyn FnOnce()>;

/// Why a fiber came back by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    Suspended,
    Finished,
}

/// A signal that ended a fiber.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) signal: i32,
    pub(crate) address: usize,
}

/// The state that a fiber's two sides share. Both are on one OS thread, so cells are enough.
pub(crate) struct Core {
    /// `Some` from `spawn` to the first resumption.
    pub(crate) job: Cell<Option<Job>>,
    /// The way back. Null until the body's first run; then it lives as long as the coroutine.
    yielder: Cell<*const Yielder<(), Pause>>,
    unwinding: Cell<bool>,
    inert_left: Cell<u32>,
    /// The fiber's own, while it is not running.
    pub(crate) fp: Cell<FpControl>,
    /// For the signal handler: set before the first run.
    pub(crate) trap: Cell<Option<CoroutineTrapHandler<()>>>,
    pub(crate) guard: Range<usize>,
    pub(crate) fault: Cell<Option<Fault>>,
}

/// The payload of the panic that unwinds a fiber.
struct Unwinding;

impl Core {
    pub(crate) fn new(guard: Range<usize>, fp: FpControl) -> Core {
        Core {
            job: Cell::new(None),
            yielder: Cell::new(ptr::null()),
            unwinding: Cell::new(false),
            inert_left: Cell::new(0),
            fp: Cell::new(fp),
            trap: Cell::new(None),
            guard,
            fault: Cell::new(None),
        }
    }

    pub(crate) fn set_unwinding(&self, unwinding: bool) {
        self.unwinding.set(unwinding);
        self.inert_left.set(INERT_SUSPENSIONS);
    }

    /// The body of a coroutine: job after job, until the coroutine is reset while it waits for one. Nothing that needs a
    /// destructor is alive then. A job that is unwound before it began is only dropped.
    pub(crate) fn body(&self, yielder: &Yielder<(), Pause>) -> ! {
        CURRENT.set(self);
        self.yielder.set(yielder);
        loop {
            if let Some(job) = self.job.take() {
                let unwinding = self.unwinding.get();
                contain(|| if unwinding { drop(job) } else { job() });
            }
            yielder.suspend(Pause::Finished);
        }
    }

    #[inline(always)]
    fn switch_out(&self) {
        // SAFETY: only code of the fiber itself gets here, through CURRENT, so the body runs below and its yielder is live.
        unsafe { &*self.yielder.get() }.suspend(Pause::Suspended);
    }

    #[cold]
    fn suspend_unwinding(&self) {
        let left = self.inert_left.get();
        if panicking() && left > 0 {
            self.inert_left.set(left - 1);
        } else {
            self.switch_out();
            self.deliver();
        }
    }

    /// Begins the unwinding, unless a panic is already on its way: a second one would leave a destructor, which aborts.
    #[cold]
    fn deliver(&self) {
        if !panicking() {
            resume_unwind(Box::new(Unwinding));
        }
    }
}

/// Inside a fiber: goes back to whoever resumed it, and returns when it is resumed again.
///
/// When [`Fiber::unwind`](crate::Fiber::unwind) resumes it instead, this panics with a private payload, without the panic hook.
/// In a destructor that runs for a panic it returns: the caller then sees [`unwinding`] and does nothing.
///
/// # Panics
/// If called on an ordinary thread.
#[inline]
pub fn suspend() {
    let core = current().expect("suspend() belongs inside a fiber's job");
    if core.unwinding.get() {
        return core.suspend_unwinding();
    }
    core.switch_out();
    if core.unwinding.get() {
        core.deliver();
    }
}

/// Whether this code runs on a fiber that [`Fiber::unwind`](crate::Fiber::unwind) is ending: what destructors call should do
/// nothing and not suspend.
#[inline]
pub fn unwinding() -> bool {
    current().is_some_and(|core| core.unwinding.get())
}

/// Whether this code runs on a fiber.
#[inline]
pub fn on_fiber() -> bool {
    current().is_some()
}

#[inline]
pub(crate) fn current<'a>() -> Option<&'a Core> {
    // SAFETY: a core outlives the runs of its fiber, and CURRENT is cleared before its thread runs destructors. The lifetime is
    // used within this crate only, by calls that the running fiber makes.
    unsafe { CURRENT.get().as_ref() }
}

/// On the parked thread, when its fiber will never run again: its thread-locals' destructors are on no fiber.
pub(crate) fn leave() {
    CURRENT.set(ptr::null());
}

/// Runs `f` and swallows a panic, also that of a payload's destructor.
fn contain(f: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else {
        return;
    };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(payload);
    }
}
