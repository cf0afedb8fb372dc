//! The row of operations that a thread has done since it last changed anything.

use super::round::{clean_exit, enters, exits, outside, steady, words};
use alloc::vec::Vec;
use reweave_model::{Event, Machine, ObjectId, Op, Site};

/// The length of a row.
const ROW: usize = 48;

/// Everything that the next steps of a thread depend on, apart from memory that other threads can reach.
pub trait Fingerprint: Copy + Eq {
    /// Whether the target clears the row when a thread writes memory that the fingerprint does not cover. Then a section
    /// that ends with `Unlock` is part of a round like any other.
    const SEES_WRITES: bool;
}

/// An operation that changed nothing.
#[derive(Clone, Copy, Debug)]
pub struct Visit<P> {
    /// Its place in the program.
    pub site: Site,
    /// The operation.
    pub op: Op,
    /// Whether it succeeded.
    pub ok: bool,
    /// What it returned.
    pub result: u64,
    /// What the object looked like.
    pub word: u64,
    /// From the second visit on. At the end of a section that wrote to the stack, also of the first one.
    print: Option<P>,
    /// The thread was here before.
    again: bool,
    /// The thread wrote to its stack before the operation.
    wrote: bool,
}

impl<P> Visit<P> {
    /// The object, and what it looked like.
    #[inline]
    pub fn seen(&self) -> (ObjectId, u64) {
        let object = self.op.object().expect("a polling operation has an object");
        (object, self.word)
    }
}

/// What one thread has done since it last changed anything.
#[derive(Clone, Debug)]
pub struct Polls<P> {
    row: Vec<Visit<P>>,
    /// Of the operation under way, if the thread was there before.
    print: Option<P>,
    /// At the end of a section that wrote to the stack.
    left: Option<P>,
    /// The thread wrote to its stack before the operation under way.
    wrote: bool,
}

impl<P> Default for Polls<P> {
    fn default() -> Polls<P> {
        Polls {
            row: Vec::new(),
            print: None,
            left: None,
            wrote: false,
        }
    }
}

impl<P: Fingerprint> Polls<P> {
    /// The row, oldest first.
    #[inline]
    pub fn row(&self) -> &[Visit<P>] {
        &self.row
    }

    /// Whether no fingerprint is kept.
    pub fn is_blank(&self) -> bool {
        self.row.is_empty() && self.print.is_none()
    }

    /// Whether the thread was at the operation under way before, and has changed nothing since.
    pub fn is_here_again(&self) -> bool {
        self.print.is_some()
    }

    /// The thread changed something, or saw something that no object holds, such as the time.
    #[inline]
    pub fn clear(&mut self) {
        self.row.clear();
        self.print = None;
    }

    /// As of a new thread, keeping memory.
    pub fn reset(&mut self) {
        self.clear();
        self.left = None;
        self.wrote = false;
    }

    /// The thread wrote memory that a fingerprint does not cover.
    #[inline]
    pub fn clear_row(&mut self) {
        self.row.clear();
    }

    /// The thread has reached an operation; whether it wrote to its stack before.
    #[inline]
    pub fn arrive(&mut self, wrote: bool) {
        self.wrote = wrote;
    }

    /// All fingerprints that are kept.
    pub fn prints_mut(&mut self) -> impl Iterator<Item = &mut P> {
        let visits = self.row.iter_mut().map(|visit| &mut visit.print);
        visits
            .chain([&mut self.print, &mut self.left])
            .filter_map(Option::as_mut)
    }

    /// Before an operation is announced: where in the row the round begins that repeats now, if one does. The fingerprint
    /// is taken only if the thread was here before.
    pub fn revisit(&mut self, op: Op, site: Site, take: impl FnOnce() -> P) -> Option<usize> {
        let same = |visit: &Visit<P>| (visit.site, visit.op) == (site, op);
        let last = self.row.iter().rposition(same)?;
        let now = take();
        self.print = Some(now);
        let round = &self.row[last..];
        let repeats = round[0].print == Some(now) && steady(round) && outside(round);
        repeats.then_some(last)
    }

    /// Reduces the row to the round that repeats.
    pub fn keep_round(&mut self, start: usize) {
        self.row.drain(..start);
        self.print = None;
    }

    /// The thread is about to be parked in a round that begins here: its fingerprint, and what the round saw of each
    /// object.
    pub fn take_round(&mut self, start: usize) -> (Option<P>, Vec<(ObjectId, u64)>) {
        let seen = words(&self.row[start..]);
        let print = self.print;
        self.clear();
        (print, seen)
    }

    /// A thread that was parked with this fingerprint goes on inside its round.
    pub fn resume(&mut self, print: Option<P>) {
        self.print = print;
    }

    /// Whether the section that ends here belongs to a round that was the same before, and leaves nothing new behind. The
    /// thread has written nothing outside of its stack; `wrote`: it wrote there. `take` takes a fingerprint, if it can.
    pub fn leaves_clean(
        &mut self,
        lock: ObjectId,
        site: Site,
        wrote: bool,
        take: impl FnOnce() -> Option<P>,
    ) -> bool {
        let Some(entered) = self.entered(lock).filter(|at| self.row[*at].again) else {
            return false;
        };
        if !wrote && !self.row[entered + 1..].iter().any(|visit| visit.wrote) {
            return true;
        }
        let Some(now) = take() else {
            return false;
        };
        let same =
            |visit: &&Visit<P>| exits(visit.op) && visit.seen().0 == lock && visit.site == site;
        let last = self.row.iter().rev().find(same);
        let last = last.and_then(|visit| visit.print);
        self.left = Some(now);
        last == Some(now)
    }

    /// Where the thread entered the section of a lock, if it has changed nothing since.
    fn entered(&self, lock: ObjectId) -> Option<usize> {
        let mut row = self.row.iter();
        row.rposition(|visit| enters(visit.op) && visit.seen().0 == lock)
    }

    /// After an operation of the thread was done.
    #[inline]
    pub fn record(&mut self, event: &Event, state: &Machine) {
        let (left, again) = (self.left.take(), self.print.is_some());
        let print = self.print.take().or(left);
        let Some(object) = self.quiet(event) else {
            self.row.clear();
            return;
        };
        if self.row.len() == ROW {
            self.row.drain(..ROW / 2);
        }
        let word = match event.op {
            Op::Load(_) | Op::Rmw(..) | Op::CompareExchange { .. } => event.result,
            op => state.object(object).sees(op),
        };
        self.row.push(Visit {
            site: event.site,
            op: event.op,
            ok: event.ok,
            result: event.result,
            word,
            print,
            again,
            wrote: self.wrote,
        });
    }

    /// The object of an event that changed nothing and would do the same again.
    #[inline]
    fn quiet(&self, event: &Event) -> Option<ObjectId> {
        let quiet = match event.op {
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
            // Not `TryWriteLock`: several readers together keep it from succeeding, and `optimal` needs the steps that
            // do so to come one after the other.
            Op::TryLock(_)
            | Op::TryReadLock(_)
            | Op::SemTryAcquire(_)
            | Op::Take { tries: true, .. }
            | Op::Add { tries: true, .. }
            | Op::TrySend(_)
            | Op::TryRecv(_) => !event.ok,
            Op::Unlock(lock) => P::SEES_WRITES && self.entered(lock).is_some(),
            op => enters(op) || clean_exit(op),
        };
        event.op.object().filter(|_| quiet)
    }
}
