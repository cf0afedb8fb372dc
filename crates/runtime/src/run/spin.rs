//! Loops that only wait for other threads, in native code.
//!
//! *Decides:* how a fingerprint of a thread is taken, and what counts as written by it. When a round repeats, and how a thread is parked, is
//! decided by [`reweave_conduct::parking`]. *Called by:* the runtime before and after each operation, and at each write of the program.
//! *Owns:* where the running thread has written since its last operation.
//!
//! *Calls.* A call into code without hooks may change anything that this code can reach. It counts as a write outside of the stack, unless it
//! is known to change nothing ([`unseen_calls`]). Memory that was allocated and not freed is part of the fingerprint: a round that allocates
//! and frees the same is equal to the one before, and one that only allocates is not.
//!
//! *Locks.* A repeated round that wrote nothing releases its locks without being counted ([`clean`]). Any other section is counted, whatever it
//! did: code without hooks may have written.
//!
//! *Stacks.* What a thread writes to its own stack shows in its registers and its stack, which are compared: no need to look at such
//! writes one by one. But other threads may know variables there. What they write to them is not the thread's own doing
//! ([`foreign`]): it is taken as if it had always been there. And a section that wrote to its thread's stack is clean only when it leaves the
//! same there as the time before.

use crate::{
    core::{
        cell::{ASIDE, Borrow, RunValue},
        program_start::calls_only,
        trampoline::Frame,
        unseen_calls::{self, UNSEEN},
    },
    run::{
        foreign_code,
        perform::last_event,
        processes, slots, watched_reads,
        world::{self, World, perform},
    },
};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};
use reweave_conduct::{
    Round,
    parking::{self, Fingerprint, Polls, Waiter},
};
use reweave_model::{Gate, ObjectId, Op, Order, Site};

/// Where the running thread has written since its last operation.
#[derive(Clone, Copy, Default)]
pub struct Wrote {
    outside: bool,
    /// To its own stack.
    inside: bool,
}

/// The parts of [`Wrote`] for the running thread. Two values: every write of the program sets one of them, and reads none.
static OUTSIDE: RunValue<bool> = RunValue::new(false);
static INSIDE: RunValue<bool> = RunValue::new(false);
/// The number of calls with unseen effects up to which those of the running thread were noted.
static NOTED: RunValue<u64> = RunValue::new(0);

/// Where the running thread's stack ends: what it writes there shows when it is parked.
static TOP: AtomicUsize = AtomicUsize::new(0);
/// Where the first thread's does; those of the others lie together.
static MAIN_TOP: AtomicUsize = AtomicUsize::new(0);
const STACK: usize = 8 << 20;

/// A run begins, with the first thread.
pub fn begin(top: usize) {
    MAIN_TOP.store(top, Ordering::Relaxed);
    watched_reads::clear();
    switched(top);
}

/// Another thread goes on, whose stack ends here. What this one has written is its own: [`back`] wants to know.
#[inline]
pub fn switched(top: usize) -> Wrote {
    foreign_code::disarm();
    TOP.store(top, Ordering::Relaxed);
    take_wrote()
}

/// The thread goes on that had written this when it was left.
#[inline]
pub fn back(wrote: Wrote) {
    OUTSIDE.set(wrote.outside);
    INSIDE.set(wrote.inside);
    NOTED.set(UNSEEN.get());
}

/// Whether an address is on the stack that ends here.
#[inline]
pub fn on_stack(top: usize, address: usize) -> bool {
    top.wrapping_sub(address) <= STACK
}

/// The running thread writes.
#[inline]
pub fn wrote(address: usize, bytes: usize) {
    if on_stack(TOP.load(Ordering::Relaxed), address) {
        INSIDE.set(true);
    } else {
        OUTSIDE.set(true);
        foreign(address, bytes);
    }
}

/// Whether an address is on the running thread's stack.
pub fn on_own_stack(address: usize) -> bool {
    on_stack(TOP.load(Ordering::Relaxed), address)
}

/// The running thread has changed something that no hook sees: what a library keeps for it, or the kernel.
pub fn disturbed() {
    unseen_calls::count_one();
}

fn wrote_so_far() -> Wrote {
    Wrote {
        // What a program without hooks has written is not known, so no round of its loops is known to be equal to another.
        outside: OUTSIDE.get() || UNSEEN.get() != NOTED.get() || calls_only(),
        inside: INSIDE.get(),
    }
}

fn take_wrote() -> Wrote {
    let wrote = wrote_so_far();
    back(Wrote::default());
    wrote
}

/// As [`World::foreign`], for code that has borrowed nothing.
#[inline]
pub fn foreign(address: usize, bytes: usize) {
    if may_be_foreign(address) && world::active() {
        world::borrow().note_foreign(address, bytes);
    }
}

/// Whether an address lies on the stack of some thread.
#[inline]
fn may_be_foreign(address: usize) -> bool {
    on_stack(MAIN_TOP.load(Ordering::Relaxed), address) || slots::slot_of(address).is_some()
}

impl World {
    /// Memory is about to be written that may be on the stack of another thread than the running one.
    #[inline]
    pub fn foreign(&mut self, address: usize, bytes: usize) {
        if may_be_foreign(address) {
            self.note_foreign(address, bytes);
        }
    }

    #[cold]
    fn note_foreign(&mut self, address: usize, bytes: usize) {
        let current = self.current.index();
        let mut threads = self.threads.iter_mut().enumerate();
        let process = processes::current();
        let owner = threads.find(|(_, thread)| {
            !thread.finished && thread.process == process && on_stack(thread.top, address)
        });
        let Some((_, owner)) = owner.filter(|(index, _)| *index != current) else {
            return;
        };
        let spin = &mut owner.spin;
        if spin.polls.is_blank() && spin.parked.is_none() {
            return;
        }
        let mut word = address & !7;
        while word < (address + bytes).min(owner.top) {
            if !spin.changed.iter().any(|(known, _)| *known == word) {
                // SAFETY: the word lies below the top of the stack of a thread that has not ended, within the bytes that are
                // about to be written there.
                let value = unsafe { (word as *const u64).read_volatile() };
                spin.changed.push((word, value));
            }
            word += 8;
        }
    }
}

/// The polls of one thread.
#[derive(Default)]
pub struct Spin {
    polls: Polls<Print>,
    /// Of a thread that is parked and will announce its operation.
    parked: Option<Print>,
    /// Words of its stack that other threads have written to since it last ran, as they were.
    changed: Vec<(usize, u64)>,
    /// Bytes that it has allocated, less those that it has freed.
    held: usize,
}

/// Registers and live stack at some moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Print {
    /// A sum over all words, each with its address, so that words can be exchanged.
    sum: u64,
    /// Where it begins.
    from: usize,
}

impl Fingerprint for Print {
    // Every write of the program has a hook.
    const SEES_WRITES: bool = true;
}

impl Spin {
    pub fn clear(&mut self) {
        self.polls.clear();
    }

    /// See [`Polls::may_time_out`].
    pub fn may_time_out(&mut self, key: Op) {
        self.polls.may_time_out(key);
    }

    /// As of a thread that begins, keeping memory.
    pub fn reset(&mut self) {
        self.polls.reset();
        self.parked = None;
        self.changed.clear();
        self.held = 0;
    }

    /// The thread has allocated so many bytes.
    pub fn allocated(&mut self, bytes: usize) {
        self.held = self.held.wrapping_add(bytes);
    }

    /// The thread has freed so many bytes.
    pub fn freed(&mut self, bytes: usize) {
        self.held = self.held.wrapping_sub(bytes);
    }

    /// The thread goes on: what others have written to its stack meanwhile counts as if it had been there before.
    #[cold]
    fn accept(&mut self) {
        for (word, before) in self.changed.drain(..) {
            // SAFETY: the word was found on the stack of this thread, which has not left the frame it lies in.
            let now = unsafe { (word as *const u64).read_volatile() };
            for print in self.polls.prints_mut().chain(&mut self.parked) {
                if print.from <= word {
                    let less = mixed(word, before);
                    print.sum = print.sum.wrapping_sub(less).wrapping_add(mixed(word, now));
                }
            }
        }
    }
}

/// The running thread comes to an operation, having written what it has.
#[inline]
fn arrive() -> Borrow<'static, World, ASIDE> {
    foreign_code::disarm();
    let mut world = world::borrow();
    let polls = &mut world.me().spin.polls;
    let wrote = take_wrote();
    if wrote.outside {
        polls.clear_row();
    }
    polls.arrive(wrote.inside);
    if wrote.outside {
        watched_reads::end(world.current);
    }
    world
}

/// Before an operation of the running thread is announced: the gate to announce it with.
#[inline]
pub fn before(op: Op, site: Site, frame: Option<&Frame>) -> Gate {
    let mut world = arrive();
    if world.run.records_states() {
        // Such loops are seen by their states.
        return Gate::Open;
    }
    let takes_back = world.run.takes_back();
    let polls = &mut world.me().spin.polls;
    match frame {
        Some(frame) if takes_back => again(world, op, site, frame),
        Some(frame) if !polls.row().is_empty() => revisit(world, op, site, frame),
        _ => Gate::Open,
    }
}

/// Before an operation that may time out and is known by `key`: whether the running thread is in a loop that would come here in the same
/// way again if it did.
pub fn repeats(key: Op, site: Site, frame: Option<&Frame>) -> bool {
    let mut world = arrive();
    if world.run.records_states() {
        return false;
    }
    let me = world.me();
    let (top, held, polls) = (me.top, me.spin.held, &mut me.spin.polls);
    // On a stack that the program made it is not known what is there.
    let own = |frame: &&Frame| on_stack(top, core::ptr::from_ref(*frame) as usize);
    let take = || frame.filter(own).map(|frame| print(frame, top, held));
    polls.timed(key, site, take).is_some()
}

#[inline(never)]
fn revisit(mut world: Borrow<'_, World, ASIDE>, op: Op, site: Site, frame: &Frame) -> Gate {
    let me = world.me();
    let top = me.top;
    if !on_stack(top, core::ptr::from_ref(frame) as usize) {
        // On a stack that the program made: what is on it is not known.
        return Gate::Open;
    }
    let held = me.spin.held;
    let polls = &mut me.spin.polls;
    let Some(start) = polls.revisit(op, site, || print(frame, top, held)) else {
        if polls.is_here_again() && !world.check_races {
            watched_reads::begin(world.current);
        }
        return Gate::Open;
    };
    park(world, op, site, start)
}

/// As [`revisit`], where rounds that changed nothing are taken back.
#[inline(never)]
fn again(mut world: Borrow<'_, World, ASIDE>, op: Op, site: Site, frame: &Frame) -> Gate {
    let current = world.current;
    if !world.check_races {
        watched_reads::begin(current);
    }
    let me = world.me();
    let (top, held) = (me.top, me.spin.held);
    if !on_stack(top, core::ptr::from_ref(frame) as usize) {
        return Gate::Open;
    }
    let polls = &mut me.spin.polls;
    let begins = polls.row().is_empty();
    let start = polls.again(op, site, || print(frame, top, held));
    world.run.round_may_begin(current);
    world.races.round_may_begin(current, begins);
    let Some(start) = start else {
        return Gate::Open;
    };
    let count = world.me().spin.polls.row().len() - start;
    match world.run.take_back(current, count) {
        Round::TakenBack => {
            world.me().spin.polls.take_back(start);
            world.races.take_back(current, count as u32);
            world.forget_events();
            Gate::Open
        }
        Round::Stays if world.me().spin.polls.waits_in(start) => park(world, op, site, start),
        Round::Stays | Round::Stopped => Gate::Open,
    }
}

/// Parks the running thread in the round that begins there.
fn park(mut world: Borrow<'_, World, ASIDE>, op: Op, site: Site, start: usize) -> Gate {
    let me = world.me();
    let (now, seen) = me.spin.polls.take_round(start);
    me.spin.parked = now;
    drop(world);
    let gate = parking::park(op, seen, &mut Parked(site));
    // When it goes on it is in the same round again.
    let mut world = world::borrow();
    let spin = &mut world.me().spin;
    let parked = spin.parked.take();
    spin.polls.resume(parked);
    gate
}

/// The running thread, which is being parked here.
struct Parked(Site);

impl Waiter for Parked {
    fn perform(&mut self, op: Op, gate: Gate) -> u64 {
        perform(op, gate, self.0, Order::SeqCst, None).result
    }

    fn watch(&mut self, words: Vec<(ObjectId, u64)>) {
        let mut world = world::borrow();
        let current = world.current;
        world.run.watch(current, words);
    }
}

/// Whether the section that ends here belongs to a round that was the same before, and leaves nothing new.
pub fn clean(mutex: ObjectId, site: Site, frame: &Frame) -> bool {
    let wrote = wrote_so_far();
    let mut world = world::borrow();
    if wrote.outside || world.run.records_states() {
        return false;
    }
    let me = world.me();
    let (top, from) = (me.top, core::ptr::from_ref(frame) as usize);
    let held = me.spin.held;
    let take = || on_stack(top, from).then(|| print(frame, top, held));
    let polls = &mut me.spin.polls;
    polls.leaves_clean(mutex, site, wrote.inside, take)
}

impl World {
    /// The running thread as it is at a call.
    pub fn print(&mut self, frame: &Frame) -> Print {
        let me = self.me();
        print(frame, me.top, me.spin.held)
    }

    /// The running thread has done the last event of the run.
    #[inline]
    pub fn record_poll(&mut self) {
        if self.run.records_states() {
            return;
        }
        let current = self.current.index();
        let spin = &mut self.threads[current].spin;
        if !spin.changed.is_empty() {
            spin.accept();
        }
        let again = spin.polls.is_here_again();
        spin.polls.record(last_event(&self.run), self.run.state());
        let again = again || self.run.takes_back();
        let spin = &mut self.threads[current].spin;
        if again && !spin.polls.row().is_empty() {
            foreign_code::arm();
        }
        if spin.polls.row().is_empty() && spin.parked.is_none() {
            watched_reads::end(self.current);
        }
    }
}

/// The registers at a call and the live stack above it, and how much memory the thread holds.
fn print(frame: &Frame, top: usize, held: usize) -> Print {
    let from = core::ptr::from_ref(frame) as usize;
    let mut sum = mixed(0, held as u64);
    let mut address = from;
    while address < top {
        // SAFETY: the word lies between the frame of the running call and the top of its thread's stack, all of which is mapped.
        let word = unsafe { (address as *const u64).read_volatile() };
        sum = sum.wrapping_add(mixed(address, word));
        address += 8;
    }
    Print { sum, from }
}

/// A word at its address as a number that says little of either: sums of such numbers differ when a word does.
fn mixed(address: usize, word: u64) -> u64 {
    let mut z = word ^ (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_reaches_down_from_its_end() {
        let top = 1 << 40;
        assert!(on_stack(top, top) && on_stack(top, top - STACK));
        assert!(!on_stack(top, top + 1) && !on_stack(top, top - STACK - 1));
    }

    #[test]
    fn prints_tell_words_and_their_places_apart() {
        assert_ne!(mixed(8, 1), mixed(8, 2));
        assert_ne!(mixed(8, 1), mixed(16, 1));
    }
}
