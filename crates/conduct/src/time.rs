//! Virtual time.
//!
//! Every thread has a clock of its own. Its sleeps, its timeouts and its looks at the clock move it, and nothing else
//! does. Time travels with causality: a thread starts with the time of its creator; a join is at least as late as the
//! end of the joined thread; whatever comes after another step by dependence is at least as late as that step. So what a
//! thread reads as time never runs backwards, and is a function of its causal past: equivalent executions read the same
//! times.
//!
//! A program can see which of two threads looked at the clock first. So targets make each look an operation on one
//! object that is there for that ([`LOOK`]). All looks of a run are ordered, each is later than the one before, and
//! every order is explored. A program in which one thread looks has no more executions for it. Whether two threads see
//! the same second, on a clock that shows no more, is not explored: see [`Run::look_at_coarse_clock`].
//!
//! A store to an atomic learns nothing of the stores before it, and a read only of the store that it reads. Anything more
//! would reveal the order of stores that `rf` leaves open.
//!
//! *Called by:* [`Run::go`] after each event, once some clock has moved; until then time costs nothing. *Owns:* the
//! clock of each thread, and the latest times of each object and each step.

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{Access, Class, Edge, Op, Rmw, RmwKind, ThreadId, Unrecorded};

/// What a look at the clock does to the object that orders all looks: an atomic, which counts them.
pub const LOOK: Rmw = Rmw {
    kind: RmwKind::Add,
    operand: 1,
    bits: 64,
};

/// What a look at the clock takes: so little that it is nothing beside a time limit. A look after one of another thread is
/// always at another microsecond.
const LOOK_NS: u64 = 100;
const MICROSECOND_NS: u64 = 1000;
/// After so many looks with no wait in between each takes twice the time of the one before, so that a loop until some
/// time ends: after 39 looks, if that is a second from now.
const CHEAP_LOOKS: u32 = 16;
/// At most so often: a look takes two minutes then.
const DOUBLINGS: u32 = 30;

/// The times of a run.
#[derive(Debug, Default)]
pub(crate) struct VirtualTime {
    /// Some clock has moved.
    used: bool,
    /// The clock of each thread in nanoseconds since the start of the run. Those behind the end are at 0.
    threads: Vec<u64>,
    /// For each object the latest times of its touches, by their class. Of an atomic the time of the last write.
    objects: Vec<Vec<(Class, u64)>>,
    /// The time of each thread's steps, by their counts.
    steps: Vec<Vec<(u32, u64)>>,
    /// For each thread: after how many of its events it last paused, and how often in a row.
    pauses: Vec<(u32, u32)>,
    /// Of each thread.
    looks: Vec<Looks>,
    /// The thread that looked last.
    last_look: Option<ThreadId>,
    /// Looks at clocks that show only full units of time.
    coarse_looks: Vec<Edge>,
}

/// The looks of a thread at the clock.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    /// How many events the run had at the last one.
    events: usize,
    /// How often it has looked since it last waited for anything.
    row: u32,
}

/// The place of an index in a list that grows on demand.
fn at<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl VirtualTime {
    #[inline]
    pub(crate) fn used(&self) -> bool {
        self.used
    }

    /// A new run.
    pub(crate) fn clear(&mut self) {
        self.pauses.clear();
        self.looks.clear();
        self.coarse_looks.clear();
        self.last_look = None;
        if self.used {
            self.used = false;
            self.threads.clear();
            self.objects.clear();
            self.steps.clear();
        }
    }

    /// A thread starts with the time of its creator.
    #[inline]
    pub(crate) fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        if self.used {
            *at(&mut self.threads, child.index()) = self.of(parent);
        }
    }

    fn of(&self, thread: ThreadId) -> u64 {
        self.threads.get(thread.index()).copied().unwrap_or(0)
    }

    /// The time of a step; 0 if it was done before any clock moved.
    fn step(&self, edge: Edge) -> u64 {
        let steps = self.steps.get(edge.thread.index());
        let found = steps.and_then(|steps| {
            let at = steps.binary_search_by_key(&edge.count, |step| step.0);
            at.ok().map(|at| steps[at].1)
        });
        found.unwrap_or(0)
    }

    /// The latest time of what an access comes after.
    fn before(&mut self, access: Access) -> u64 {
        let touches = at(&mut self.objects, access.object.index()).iter();
        let conflicting = touches.filter(|(class, _)| access.class.conflicts(*class));
        conflicting.map(|(_, time)| *time).max().unwrap_or(0)
    }

    /// What a thread did since is taken back.
    pub(crate) fn take_back(&mut self, since: Edge, now: u64) {
        *at(&mut self.threads, since.thread.index()) = now;
        at(&mut self.steps, since.thread.index()).retain(|(count, _)| *count <= since.count);
    }

    /// An object was touched at this time.
    fn touched(&mut self, access: Access, now: u64) {
        let touches = at(&mut self.objects, access.object.index());
        match touches.iter_mut().find(|(class, _)| *class == access.class) {
            Some((_, time)) => *time = now.max(*time),
            None => touches.push((access.class, now)),
        }
    }

    /// An atomic was written at this time: a reader learns nothing of the writes before.
    fn written(&mut self, access: Access, now: u64) {
        let touches = at(&mut self.objects, access.object.index());
        touches.clear();
        touches.push((access.class, now));
    }
}

impl Run {
    /// The time of a thread, in nanoseconds since the start of the run.
    pub fn time_ns(&self, thread: ThreadId) -> u64 {
        self.time.of(thread)
    }

    /// Moves the clock of a thread forward.
    pub fn advance(&mut self, thread: ThreadId, ns: u64) {
        self.time.used = true;
        let clock = at(&mut self.time.threads, thread.index());
        *clock = clock.saturating_add(ns);
    }

    /// The same, up to some time.
    pub fn advance_to(&mut self, thread: ThreadId, ns: u64) {
        let left = ns.saturating_sub(self.time_ns(thread));
        self.advance(thread, left);
    }

    /// A thread has looked at the clock: its last event is [`LOOK`]. This takes some time. (A loop that looks is different
    /// in every round: the target has to clear its row of [polls](crate::parking::Polls).)
    pub fn look_at_clock(&mut self, thread: ThreadId) -> u64 {
        let before = self.time_ns(thread);
        self.look_at_own_clock(thread);
        let last = self.time.last_look.replace(thread);
        if last.is_some_and(|last| last != thread) {
            let next = (before / MICROSECOND_NS + 1).saturating_mul(MICROSECOND_NS);
            self.advance_to(thread, next);
        }
        let now = self.time_ns(thread);
        let last = self.execution.events.last();
        if let Some(clock) = last.and_then(|event| event.access[0]) {
            // The next look is later.
            self.time.written(clock, now);
        }
        now
    }

    /// A thread has looked at a clock that shows only full units of time. Two threads may see the same unit or not, whatever
    /// the order of their looks; only one of these is explored. If another thread looked at such a clock too, and nothing is
    /// known to order the two, the execution says so ([`Execution::clocks_cut`](reweave_model::Execution::clocks_cut)).
    pub fn look_at_coarse_clock(&mut self, thread: ThreadId) {
        let execution = &self.execution;
        let born = execution.threads[thread.index()].born;
        let joined = |other| {
            let mut events = execution.events.iter();
            events.any(|event| event.op == Op::Join(other))
        };
        let ordered = |look: &Edge| {
            let before = look.thread == born.thread && look.count <= born.count;
            look.thread == thread || before || joined(look.thread)
        };
        let all_ordered = self.time.coarse_looks.iter().all(ordered);
        self.execution.clocks_cut |= !all_ordered;
        let look = self.moment(thread);
        self.time.coarse_looks.push(look);
    }

    /// A thread has looked at a clock that is its own, such as that of its processor time: nobody can tell whether that was
    /// before a look of another thread. Takes time as well.
    pub fn look_at_own_clock(&mut self, thread: ThreadId) -> u64 {
        self.leave_states(Unrecorded::Clock);
        let doublings = self.looks_in_a_row(thread).saturating_sub(CHEAP_LOOKS);
        self.advance(thread, LOOK_NS << doublings.min(DOUBLINGS));
        self.time_ns(thread)
    }

    fn looks_in_a_row(&mut self, thread: ThreadId) -> u32 {
        let events = &self.execution.events;
        let looks = at(&mut self.time.looks, thread.index());
        let mut since = events[looks.events..].iter();
        let waited = since.any(|event| event.thread == thread && event.op.timed().is_some());
        looks.row = if waited { 1 } else { looks.row + 1 };
        looks.events = events.len();
        looks.row
    }

    /// Puts the clock of a thread back: what it did since was only a trial.
    pub fn restore_clock(&mut self, thread: ThreadId, ns: u64) {
        *at(&mut self.time.threads, thread.index()) = ns;
    }

    /// A thread sleeps or yields: how often it has done so in a row, with no event in between.
    pub fn pause(&mut self, thread: ThreadId) -> u32 {
        let count = self.state.count(thread);
        let pauses = at(&mut self.time.pauses, thread.index());
        *pauses = match *pauses {
            (last, times) if last == count => (count, times.saturating_add(1)),
            _ => (count, 1),
        };
        pauses.1
    }

    /// The event that a thread has just done belongs to its row of pauses.
    pub fn keep_pausing(&mut self, thread: ThreadId) {
        at(&mut self.time.pauses, thread.index()).0 = self.state.count(thread);
    }

    /// After an event.
    #[cold]
    pub(crate) fn carry_time(&mut self, step: usize) {
        let event = &self.execution.events[step];
        let thread = event.thread;
        let mut now = self.time.of(thread);
        if let Op::Join(other) = event.op {
            // Its last step may be earlier than its end.
            now = now.max(self.time.of(other));
        }
        if let Some(edge) = event.after {
            now = now.max(self.time.step(edge));
        }
        let store = matches!(event.op, Op::Store(..));
        let accesses = event.access;
        for access in accesses.into_iter().flatten() {
            if !store || !self.execution.is_atomic(access.object) {
                now = now.max(self.time.before(access));
            }
        }
        for access in accesses.into_iter().flatten() {
            match self.execution.is_atomic(access.object) {
                true if access.class == Class::Write => self.time.written(access, now),
                true => {}
                false => self.time.touched(access, now),
            }
        }
        *at(&mut self.time.threads, thread.index()) = now;
        let count = self.state.count(thread);
        at(&mut self.time.steps, thread.index()).push((count, now));
    }
}
