//! When a loop that only looks is parked, told once more and independently of the runtime.
//!
//! A thread that comes to an operation at a place where it has been since it last changed anything, with its variables as they were the
//! time before, and has seen one word of each object in the round from there to here, goes on only when one of these words differs. Its
//! variables are compared from the second visit on, so a loop looks twice before it is parked.
//!
//! A thread that times out and comes to the same operation again, with all its variables as they were and nothing changed on its way, times
//! out again only when nothing else can run.

use reweave_model::{Event, Machine, ObjectId, Op, Site};

/// What a thread has done since it last changed anything.
#[derive(Clone, Debug, Default)]
pub struct Row {
    visits: Vec<Visit>,
    /// It has written to memory since its last operation.
    pub wrote: bool,
    /// To a variable of its own that others may know.
    pub wrote_own: bool,
    /// The same before the operation under way.
    before: bool,
    /// Its variables at the end of a section that did so.
    left: Option<Variables>,
    /// Its variables at the operation under way, if it is there again.
    variables: Option<Variables>,
    /// What the operation under way is known by, if it may time out.
    timed: Option<Op>,
}

/// What differs from round to round in the variables of a thread: counts of loops, and what they kept.
pub type Variables = (Vec<u32>, Vec<u64>);

#[derive(Clone, Debug)]
struct Visit {
    site: Site,
    op: Op,
    seen: (ObjectId, u64),
    variables: Option<Variables>,
    wrote_own: bool,
    timed: bool,
}

/// Longer rounds are not recognised.
const LONGEST: usize = 48;

fn enters(op: Op) -> bool {
    matches!(op, Op::Lock(_) | Op::ReadLock(_))
}

fn leaves(op: Op) -> bool {
    matches!(
        op,
        Op::Unlock(_) | Op::UnlockClean(_) | Op::ReadUnlock(_) | Op::Enqueue { .. }
    )
}

/// Whether an operation changed nothing and would do the same again.
fn changed_nothing(event: &Event) -> bool {
    match event.op {
        Op::Load(_) => true,
        Op::Rmw(_, rmw) => rmw.apply(event.result) == event.result,
        Op::CompareExchange { expected, .. } => !event.ok && event.result != expected,
        Op::TryLock(_) | Op::TryReadLock(_) | Op::SemTryAcquire(_) => !event.ok,
        op => enters(op),
    }
}

impl Row {
    /// Before an operation that is no look: nothing to decide.
    pub fn pass(&mut self) {
        if self.timed.is_some() {
            return;
        }
        if std::mem::take(&mut self.wrote) {
            self.visits.clear();
        }
        self.before = std::mem::take(&mut self.wrote_own);
    }

    /// Before an operation that may time out and is known by `key`: whether the thread has timed out here before in the same way. `now` is
    /// all that it knows.
    pub fn timed(&mut self, key: Op, site: Site, now: Variables) -> bool {
        self.pass();
        self.timed = Some(key);
        let mut visits = self.visits.iter();
        let same = |visit: &Visit| visit.timed && visit.site == site && visit.op == key;
        let last = visits.rposition(same);
        let round = last.map(|last| &self.visits[last..]);
        let repeats =
            |round: &&[Visit]| round[0].variables.as_ref() == Some(&now) && outside(round);
        let repeats = round.filter(repeats).is_some();
        self.variables = Some(now);
        repeats
    }

    /// The operation under way is another part of one that may time out.
    pub fn still_timed(&mut self, key: Op) {
        self.timed = Some(key);
    }

    /// Before an operation that a loop may wait with. The words to wait for, in the order of the round, if it is parked.
    pub fn come(&mut self, op: Op, site: Site, now: Variables) -> Option<Vec<(ObjectId, u64)>> {
        self.pass();
        let mut visits = self.visits.iter();
        let last = visits.rposition(|visit| visit.site == site && visit.op == op)?;
        let round = &self.visits[last..];
        let waits = round.iter().any(|visit| visit.timed);
        let same = round[0].variables.as_ref() == Some(&now) && !waits;
        let parked = same && steady(round) && outside(round);
        self.variables = Some(now);
        if !parked {
            return None;
        }
        let mut seen = Vec::new();
        for visit in round {
            if !seen.contains(&visit.seen) {
                seen.push(visit.seen);
            }
        }
        self.visits.clear();
        Some(seen)
    }

    /// Whether the section of a mutex that ends here was there before and leaves nothing new: it wrote nothing, or to its own
    /// variables only, and those are as they were the time before.
    pub fn clean(&mut self, mutex: ObjectId, site: Site, now: Variables) -> bool {
        let Some(entered) = self.entered(mutex) else {
            return false;
        };
        if self.wrote || self.visits[entered].variables.is_none() {
            return false;
        }
        let since = &self.visits[entered + 1..];
        if !self.wrote_own && !since.iter().any(|visit| visit.wrote_own) {
            return true;
        }
        let mut visits = self.visits.iter().rev();
        let last = visits.find(|visit| leaves(visit.op) && visit.site == site);
        let same = last.is_some_and(|last| last.variables.as_ref() == Some(&now));
        self.left = Some(now);
        same
    }

    /// Where the thread came into the section that it is in, if it has changed nothing since.
    fn entered(&self, lock: ObjectId) -> Option<usize> {
        let mut visits = self.visits.iter();
        visits.rposition(|visit| enters(visit.op) && visit.seen.0 == lock)
    }

    /// After an operation of the thread.
    pub fn done(&mut self, event: &Event, state: &Machine) {
        let variables = self.variables.take().or(self.left.take());
        let timed = self.timed.take();
        let Some(object) = event.op.mutex().or(event.op.object()) else {
            self.visits.clear();
            return;
        };
        let leaves = leaves(event.op) && self.entered(object).is_some();
        let quiet = match timed {
            Some(_) => !event.ok,
            None => changed_nothing(event) || leaves,
        };
        if !quiet {
            self.visits.clear();
            return;
        }
        if self.visits.len() == LONGEST {
            self.visits.drain(..LONGEST / 2);
        }
        let word = match event.op {
            Op::Load(_) | Op::Rmw(..) | Op::CompareExchange { .. } => event.result,
            op => state.object(object).sees(op),
        };
        self.visits.push(Visit {
            site: event.site,
            op: timed.unwrap_or(event.op),
            seen: (object, word),
            variables,
            wrote_own: self.before,
            timed: timed.is_some(),
        });
    }

    /// A loop that was parked looks again: the same round.
    pub fn resume(&mut self, now: Variables) {
        self.variables = Some(now);
    }
}

fn steady(round: &[Visit]) -> bool {
    round.iter().enumerate().all(|(at, one)| {
        let mut before = round[..at].iter();
        before.all(|other| other.seen.0 != one.seen.0 || other.seen == one.seen)
    })
}

/// A round is parked only where it has no lock.
fn outside(round: &[Visit]) -> bool {
    let mut inside = Vec::new();
    for visit in round {
        if enters(visit.op) {
            inside.push(visit.seen.0);
        } else if leaves(visit.op) {
            match inside.iter().rposition(|lock| *lock == visit.seen.0) {
                Some(at) => _ = inside.remove(at),
                None => return false,
            }
        }
    }
    inside.is_empty()
}
