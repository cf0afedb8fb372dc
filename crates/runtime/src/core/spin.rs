//! Loops that only wait for others.
//!
//! A thread comes to an operation that changed nothing the last time. When it is there again, with nothing written by it in between, the
//! same registers and the same stack as the time before, the round from there to here repeats until somebody else changes what it
//! looks at. Then the thread is parked: its operation is announced with the word that it saw, and can go when the object's word
//! differs. A loop that looks at several objects first guesses (an event: every guess is explored) which will change.
//!
//! *Locks.* A round may look under locks. The model counts, for each lock, the releases after which what it protects may differ; a repeated
//! round that wrote nothing releases without being counted ([`clean`]). Any other section is counted, whatever it did: code without
//! hooks may have written. A thread is never parked inside a section of the round, where it would keep others out.
//!
//! *Stacks.* What a thread writes to its own stack shows in its registers and its stack, which are compared: no need to look at such
//! writes one by one. But variables there may be known to others. What others write to them is not the thread's own doing
//! ([`foreign`]): it is taken as if it had always been there. And a section that wrote to its thread's stack is clean only when it leaves the
//! same there as the time before.
//!
//! Every decision here is a function of what the thread itself has done and read, never of what others did meanwhile: equivalent
//! executions park alike. A loop that does write something each round ends at the limit on steps.

use crate::{
    core::{
        slots,
        world::{self, perform},
    },
    hooks::Frame,
};
use alloc::vec::Vec;
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicUsize, Ordering},
};
use reweave_model::{Event, Gate, ObjectId, Op, Order, Site};

/// Longer rounds are not recognised.
const ROW: usize = 48;

/// Where the running thread has written since its last operation.
#[derive(Clone, Copy, Default)]
pub struct Wrote {
    outside: bool,
    /// To its own stack.
    inside: bool,
}

struct Global(UnsafeCell<Wrote>);
// SAFETY: one OS thread runs all code that looks at it; elsewhere it is only set.
unsafe impl Sync for Global {}
static WROTE: Global = Global(UnsafeCell::new(Wrote {
    outside: false,
    inside: false,
}));

/// Where the running thread's stack ends: what it writes there shows when it is parked.
static TOP: AtomicUsize = AtomicUsize::new(0);
/// Where the first thread's does; those of the others lie together.
static MAIN_TOP: AtomicUsize = AtomicUsize::new(0);
const STACK: usize = 8 << 20;

/// A run begins, with the first thread.
pub fn begin(top: usize) {
    MAIN_TOP.store(top, Ordering::Relaxed);
    switched(top);
}

/// Another thread goes on, whose stack ends here. What this one has written is its own: [`back`] wants to know.
#[inline]
pub fn switched(top: usize) -> Wrote {
    TOP.store(top, Ordering::Relaxed);
    take_wrote()
}

/// The thread goes on that had written this when it was left.
#[inline]
pub fn back(wrote: Wrote) {
    // SAFETY: as above.
    unsafe { WROTE.0.get().write_volatile(wrote) };
}

/// Whether an address is on the stack that ends here.
#[inline]
pub fn on_stack(top: usize, address: usize) -> bool {
    top.wrapping_sub(address) <= STACK
}

/// The running thread writes.
#[inline]
pub fn wrote(address: usize, bytes: usize) {
    // SAFETY: as above.
    let wrote = unsafe { &mut *WROTE.0.get() };
    if !on_stack(TOP.load(Ordering::Relaxed), address) {
        wrote.outside = true;
        foreign(address, bytes);
    } else {
        wrote.inside = true;
    }
}

/// The running thread has changed something that no hook sees: what a library keeps for it, or the kernel.
pub fn disturbed() {
    if world::active() {
        // SAFETY: as above.
        unsafe { (*WROTE.0.get()).outside = true };
    }
}

fn take_wrote() -> Wrote {
    // SAFETY: as above.
    unsafe { core::mem::take(&mut *WROTE.0.get()) }
}

/// Memory is about to be written that may be on the stack of another thread than the running one.
#[inline]
pub fn foreign(address: usize, bytes: usize) {
    let first = on_stack(MAIN_TOP.load(Ordering::Relaxed), address);
    if (first || slots::slot_of(address).is_some()) && world::active() {
        note_foreign(address, bytes);
    }
}

#[cold]
fn note_foreign(address: usize, bytes: usize) {
    let world = world::get();
    let current = world.current.index();
    let mut threads = world.threads.iter_mut().enumerate();
    let owner = threads.find(|(_, thread)| !thread.finished && on_stack(thread.top, address));
    let Some((_, owner)) = owner.filter(|(index, _)| *index != current) else {
        return;
    };
    let spin = &mut owner.spin;
    if spin.row.is_empty() && spin.print.is_none() && spin.parked.is_none() {
        return;
    }
    let mut word = address & !7;
    while word < (address + bytes).min(owner.top) {
        if !spin.changed.iter().any(|(known, _)| *known == word) {
            // SAFETY: on a thread's stack.
            let value = unsafe { (word as *const u64).read_volatile() };
            spin.changed.push((word, value));
        }
        word += 8;
    }
}

/// What one thread has done since it last changed anything.
#[derive(Default)]
pub struct Spin {
    row: Vec<Visit>,
    /// Of the operation under way.
    print: Option<Print>,
    /// Of one that is parked and will be announced.
    parked: Option<Print>,
    /// Words of its stack that others have written to since it last ran, as they were.
    changed: Vec<(usize, u64)>,
    /// It has written to its stack before the operation under way.
    inside: bool,
    /// At the end of a section that did so.
    left: Option<Print>,
}

/// Registers and live stack at some moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Print {
    /// A sum over all words, each with its address, so that words can be exchanged.
    sum: u64,
    /// Where it begins.
    from: usize,
}

/// An operation that changed nothing.
#[derive(Clone, Copy)]
struct Visit {
    site: Site,
    op: Op,
    /// What the object looked like.
    word: u64,
    /// From the second visit on; where a section ends, also of the first one that wrote to the stack.
    print: Option<Print>,
    /// The thread was here before.
    again: bool,
    /// It has written to its stack before this operation.
    inside: bool,
}

impl Spin {
    /// How the thread came into the section it is in, if it has written nothing since.
    fn entered(&self, lock: ObjectId) -> Option<&Visit> {
        let mut row = self.row.iter().rev();
        row.find(|visit| enters(visit.op) && visit.seen().0 == lock)
    }

    pub fn clear(&mut self) {
        self.row.clear();
        self.print = None;
    }

    /// As of a thread that begins, keeping memory.
    pub fn reset(&mut self) {
        self.clear();
        self.parked = None;
        self.changed.clear();
        self.inside = false;
        self.left = None;
    }

    /// The thread goes on: what others have written to its stack meanwhile counts as if it had been there before.
    #[cold]
    fn accept(&mut self) {
        for (word, before) in self.changed.drain(..) {
            // SAFETY: on the running thread's stack.
            let now = unsafe { (word as *const u64).read_volatile() };
            let visits = self.row.iter_mut().map(|visit| &mut visit.print);
            let others = [&mut self.print, &mut self.parked, &mut self.left];
            for print in visits.chain(others).flatten() {
                if print.from <= word {
                    let less = mixed(word, before);
                    print.sum = print.sum.wrapping_sub(less).wrapping_add(mixed(word, now));
                }
            }
        }
    }
}

/// Whether an event changed nothing and would do the same again.
fn quiet(event: &Event) -> bool {
    match event.op {
        Op::Load(_) => true,
        Op::Rmw(_, rmw) => rmw.apply(event.result) == event.result,
        // A weak one that failed for no reason will not do so again; one that succeeded may fail then.
        Op::CompareExchange {
            expected,
            new,
            weak,
            ..
        } => match event.ok {
            true => new == expected && !weak,
            false => event.result != expected,
        },
        // Not an attempt to write-lock: several readers together keep it from going, and `optimal` needs those who do to come one
        // after the other.
        Op::TryLock(_) | Op::TryReadLock(_) | Op::SemTryAcquire(_) => !event.ok,
        op => enters(op),
    }
}

fn enters(op: Op) -> bool {
    matches!(op, Op::Lock(_) | Op::ReadLock(_))
}

fn exits(op: Op) -> bool {
    matches!(op, Op::Unlock(_) | Op::UnlockClean(_) | Op::ReadUnlock(_))
}

/// Before an operation of the running thread is announced: the gate to announce it with.
#[inline]
pub fn before(op: Op, site: Site, frame: Option<&Frame>) -> Gate {
    let spin = &mut world::get().me().spin;
    let wrote = take_wrote();
    if wrote.outside {
        spin.row.clear();
    }
    spin.inside = wrote.inside;
    match frame {
        Some(frame) if !spin.row.is_empty() => revisit(op, site, frame),
        _ => Gate::Open,
    }
}

#[inline(never)]
fn revisit(op: Op, site: Site, frame: &Frame) -> Gate {
    let me = world::get().me();
    let here = core::ptr::from_ref(frame) as usize;
    if !on_stack(me.top, here) {
        // On a stack that the program made: what is on it is not known.
        return Gate::Open;
    }
    let same = |visit: &Visit| (visit.site, visit.op) == (site, op);
    let Some(last) = me.spin.row.iter().rposition(same) else {
        return Gate::Open;
    };
    let now = print(frame, me.top);
    me.spin.print = Some(now);
    let round = &me.spin.row[last..];
    if round[0].print != Some(now) || !steady(round) || !outside(round) {
        return Gate::Open;
    }
    let mut seen: Vec<(ObjectId, u64)> = Vec::new();
    // In the order of the round, which is the same in equivalent executions; numbers of objects are not.
    for visit in round {
        if !seen.contains(&visit.seen()) {
            seen.push(visit.seen());
        }
    }
    me.spin.clear();
    me.spin.parked = Some(now);
    let gate = park(op, site, seen);
    // When it goes on it is in the same round again.
    let spin = &mut world::get().me().spin;
    spin.print = spin.parked.take();
    gate
}

/// Whether the section that ends here belongs to a round that was the same before, and leaves nothing new.
pub fn clean(mutex: ObjectId, site: Site, frame: &Frame) -> bool {
    // SAFETY: as above; only looks.
    let wrote = unsafe { *WROTE.0.get() };
    let me = world::get().me();
    let here = |visit: &Visit| visit.seen().0 == mutex;
    let row = &me.spin.row;
    let entered = row
        .iter()
        .rposition(|visit| enters(visit.op) && here(visit));
    let Some(entered) = entered.filter(|at| row[*at].again && !wrote.outside) else {
        return false;
    };
    if !wrote.inside && !row[entered + 1..].iter().any(|visit| visit.inside) {
        return true;
    }
    let from = core::ptr::from_ref(frame) as usize;
    if !on_stack(me.top, from) {
        return false;
    }
    let same = |visit: &&Visit| exits(visit.op) && here(visit) && visit.site == site;
    let last = row.iter().rev().find(same).and_then(|visit| visit.print);
    let now = print(frame, me.top);
    me.spin.left = Some(now);
    last == Some(now)
}

/// After an operation was done.
#[inline]
pub fn after(event: &Event) {
    let world = world::get();
    let current = world.current.index();
    let spin = &mut world.threads[current].spin;
    if !spin.changed.is_empty() {
        spin.accept();
    }
    let (left, again) = (spin.left.take(), spin.print.is_some());
    let print = spin.print.take().or(left);
    let leaves = |lock: ObjectId| exits(event.op) && spin.entered(lock).is_some();
    if !quiet(event) && !event.op.object().is_some_and(leaves) {
        spin.row.clear();
        return;
    }
    if spin.row.len() == ROW {
        spin.row.drain(..ROW / 2);
    }
    let Some(object) = event.op.object() else {
        return;
    };
    let word = match event.op {
        Op::Load(_) | Op::Rmw(..) | Op::CompareExchange { .. } => event.result,
        op => world.run.state().object(object).sees(op),
    };
    spin.row.push(Visit {
        site: event.site,
        op: event.op,
        word,
        print,
        again,
        inside: spin.inside,
    });
}

impl Visit {
    fn seen(&self) -> (ObjectId, u64) {
        (self.op.object().unwrap_or(ObjectId(0)), self.word)
    }
}

/// Whether a round saw one word of each object.
fn steady(round: &[Visit]) -> bool {
    let differ = |a: &Visit, b: &Visit| a.seen().0 == b.seen().0 && a.word != b.word;
    !round
        .iter()
        .any(|visit| round.iter().any(|other| differ(visit, other)))
}

/// Whether a round begins outside of its sections: a thread that is parked inside would keep others out.
fn outside(round: &[Visit]) -> bool {
    let mut inside: Vec<ObjectId> = Vec::new();
    round.iter().all(|visit| {
        let object = visit.seen().0;
        if enters(visit.op) {
            inside.push(object);
        } else if exits(visit.op) {
            let entered = inside.iter().rposition(|other| *other == object);
            return entered.map(|place| inside.remove(place)).is_some();
        }
        true
    }) && inside.is_empty()
}

/// Parks the thread at the first operation of its round: the gate to announce that one with.
fn park(op: Op, site: Site, mut seen: Vec<(ObjectId, u64)>) -> Gate {
    if let [(_, word)] = seen[..] {
        return Gate::Word(word);
    }
    let silent = |op, gate| perform(op, gate, site, Order::SeqCst, None);
    let guess = silent(Op::Any(seen.len() as u32), Gate::Open).result as usize;
    let (object, word) = seen.remove(guess);
    let world = world::get();
    world.run.watch(world.current, seen);
    if op.object() == Some(object) {
        return Gate::Word(word);
    }
    silent(Op::Await(object, word), Gate::Word(word));
    Gate::Open
}

/// The registers at a call and the live stack above it.
pub fn print(frame: &Frame, top: usize) -> Print {
    let from = core::ptr::from_ref(frame) as usize;
    let mut sum = 0_u64;
    let mut address = from;
    while address < top {
        // SAFETY: between the running call's frame and the beginning of its thread's stack.
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
