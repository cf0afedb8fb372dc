//! What is ordered before what the running thread does now, by happens-before.
//!
//! Much of this folder is exact only as long as threads come to a thing one after the other, in an order that the program itself
//! makes. A [`Moment`] remembers the last use; the next use asks whether the last one happened before it.

use crate::run::{processes, world};
use reweave_model::ThreadId;

/// A step of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    thread: ThreadId,
    epoch: u32,
}

impl Moment {
    /// The running thread, now.
    pub(crate) fn now() -> Moment {
        let world = world::borrow();
        Moment {
            thread: world.current,
            epoch: world.races.epoch(world.current),
        }
    }

    /// The running thread, in a step that began in this epoch.
    pub(crate) fn since(epoch: u32) -> Moment {
        Moment {
            thread: world::borrow().current,
            epoch,
        }
    }

    /// The epoch of the step.
    pub(crate) fn epoch(self) -> u32 {
        self.epoch
    }

    /// Whether it happened before what the running thread does now.
    pub(crate) fn is_before_now(self) -> bool {
        let world = world::borrow();
        let clock = world.races.clock(world.current);
        clock
            .get(self.thread.index())
            .is_some_and(|seen| self.epoch <= *seen)
    }
}

/// Whether everything that other threads did happened before what the running thread does now, and none of them goes on.
pub(crate) fn alone() -> bool {
    let world = world::borrow();
    world.races.alone(world.current)
}

/// As [`alone`], among the threads of the running process: other processes have descriptors and the like of their own.
pub(crate) fn alone_in_process() -> bool {
    alone() || processes::used() && world::borrow().forks_alone()
}
