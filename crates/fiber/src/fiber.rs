//! A job on its way: the resumer's side.
//!
//! *Decides:* what a fiber may be asked in which state, and when its strand can be used again. *Called by:* the engine.
//! *Owns:* the strand, until it goes back to the pool or is abandoned.

use std::rc::Rc;

use crate::current::{Fault, Pause};
use crate::pool::Idle;
use crate::strand::Strand;

/// How often a fiber that is dropped before its end may stop its own unwinding.
const ATTEMPTS_ON_DROP: u32 = 8;

/// One job, running by turns. Dropping it gives its stack back to the pool; a job that has not ended is unwound first.
pub struct Fiber {
    /// `Some` until the fiber is unwound or dropped.
    strand: Option<Box<Strand>>,
    state: FiberState,
    idle: Rc<Idle>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FiberState {
    /// Before its first turn, or between two.
    Alive,
    /// The body waits for the next job.
    Finished,
    /// A signal has ended the coroutine; its frames are still on its stack.
    Faulted,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// The job called [`suspend`](crate::suspend).
    Suspended,
    /// The job returned, or a panic left it.
    Finished,
    /// The job used up its stack. Its destructors do not run; its stack and its thread are never used again.
    Overflowed,
    /// The job touched memory it must not. As after an overflow; also, the process is not to be trusted for long.
    Crashed {
        /// SIGSEGV or SIGBUS.
        signal: i32,
        /// Where it touched, if the processor said so.
        address: usize,
    },
}

/// How an unwinding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwound {
    /// All destructors on the stack have run.
    Done,
    /// The job would not end (or a signal ended it). Its frames, its stack and its thread stay as they are.
    Leaked,
}

impl Fiber {
    #[inline]
    pub(crate) fn new(strand: Box<Strand>, idle: Rc<Idle>) -> Fiber {
        Fiber {
            strand: Some(strand),
            state: FiberState::Alive,
            idle,
        }
    }

    /// Gives the job a turn, until it suspends or ends.
    ///
    /// # Panics
    /// If it has ended.
    #[inline]
    pub fn resume(&mut self) -> Resumed {
        assert!(
            self.state == FiberState::Alive,
            "a fiber that has ended is not resumed"
        );
        let strand = self
            .strand
            .as_mut()
            .expect("a fiber has its strand until it is dropped");
        match strand.enter() {
            Some(Pause::Suspended) => Resumed::Suspended,
            Some(Pause::Finished) => {
                self.state = FiberState::Finished;
                Resumed::Finished
            }
            None => self.faulted(),
        }
    }

    /// Ends the job: a private panic begins where it is suspended; a job that never began is only dropped.
    ///
    /// A job may catch that panic. Each time it suspends again, the unwinding is started again, `attempts` times at most; then
    /// the fiber is leaked. Meanwhile [`unwinding`](crate::unwinding) is true inside.
    pub fn unwind(mut self, attempts: u32) -> Unwound {
        self.end(attempts)
    }

    fn end(&mut self, attempts: u32) -> Unwound {
        let Some(strand) = &self.strand else {
            return Unwound::Done;
        };
        if self.state == FiberState::Alive {
            strand.core().set_unwinding(true);
            for _ in 0..=attempts {
                if self.resume() != Resumed::Suspended {
                    break;
                }
            }
        }
        let strand = self.strand.take().expect("looked at above");
        if self.state != FiberState::Finished {
            strand.abandon();
            return Unwound::Leaked;
        }
        strand.core().set_unwinding(false);
        self.idle.put(strand);
        Unwound::Done
    }

    #[cold]
    fn faulted(&mut self) -> Resumed {
        self.state = FiberState::Faulted;
        let core = self.strand.as_ref().expect("it has just run").core();
        let Fault { signal, address } = core
            .fault
            .get()
            .expect("only the signal handler ends a body");
        if core.guard.contains(&address) {
            Resumed::Overflowed
        } else {
            Resumed::Crashed { signal, address }
        }
    }
}

impl Drop for Fiber {
    #[inline]
    fn drop(&mut self) {
        self.end(ATTEMPTS_ON_DROP);
    }
}
