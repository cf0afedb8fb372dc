//! Executions: what a target hands back after one run.

use crate::{
    dependence::Access,
    identity::{StateId, Unrecorded},
    objects::Object,
    op::{ObjectId, Op, ThreadId},
    order::Orders,
    verdict::Error,
};
use alloc::{string::String, vec::Vec};
use core::mem::size_of;
use serde::{Deserialize, Serialize};

/// A source position, as an index into a table of the target.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Site(pub u32);

impl Site {
    /// In a plan: any position will do.
    pub const ANY: Site = Site(0);
}

/// "After the first `count` events of `thread`."
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Edge {
    pub thread: ThreadId,
    pub count: u32,
}

/// When a pending operation may go, beyond what the operation itself asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Gate {
    /// At once.
    #[default]
    Open,
    /// A parked spin loop: when the object differs from what the loop saw.
    Word(u64),
    /// A timed operation in a loop that is cut here: it times out again only when nothing else can run.
    /// (A receive is then written down as one without time limit.)
    Late,
}

/// An operation that a thread has come to and not done yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Pending {
    pub op: Op,
    pub gate: Gate,
    pub site: Site,
    pub order: Orders,
}

impl Pending {
    /// An operation that waits for nothing but itself and declares no memory order.
    pub fn new(op: Op, site: Site) -> Pending {
        Pending {
            op,
            gate: Gate::Open,
            site,
            order: Orders::IMPLIED,
        }
    }

    /// Whether it waits for nothing but the end of a thread. Where no thread can go on, that is a consequence and not the cause.
    pub fn joins(&self) -> bool {
        matches!(self.op, Op::Join(_))
    }
}

/// One operation done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadId,
    /// What was done.
    pub op: Op,
    /// What had to be waited for.
    pub gate: Gate,
    /// Which of the allowed outcomes was taken.
    pub outcome: u16,
    /// How many there were.
    pub outcomes: u16,
    /// Whether it got what it asked for: a failed compare-exchange, try-lock or timed wait did not.
    pub ok: bool,
    /// The value it returned.
    pub result: u64,
    /// A step it comes after, beyond program order and dependence.
    pub after: Option<Edge>,
    /// What it touched.
    pub access: [Option<Access>; 2],
    /// Where in the source.
    pub site: Site,
    /// Its memory orders. Stored nowhere: a trace is sequentially consistent.
    pub order: Orders,
}

// Events are copied and moved all the time; the orders fit into what was padding.
const _: () = assert!(size_of::<Event>() == 96 && size_of::<Pending>() == 48);

impl Event {
    /// The values that an operation on an atomic saw and wrote.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        let result = Some(self.result);
        let values = match self.op {
            Op::Load(_) | Op::Await(..) => [result, None, None],
            Op::Store(_, new) => [Some(new), None, None],
            Op::Rmw(_, rmw) => [result, Some(rmw.apply(self.result)), None],
            Op::CompareExchange { expected, new, .. } => [result, Some(expected), Some(new)],
            _ => [None; 3],
        };
        values.into_iter().flatten()
    }

    /// Whether the two touch something in ways that do not commute.
    pub fn conflicts(&self, other: &Event) -> bool {
        let touches = |event: &Event| event.access.into_iter().flatten();
        touches(self).any(|mine| touches(other).any(|theirs| mine.conflicts(theirs)))
    }

    /// Whether it is a read-modify-write that wrote what it read.
    #[inline]
    pub fn leaves_value(&self) -> bool {
        matches!(self.op, Op::Rmw(_, rmw) if rmw.apply(self.result) == self.result)
    }

    /// The operation as it was before it was done.
    pub fn pending(&self) -> Pending {
        Pending {
            op: self.op,
            gate: self.gate,
            site: self.site,
            order: self.order,
        }
    }
}

/// A thread of an execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// Who created it, after how many of its own events. The first thread is its own parent.
    pub born: Edge,
    /// The n-th child of its parent, and so on up to the first thread: the name that is the same in every run.
    pub path: Vec<u32>,
    /// The name the program gave it.
    pub name: Option<String>,
    /// What it had come to when the run ended; `None`: its end.
    pub pending: Option<Pending>,
}

/// Other objects that a parked spin loop looked at, with the words it saw: see [`Op::Await`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Watch {
    /// The loop's thread, and how many events it had done when it was parked.
    pub since: Edge,
    /// What it saw.
    pub words: Vec<(ObjectId, u64)>,
}

/// A round of a loop that changed nothing and was taken back: its thread is where it was before. See [`Policy::Loops`](crate::Policy::Loops).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// The thread, and how many events it had done.
    pub since: Edge,
    /// After how many events of the execution.
    pub place: u32,
    /// What it did: reads of atomics.
    pub events: Vec<Event>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum End {
    /// Every thread came to its end.
    #[default]
    Done,
    /// Some threads can never go on.
    Deadlock,
    /// As before, and some of them spin.
    Livelock,
    /// A failed `assume` keeps some thread from going on.
    Blocked,
    /// Discarded: it could only repeat another one, or a predicted writer cannot acquire its lock.
    Redundant,
    /// Some thread was stopped by the limit on steps.
    MaxSteps,
}

/// One run, from the first event to its end.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Execution {
    /// In the order they happened.
    pub events: Vec<Event>,
    /// In order of creation.
    pub threads: Vec<ThreadRecord>,
    /// As they were at first use.
    pub objects: Vec<Object>,
    /// Atomics whose values are pointers: numbers that stand for addresses, the low three bits as they are in the address. When memory
    /// is freed and allocated again within a run they may differ from those of a run that was otherwise the same.
    pub pointers: Vec<ObjectId>,
    /// What parked loops watched.
    pub watches: Vec<Watch>,
    /// Positions in `events` before which nothing could go on and late timeouts were let go.
    pub epochs: Vec<u32>,
    /// Rounds of loops that were taken back, in order.
    pub attempts: Vec<Attempt>,
    /// Threads that were stopped since a round that the plan asks for changed nothing, and from which of their events on it reaches.
    pub stopped: Vec<Edge>,
    /// Under [`Policy::States`](crate::Policy::States): the state before the first event and after each event. The one after the last event is
    /// missing where the program ended with it.
    pub states: Vec<StateId>,
    /// With them, for each object a name that is the same in every run.
    pub names: Vec<u64>,
    /// Why the states are not all there is to the future of the program, if so: then they are of no use.
    pub unrecorded: Option<Unrecorded>,
    /// Whether waits could end without a notification.
    pub spurious: bool,
    /// Whether the program saw what an atomic holds by something that is no event, where that depends on the order of stores that
    /// nobody has read.
    pub peeked: bool,
    /// Whether a loop of timed waits was cut that changes its own state: it could have timed out more often in a row.
    pub timeouts_cut: bool,
    /// Whether several threads looked at a clock that shows full seconds and the like: they could have seen other ones.
    pub clocks_cut: bool,
    /// Events after which a thread went no further.
    pub max_steps: u32,
    /// How it ended.
    pub end: End,
    /// What went wrong; the first is the verdict.
    pub errors: Vec<Error>,
}

impl Execution {
    /// The number of a thread of which a plan knows only whose child it is: see [`ThreadId::child`].
    pub fn resolve(&self, thread: ThreadId) -> Option<ThreadId> {
        let Some((parent, nth)) = thread.as_child() else {
            return Some(thread);
        };
        let is_it = |record: &ThreadRecord| {
            record.born.thread == parent && record.path.last() == Some(&nth)
        };
        let index = self.threads.iter().position(is_it)?;
        Some(ThreadId(index as u32))
    }

    /// Whether an object is an atomic: then of those who touch it only who reads learns something, and only of the write that it reads.
    pub fn is_atomic(&self, object: ObjectId) -> bool {
        matches!(self.objects[object.index()], Object::Atomic(_))
    }

    /// What a thread watches that was parked after so many of its events.
    pub fn watch_of(&self, thread: ThreadId, count: u32) -> Option<&Watch> {
        let since = Edge { thread, count };
        self.watches.iter().find(|watch| watch.since == since)
    }
}
