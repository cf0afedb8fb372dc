//! Virtual time.
//!
//! Every thread has a clock of its own. Its sleeps, its timeouts and its looks at the clock move it, and nothing else
//! does. Time travels with causality: a thread starts with the time of its creator; a join is at least as late as the
//! end of the joined thread; whoever takes a lock, reads a value or receives a message is at least as late as the step
//! that released, wrote or sent it. So what a thread reads as time is a function of its causal past, and equivalent
//! executions read the same times.
//!
//! Only accesses that are ordered one after the other carry time. Read-write locks and semaphores carry none: their
//! holders commute. A store to an atomic learns nothing of the stores before it.
//!
//! *Called by:* [`Run::go`] after each event, once some clock has moved; until then time costs nothing. *Owns:* the
//! clock of each thread, and the latest time of each object and each step.

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{Class, Edge, Op, ThreadId};

/// What a look at the clock takes, so that a loop until some time ends.
const LOOK_NS: u64 = 1_000_000;

/// The times of a run.
#[derive(Debug, Default)]
pub(crate) struct VirtualTime {
    /// Some clock has moved.
    used: bool,
    /// The clock of each thread in nanoseconds since the start of the run. Those behind the end are at 0.
    threads: Vec<u64>,
    /// The latest time of each object.
    objects: Vec<u64>,
    /// The time of each thread's steps, by their counts.
    steps: Vec<Vec<(u32, u64)>>,
    /// For each thread: after how many of its events it last paused, and how often in a row.
    pauses: Vec<(u32, u32)>,
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

    /// A thread looks at its clock, which takes some time. (A loop that does so is different in every round: the target
    /// has to clear its row of [polls](crate::parking::Polls).)
    pub fn look_at_clock(&mut self, thread: ThreadId) -> u64 {
        self.advance(thread, LOOK_NS);
        self.time_ns(thread)
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
        for access in event.access.iter().flatten() {
            if !matches!(access.class, Class::Read | Class::Write) {
                continue;
            }
            let store = matches!(event.op, Op::Store(..));
            let learns = !store || !self.execution.is_atomic(access.object);
            let latest = at(&mut self.time.objects, access.object.index());
            if learns {
                now = now.max(*latest);
            }
            if access.class == Class::Write {
                *latest = now;
            }
        }
        *at(&mut self.time.threads, thread.index()) = now;
        let count = self.state.count(thread);
        at(&mut self.time.steps, thread.index()).push((count, now));
    }
}
