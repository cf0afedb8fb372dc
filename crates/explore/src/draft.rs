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
    /// Begins with what was done before a position. Policy, limits and the marks of the first steps are those of the
    /// plan that the execution was run by. `triggers`: the event that brings each thread to life.
    pub fn new(
        plan: &Plan,
        execution: &'a Execution,
        triggers: &'a [Edge],
        upto: u32,
    ) -> Draft<'a> {
        let upto = upto as usize;
        let threads = execution.threads.len();
        let mut draft = Draft {
            plan: Plan {
                // Room for what is typically added.
                steps: Vec::with_capacity(upto + 8),
                sleep: Vec::new(),
                ..*plan
            },
            execution,
            triggers,
            names: vec![u32::MAX; threads],
            born: 0,
            counts: vec![0; threads],
        };
        let planned = upto.min(plan.steps.len());
        draft.plan.steps.extend_from_slice(&plan.steps[..planned]);
        for (step, event) in draft.plan.steps.iter_mut().zip(&execution.events) {
            step.ok = Some(event.ok);
        }
        for event in &execution.events[..upto] {
            draft.counts[event.thread.index()] += 1;
        }
        for event in &execution.events[planned..upto] {
            let choice = Choice {
                thread: event.thread,
                outcome: event.outcome,
            };
            draft.plan.steps.push(Step {
                choice,
                kind: event.op.kind(),
                site: event.site,
                ok: Some(event.ok),
                mark: Mark::Default,
            });
        }
        // Up to here threads are created as they were.
        let born = |trigger: &&Edge| draft.counts[trigger.thread.index()] >= trigger.count;
        let born = triggers.iter().take_while(born).count();
        for (number, name) in draft.names[..born].iter_mut().enumerate() {
            *name = number as u32;
        }
        draft.born = born as u32;
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
