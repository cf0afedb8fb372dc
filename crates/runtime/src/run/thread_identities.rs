//! Identities of threads that may come back: a thread that is created after another was joined may have its handle, its stack and its
//! thread-local memory. Here every thread has its own, so a search in which the difference may show is incomplete.
//!
//! It may show where atomic operations use such addresses as [`address_reuse`](super::address_reuse) says of blocks, where both
//! threads ask for their own handle, and where the program has a copy of the first one's handle (a `std::thread::id`) when the other
//! is created ([`handle_copies`]). The variable that `pthread_create` wrote to is no copy: what it holds after a join is no handle any
//! more, by POSIX, and `std::thread` clears it. In C that is so of all copies, so only threads of C++ are looked at.
//!
//! If the second thread was created before the join in this run, but not in every run of its class, copies are looked for at the join.
//! Where a thread is joined by another than its creator, copies may be gone by then: the two are taken to show.

use crate::run::{
    address_reuse::{Born, KeptClock},
    handle_copies::{self, Wanted},
    slots,
    world::{self, Thread, World},
};
use alloc::vec::Vec;
use reweave_memory::Kind;
use reweave_model::{Site, ThreadId};

/// What is known of a thread's identity.
#[derive(Default)]
pub struct Identity {
    born: Born,
    /// When another thread joined it, and that thread's clock.
    joined: Option<(u32, KeptClock)>,
    /// It asked for its own handle, and may have kept it.
    asked: bool,
    /// The return address of its last call that asked, if the answer is not kept for all that is known.
    passing: usize,
    /// An atomic operation had to do with an address of its slot.
    used: bool,
    /// Such an operation was done after it was joined.
    stale: bool,
    /// Where `pthread_create` put its handle; 0: it was not created so, or by C, where a handle has no meaning after a join.
    home: usize,
    /// Threads whose handle the program could compare with a copy of its own.
    compared: Vec<ThreadId>,
}

impl Identity {
    pub fn born(born: Born) -> Identity {
        Identity {
            born,
            ..Identity::default()
        }
    }

    /// Its handle was put there.
    pub fn put(&mut self, home: usize) {
        self.home = home;
    }

    fn asked(&self) -> bool {
        self.asked || self.passing != 0
    }
}

/// The running thread, whose stack is live from `stack` on, is about to create this one; the program may keep its id.
pub fn creating(child: ThreadId, stack: usize, keeps_id: bool) {
    let mut gone: Vec<Wanted> = {
        let mut world = world::borrow();
        if !core::mem::replace(&mut world.keeps_ids, keeps_id) {
            return;
        }
        world.keeps_ids = true;
        let created = world.created_here().map(|(_, thread)| thread);
        let gone = created.filter(|thread| thread.joined || thread.detached);
        gone.map(|thread| Wanted {
            handle: thread.handle,
            except: thread.identity.home,
            found: 0,
        })
        .collect()
    };
    if gone.is_empty() {
        return;
    }
    handle_copies::count(&mut gone, stack);
    let mut world = world::borrow();
    for copied in gone.iter().filter(|one| one.found > 0) {
        let owner = world.threads.iter_mut();
        let mut owner = owner.filter(|thread| thread.handle == copied.handle);
        owner
            .by_ref()
            .for_each(|thread| thread.identity.compared.push(child));
    }
}

/// The running thread, whose stack is live from `stack` on, has joined this one.
pub fn joined(thread: ThreadId, stack: usize) {
    let (later, by_creator, handle) = {
        let mut world = world::borrow();
        let world = &mut *world;
        let moment = world.next_moment();
        let clock = world.races.clock(world.current);
        let kept = world.addresses.keep(clock);
        world.threads[thread.index()].identity.joined = Some((moment, kept));
        if !world.keeps_ids {
            return;
        }
        let created = world.created_here().filter(|(id, _)| *id != thread);
        let later = created.filter(|(_, other)| other.identity.born.may_follow(moment, clock));
        let later: Vec<ThreadId> = later.map(|(id, _)| id).collect();
        let me = world.current.0;
        let joined = &world.threads[thread.index()];
        (later, joined.identity.born.thread == me, joined.handle)
    };
    if later.is_empty() {
        return;
    }
    let mut wanted = [Wanted {
        handle,
        except: 0,
        found: 0,
    }];
    if by_creator {
        handle_copies::count(&mut wanted, stack);
    }
    // One is the variable that it is joined by.
    if !by_creator || wanted[0].found > 1 {
        let mut world = world::borrow();
        world.threads[thread.index()]
            .identity
            .compared
            .extend(later);
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
    /// Whether this run has done what may let the identity of a thread return unnoticed.
    pub fn ids_may_return(&self) -> bool {
        let ids = || self.threads.iter().map(|thread| &thread.identity);
        let shows = |id: &Identity| id.used || id.stale || !id.compared.is_empty();
        ids().any(shows) || ids().filter(|id| id.asked()).count() > 1
    }

    /// The threads of the running process that C++ has made.
    fn created_here(&self) -> impl Iterator<Item = (ThreadId, &Thread)> + '_ {
        let process = self.threads[self.current.index()].process;
        let all = self.threads.iter().enumerate();
        all.filter(move |(_, thread)| thread.identity.home != 0 && thread.process == process)
            .map(|(index, thread)| (ThreadId(index as u32), thread))
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
            Some((moment, kept)) => Some((*moment, self.addresses.clock(*kept).into())),
            None => (thread.detached && thread.finished)
                .then(|| (u32::MAX, self.races.clock(ThreadId(index as u32)).into())),
        }
    }

    /// Where a thread was created that might have got the identity of this one, if that may show.
    fn identity_returns(&mut self, index: usize) -> Option<Site> {
        let identity = &self.threads[index].identity;
        if !identity.asked() && !identity.used && identity.compared.is_empty() {
            return None;
        }
        let (moment, clock) = self.gone(index)?;
        let thread = ThreadId(index as u32);
        self.shadow.turn(thread, self.races.epoch(thread));
        let mark = slots::nowhere_in(self.threads[index].slot);
        let unordered = self.shadow.free(&clock, mark, 8, Site(1)).is_some();
        let identity = &self.threads[index].identity;
        let stale = identity.stale || unordered;
        let others = self.threads.iter().enumerate().skip(1);
        let mut others = others.filter(|(other, _)| *other != index);
        let returns = |(number, other): &(usize, &Thread)| {
            let compared = identity.compared.contains(&ThreadId(*number as u32));
            let other = &other.identity;
            let shows = compared || identity.asked() && other.asked() || stale && other.used;
            shows && other.born.may_follow(moment, &clock)
        };
        others.find(returns).map(|(_, other)| Site(other.created))
    }
}

/// After a run.
pub fn conclude() {
    let mut world = world::borrow();
    let count = world.threads.len();
    if let Some(site) = (1..count).find_map(|index| world.identity_returns(index)) {
        let what = "a thread identity that returns after its thread was joined";
        world.note_unsupported(what, site);
    }
}
