//! Shared objects: their kinds and their state, and one file for each kind that says what its operations mean.
//!
//! Such a file has `enabled` (can the operation go now), `outcomes` where there are several, `effect` (what it would return and touch),
//! `apply` (what it changes), and `CONFLICTS` (which touches of such an object do not commute). [`Machine`] calls
//! them by the kind of object that the table of operations names. Invariant: `apply` is called with the effect that `effect` has
//! just computed, and `effect` and `apply` only for enabled operations.
//!
//! `atomic` also has what can be done to any object (looking, storing), `control` what has no object at all.

pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod channel;
mod condvar;
mod control;
mod mutex;
mod once;
mod parker;
pub(crate) mod pipe;
pub(crate) mod pool;
pub(crate) mod rwlock;
pub(crate) mod seen;
pub(crate) mod semaphore;

use crate::{
    execution::Edge,
    machine::{Effect, Machine},
    objects::pipe::Pipe,
    op::{Op, ThreadId},
};
use alloc::{collections::VecDeque, vec::Vec};
use serde::{Deserialize, Serialize};

/// A shared object, as it is at some moment of an execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Object {
    /// A memory cell with a value.
    Atomic(u64),
    Mutex {
        holder: Option<ThreadId>,
        /// How often what it protects may have changed.
        version: u64,
    },
    /// Which of the two kinds it is decides what [`Op::WriteBegin`] means.
    RwLock {
        writer: Option<ThreadId>,
        acquired: bool,
        /// One entry for each time that it is read-locked.
        readers: Vec<ThreadId>,
        /// How often what it protects may have changed.
        version: u64,
        /// A waiting writer keeps no reader out. Otherwise writers go first: once one has announced itself, readers queue up
        /// behind it.
        readers_first: bool,
    },
    /// The threads that wait on it.
    Condvar(Vec<ThreadId>),
    /// How many may still pass.
    Semaphore(u64),
    Barrier {
        size: u32,
        /// Whether one of the threads that leave together learns that it leads.
        leads: bool,
        /// How many generations were full so far.
        full: u32,
        arrived: Vec<ThreadId>,
        leaving: Vec<Generation>,
    },
    Once(OnceState),
    Channel {
        /// `None`: without bound. `Some(0)`: sender and receiver meet.
        capacity: Option<u32>,
        /// The steps that sent what is still in the queue.
        queue: VecDeque<Edge>,
        /// The steps that received, latest last, as many as the channel has room for.
        taken: VecDeque<Edge>,
        sent: u64,
        received: u64,
        senders: u32,
        receiver: bool,
    },
    /// A thread's parking token.
    Parker(bool),
    /// Addresses that an allocation may return again, the smallest first.
    Pool(Vec<u64>),
    Pipe(Pipe),
}

/// The threads of one full round of a barrier that have not left it yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Generation {
    /// Which round, from 0.
    pub round: u32,
    /// The threads that are still in it.
    pub members: Vec<ThreadId>,
    /// The thread that leads, and the step that settled it.
    pub leader: Option<(ThreadId, Edge)>,
}

/// How far a one-time initialisation is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum OnceState {
    New,
    Running(ThreadId),
    Done,
    Failed,
}

impl Object {
    /// A condition variable without waiters.
    pub const fn condvar() -> Object {
        Object::Condvar(Vec::new())
    }

    /// A free mutex.
    pub const fn mutex() -> Object {
        Object::Mutex {
            holder: None,
            version: 0,
        }
    }

    /// A free read-write lock; writers go first.
    pub const fn rwlock() -> Object {
        Object::RwLock {
            writer: None,
            acquired: false,
            readers: Vec::new(),
            version: 0,
            readers_first: false,
        }
    }

    /// A free read-write lock; readers go first.
    pub const fn rwlock_readers_first() -> Object {
        Object::RwLock {
            writer: None,
            acquired: false,
            readers: Vec::new(),
            version: 0,
            readers_first: true,
        }
    }

    /// A barrier for `size` threads.
    pub const fn barrier(size: u32) -> Object {
        Object::Barrier {
            size,
            leads: true,
            full: 0,
            arrived: Vec::new(),
            leaving: Vec::new(),
        }
    }

    /// A barrier for `size` threads without a leader.
    pub const fn barrier_without_leader(size: u32) -> Object {
        Object::Barrier {
            size,
            leads: false,
            full: 0,
            arrived: Vec::new(),
            leaving: Vec::new(),
        }
    }

    /// A channel with one sender and its receiver.
    pub const fn channel(capacity: Option<u32>) -> Object {
        Object::Channel {
            capacity,
            queue: VecDeque::new(),
            taken: VecDeque::new(),
            sent: 0,
            received: 0,
            senders: 1,
            receiver: true,
        }
    }

    /// A pool without addresses.
    pub const fn pool() -> Object {
        Object::Pool(Vec::new())
    }

    /// An empty pipe with room for so many bytes, one writer and one reader.
    pub const fn pipe(capacity: u64) -> Object {
        Object::Pipe(Pipe::new(false, capacity, 1, 1))
    }

    /// An empty pipe with room for so many messages, one writer and one reader.
    pub const fn message_pipe(capacity: u64) -> Object {
        Object::Pipe(Pipe::new(true, capacity, 1, 1))
    }

    /// The copy that a new process has of an object in its parent's memory: held by its one thread where the thread that forked holds
    /// it, by threads of other processes where others hold it, and without threads that wait.
    pub fn inherited(&self, parent: ThreadId, child: ThreadId) -> Object {
        let own = |thread: ThreadId| if thread == parent { child } else { thread };
        let mut copy = self.clone();
        match &mut copy {
            Object::Mutex { holder, .. } => *holder = holder.map(own),
            Object::RwLock {
                writer,
                acquired,
                readers,
                ..
            } => {
                *writer = writer.filter(|_| *acquired).map(own);
                readers.iter_mut().for_each(|reader| *reader = own(*reader));
            }
            Object::Condvar(waiters) => waiters.clear(),
            Object::Once(OnceState::Running(thread)) => *thread = own(*thread),
            _ => {}
        }
        copy
    }

    /// Its kind.
    pub fn kind(&self) -> ObjectKind {
        match self {
            Object::Atomic(_) => ObjectKind::Atomic,
            Object::Mutex { .. } => ObjectKind::Mutex,
            Object::RwLock { .. } => ObjectKind::RwLock,
            Object::Condvar(_) => ObjectKind::Condvar,
            Object::Semaphore(_) => ObjectKind::Semaphore,
            Object::Barrier { .. } => ObjectKind::Barrier,
            Object::Once(_) => ObjectKind::Once,
            Object::Channel { .. } => ObjectKind::Channel,
            Object::Parker(_) => ObjectKind::Parker,
            Object::Pool(_) => ObjectKind::Pool,
            Object::Pipe(_) => ObjectKind::Pipe,
        }
    }

    /// A word for people.
    pub fn kind_name(&self) -> &'static str {
        self.kind().name()
    }

    /// Whether only one more thread can take a place of it: see [`Class::takes_place`](crate::Class::takes_place).
    pub(crate) fn has_one_place(&self) -> bool {
        match self {
            Object::Semaphore(count) => *count == 1,
            Object::Barrier { size, arrived, .. } => arrived.len() + 1 >= *size as usize,
            _ => false,
        }
    }

    /// The threads that keep others from taking the object.
    pub fn holders(&self) -> Vec<ThreadId> {
        match self {
            Object::Mutex { holder, .. } => holder.iter().copied().collect(),
            Object::Once(OnceState::Running(thread)) => [*thread].into(),
            Object::RwLock {
                writer, readers, ..
            } => {
                let writer = writer.iter().filter(|_| self.predicted_writer().is_none());
                readers.iter().chain(writer).copied().collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The kinds of objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum ObjectKind {
    Atomic,
    Mutex,
    RwLock,
    Condvar,
    Semaphore,
    Barrier,
    Once,
    Channel,
    Parker,
    Pool,
    Pipe,
}

impl ObjectKind {
    /// A word for people.
    pub fn name(self) -> &'static str {
        match self {
            ObjectKind::Atomic => "atomic",
            ObjectKind::Mutex => "mutex",
            ObjectKind::RwLock => "rwlock",
            ObjectKind::Condvar => "condvar",
            ObjectKind::Semaphore => "semaphore",
            ObjectKind::Barrier => "barrier",
            ObjectKind::Once => "once",
            ObjectKind::Channel => "channel",
            ObjectKind::Parker => "parker",
            ObjectKind::Pool => "pool",
            ObjectKind::Pipe => "pipe",
        }
    }
}

/// An operation that is being done.
pub(crate) struct Doing {
    pub(crate) thread: ThreadId,
    pub(crate) op: Op,
    pub(crate) outcome: u16,
    /// What it does, as `effect` says.
    pub(crate) effect: Effect,
    /// The step as others name it: how many events its thread has done with it.
    pub(crate) step: Edge,
}

/// Calls a function of the file that has the operation.
macro_rules! by_object {
    ($op:expr, $function:ident($($argument:expr),*)) => {
        match $op.kind().object_kind() {
            None if $op.object().is_none() => control::$function($($argument),*),
            None | Some(ObjectKind::Atomic) => atomic::$function($($argument),*),
            Some(ObjectKind::Mutex) => mutex::$function($($argument),*),
            Some(ObjectKind::RwLock) => rwlock::$function($($argument),*),
            Some(ObjectKind::Condvar) => condvar::$function($($argument),*),
            Some(ObjectKind::Semaphore) => semaphore::$function($($argument),*),
            Some(ObjectKind::Barrier) => barrier::$function($($argument),*),
            Some(ObjectKind::Once) => once::$function($($argument),*),
            Some(ObjectKind::Channel) => channel::$function($($argument),*),
            Some(ObjectKind::Parker) => parker::$function($($argument),*),
            Some(ObjectKind::Pool) => pool::$function($($argument),*),
            Some(ObjectKind::Pipe) => pipe::$function($($argument),*),
        }
    };
}

/// Whether an operation can go now.
pub(crate) fn enabled(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    by_object!(op, enabled(machine, thread, op))
}

/// How many outcomes an enabled operation can have.
pub(crate) fn outcomes(machine: &Machine, thread: ThreadId, op: Op) -> usize {
    match op {
        Op::Any(n) => n as usize,
        Op::CompareExchange { .. } => atomic::outcomes(machine, thread, op),
        Op::NotifyOne(_) | Op::Wake { .. } => condvar::outcomes(machine, thread, op),
        Op::Leave(barrier) => barrier::outcomes(machine, thread, barrier),
        Op::Allocate(_) | Op::Reap { .. } => pool::outcomes(machine, op),
        _ => 1,
    }
}

/// What an enabled operation would do.
pub(crate) fn effect(machine: &Machine, thread: ThreadId, op: Op, outcome: u16) -> Effect {
    by_object!(op, effect(machine, thread, op, outcome))
}

/// Changes the objects and threads as the operation does.
pub(crate) fn apply(machine: &mut Machine, doing: &Doing) {
    by_object!(doing.op, apply(machine, doing));
}

/// Whether a target can come to this operation here. Only a damaged trace has others, which `apply` does not expect.
pub(crate) fn well_formed(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    match op.kind().object_kind() {
        Some(ObjectKind::Condvar) => condvar::well_formed(machine, thread, op),
        Some(ObjectKind::Barrier) => barrier::well_formed(machine, thread, op),
        Some(ObjectKind::Semaphore) => semaphore::well_formed(machine, op),
        Some(ObjectKind::Channel) => channel::well_formed(machine, op),
        Some(ObjectKind::Pipe) => pipe::well_formed(machine, op),
        _ => true,
    }
}
