//! The row of operations that a thread has done since it last changed anything.

use super::round::{around, clean_exit, enters, left, outside, steady, words};
use crate::late::SPURIOUS;
use alloc::vec::Vec;
use reweave_model::{Event, Machine, ObjectId, Op, Site, VIEW_BITS};

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
    /// From the second visit on. At the end of a section that wrote to the stack, and where it timed out, also of the first one.
    print: Option<P>,
    /// The thread was here before.
    again: bool,
    /// The thread wrote to its stack before the operation.
    wrote: bool,
    /// It timed out. Then the operation is the one that the target knows it by.
    pub(super) timed: bool,
}

impl<P> Visit<P> {
    /// The object, and what it looked like.
    #[inline]
    pub fn seen(&self) -> (ObjectId, u64) {
        let object = self.op.object().expect("a polling operation has an object");
        (object, self.word)
    }

    /// What the object, a lock, would look like after so many releases.
    pub fn word_after(&self, releases: u64) -> u64 {
        self.word + (releases << VIEW_BITS)
    }

    /// Whether it timed out.
    pub fn timed(&self) -> bool {
        self.timed
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
    /// What the operation under way is known by, if it may time out.
    timed: Option<Op>,
    /// The wait under way releases its mutex after a section that changed nothing.
    clean: bool,
    /// There is a fingerprint of the operation under way though the thread was not there before.
    first: bool,
}

impl<P> Default for Polls<P> {
    fn default() -> Polls<P> {
        Polls {
            row: Vec::new(),
            print: None,
            left: None,
            wrote: false,
            timed: None,
            clean: false,
            first: false,
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
        self.print.is_some() && !self.first
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
        self.timed = None;
        self.clean = false;
        self.first = false;
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
        let waits = round.iter().any(|visit| visit.timed);
        let same = round[0].print == Some(now) && !waits;
        (same && steady(round) && outside(round)).then_some(last)
    }

    /// As [`Polls::revisit`], where rounds are taken back ([`Run::take_back`](crate::Run::take_back)): the fingerprint is always taken, so that the
    /// first round is recognised too.
    pub fn again(&mut self, op: Op, site: Site, take: impl FnOnce() -> P) -> Option<usize> {
        let now = take();
        self.print = Some(now);
        let same = |visit: &Visit<P>| (visit.site, visit.op) == (site, op);
        self.first = !self.row.iter().any(same);
        let back = |visit: &Visit<P>| same(visit) && visit.print == Some(now);
        let start = self.row.iter().rposition(back)?;
        let waits = self.row[start..].iter().any(|visit| visit.timed);
        (!waits).then_some(start)
    }

    /// The round that begins here was taken back.
    pub fn take_back(&mut self, start: usize) {
        self.row.truncate(start);
        self.first = true;
    }

    /// Whether the thread waits in the round that begins here, which cannot be taken back. That is where it does without taking back, too: in its
    /// second round.
    pub fn waits_in(&self, start: usize) -> bool {
        let round = &self.row[start..];
        round[0].again && steady(round) && outside(round)
    }

    /// Before an operation that may time out, and that is known by `key`: where in the row the round begins that would
    /// repeat if it did, if one would. What the round saw is no matter, as the thread has kept nothing of it.
    pub fn timed(
        &mut self,
        key: Op,
        site: Site,
        take: impl FnOnce() -> Option<P>,
    ) -> Option<usize> {
        self.print = take();
        let now = self.print?;
        let same = |visit: &Visit<P>| visit.timed && (visit.site, visit.op) == (site, key);
        let last = self.row.iter().rposition(same)?;
        let round = &self.row[last..];
        let whole = match key {
            // One that ended spuriously had its mutex before and after.
            Op::Wake { timed: false, .. } => around(round),
            _ => outside(round),
        };
        (round[0].print == Some(now) && whole).then_some(last)
    }

    /// The operation under way may time out, or decides whether a wait ends spuriously, and is known by `key`.
    pub fn may_time_out(&mut self, key: Op) {
        self.timed = Some(key);
    }

    /// The wait under way releases its mutex after a section that changed nothing. Only a target that does not see writes
    /// has to say so.
    pub fn waits_clean(&mut self) {
        self.clean = true;
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
        let same = |visit: &&Visit<P>| left(visit.op) == Some(lock) && visit.site == site;
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
    #[inline(always)]
    pub fn record(&mut self, event: &Event, state: &Machine) {
        let (left, again) = (self.left.take(), self.is_here_again());
        self.first = false;
        let print = self.print.take().or(left);
        let (timed, clean) = (self.timed.take(), core::mem::take(&mut self.clean));
        let quiet = match (timed, event.op, event.result) {
            // A wait does not end spuriously.
            (Some(_), SPURIOUS, 0) => return,
            (Some(key), SPURIOUS, _) => key.object(),
            (Some(key), ..) => key.object().filter(|_| !event.ok),
            (None, ..) => self.quiet(event, clean),
        };
        let Some(object) = quiet else {
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
            op: timed.unwrap_or(event.op),
            ok: event.ok,
            result: event.result,
            word,
            print,
            again,
            wrote: self.wrote,
            timed: timed.is_some(),
        });
    }

    /// The object of an event that changed nothing and would do the same again.
    #[inline]
    fn quiet(&self, event: &Event, clean: bool) -> Option<ObjectId> {
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
            Op::Enqueue { mutex, .. } => (P::SEES_WRITES || clean) && self.entered(mutex).is_some(),
            // The wait that follows shows whether anything changes.
            Op::EnqueueIf { .. } => event.ok,
            op => enters(op) || clean_exit(op),
        };
        event.op.object().filter(|_| quiet)
    }
}
