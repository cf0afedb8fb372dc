//! Which thread goes next: by the plan, then by its policy.
//!
//! *Called by:* targets, each time the running thread has announced an operation or ended.

use crate::run::Run;
use reweave_model::{Choice, Divergence, End, Site, Step, ThreadId};

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Next {
    Go(Choice),
    End(End),
    /// The program did not do what the plan expects: see [`Run::divergence`].
    Diverged,
}

/// Beyond all outcomes.
const ENDED: u32 = 1 << 16;
const DIVERGED: u32 = ENDED + 1;

impl Run {
    /// The next turn, by plan or policy.
    #[inline]
    pub fn next(&mut self) -> Next {
        match self.decide() {
            (thread, outcome @ 0..ENDED) => Next::Go(Choice {
                thread: ThreadId(thread),
                outcome: outcome as u16,
            }),
            (_, ENDED) => Next::End(self.execution.end),
            _ => Next::Diverged,
        }
    }

    /// Thread and outcome, or one of the constants: two numbers are returned in registers.
    fn decide(&mut self) -> (u32, u32) {
        let done = self.execution.events.len();
        if self.divergence.is_some() {
            return (0, DIVERGED);
        }
        if let Some(step) = self.plan.steps.get(done) {
            if self.fits(step) {
                return (step.choice.thread.0, step.choice.outcome.into());
            }
            return self.late_step(*step);
        }
        if done == self.plan.steps.len() {
            match self.takes_back() {
                true => self.hold_sleepers(),
                false => self.sleep.clone_from(&self.plan.sleep),
            }
        }
        if let Some(end) = self.closes_cycle() {
            self.execution.end = end;
            return (0, ENDED);
        }
        if let Some(choice) = self.by_policy() {
            return (choice.thread.0, choice.outcome.into());
        }
        if !self.sleep.is_empty() && self.some_thread_can_go() {
            self.execution.end = End::Redundant;
        } else if self.epoch() {
            return self.decide();
        } else {
            self.execution.end = self.verdict();
        }
        (0, ENDED)
    }

    /// A step of the plan that cannot be done as it stands. Either the plan names its thread as the child of another, or
    /// the step becomes possible when late timeouts are released.
    #[cold]
    fn late_step(&mut self, mut step: Step) -> (u32, u32) {
        if let Some(thread) = self.execution.resolve(step.choice.thread) {
            step.choice.thread = thread;
        }
        if self.fits(&step) || self.epoch() && self.fits(&step) {
            return (step.choice.thread.0, step.choice.outcome.into());
        }
        let thread = step.choice.thread.index();
        let actual = self.pending.get(thread).copied().flatten();
        self.divergence = Some(Divergence {
            step: self.execution.events.len(),
            expected: step,
            actual: actual.map(|pending| (pending.op.kind(), pending.site)),
        });
        (0, DIVERGED)
    }

    fn fits(&self, step: &Step) -> bool {
        let Choice { thread, outcome } = step.choice;
        let Some(Some(pending)) = self.pending.get(thread.index()) else {
            return false;
        };
        pending.op.kind() == step.kind
            && (pending.site == step.site || step.site == Site::ANY)
            && self.state.enabled(thread, pending)
            && (outcome == 0 || outcome < self.state.outcomes(thread, pending.op))
    }

    #[inline]
    pub(crate) fn can_go(&self, thread: ThreadId) -> bool {
        match &self.pending[thread.index()] {
            Some(pending) => self.state.enabled(thread, pending) && !self.rounds.hold(thread),
            None => false,
        }
    }

    pub(crate) fn some_thread_can_go(&self) -> bool {
        self.alive.iter().any(|thread| self.can_go(*thread))
    }
}
