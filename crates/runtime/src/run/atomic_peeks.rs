//! Atomics that are looked at like other memory, by who has them to itself: no operation, and still it matters who stored last.
//!
//! Only stores that nothing orders matter: read-modify-writes say by what they read where they stand. An access of another kind after such a
//! store is reported with the run, so that the search does not treat the store as unread.

use crate::{
    core::{cell::RunValue, objects::Sort},
    run::world::{self, World},
};
use alloc::vec::Vec;
use reweave_model::{ObjectId, ThreadId};

/// Stores of the run at hand.
#[derive(Default)]
pub struct Stores {
    /// For each object the last one: whose, and in which epoch. Those before it happen before it, unless it is loose.
    last: Vec<Option<(ThreadId, u32)>>,
    /// Memory with stores that nothing orders: address and length.
    loose: Vec<(usize, usize)>,
}

impl Stores {
    pub fn clear(&mut self) {
        self.last.clear();
        self.loose.clear();
        RANGE.set((usize::MAX, 0));
    }
}

/// All loose memory lies between; looked at by every plain access.
static RANGE: RunValue<(usize, usize)> = RunValue::new((usize::MAX, 0));

/// The program accesses memory otherwise than by an operation.
#[inline]
pub fn plain(address: usize, bytes: usize) {
    let (start, end) = RANGE.get();
    if address < end && start < address.saturating_add(bytes) {
        world::borrow().peek(address, bytes);
    }
}

impl World {
    /// The running thread has stored to an object, in an epoch.
    pub fn stored(&mut self, object: ObjectId, epoch: u32) {
        let known = *self.about(object);
        if !matches!(known.sort, Sort::Atomic | Sort::Wide) {
            return;
        }
        let me = self.current;
        let last = &mut self.stores.last;
        if last.len() <= object.index() {
            last.resize(object.index() + 1, None);
        }
        let Some((thread, before)) = last[object.index()].replace((me, epoch)) else {
            return;
        };
        let clock = self.races.clock(me);
        let ordered = clock
            .get(thread.index())
            .is_some_and(|seen| *seen >= before);
        if thread != me && !ordered {
            let bytes = known.bytes as usize;
            self.stores.loose.push((known.address, bytes));
            let (start, end) = RANGE.get();
            RANGE.set((start.min(known.address), end.max(known.address + bytes)));
        }
    }

    #[cold]
    fn peek(&mut self, address: usize, bytes: usize) {
        let touches = |(start, length): &(usize, usize)| {
            *start < address.saturating_add(bytes) && address < start + length
        };
        if self.stores.loose.iter().any(touches) {
            self.peek_all();
        }
    }

    /// Something is judged by all that memory holds.
    pub fn peek_all(&mut self) {
        if !self.stores.loose.is_empty() {
            self.run.peek();
            // More than once is not told.
            RANGE.set((usize::MAX, 0));
        }
    }
}
