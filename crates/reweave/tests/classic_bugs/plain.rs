//! A plain variable that threads share without asking: what a racy program has where Rust would
//! want a lock.

use crate::prelude::cell::UnsafeCell;

/// A variable without synchronisation of its own. Each access is one race-checked access of the
/// cell.
pub struct Plain<T>(UnsafeCell<T>);

// SAFETY: not in general. The corpus shares it on purpose: its corrected programs order every pair
// of accesses, its broken ones run only under the checker, where one thread runs at a time and the
// race is what is reported.
unsafe impl<T: Send> Sync for Plain<T> {}

impl<T: Copy> Plain<T> {
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    #[track_caller]
    pub fn read(&self) -> T {
        // SAFETY: the pointer is the cell's own and T is Copy; who else is here is the subject of
        // each program.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    pub fn write(&self, value: T) {
        // SAFETY: as in `read`; nothing keeps a reference into the cell.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}
