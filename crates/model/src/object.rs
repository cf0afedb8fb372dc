//! Shared objects: their kinds and their state.

use crate::{execution::Edge, op::ThreadId};
use alloc::{collections::VecDeque, vec::Vec};
use serde::{Deserialize, Serialize};

/// A shared object, as it is at some moment of an execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Object {
    /// A memory cell with a value.
    Atomic(u64),
    /// Who holds it.
    Mutex(Option<ThreadId>),
    /// Writers go first: once one has announced itself, readers queue up behind it.
    RwLock {
        writer: Option<ThreadId>,
        acquired: bool,
        readers: Vec<ThreadId>,
    },
    /// Who waits on it.
    Condvar(Vec<ThreadId>),
    /// How many may still pass.
    Semaphore(u64),
    Barrier {
        size: u32,
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
}

/// The threads of one full round of a barrier that have not left it yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Generation {
    /// Which round, from 0.
    pub round: u32,
    /// Who is still in it.
    pub members: Vec<ThreadId>,
    /// Who leads, and the step that settled it.
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
    /// A condition variable nobody waits on.
    pub const fn condvar() -> Object {
        Object::Condvar(Vec::new())
    }

    /// A read-write lock nobody holds.
    pub const fn rwlock() -> Object {
        Object::RwLock {
            writer: None,
            acquired: false,
            readers: Vec::new(),
        }
    }

    /// A barrier for `size` threads.
    pub const fn barrier(size: u32) -> Object {
        Object::Barrier {
            size,
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

    /// One word that differs when what a polling thread can see of the object differs.
    pub fn word(&self) -> u64 {
        match self {
            Object::Atomic(value) | Object::Semaphore(value) => *value,
            Object::Mutex(holder) => u64::from(holder.is_some()),
            Object::RwLock {
                writer, readers, ..
            } => u64::from(writer.is_some()) + 2 * u64::from(!readers.is_empty()),
            Object::Condvar(waiters) => waiters.len() as u64,
            Object::Barrier { arrived, .. } => arrived.len() as u64,
            Object::Once(state) => match state {
                OnceState::New => 0,
                OnceState::Running(_) => 1,
                OnceState::Done => 2,
                OnceState::Failed => 3,
            },
            Object::Channel {
                queue,
                senders,
                receiver,
                ..
            } => (queue.len() as u64) << 2 | u64::from(*senders > 0) << 1 | u64::from(*receiver),
            Object::Parker(token) => u64::from(*token),
        }
    }

    /// A word for people.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Object::Atomic(_) => "atomic",
            Object::Mutex(_) => "mutex",
            Object::RwLock { .. } => "rwlock",
            Object::Condvar(_) => "condvar",
            Object::Semaphore(_) => "semaphore",
            Object::Barrier { .. } => "barrier",
            Object::Once(_) => "once",
            Object::Channel { .. } => "channel",
            Object::Parker(_) => "parker",
        }
    }
}
