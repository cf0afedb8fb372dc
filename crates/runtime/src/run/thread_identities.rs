//! Identities of threads that may come back: a thread that is created after another was joined may have its handle, its stack and its
//! thread-local memory. Here every thread has its own, so a search in which the difference may show is incomplete.
//!
//! It may show where atomic operations use such addresses as [`address_reuse`](super::address_reuse) says of blocks, and where both
//! threads ask for their own handle. A handle that is compared otherwise after its thread was joined is no handle any more, by POSIX.

use crate::run::{
    address_reuse::Born,
    slots,
    world::{self, World},
};
use alloc::vec::Vec;
use reweave_memory::Kind;
use reweave_model::{Site, ThreadId};

/// What is known of a thread's identity.
#[derive(Default)]
pub struct Identity {
    born: Born,
    /// When another thread joined it, and that thread's clock.
    joined: Option<(u32, Vec<u32>)>,
    /// It asked for its own handle, and may have kept it.
    asked: bool,
    /// The return address of its last call that asked, if the answer is not kept for all that is known.
    passing: usize,
    /// An atomic operation had to do with an address of its slot.
    used: bool,
    /// Such an operation was done after it was joined.
    stale: bool,
}

impl Identity {
    pub fn born(born: Born) -> Identity {
        Identity {
            born,
            ..Identity::default()
        }
    }

    fn asked(&self) -> bool {
        self.asked || self.passing != 0
    }
}

/// The running thread asks for its own handle, by a call that returns here.
pub fn asked(return_address: usize) {
    if world::active() {
        let mut world = world::borrow();
        let identity = &mut world.me().identity;
        identity.asked |= identity.passing != 0;
        identity.passing = return_address;
    }
}

/// The running thread passes its handle to a call that returns here. If it has just asked for it and done nothing else, as in
/// `pthread_detach(pthread_self())`, nobody keeps the answer.
pub fn passed_on(return_address: usize) {
    // An instruction that moves the answer, and the call.
    const BETWEEN: usize = 9;
    let mut world = world::borrow();
    let identity = &mut world.me().identity;
    if return_address.wrapping_sub(identity.passing) <= BETWEEN {
        identity.passing = 0;
    }
}

impl World {
    /// The running thread has joined another.
    pub fn identity_joined(&mut self, thread: ThreadId) {
        let moment = self.next_moment();
        let clock = self.races.clock(self.current).into();
        self.threads[thread.index()].identity.joined = Some((moment, clock));
    }

    /// The running thread's operation, which began in this epoch, has to do with an address of this slot.
    #[cold]
    pub fn use_slot(&mut self, slot: usize, epoch: u32, site: Site) {
        let mut threads = self.threads.iter_mut();
        let Some(owner) = threads.rfind(|thread| thread.slot == slot) else {
            return;
        };
        owner.identity.used = true;
        owner.identity.stale |= owner.identity.joined.is_some();
        let me = self.current;
        self.shadow.turn(me, epoch);
        let clock = self.races.clock(me);
        let mark = slots::nowhere_in(slot);
        self.shadow.access(clock, mark, 8, Kind::AtomicRead, site);
    }

    /// When a thread's identity is nobody's any more, and a clock of that.
    fn gone(&self, index: usize) -> Option<(u32, Vec<u32>)> {
        let thread = &self.threads[index];
        match &thread.identity.joined {
            Some(joined) => Some(joined.clone()),
            None => (thread.detached && thread.finished)
                .then(|| (u32::MAX, self.races.clock(ThreadId(index as u32)).into())),
        }
    }

    /// Whether another thread might have got the identity of this one, and that may show.
    fn identity_returns(&mut self, index: usize) -> bool {
        let identity = &self.threads[index].identity;
        if !identity.asked() && !identity.used {
            return false;
        }
        let Some((moment, clock)) = self.gone(index) else {
            return false;
        };
        let thread = ThreadId(index as u32);
        self.shadow.turn(thread, self.races.epoch(thread));
        let mark = slots::nowhere_in(self.threads[index].slot);
        let unordered = self.shadow.free(&clock, mark, 8, Site(1)).is_some();
        let identity = &self.threads[index].identity;
        let stale = identity.stale || unordered;
        let others = self.threads.iter().enumerate().skip(1);
        let mut others = others.filter(|(other, _)| *other != index);
        others.any(|(_, other)| {
            let other = &other.identity;
            let shows = identity.asked() && other.asked() || stale && other.used;
            shows && other.born.may_follow(moment, &clock)
        })
    }
}

/// After a run.
pub fn conclude() {
    let mut world = world::borrow();
    let count = world.threads.len();
    if (1..count).any(|index| world.identity_returns(index)) {
        let what = "a thread identity that returns after its thread was joined";
        world.note_unsupported(what, Site(1));
    }
}
