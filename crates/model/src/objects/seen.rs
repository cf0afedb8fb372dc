//! What a polling loop sees of an object: as one word, so that it finds nothing new while the word is the same.

use super::{Object, OnceState};
use crate::{dependence::Class, op::Op};

/// What tells the ways to see a lock apart, in bits of the word; above is how often the data may have changed, or the state of the
/// lock.
pub const VIEW_BITS: u32 = 2;

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

impl Object {
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
            Object::Pipe(_) => Class::Look,
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
        aspect << VIEW_BITS | view as u64
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
            Object::Pool(freed) => freed.len() as u64,
            Object::Pipe(pipe) => pipe.word(),
        }
    }
}
