//! Walks a trace through the model, to learn what the events alone do not say: which thread held what since when, which threads
//! were there to be notified.
//!
//! A trace file may be damaged in ways that make no sense to the model. Such a trace is still shown: the walk stops at the
//! first step that cannot be and says nothing about what comes after. Nothing here decides what operations mean.

use crate::trace::{Trace, TraceEvent, parse_path};
use reweave_model::{Access, Effect, Machine, Object, ObjectId, Op, ThreadId};

/// What the walk found.
pub(crate) struct Walked {
    /// For each event, what was true just before it.
    pub before: Vec<Situation>,
    /// For each object, who holds it at the end and since which event. Empty when the walk stopped early.
    pub held: Vec<Vec<Hold>>,
    /// For each thread, its events as indices.
    pub steps: Vec<Vec<usize>>,
    /// For each event, what it touched. Shorter than the events when the walk stopped early.
    pub touched: Vec<[Option<Access>; 2]>,
    /// Objects at the end; `None` when the walk stopped early.
    pub machine: Option<Machine>,
}

impl Walked {
    /// The step that is the last of so many (second) of a thread (first).
    pub fn after(&self, edge: Option<(u32, u32)>) -> Option<usize> {
        let (thread, count) = edge?;
        let steps = self.steps.get(thread as usize)?;
        steps.get((count as usize).checked_sub(1)?).copied()
    }
}

/// The situation just before an event.
#[derive(Clone, Default)]
pub(crate) struct Situation {
    /// Who waits on the condition variable.
    pub waiters: Option<Vec<u32>>,
    /// Who holds the object.
    pub holders: Vec<u32>,
    /// How many may still pass the semaphore.
    pub count: Option<u64>,
}

/// A thread has an object since an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Who.
    pub thread: u32,
    /// By its index.
    pub since: usize,
}

/// A trace on its way through the model, one event after the other.
pub struct Walk<'a> {
    trace: &'a Trace,
    machine: Machine,
    done: usize,
    /// For each thread, how many events it has still to do.
    left: Vec<usize>,
}

impl<'a> Walk<'a> {
    /// Situation the first event.
    pub fn new(trace: &'a Trace) -> Walk<'a> {
        let mut left = vec![0; trace.threads.len()];
        for event in &trace.events {
            left[event.thread as usize] += 1;
        }
        Walk {
            trace,
            machine: start(trace),
            done: 0,
            left,
        }
    }

    /// Objects and threads as they are now.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Looks at the next event, which the model can then do; `false`: it cannot, or there is none.
    fn come(&mut self) -> bool {
        let next = self.trace.events.get(self.done);
        next.zip(self.trace.plan.get(self.done))
            .is_some_and(|(event, step)| {
                let thread = ThreadId(event.thread);
                can_be(&mut self.machine, thread, event.op(), step.1, event)
            })
    }

    /// Does the next event and says what it did; `None`: the model cannot, or there is none.
    pub fn step(&mut self) -> Option<Effect> {
        if !self.come() {
            return None;
        }
        let event = &self.trace.events[self.done];
        let thread = ThreadId(event.thread);
        let outcome = self.trace.plan[self.done].1;
        let effect = self.machine.apply(thread, event.op(), outcome);
        self.done += 1;
        let (left, entry) = (
            &mut self.left[thread.index()],
            &self.trace.threads[thread.index()],
        );
        *left -= 1;
        if *left == 0 && entry.pending.is_none() {
            self.machine.finish(thread);
        }
        Some(effect)
    }
}

/// Walks through all events.
pub(crate) fn walk(trace: &Trace) -> Walked {
    let mut steps = vec![Vec::new(); trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        steps[event.thread as usize].push(index);
    }
    let mut walk = Walk::new(trace);
    let mut held: Vec<Vec<Hold>> = vec![Vec::new(); trace.objects.len()];
    let mut before = Vec::with_capacity(trace.events.len());
    let mut touched = Vec::with_capacity(trace.events.len());
    for (index, event) in trace.events.iter().enumerate() {
        if !walk.come() {
            before.resize(trace.events.len(), Situation::default());
            return Walked {
                before,
                held: vec![Vec::new(); trace.objects.len()],
                steps,
                touched,
                machine: None,
            };
        }
        before.push(situation(walk.machine(), event.op(), &held));
        touched.extend(walk.step().map(|effect| effect.access));
        for object in [event.operation.object, event.operation.mutex]
            .into_iter()
            .flatten()
        {
            let now = holders(walk.machine().object(ObjectId(object)));
            let list = &mut held[object as usize];
            list.retain(|hold| now.contains(&hold.thread));
            for thread in now {
                if list.iter().all(|hold| hold.thread != thread) {
                    let since = index;
                    list.push(Hold { thread, since });
                }
            }
        }
    }
    Walked {
        before,
        held,
        steps,
        touched,
        machine: Some(walk.machine),
    }
}

fn start(trace: &Trace) -> Machine {
    let mut machine = Machine::default();
    machine.spurious = trace.options.spurious_wakeups;
    for (index, thread) in trace.threads.iter().enumerate() {
        machine.spawn_at(&parse_path(&thread.path).unwrap_or_default());
        let idle = trace
            .events
            .iter()
            .all(|event| event.thread as usize != index);
        if idle && thread.pending.is_none() {
            machine.finish(ThreadId(index as u32));
        }
    }
    for object in &trace.objects {
        machine.create(object.state.to_object());
    }
    machine
}

/// Whether the model can do this step. Puts an atomic to the value that was seen: its owner may have changed it while
/// no other thread could look.
fn can_be(
    machine: &mut Machine,
    thread: ThreadId,
    op: Op,
    outcome: u16,
    event: &TraceEvent,
) -> bool {
    if let Some(object) = op.returns_value_of() {
        if let Object::Atomic(_) = machine.object(object) {
            machine.poke(object, event.result);
        }
    }
    if matches!(op, Op::Expect(_)) && !event.ok {
        machine.release(thread);
    }
    machine.can_replay(thread, op, outcome, event.ok)
}

fn situation(machine: &Machine, op: Op, held: &[Vec<Hold>]) -> Situation {
    let Some(object) = op.object() else {
        return Situation::default();
    };
    let waiters = match machine.object(object) {
        Object::Condvar(waiters) => Some(waiters.iter().map(|waiter| waiter.0).collect()),
        _ => None,
    };
    let holders = held[object.index()].iter().map(|hold| hold.thread);
    let count = match machine.object(object) {
        Object::Semaphore(count) => Some(*count),
        _ => None,
    };
    Situation {
        waiters,
        holders: holders.collect(),
        count,
    }
}

/// Which threads keep others from taking the object.
pub fn holders(object: &Object) -> Vec<u32> {
    let holders = object.holders();
    holders.into_iter().map(|thread| thread.0).collect()
}
