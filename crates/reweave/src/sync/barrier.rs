//! `std::sync::Barrier` under control.
//!
//! *Decides:* nothing; the model says when a round is full, and each of its threads is the leader in some execution. *Called by:*
//! the program under test. *Owns:* a std barrier for use outside of a check.

use crate::rt;
use reweave_model::{Object, Op};
use std::fmt;

/// As `std::sync::Barrier`.
pub struct Barrier {
    slot: rt::Slot,
    size: usize,
    inner: std::sync::Barrier,
}

/// As `std::sync::BarrierWaitResult`.
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier for so many threads; 0 is as good as 1.
    pub const fn new(n: usize) -> Barrier {
        Barrier {
            slot: rt::Slot::new(),
            size: n,
            inner: std::sync::Barrier::new(n),
        }
    }

    /// Waits until all have come.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let this = rt::here(self);
        if rt::active() {
            let size = u32::try_from(this.size).unwrap_or(u32::MAX);
            let id = this.slot.id(|| Object::barrier(size));
            let arrived = rt::op(Op::Arrive(id)).ok;
            return BarrierWaitResult(arrived && rt::op(Op::Leave(id)).result == 1);
        }
        BarrierWaitResult(!rt::inert() && this.inner.wait().is_leader())
    }
}

impl BarrierWaitResult {
    /// Whether this thread is the leader of its round.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}
