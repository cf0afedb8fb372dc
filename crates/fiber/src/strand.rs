//! A reusable fiber: a coroutine, the parked thread it borrows from, and their shared core.
//!
//! *Decides:* how one is entered. *Called by:* `fiber` (enter) and `pool` (make, end). *Owns:* stack, thread and core.
//!
//! *Invariant:* a strand is dropped only while its body waits for a job; any other is forgotten (`abandon`).

use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::current::{Core, Job, Pause};
use crate::machine::{self, FpControl};
use crate::parked::{Parked, ParkedStack};

/// See the module. Boxed where it is kept: it moves between pool and fiber.
pub(crate) struct Strand {
    coroutine: Coroutine<(), Pause, (), ParkedStack>,
    core: Rc<Core>,
    /// Of those who resume, taken when the strand was made and not at each turn: reading MXCSR costs 4 ns.
    resumer_fp: FpControl,
    /// After `coroutine`: the stack goes last.
    parked: Parked,
}

impl Strand {
    pub(crate) fn new(stack_bytes: usize) -> Box<Strand> {
        let parked = Parked::new(stack_bytes);
        let resumer_fp = FpControl::read();
        let core = Rc::new(Core::new(parked.stack().guard(), resumer_fp));
        let shared = Rc::as_ptr(&core);
        let body = move |yielder: &Yielder<(), Pause>, ()| {
            // SAFETY: the strand frees the core after the coroutine, which never runs after that.
            unsafe { &*shared }.body(yielder)
        };
        let coroutine = Coroutine::with_stack(parked.stack(), body);
        core.trap.set(Some(coroutine.trap_handler()));
        Box::new(Strand {
            coroutine,
            core,
            resumer_fp,
            parked,
        })
    }

    #[inline]
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Gives an idle strand its job, and the resumer's floating-point control, as a new thread would get its maker's.
    #[inline]
    pub(crate) fn prepare(&self, job: Job) {
        self.core.fp.set(self.resumer_fp);
        self.core.job.set(Some(job));
    }

    /// Runs the fiber until it pauses; `None` when a signal has ended it, with `Core::fault` set.
    ///
    /// Between the two writes of the fs base nothing here touches a thread-local. Not inlined, so that nothing of a caller's
    /// gets in between either.
    #[inline(never)]
    pub(crate) fn enter(&mut self) -> Option<Pause> {
        assert!(
            !self.coroutine.done(),
            "a fiber that a signal has ended is not resumed"
        );
        let (own, theirs) = (machine::fs_base(), self.parked.fs_base());
        self.core.fp.get().load_over(self.resumer_fp);
        // SAFETY: the base of the parked thread, which is live; no thread-local is touched until the next call.
        unsafe { machine::set_fs_base(theirs) };
        let result = self.coroutine.resume(());
        // SAFETY: this thread had this base before, and its thread-local block lives as long as the thread.
        unsafe { machine::set_fs_base(own) };
        let their_fp = FpControl::read();
        self.core.fp.set(their_fp);
        self.resumer_fp.load_over(their_fp);
        match result {
            CoroutineResult::Yield(pause) => Some(pause),
            CoroutineResult::Return(()) => None,
        }
    }

    /// Leaves stack and thread as they are for ever: frames on the stack were not unwound, so nothing may be freed.
    pub(crate) fn abandon(self: Box<Strand>) {
        std::mem::forget(self);
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        // SAFETY: force_reset is a longjmp to the root of the coroutine, which must skip no destructor: the body waits for a
        // job or has never run, and then only a pointer is on the stack.
        unsafe { self.coroutine.force_reset() };
    }
}
