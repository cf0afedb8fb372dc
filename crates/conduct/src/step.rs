//! Does the operation of the thread whose turn it is, and records its event.
//!
//! This is the innermost loop of a search, so events are written in place and the most frequent operations take a
//! shorter way through the model.

use crate::run::Run;
use reweave_model::{Choice, Divergence, Event, Gate, Op, Orders, Site, ThreadId};

/// An event as most are, to be filled in.
const BLANK: Event = Event {
    thread: ThreadId::MAIN,
    op: Op::Any(0),
    gate: Gate::Open,
    outcome: 0,
    outcomes: 1,
    ok: true,
    result: 0,
    after: None,
    access: [None, None],
    site: Site::ANY,
    order: Orders::IMPLIED,
};

impl Run {
    /// Does the operation of the thread that was chosen to go.
    #[inline]
    pub fn step(&mut self, choice: Choice) -> Event {
        *self.go(choice)
    }

    /// As [`Run::step`], without a copy of the event.
    #[inline]
    pub fn go(&mut self, choice: Choice) -> &Event {
        let Choice { thread, outcome } = choice;
        if !self.sleep.is_empty() {
            self.wake_sleepers(choice);
        }
        let slot = &mut self.pending[thread.index()];
        let pending = slot.as_ref().expect("only a pending operation can be done");
        let step = self.execution.events.len();
        // Written in place: making it elsewhere and moving it costs as much as all the rest.
        self.execution.events.push(BLANK);
        let event = &mut self.execution.events[step];
        event.thread = thread;
        event.op = pending.op;
        event.gate = pending.gate;
        event.outcome = outcome;
        event.site = pending.site;
        event.order = pending.order;
        match (self.state.apply_simple(thread, &pending.op), pending.op) {
            (Some((ok, result, access)), _) => {
                event.ok = ok;
                event.result = result;
                event.access[0] = Some(access);
            }
            (None, Op::Join(other)) => event.after = Some(self.state.join(thread, other)),
            (None, _) => {
                event.outcomes = self.state.outcomes(thread, pending.op);
                let effect = self.state.apply_any(thread, pending.op, outcome);
                event.ok = effect.ok;
                event.result = effect.result;
                event.after = effect.after;
                event.access = effect.access;
                if let (Op::TryWriteLock(lock), false) = (pending.op, effect.ok) {
                    // It would have failed before as well.
                    self.repeats |= self.state.object(lock).predicted_writer().is_some();
                }
            }
        }
        let ok = event.ok;
        *slot = None;
        self.last = Some(thread);
        if let Some(expected) = self.plan.steps.get(step) {
            if expected.ok.is_some_and(|expected| expected != ok) {
                self.differs(step);
            }
        }
        if self.time.used() {
            self.carry_time(step);
        }
        if self.rounds.any() {
            self.rounds.notice(&self.execution.events[step], step);
        }
        &self.execution.events[step]
    }

    /// An operation succeeded where the plan says that it fails, or the other way round.
    #[cold]
    fn differs(&mut self, step: usize) {
        if self.divergence.is_none() {
            let event = &self.execution.events[step];
            self.divergence = Some(Divergence {
                step,
                expected: self.plan.steps[step],
                actual: Some((event.op.kind(), event.site)),
            });
        }
    }

    /// Corrects the value of the store that was just done: a target may learn it only when the program has gone on.
    pub fn settle(&mut self, settled: u64) {
        if let Some(event) = self.execution.events.last_mut() {
            if let Op::Store(object, value) = &mut event.op {
                *value = settled;
                self.state.settle(*object, settled);
            }
        }
    }
}
