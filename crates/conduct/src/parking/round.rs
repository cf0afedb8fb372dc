//! A round of a loop: when it can be waited in, and how a thread is parked in it.

use super::Visit;
use alloc::vec::Vec;
use reweave_model::{Gate, ObjectId, Op};

/// Begins a section that looks at what a lock protects.
pub(super) fn enters(op: Op) -> bool {
    matches!(op, Op::Lock(_) | Op::ReadLock(_))
}

/// The lock of the section that an operation ends.
pub(super) fn left(op: Op) -> Option<ObjectId> {
    match op {
        Op::Enqueue { mutex, .. } => Some(mutex),
        Op::Unlock(lock) => Some(lock),
        op => op.object().filter(|_| clean_exit(op)),
    }
}

/// Ends one that changed nothing.
pub(super) fn clean_exit(op: Op) -> bool {
    matches!(op, Op::UnlockClean(_) | Op::ReadUnlock(_))
}

/// Whether a round saw one word of each object.
pub(super) fn steady<P>(round: &[Visit<P>]) -> bool {
    let differ = |a: &Visit<P>, b: &Visit<P>| a.seen().0 == b.seen().0 && a.word != b.word;
    !round
        .iter()
        .any(|visit| round.iter().any(|other| differ(visit, other)))
}

/// Whether a round begins and ends outside of its sections.
pub(super) fn outside<P>(round: &[Visit<P>]) -> bool {
    let mut inside: Vec<ObjectId> = Vec::new();
    round.iter().all(|visit| {
        let object = visit.seen().0;
        if enters(visit.op) {
            inside.push(object);
        } else if let Some(lock) = left(visit.op) {
            let entered = inside.iter().rposition(|other| *other == lock);
            return entered.map(|place| inside.remove(place)).is_some();
        }
        true
    }) && inside.is_empty()
}

/// Whether a round begins and ends in the section of one lock, which it leaves for a while, and outside of all others.
pub(super) fn around<P>(round: &[Visit<P>]) -> bool {
    let exit = round.iter().position(|visit| left(visit.op).is_some());
    let entry = round.iter().rposition(|visit| enters(visit.op));
    let (Some(exit), Some(entry)) = (exit, entry) else {
        return false;
    };
    let same = left(round[exit].op) == round[entry].op.object();
    let others = |visits: &[Visit<P>]| {
        !visits
            .iter()
            .any(|visit| enters(visit.op) || left(visit.op).is_some())
    };
    same && others(&round[..exit]) && exit < entry && outside(&round[exit + 1..entry])
}

/// What a round saw of each object, in the order of the round: that is the same in equivalent executions, and numbers of
/// objects are not.
pub(super) fn words<P>(round: &[Visit<P>]) -> Vec<(ObjectId, u64)> {
    let mut seen: Vec<(ObjectId, u64)> = Vec::new();
    for visit in round {
        if !seen.contains(&visit.seen()) {
            seen.push(visit.seen());
        }
    }
    seen
}

/// A thread that is being parked.
pub trait Waiter {
    /// Announces an operation of the thread that no program text asks for, waits for its turn and does it: its result.
    /// Other threads run meanwhile.
    fn perform(&mut self, op: Op, gate: Gate) -> u64;

    /// [`Run::watch`](crate::Run::watch) for the thread.
    fn watch(&mut self, words: Vec<(ObjectId, u64)>);
}

/// Parks a thread at the first operation of its round, which saw these words: the gate to announce that operation with.
pub fn park(op: Op, mut seen: Vec<(ObjectId, u64)>, waiter: &mut impl Waiter) -> Gate {
    if let [(_, word)] = seen[..] {
        return Gate::Word(word);
    }
    let guess = waiter.perform(Op::Any(seen.len() as u32), Gate::Open);
    let (object, word) = seen.remove(guess as usize);
    waiter.watch(seen);
    if op.object() == Some(object) {
        return Gate::Word(word);
    }
    waiter.perform(Op::Await(object, word), Gate::Word(word));
    Gate::Open
}
