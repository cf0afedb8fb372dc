//! What happens when no thread can go: late timeouts and wrong guesses are released, or the run ends.

use crate::run::Run;
use reweave_model::{End, Gate, Op, Pending, ThreadId};

impl Run {
    /// Whether only a foretold writer keeps some thread from going.
    fn held_back(&self) -> bool {
        self.alive.iter().any(|thread| {
            self.pending[thread.index()]
                .is_some_and(|pending| self.state.held_back(*thread, &pending))
        })
    }

    /// If no thread can go: releases late timeouts, and parked loops that guessed the wrong object. Whether there were
    /// any.
    pub(crate) fn epoch(&mut self) -> bool {
        if self.some_thread_can_go() || self.held_back() || self.only_detached() {
            return false;
        }
        let mut released = false;
        for index in 0..self.pending.len() {
            let thread = ThreadId(index as u32);
            let able = |pending: &Pending| !self.state.exhausted(thread, pending.op);
            if let Some(pending) = self.pending[index].filter(able) {
                let watch = self.execution.watch_of(thread, self.state.count(thread));
                if self.state.releasable(&pending, watch) {
                    self.state.release(thread);
                    released = true;
                }
            }
        }
        if released {
            let done = self.execution.events.len() as u32;
            self.execution.epochs.push(done);
        }
        released
    }

    /// How a run ends in which no thread can go any more.
    pub(crate) fn verdict(&mut self) -> End {
        let end = self.ending();
        if self.rounds.hold_back() {
            self.execution.stopped.clear();
            return End::Redundant;
        }
        if self.execution.stopped.is_empty() {
            return end;
        }
        if end != End::Livelock {
            // None of them has to stay in its loop for ever.
            self.execution.stopped.clear();
        }
        End::Redundant
    }

    fn ending(&self) -> End {
        if self.repeats || self.held_back() {
            return End::Redundant;
        }
        let waiting = || self.pending.iter().flatten();
        if waiting().next().is_none() {
            return End::Done;
        }
        let stopped = |thread: &ThreadId| {
            self.pending[thread.index()]
                .is_some_and(|pending| self.state.exhausted(*thread, pending.op))
        };
        if self.alive.iter().any(stopped) {
            return End::MaxSteps;
        }
        if self.only_detached() {
            return End::Done;
        }
        if waiting().any(|pending| matches!(pending.op, Op::Assume(_))) {
            return End::Blocked;
        }
        let loops = waiting().any(|pending| matches!(pending.gate, Gate::Word(_)));
        if loops || self.rounds.any() {
            return End::Livelock;
        }
        End::Deadlock
    }
}
