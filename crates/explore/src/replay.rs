//! Plays the events of a finished execution again, in any order that respects happens-before, on the model alone.
//!
//! Answers what the target is never asked: who could have gone at another point, with which outcomes, and what would
//! have been done by default from there on.

use crate::happens::{Happens, Quad, Row, add_next, count};
use reweave_model::{Edge, Execution, Machine, Moment, Op, Pending, ThreadId};

/// A point of an execution: which events were done, and the model's state after them.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub state: Machine,
    /// For each thread, the event of its own line of ancestors that brings it to life.
    triggers: Vec<Edge>,
    /// The place of each thread in creation order.
    ranks: Vec<u32>,
    /// Events done, of each thread and in all.
    counts: Vec<Quad>,
    total: usize,
    /// What was after every so many events of the execution, as far as that was played.
    kept: Vec<(Moment, Vec<Quad>)>,
    stride: usize,
}

/// Fewer events than these are played as fast as a state is copied. (Tests have short executions.)
const STRIDE: usize = if cfg!(debug_assertions) { 4 } else { 256 };

impl Replay {
    /// Gets to know the threads of an execution; then [`Replay::rewind`].
    pub fn begin(&mut self, execution: &Execution) {
        self.state.spurious = execution.spurious;
        self.state.max_steps = execution.max_steps;
        let known =
            self.ranks.len() == execution.threads.len()
                && execution.threads.iter().zip(0..).all(|(thread, index)| {
                    self.state.path(ThreadId(index)).iter().eq(&thread.path)
                });
        if !known {
            self.state.clear();
            for thread in &execution.threads {
                self.state.spawn_at(&thread.path);
            }
            self.ranks.clear();
            self.ranks.resize(execution.threads.len(), 0);
            for (thread, rank) in self.state.order().iter().zip(0..) {
                self.ranks[thread.index()] = rank;
            }
        }
        self.triggers.clear();
        for thread in &execution.threads {
            // A thread born before its parent's first event comes with its parent.
            let parent = thread.born.thread.index();
            let trigger = match self.triggers.get(parent) {
                Some(trigger) if thread.born.count == 0 => *trigger,
                _ => thread.born,
            };
            self.triggers.push(trigger);
        }
        self.counts.clear();
        self.counts
            .resize(execution.threads.len().div_ceil(4), [0; 4]);
        self.kept.clear();
        // A state is as large as its objects and threads: all that are kept take no more than the execution.
        self.stride = STRIDE.max(execution.objects.len() + execution.threads.len());
    }

    /// Back to the last point that is kept before a position; returns its own. From there on events are played in their order, with
    /// [`Replay::keep`] after each.
    pub fn seek(&mut self, execution: &Execution, happens: &Happens, position: u32) -> u32 {
        let nth = (position as usize / self.stride).min(self.kept.len());
        let Some((moment, counts)) = nth.checked_sub(1).and_then(|nth| self.kept.get(nth)) else {
            self.rewind(execution, happens);
            return 0;
        };
        self.state.return_to(moment);
        self.counts.clone_from(counts);
        self.total = nth * self.stride;
        self.total as u32
    }

    /// Just the first events were played, in their order: the point is kept if it is the next one to be.
    pub fn keep(&mut self) {
        if self.total == (self.kept.len() + 1) * self.stride {
            self.kept.push((self.state.moment(), self.counts.clone()));
        }
    }

    /// Which thread it is in creation order.
    pub fn rank(&self, thread: ThreadId) -> u32 {
        self.ranks[thread.index()]
    }

    /// Back to the beginning.
    pub fn rewind(&mut self, execution: &Execution, happens: &Happens) {
        self.state.rewind(&execution.objects);
        self.counts.fill([0; 4]);
        self.total = 0;
        for index in 0..execution.threads.len() {
            self.settle(execution, happens, ThreadId(index as u32));
        }
    }

    /// A thread whose last event was done and that waits for nothing has come to its end.
    fn settle(&mut self, execution: &Execution, happens: &Happens, thread: ThreadId) {
        let record = &execution.threads[thread.index()];
        let done = count(&self.counts, thread) as usize == happens.of_thread(thread).len();
        if done && record.pending.is_none() && self.born(thread) {
            self.state.finish(thread);
        }
    }

    fn born(&self, thread: ThreadId) -> bool {
        let trigger = self.triggers[thread.index()];
        count(&self.counts, trigger.thread) >= trigger.count
    }

    /// For each thread, the event that brings it to life.
    pub fn triggers(&self) -> &[Edge] {
        &self.triggers
    }

    /// Events done of each thread.
    pub fn counts(&self) -> &Row {
        &self.counts
    }

    /// Events done in all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The position of a thread's next event.
    pub fn next_of(&self, happens: &Happens, thread: ThreadId) -> Option<u32> {
        happens
            .of_thread(thread)
            .get(count(&self.counts, thread) as usize)
            .copied()
    }

    /// What a thread has come to; `None`: it is not born, or has ended.
    pub fn pending(
        &self,
        execution: &Execution,
        happens: &Happens,
        thread: ThreadId,
    ) -> Option<Pending> {
        if !self.born(thread) {
            return None;
        }
        match self.next_of(happens, thread) {
            Some(position) => Some(execution.events[position as usize].pending()),
            None => execution.threads[thread.index()].pending,
        }
    }

    /// Whether the thread can go.
    pub fn enabled(&self, execution: &Execution, happens: &Happens, thread: ThreadId) -> bool {
        self.pending(execution, happens, thread)
            .is_some_and(|pending| self.state.enabled(thread, &pending))
    }

    /// Whether the thread could go on: see [`Machine::goes_on`].
    pub fn goes_on(&self, execution: &Execution, happens: &Happens, thread: ThreadId) -> bool {
        self.pending(execution, happens, thread)
            .is_some_and(|pending| self.state.goes_on(thread, &pending))
    }

    /// Does an event.
    pub fn advance(&mut self, execution: &Execution, happens: &Happens, position: u32) {
        let event = &execution.events[position as usize];
        debug_assert!(
            self.enabled(execution, happens, event.thread),
            "happens-before holds all that an event needs: {event:?}"
        );
        self.perform(event.thread, event.op, event.outcome);
        self.settle(execution, happens, event.thread);
        if self.triggers.len() > 1 {
            let step = Edge {
                thread: event.thread,
                count: count(&self.counts, event.thread),
            };
            for index in 0..self.triggers.len() {
                if self.triggers[index] == step {
                    self.settle(execution, happens, ThreadId(index as u32));
                }
            }
        }
    }

    /// Does an operation that need not be an event of the execution.
    pub fn perform(&mut self, thread: ThreadId, op: Op, outcome: u16) {
        self.state.apply(thread, op, outcome);
        add_next(&mut self.counts, thread);
        self.total += 1;
    }

    /// The first thread in creation order that can go: what the policy would take.
    pub fn first(&self, execution: &Execution, happens: &Happens) -> Option<ThreadId> {
        let mut order = self.state.order().iter().copied();
        order.find(|thread| self.enabled(execution, happens, *thread))
    }

    /// When nothing can go: lets late timeouts go. Says whether there were any.
    pub fn epoch(&mut self, execution: &Execution, happens: &Happens) -> bool {
        let held_back = |thread: &ThreadId| {
            self.pending(execution, happens, *thread)
                .is_some_and(|pending| self.state.held_back(*thread, &pending))
        };
        if self.state.order().iter().any(held_back) {
            return false;
        }
        let mut released = false;
        for index in 0..execution.threads.len() {
            let thread = ThreadId(index as u32);
            let Some(pending) = self.pending(execution, happens, thread) else {
                continue;
            };
            if self.state.exhausted(thread, pending.op) {
                continue;
            }
            let watch = execution.watch_of(thread, count(&self.counts, thread));
            if self.state.releasable(&pending, watch) {
                self.state.release(thread);
                released = true;
            }
        }
        released
    }
}
