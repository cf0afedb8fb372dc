//! Which location of the race check a cell is.
//!
//! *Decides:* the location that a cell's accesses count for in the execution under way. *Called by:* `cell::UnsafeCell`. *Owns:* one word in
//! each cell.
//!
//! A number given at the first access, not the address: it moves with the cell, and memory that is used again for another cell (an
//! allocation, the stack of a finished thread) is never taken for the old one. What happened to a cell before its first
//! access in this execution is unknown, so a cell that is kept from outside has no history.

use super::task;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The word: execution stamp << 32 | number of the cell. 0: no access yet.
pub(crate) struct Tag {
    word: AtomicU64,
    /// The end of the cell is no access.
    unseen_end: bool,
}

/// Each cell is one granule of the detector's shadow memory.
const BYTES: usize = 8;

impl Tag {
    pub(crate) const fn new() -> Tag {
        Tag {
            word: AtomicU64::new(0),
            unseen_end: false,
        }
    }

    /// Of a cell whose end is ordered by what the check does not see.
    pub(crate) const fn with_unseen_end() -> Tag {
        Tag {
            word: AtomicU64::new(0),
            unseen_end: true,
        }
    }

    /// A checked access to the cell. Only in a check.
    #[inline]
    #[track_caller]
    pub(crate) fn access(&self, write: bool) {
        let world = task()
            .expect("accesses are checked only in a check")
            .world();
        let stamp = world.stamp.get();
        let mut word = self.word.load(Relaxed);
        if (word >> 32) as u32 != stamp {
            let number = world.cells.get();
            world.cells.set(number.wrapping_add(1));
            word = u64::from(stamp) << 32 | u64::from(number);
            self.word.store(word, Relaxed);
        }
        super::access(word as u32 as usize * BYTES, BYTES, write);
    }
}

impl Drop for Tag {
    /// The end of a cell is a write to it.
    fn drop(&mut self) {
        if self.unseen_end || !super::active() {
            return;
        }
        if *self.word.get_mut() != 0 {
            self.access(true);
        } else {
            // Another thread may have an access yet to come, which would be a race if this one came later.
            super::arcs::destroys_cell();
        }
    }
}
