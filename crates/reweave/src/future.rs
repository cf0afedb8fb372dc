//! Futures and tasks.
//!
//! In a check a task is a thread of the check that polls one future. It is polled again only after its waker was used since its last
//! poll began, so a lost wake-up is a deadlock. Outside of a check a task is a thread of the system.
//!
//! *What is an event.* Each use of a waker, and each wait for one. Cloning and dropping wakers are none: they change nothing that can be
//! seen. A task that awaits only one thing which the runtime knows, such as the end of another task, waits for that thing itself, in one
//! event (see `context`).
//!
//! [`Builder::spurious_polls`](crate::Builder::spurious_polls) polls each task once more than its wakers ask for, anywhere.
//! [`cancel_anywhere`] drops a future at any of its awaits.

mod combine;
pub(crate) mod context;
mod handle;
mod wakes;

pub use combine::{
    CancelAnywhere, Either, Join, Select, YieldNow, cancel_anywhere, join, select, yield_now,
};
pub use handle::{AbortHandle, Builder, JoinError, JoinHandle, spawn};

use crate::sync::Semaphore;
use std::{future::Future, panic::Location, pin::pin, sync::Arc};

/// Runs a future on this thread. It is polled again only after its waker was used.
#[inline(always)]
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let place = Location::caller();
    let future = pin!(future);
    match context::Driver::new(place, false).drive(future) {
        Some(value) => value,
        None => unreachable!("nothing aborts a future that a thread waits for"),
    }
}

/// As [`block_on`], polled only while no other holder of `turn` is. It keeps its turn at its end.
#[doc(hidden)]
#[inline(always)]
#[track_caller]
pub fn block_on_in_turn<F: Future>(turn: Arc<Semaphore>, future: F) -> F::Output {
    let place = Location::caller();
    let future = pin!(future);
    match context::Driver::in_turn(place, turn).drive(future) {
        Some(value) => value,
        None => unreachable!("nothing aborts a future that a thread waits for"),
    }
}

#[doc(hidden)]
pub mod __rt {
    pub use super::{
        block_on_in_turn,
        context::{Leaf, Object, Place, combined, here, is_exact, pass_time, perform, want_exact},
        handle::{spawn_detached, spawn_local_detached},
    };
    pub use crate::time::passed;
}
