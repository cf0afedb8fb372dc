//! Shared objects: their kinds and their state.

use crate::{
    access::Class,
    execution::Edge,
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
        /// A waiting writer keeps nobody out. Otherwise writers go first: once one has announced itself, readers queue up
        /// behind it.
        readers_first: bool,
    },
    /// Who waits on it.
    Condvar(Vec<ThreadId>),
    /// How many may still pass.
    Semaphore(u64),
    Barrier {
        size: u32,
        /// Whether one of those who leave together is told that it leads.
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
}

/// The ways to see a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    /// Whether nobody has it.
    Free,
    /// Whether nobody has or wants it for writing.
    Readable,
    /// What it protects, by how often that may have changed.
    Version,
}

impl View {
    fn of(seen: u64) -> View {
        match seen & 3 {
            0 => View::Free,
            1 => View::Readable,
            _ => View::Version,
        }
    }
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

    /// A mutex nobody holds.
    pub const fn mutex() -> Object {
        Object::Mutex {
            holder: None,
            version: 0,
        }
    }

    /// A read-write lock nobody holds; writers go first.
    pub const fn rwlock() -> Object {
        Object::RwLock {
            writer: None,
            acquired: false,
            readers: Vec::new(),
            version: 0,
            readers_first: false,
        }
    }

    /// A read-write lock nobody holds; readers go first.
    pub const fn rwlock_readers_first() -> Object {
        Object::RwLock {
            writer: None,
            acquired: false,
            readers: Vec::new(),
            version: 0,
            readers_first: true,
        }
    }

    /// The writer that is to be the next to get this lock though readers go first: see [`Op::WriteBegin`].
    pub fn foretold(&self) -> Option<ThreadId> {
        match self {
            Object::RwLock {
                writer,
                acquired: false,
                readers_first: true,
                ..
            } => *writer,
            _ => None,
        }
    }

    /// How often a thread holds the lock for reading, where it may do so more than once whoever waits.
    pub(crate) fn reads(&self, thread: ThreadId) -> usize {
        match self {
            Object::RwLock {
                readers,
                readers_first: true,
                ..
            } => readers.iter().filter(|reader| **reader == thread).count(),
            _ => 0,
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

    /// A barrier for `size` threads of which none is told that it leads.
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

    /// What an operation sees of the object, as one word: a polling thread that comes back to it finds nothing new while
    /// this is [the same](Object::differs).
    ///
    /// Locks are seen in several ways, told apart by the word's last two bits. Which of them depends on the operation alone,
    /// and every change of it is by something that the operation's touch conflicts with: so equivalent executions see
    /// the same.
    pub fn sees(&self, op: Op) -> u64 {
        match (self, op) {
            (Object::Mutex { .. }, Op::TryLock(_)) => self.view(View::Free),
            (Object::RwLock { .. }, Op::TryReadLock(_)) => self.view(View::Readable),
            (Object::RwLock { .. }, Op::TryWriteLock(_)) => self.view(View::Free),
            (Object::Mutex { .. } | Object::RwLock { .. }, _) => self.view(View::Version),
            _ => self.word(),
        }
    }

    /// Whether what an operation saw so is no longer what it would see.
    pub fn differs(&self, seen: u64) -> bool {
        let now = match self {
            Object::Mutex { .. } | Object::RwLock { .. } => self.view(View::of(seen)),
            _ => self.word(),
        };
        now != seen
    }

    /// How a parked loop that saw this word touches the object when it notices the difference.
    pub(crate) fn notices(&self, seen: u64) -> Class {
        match self {
            Object::RwLock { .. } if View::of(seen) == View::Free => Class::WriteProbe,
            Object::RwLock { .. } => Class::ReadProbe,
            Object::Semaphore(_) => Class::AcquireProbe,
            Object::Channel { .. } => Class::Empty,
            _ => Class::Read,
        }
    }

    /// One aspect of a lock, marked as such.
    fn view(&self, view: View) -> u64 {
        let aspect = match (self, view) {
            (Object::Mutex { version, .. } | Object::RwLock { version, .. }, View::Version) => {
                *version
            }
            (Object::Mutex { holder, .. }, _) => u64::from(holder.is_none()),
            (
                Object::RwLock {
                    writer, readers, ..
                },
                View::Free,
            ) => u64::from(writer.is_none() && readers.is_empty()),
            (Object::RwLock { writer, .. }, _) => u64::from(writer.is_none()),
            _ => 0,
        };
        aspect << 2 | view as u64
    }

    /// All that can be seen of an object that is seen in one way only.
    fn word(&self) -> u64 {
        match self {
            Object::Atomic(value) | Object::Semaphore(value) => *value,
            Object::Mutex { .. } | Object::RwLock { .. } => self.view(View::Version),
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
            Object::Mutex { .. } => "mutex",
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
