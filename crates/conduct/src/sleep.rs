//! Sleep sets: choices that another run has explored from the same point.
//!
//! A choice sleeps until a step is done that depends on it. If every thread that can go sleeps, the run is redundant.

use crate::run::Run;
use reweave_model::{Choice, ThreadId};

impl Run {
    /// The first outcome of a thread that does not sleep.
    pub(crate) fn awake(&self, thread: ThreadId) -> Option<Choice> {
        if self.sleep.is_empty() {
            return Some(Choice { thread, outcome: 0 });
        }
        let op = self.pending[thread.index()]?.op;
        (0..self.state.outcomes(thread, op))
            .map(|outcome| Choice { thread, outcome })
            .find(|choice| !self.sleep.contains(choice))
    }

    /// Before a choice is done: removes what depends on it, and what its own thread had asleep.
    pub(crate) fn wake_sleepers(&mut self, choice: Choice) {
        let Some(pending) = self.pending[choice.thread.index()] else {
            return;
        };
        let state = &self.state;
        let mine = state.effect(choice.thread, pending.op, choice.outcome);
        let asleep = &self.pending;
        self.sleep.retain(|sleeper| {
            let Some(other) = asleep[sleeper.thread.index()] else {
                return false;
            };
            sleeper.thread != choice.thread
                && state.enabled(sleeper.thread, &other)
                && !state.depends(&mine, sleeper.thread, other.op, sleeper.outcome)
        });
    }
}
