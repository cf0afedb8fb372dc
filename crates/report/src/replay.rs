//! Walks a trace through the model, to learn what the events alone do not say: who held what since when, who was there
//! to be notified.
//!
//! A trace file may be damaged in ways that make no sense to the model. Such a trace is still shown: the walk stops at the
//! first step that cannot be and says nothing about what comes after. Nothing here decides what operations mean.

use crate::trace::{Trace, TraceEvent, parse_path};
use reweave_model::{
    Access, Gate, Object, ObjectId, OnceState, Op, Pending, Site, State, ThreadId,
};

/// What the walk found.
pub(crate) struct Replayed {
    /// For each event, what was true just before it.
    pub before: Vec<Before>,
    /// For each object, who holds it at the end and since which event. Empty when the walk stopped early.
    pub held: Vec<Vec<Hold>>,
    /// For each thread, its events as indices.
    pub steps: Vec<Vec<usize>>,
    /// For each event, what it touched. Shorter than the events when the walk stopped early.
    pub touched: Vec<[Option<Access>; 2]>,
    /// Objects at the end; `None` when the walk stopped early.
    pub state: Option<State>,
}

impl Replayed {
    /// The step that is the last of so many (second) of a thread (first).
    pub fn after(&self, edge: Option<(u32, u32)>) -> Option<usize> {
        let (thread, count) = edge?;
        let steps = self.steps.get(thread as usize)?;
        steps.get((count as usize).checked_sub(1)?).copied()
    }
}

/// The situation just before an event.
#[derive(Clone, Default)]
pub(crate) struct Before {
    /// Who waits on the condition variable.
    pub waiters: Option<Vec<u32>>,
    /// Who holds the object.
    pub holders: Vec<u32>,
}

/// A thread has an object since an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hold {
    pub thread: u32,
    pub since: usize,
}

/// Walks through all events.
pub(crate) fn replay(trace: &Trace) -> Replayed {
    let mut steps = vec![Vec::new(); trace.threads.len()];
    for (index, event) in trace.events.iter().enumerate() {
        steps[event.thread as usize].push(index);
    }
    let mut state = start(trace);
    let mut held: Vec<Vec<Hold>> = vec![Vec::new(); trace.objects.len()];
    let mut before = Vec::with_capacity(trace.events.len());
    let mut touched = Vec::with_capacity(trace.events.len());
    for (index, (event, step)) in trace.events.iter().zip(&trace.plan).enumerate() {
        let thread = ThreadId(event.thread);
        let op = event.op();
        if !can_be(&mut state, thread, op, step.1, event) {
            before.resize(trace.events.len(), Before::default());
            return Replayed {
                before,
                held: vec![Vec::new(); trace.objects.len()],
                steps,
                touched,
                state: None,
            };
        }
        before.push(situation(&state, op, &held));
        touched.push(state.apply(thread, op, step.1).access);
        for object in [event.operation.object, event.operation.mutex]
            .into_iter()
            .flatten()
        {
            let now = holders(state.object(ObjectId(object)));
            let list = &mut held[object as usize];
            list.retain(|hold| now.contains(&hold.thread));
            for thread in now {
                if list.iter().all(|hold| hold.thread != thread) {
                    let since = index;
                    list.push(Hold { thread, since });
                }
            }
        }
        let last = steps[event.thread as usize].last() == Some(&index);
        if last && trace.threads[event.thread as usize].pending.is_none() {
            state.finish(thread);
        }
    }
    Replayed {
        before,
        held,
        steps,
        touched,
        state: Some(state),
    }
}

fn start(trace: &Trace) -> State {
    let mut state = State::default();
    state.spurious = trace.options.spurious_wakeups;
    for (index, thread) in trace.threads.iter().enumerate() {
        state.spawn_at(&parse_path(&thread.path).unwrap_or_default());
        let idle = trace
            .events
            .iter()
            .all(|event| event.thread as usize != index);
        if idle && thread.pending.is_none() {
            state.finish(ThreadId(index as u32));
        }
    }
    for object in &trace.objects {
        state.create(object.state.to_object());
    }
    state
}

/// Whether the model can do this step. Puts an atomic to the value that was seen: its owner may have changed it while
/// nobody else could look.
fn can_be(state: &mut State, thread: ThreadId, op: Op, outcome: u16, event: &TraceEvent) -> bool {
    if let Op::Load(object)
    | Op::Rmw(object, _)
    | Op::CompareExchange { object, .. }
    | Op::EnqueueIf { atomic: object, .. } = op
    {
        if let Object::Atomic(_) = state.object(object) {
            state.poke(object, event.result);
        }
    }
    let pending = Pending {
        op,
        gate: Gate::Open,
        site: Site::ANY,
    };
    // A parked loop may have been let go by another object than the one it names, a write lock by its time limit.
    let may = state.enabled(thread, &pending)
        || matches!(op, Op::Await(..))
        || (matches!(op, Op::WriteBegin(_) | Op::WriteAcquire(_)) && !event.ok);
    may && outcome < state.outcomes(thread, op) && !overflows(state, thread, op)
}

/// Steps that no target makes and the model does not expect: only a damaged trace has them.
fn overflows(state: &State, thread: ThreadId, op: Op) -> bool {
    match (op, op.object().map(|object| state.object(object))) {
        (Op::Enqueue { .. } | Op::EnqueueIf { .. }, Some(Object::Condvar(waiters))) => {
            waiters.contains(&thread)
        }
        (Op::Arrive(_), Some(Object::Barrier { arrived, .. })) => arrived.contains(&thread),
        (Op::SemRelease(_), Some(Object::Semaphore(count))) => *count == u64::MAX,
        (Op::SenderAdd(_), Some(Object::Channel { senders, .. })) => *senders == u32::MAX,
        (Op::SenderDrop(_), Some(Object::Channel { senders, .. })) => *senders == 0,
        _ => false,
    }
}

fn situation(state: &State, op: Op, held: &[Vec<Hold>]) -> Before {
    let Some(object) = op.object() else {
        return Before::default();
    };
    let waiters = match state.object(object) {
        Object::Condvar(waiters) => Some(waiters.iter().map(|waiter| waiter.0).collect()),
        _ => None,
    };
    let holders = held[object.index()].iter().map(|hold| hold.thread);
    Before {
        waiters,
        holders: holders.collect(),
    }
}

/// Who keeps others from taking the object.
fn holders(object: &Object) -> Vec<u32> {
    match object {
        Object::Mutex {
            holder: Some(thread),
            ..
        }
        | Object::Once(OnceState::Running(thread)) => vec![thread.0],
        Object::RwLock {
            writer, readers, ..
        } => {
            let writer = writer.iter().filter(|_| object.foretold().is_none());
            readers
                .iter()
                .chain(writer)
                .map(|thread| thread.0)
                .collect()
        }
        _ => Vec::new(),
    }
}
