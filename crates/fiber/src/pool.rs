//! The idle strands of one OS thread.
//!
//! *Decides:* which strand a job gets: the one that ended last, else a new one. *Called by:* the engine. *Owns:* idle strands;
//! a busy one is owned by its [`Fiber`] and comes back when that is dropped.

use std::cell::RefCell;
use std::rc::Rc;

use crate::strand::Strand;
use crate::{Fiber, machine, trap};

/// Stacks and thread identities to run jobs on. It stays on the OS thread that made it.
pub struct Pool {
    stack_bytes: usize,
    idle: Rc<Idle>,
}

/// The idle strands of a pool; `None` once it is dropped.
#[expect(
    clippy::vec_box,
    reason = "a strand moves between here and its fiber; its box is made once"
)]
pub(crate) struct Idle(RefCell<Option<Vec<Box<Strand>>>>);

impl Pool {
    /// An empty pool whose fibers have about `stack_bytes` of stack (at least a page), above a guard page.
    ///
    /// The first one in the process installs handlers for SIGSEGV and SIGBUS, which pass on what did not happen on a fiber.
    pub fn new(stack_bytes: usize) -> Pool {
        machine::detect();
        trap::prepare();
        Pool {
            stack_bytes,
            idle: Rc::new(Idle(RefCell::new(Some(Vec::new())))),
        }
    }

    /// A fiber for `job`, which begins with the first [`Fiber::resume`].
    ///
    /// A panic that leaves the job ends it like a return.
    ///
    /// # Panics
    /// If the pool is empty and the system refuses another thread.
    #[inline]
    pub fn spawn(&mut self, job: Box<dyn FnOnce()>) -> Fiber {
        let strand = self
            .idle
            .take()
            .unwrap_or_else(|| Strand::new(self.stack_bytes));
        strand.prepare(job);
        Fiber::new(strand, self.idle.clone())
    }
}

impl Drop for Pool {
    /// Ends the idle fibers' threads. Those of fibers still in use end with them.
    fn drop(&mut self) {
        let strands = self.idle.0.take();
        drop(strands);
    }
}

impl Idle {
    #[inline]
    fn take(&self) -> Option<Box<Strand>> {
        self.0.borrow_mut().as_mut()?.pop()
    }

    /// Takes back a strand whose body waits for a job.
    #[inline]
    pub(crate) fn put(&self, strand: Box<Strand>) {
        // Past a pool's end the strand is dropped, after the borrow: destructors of thread-locals may use the pool's fibers.
        let _ended = match &mut *self.0.borrow_mut() {
            Some(strands) => {
                strands.push(strand);
                None
            }
            None => Some(strand),
        };
    }
}
