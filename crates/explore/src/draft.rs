//! Writes plans from pieces of an execution.
//!
//! Threads are numbered by creation within each run, and a plan that leaves events out or moves them creates threads in
//! another order: the draft renumbers them as the run will. What a plan has in common with the execution that it comes
//! from is shared by all plans that do ([`Child`]): an execution of a thousand steps may have as many children.

use crate::happens::{Quad, Row, add_next, count};
use reweave_model::{Choice, Edge, Event, Execution, Mark, Pending, Plan, Step, ThreadId};
use std::sync::Arc;

/// A plan that begins like the execution it comes from: so many steps of that, then those of `rest`.
#[derive(Clone, Debug)]
pub struct Child {
    /// Steps that it has in common with the execution.
    pub shared: u32,
    /// How it goes on.
    pub rest: Plan,
}

/// The steps of an execution as a plan. Those of the plan it was run by keep their marks.
pub(crate) fn steps_of(plan: &Plan, execution: &Execution) -> Arc<[Step]> {
    let planned = plan.steps.iter().map(|step| step.mark);
    let marks = planned.chain(std::iter::repeat(Mark::Default));
    execution
        .events
        .iter()
        .zip(marks)
        .map(|(event, mark)| step_of(event, mark))
        .collect()
}

/// One event as a step.
pub(crate) fn step_of(event: &Event, mark: Mark) -> Step {
    Step {
        choice: Choice {
            thread: event.thread,
            outcome: event.outcome,
        },
        kind: event.op.kind(),
        site: event.site,
        ok: Some(event.ok),
        mark,
    }
}

/// A plan in the making.
pub(crate) struct Draft<'a> {
    pub child: Child,
    execution: &'a Execution,
    /// `None`: all threads are born before the plan parts from the execution, and keep their numbers.
    births: Option<Births<'a>>,
}

/// Numbers in the new run.
struct Births<'a> {
    /// The event that brings each thread to life.
    triggers: &'a [Edge],
    names: Vec<u32>,
    born: u32,
    /// Events done of each thread.
    counts: Vec<Quad>,
    /// Whether it is not known how many threads were created so far.
    unsure: bool,
    /// Whether a thread has no name at all.
    nameless: bool,
}

impl<'a> Draft<'a> {
    /// Begins with what was done before a position. Policy and limits are those of the plan that the execution was run
    /// by. `counts`: the events of each thread before the position. `triggers`: the event that brings each thread to life.
    pub fn new(
        plan: &Plan,
        execution: &'a Execution,
        counts: &Row,
        triggers: &'a [Edge],
        shared: u32,
    ) -> Draft<'a> {
        let born = |trigger: &&Edge| count(counts, trigger.thread) >= trigger.count;
        // Up to here threads are created as they were.
        let born = triggers.iter().take_while(born).count() as u32;
        let threads = triggers.len() as u32;
        let births = (born < threads).then(|| Births {
            triggers,
            names: (0..threads)
                .map(|name| if name < born { name } else { u32::MAX })
                .collect(),
            born,
            counts: counts.to_vec(),
            unsure: false,
            nameless: false,
        });
        Draft {
            child: Child {
                shared,
                rest: Plan {
                    steps: Vec::new(),
                    sleep: Vec::new(),
                    ..*plan
                },
            },
            execution,
            births,
        }
    }

    /// Makes room for steps.
    pub fn expect(&mut self, steps: usize) {
        self.child.rest.steps.reserve_exact(steps);
    }

    /// Adds a step that was an event.
    pub fn event(&mut self, position: u32, mark: Mark) {
        let event = &self.execution.events[position as usize];
        self.push(event.thread, event.pending(), event.outcome, mark);
        let step = self.child.rest.steps.last_mut().expect("it was just added");
        step.ok = Some(event.ok);
    }

    /// The number of a thread that was born.
    pub fn number(&self, thread: ThreadId) -> ThreadId {
        let births = self.births.as_ref();
        births.map_or(thread, |births| births.known(thread).unwrap_or(thread))
    }

    /// Adds a step that was no event, and is none of those that threads are created after.
    pub fn push_apart(&mut self, thread: ThreadId, pending: Pending, outcome: u16, mark: Mark) {
        let name = self.number(thread);
        let births = self.births.take();
        self.push(name, pending, outcome, mark);
        self.births = births;
    }

    /// Adds a step.
    pub fn push(&mut self, thread: ThreadId, pending: Pending, outcome: u16, mark: Mark) {
        let execution = self.execution;
        let mut name = |thread: ThreadId| match &mut self.births {
            None => thread,
            Some(births) => births.name(execution, thread),
        };
        let mark = match mark {
            Mark::Overtakes(thread) => Mark::Overtakes(name(thread)),
            other => other,
        };
        self.child.rest.steps.push(Step {
            choice: Choice {
                thread: name(thread),
                outcome,
            },
            kind: pending.op.kind(),
            site: pending.site,
            ok: None,
            mark,
        });
        if let Some(births) = &mut self.births {
            births.step(self.execution, thread);
        }
    }

    /// From here on it is not known how many threads there are: the last step may do something else than it did and create others.
    pub fn unsure(&mut self) {
        if let Some(births) = &mut self.births {
            births.unsure = true;
        }
    }

    /// Whether all threads could be named.
    pub fn complete(&self) -> bool {
        !self.births.as_ref().is_some_and(|births| births.nameless)
    }
}

impl Births<'_> {
    fn step(&mut self, execution: &Execution, thread: ThreadId) {
        add_next(&mut self.counts, thread);
        let step = Edge {
            thread,
            count: count(&self.counts, thread),
        };
        for index in 0..self.names.len() {
            if self.triggers[index] != step {
                continue;
            }
            if !self.unsure {
                self.names[index] = self.born;
                self.born += 1;
                continue;
            }
            self.names[index] = self.child(execution, index).0;
        }
    }

    /// What a thread is called that was born.
    fn known(&self, thread: ThreadId) -> Option<ThreadId> {
        let name = self.names[thread.index()];
        (name != u32::MAX).then_some(ThreadId(name))
    }

    /// What a thread is called. One that is yet to be born (a plan of `rf` can have its overtaker do so before) goes by its parent.
    fn name(&mut self, execution: &Execution, thread: ThreadId) -> ThreadId {
        match self.names[thread.index()] {
            u32::MAX => self.child(execution, thread.index()),
            name => ThreadId(name),
        }
    }

    /// A thread by its parent.
    fn child(&mut self, execution: &Execution, index: usize) -> ThreadId {
        let record = &execution.threads[index];
        let parent = ThreadId(self.names[record.born.thread.index()]);
        let nth = record.path.last().copied().unwrap_or(0);
        let name = ThreadId::child(parent, nth);
        self.nameless |= name.is_none();
        name.unwrap_or(ThreadId(u32::MAX))
    }
}
