//! Writes a plan from pieces of an execution.
//!
//! Threads are numbered by creation within each run, and a plan that leaves events out or moves them creates threads in
//! another order: the draft renumbers them as the run will.

use reweave_model::{Choice, Edge, Execution, Mark, Pending, Plan, Step, ThreadId};

/// A plan in the making.
pub(crate) struct Draft<'a> {
    pub plan: Plan,
    execution: &'a Execution,
    triggers: &'a [Edge],
    /// Numbers in the new run.
    names: Vec<u32>,
    born: u32,
    counts: Vec<u32>,
}

impl<'a> Draft<'a> {
    /// Policy and limits are those of an earlier plan. `triggers`: the event that brings each thread to life.
    pub fn new(like: &Plan, execution: &'a Execution, triggers: &'a [Edge]) -> Draft<'a> {
        let threads = execution.threads.len();
        let mut draft = Draft {
            plan: Plan {
                steps: Vec::new(),
                sleep: Vec::new(),
                ..*like
            },
            execution,
            triggers,
            names: vec![u32::MAX; threads],
            born: 0,
            counts: vec![0; threads],
        };
        draft.births(ThreadId::MAIN);
        draft
    }

    fn births(&mut self, thread: ThreadId) {
        let step = Edge {
            thread,
            count: self.counts[thread.index()],
        };
        for (name, trigger) in self.names.iter_mut().zip(self.triggers) {
            if *trigger == step {
                *name = self.born;
                self.born += 1;
            }
        }
    }

    /// Adds a step that was an event.
    pub fn event(&mut self, position: u32, mark: Mark) {
        let event = &self.execution.events[position as usize];
        self.push(event.thread, event.pending(), event.outcome, mark);
        let step = self.plan.steps.last_mut().expect("it was just added");
        step.ok = Some(event.ok);
    }

    /// Adds a step.
    pub fn push(&mut self, thread: ThreadId, pending: Pending, outcome: u16, mark: Mark) {
        let name = |thread: ThreadId| ThreadId(self.names[thread.index()]);
        let mark = match mark {
            Mark::Overtakes(thread) => Mark::Overtakes(name(thread)),
            other => other,
        };
        self.plan.steps.push(Step {
            choice: Choice {
                thread: name(thread),
                outcome,
            },
            kind: pending.op.kind(),
            site: pending.site,
            ok: None,
            mark,
        });
        self.counts[thread.index()] += 1;
        self.births(thread);
    }
}
