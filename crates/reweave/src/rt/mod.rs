//! The runtime inside a check: threads are fibers, operations go to the model.

use reweave_model::{Event, Object, ObjectId, Op, ThreadId};
use std::sync::atomic::{AtomicU64, Ordering};

/// Running on a fiber of a check, and not while the fiber is being unwound: operations go to the model.
pub(crate) fn active() -> bool {
    false
}

/// On a fiber that is being unwound: nothing may block, nothing may panic, nothing is recorded.
pub(crate) fn inert() -> bool {
    false
}

/// For an inert operation that cannot pretend to have succeeded (a lock that an abandoned thread still holds): gives the
/// fiber up.
pub(crate) fn give_up() -> ! {
    loop {
        reweave_fiber::suspend();
    }
}

/// Identity of a shim object in the current execution: execution stamp << 32 | object id.
pub(crate) struct Slot(AtomicU64);

impl Slot {
    pub(crate) const fn new() -> Slot {
        Slot(AtomicU64::new(0))
    }

    /// The object's id; its first use in this execution makes it known to the model.
    #[track_caller]
    pub(crate) fn id(&self, make: impl FnOnce() -> Object) -> ObjectId {
        let _ = (&self.0, make);
        todo!()
    }
}

/// Announces the operation at the caller's source position, waits until it is its turn, does it. When the execution ends
/// meanwhile it unwinds, or (inside a destructor that runs for a panic) returns an event with `ok: false`, `inert()` being
/// true from then on.
#[track_caller]
pub(crate) fn op(op: Op) -> Event {
    let _ = op;
    todo!()
}

/// As [`op`], with the memory order that the program declared: on success, and for a compare-exchange on failure.
#[track_caller]
pub(crate) fn op_ordered(op: Op, order: Ordering, failure: Option<Ordering>) -> Event {
    let _ = (op, order, failure);
    todo!()
}

/// A memory fence of the running thread.
pub(crate) fn fence(order: Ordering) {
    let _ = order;
}

/// A plain access, checked for races.
#[track_caller]
pub(crate) fn access(address: usize, bytes: usize, write: bool) {
    let _ = (address, bytes, write);
}

/// The object to use: for one in static memory, while in a check, this execution's copy.
pub(crate) fn here<T: ?Sized>(object: &T) -> &T {
    object
}

/// The thread running. Only while [`active`].
pub(crate) fn current() -> ThreadId {
    todo!()
}

/// The value that the running thread of the check has for a thread-local variable (by its address), made at first use. `None`
/// once it was destroyed. Values are dropped when the thread ends, the last made first. Only while [`active`] or [`inert`].
pub(crate) fn local<T: 'static>(key: usize, make: impl FnOnce() -> T) -> Option<*const T> {
    let _ = (key, make);
    todo!()
}

/// Records an error of this execution; it goes on.
pub(crate) fn error(error: reweave_model::Error) {
    let _ = error;
}
