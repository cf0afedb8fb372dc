//! The schedule of an execution as people see it: how often a thread loses its turn, and how to come nearer to another order.
//!
//! *Called by:* whoever makes a failing execution simpler. Nothing here is needed to explore, and nothing is believed: a plan that comes out
//! is only worth trying. Owns reusable tables.

use crate::{draft::step_of, happens::Happens, replay::Replay};
use reweave_model::{Choice, Execution, Mark, Plan, Policy, Step, ThreadId};

/// Looks at schedules.
#[derive(Debug, Default)]
pub struct Schedule {
    happens: Happens,
    replay: Replay,
}

/// A turn that is wished for: a thread by its creation path, and the outcome it is to have.
pub type Wish = (Vec<u32>, u16);

impl Schedule {
    /// How often the turn was taken from a thread that could have gone on.
    pub fn preemptions(&mut self, execution: &Execution) -> u32 {
        self.begin(execution);
        let mut preemptions = 0;
        let mut last = None;
        for (position, event) in (0..).zip(&execution.events) {
            let running = last.filter(|last| self.replay.goes_on(execution, &self.happens, *last));
            preemptions += u32::from(running.is_some_and(|running| running != event.thread));
            self.epoch(execution, position);
            self.replay.advance(execution, &self.happens, position);
            last = Some(event.thread);
        }
        preemptions
    }

    /// The plan that follows an execution up to the first turn that goes against the wishes, and grants that one; then the running thread stays.
    /// A wish that cannot be granted when its turn has come is passed over. `None`: it goes as wished.
    pub fn towards(&mut self, execution: &Execution, wishes: &[Wish]) -> Option<Plan> {
        self.begin(execution);
        let mut wishes = wishes.iter();
        for (position, event) in (0..).zip(&execution.events) {
            self.epoch(execution, position);
            let wished = wishes.find_map(|wish| self.granted(execution, wish))?;
            if wished.choice != choice(event.thread, event.outcome) {
                let before = &execution.events[..position as usize];
                let steps = before.iter().map(|event| step_of(event, Mark::Default));
                return Some(Plan {
                    steps: steps.chain([wished]).collect(),
                    sleep: Vec::new(),
                    policy: Policy::Stay,
                    max_steps: execution.max_steps,
                });
            }
            self.replay.advance(execution, &self.happens, position);
        }
        None
    }

    fn begin(&mut self, execution: &Execution) {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.replay.rewind(execution, &self.happens);
    }

    fn epoch(&mut self, execution: &Execution, position: u32) {
        if execution.epochs.binary_search(&position).is_ok() {
            self.replay.epoch(execution, &self.happens);
        }
    }

    /// The wish as a step, if it can be done now.
    fn granted(&self, execution: &Execution, (path, outcome): &Wish) -> Option<Step> {
        let mut threads = (0..).map(ThreadId).zip(&execution.threads);
        let (thread, _) = threads.find(|(_, record)| record.path == *path)?;
        let pending = self.replay.pending(execution, &self.happens, thread)?;
        let state = &self.replay.state;
        let can = state.enabled(thread, &pending) && *outcome < state.outcomes(thread, pending.op);
        can.then(|| Step {
            choice: choice(thread, *outcome),
            kind: pending.op.kind(),
            site: pending.site,
            ok: None,
            mark: Mark::Default,
        })
    }
}

fn choice(thread: ThreadId, outcome: u16) -> Choice {
    Choice { thread, outcome }
}
