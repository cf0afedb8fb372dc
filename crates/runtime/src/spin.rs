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
//! Every decision here is a function of what the thread itself has done and read, never of what others did meanwhile: equivalent
//! executions park alike. A loop that does write something each round ends at the limit on steps.

use crate::{
    hooks::Frame,
    world::{self, perform},
};
use alloc::vec::Vec;
use core::{
    cell::UnsafeCell,
    sync::atomic::{AtomicUsize, Ordering},
};
use reweave_model::{Event, Gate, ObjectId, Op, Order, Site};

/// Longer rounds are not recognised.
const ROW: usize = 48;

/// Whether the running thread has written since its last operation.
struct Wrote(UnsafeCell<bool>);
// SAFETY: one OS thread runs all code that looks at it; elsewhere it is only set.
unsafe impl Sync for Wrote {}
static WROTE: Wrote = Wrote(UnsafeCell::new(false));

/// Where the running thread's stack ends: what it writes there shows when it is parked.
static TOP: AtomicUsize = AtomicUsize::new(0);
const STACK: usize = 8 << 20;

/// Another thread goes on, whose stack ends here. Whether this one has written is its own: [`back`] wants to know.
#[inline]
pub fn switched(top: usize) -> bool {
    TOP.store(top, Ordering::Relaxed);
    take_wrote()
}

/// The thread goes on that had written, or not, when it was left.
#[inline]
pub fn back(wrote: bool) {
    // SAFETY: as above.
    unsafe { WROTE.0.get().write_volatile(wrote) };
}

/// The running thread writes.
#[inline]
pub fn wrote(address: usize) {
    if TOP.load(Ordering::Relaxed).wrapping_sub(address) > STACK {
        // SAFETY: as above.
        unsafe { WROTE.0.get().write_volatile(true) };
    }
}

/// The running thread has changed something that no hook sees: what a library keeps for it, or the kernel.
pub fn disturbed() {
    if world::active() {
        // SAFETY: as above.
        unsafe { WROTE.0.get().write_volatile(true) };
    }
}

fn take_wrote() -> bool {
    // SAFETY: as above.
    unsafe { core::mem::replace(&mut *WROTE.0.get(), false) }
}

/// What one thread has done since it last changed anything.
#[derive(Default)]
pub struct Spin {
    row: Vec<Visit>,
    /// Of the operation under way.
    print: Option<u64>,
}

/// An operation that changed nothing.
#[derive(Clone, Copy)]
struct Visit {
    site: Site,
    op: Op,
    /// What the object looked like.
    word: u64,
    /// Of registers and stack, from the second visit on.
    print: Option<u64>,
    /// The same as the time before.
    again: bool,
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
}

/// Whether an event changed nothing and would do the same again.
fn quiet(event: &Event) -> bool {
    match event.op {
        Op::Load(_) => true,
        Op::Rmw(_, rmw) => rmw.apply(event.result) == event.result,
        // A weak one that failed for no reason will not do so again.
        Op::CompareExchange { expected, .. } => !event.ok && event.result != expected,
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
    if take_wrote() {
        spin.row.clear();
    }
    match frame {
        Some(frame) if !spin.row.is_empty() => revisit(op, site, frame),
        _ => Gate::Open,
    }
}

#[inline(never)]
fn revisit(op: Op, site: Site, frame: &Frame) -> Gate {
    let me = world::get().me();
    let here = core::ptr::from_ref(frame) as usize;
    if me.top.wrapping_sub(here) > STACK {
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
    let gate = park(op, site, seen);
    // When it goes on it is in the same round again.
    world::get().me().spin.print = Some(now);
    gate
}

/// Whether the section that ends here belongs to a round that was the same before, and has written nothing.
pub fn clean(mutex: ObjectId) -> bool {
    // SAFETY: as above; only looks.
    let wrote = unsafe { *WROTE.0.get() };
    let row = &world::get().me().spin.row;
    let entered = row
        .iter()
        .rev()
        .find(|visit| enters(visit.op) && visit.seen().0 == mutex);
    !wrote && entered.is_some_and(|visit| visit.again)
}

/// After an operation was done.
#[inline]
pub fn after(event: &Event) {
    let world = world::get();
    let current = world.current.index();
    let spin = &mut world.threads[current].spin;
    let print = spin.print.take();
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
        again: print.is_some(),
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

/// Of the registers at a call and of the live stack above it.
fn print(frame: &Frame, top: usize) -> u64 {
    let mut hash = 0_u64;
    let mut address = core::ptr::from_ref(frame) as usize;
    while address < top {
        // SAFETY: between the running call's frame and the beginning of its thread's stack.
        let word = unsafe { (address as *const u64).read_volatile() };
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        address += 8;
    }
    hash
}
