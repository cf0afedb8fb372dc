//! Read-write locks, of two kinds.
//!
//! Where writers go first, an announced writer ([`Op::WriteBegin`]) keeps later readers and writers out. Where readers go first the
//! announcement is only a prediction: see [`Op::WriteBegin`]. A thread that reads such a lock may read-lock it again, and that does
//! not affect other threads.

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    execution::{Gate, Pending},
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};
use Class::{
    ReadLock, ReadProbe, ReadUnlock, TryWrite, WriteAcquire, WriteBegin, WriteProbe, WriteUnlock,
};

pub(crate) const CONFLICTS: Conflicts = &[
    (
        ReadLock,
        &[WriteBegin, WriteAcquire, WriteUnlock, TryWrite, WriteProbe],
    ),
    (ReadUnlock, &[WriteAcquire, TryWrite, WriteProbe]),
    (
        WriteBegin,
        &[
            WriteBegin,
            WriteAcquire,
            WriteUnlock,
            TryWrite,
            ReadProbe,
            WriteProbe,
        ],
    ),
    (WriteAcquire, &[WriteAcquire, WriteUnlock, TryWrite]),
    (WriteUnlock, &[WriteUnlock, TryWrite, ReadProbe, WriteProbe]),
    (TryWrite, &[TryWrite, ReadProbe, WriteProbe]),
];

impl Op {
    /// Whether it is the second half of a lock: the limit on steps never falls before it.
    #[inline]
    pub fn completes(self) -> bool {
        matches!(self, Op::WriteAcquire(_))
    }
}

impl Object {
    /// The writer that is predicted to be the next to get this lock though readers go first: see [`Op::WriteBegin`].
    pub fn predicted_writer(&self) -> Option<ThreadId> {
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

    /// How often a thread holds the lock for reading, where it may do so more than once whichever thread waits.
    fn reads(&self, thread: ThreadId) -> usize {
        match self {
            Object::RwLock {
                readers,
                readers_first: true,
                ..
            } => readers.iter().filter(|reader| **reader == thread).count(),
            _ => 0,
        }
    }
}

impl Machine {
    /// Whether only a predicted writer keeps a pending operation from going. (Of the threads that wait for the lock as writers, the
    /// first one is predicted.)
    pub fn held_back(&self, thread: ThreadId, pending: &Pending) -> bool {
        let Some(lock) = pending.op.object().map(|object| self.object(object)) else {
            return false;
        };
        let Some(next) = lock.predicted_writer().filter(|next| *next != thread) else {
            return false;
        };
        if self.exhausted(thread, pending.op) || self.enabled(thread, pending) {
            return false;
        }
        let mut open = lock.clone();
        if let Object::RwLock { writer, .. } = &mut open {
            *writer = None;
        }
        match (pending.op, pending.gate) {
            (Op::WriteBegin(_), _) => self.path(thread) < self.path(next),
            (Op::Await(_, seen), _) | (Op::TryReadLock(_), Gate::Word(seen)) => open.differs(seen),
            (Op::ReadLock(_) | Op::TryReadLock(_) | Op::TryWriteLock(_), _) => true,
            _ => false,
        }
    }

    /// Whether a thread could go on, for counting preemptions: a writer that may only be predicted waits for the readers.
    pub fn goes_on(&self, thread: ThreadId, pending: &Pending) -> bool {
        let waits = match pending.op {
            Op::WriteBegin(lock) => match self.object(lock) {
                Object::RwLock {
                    readers,
                    readers_first,
                    ..
                } => *readers_first && !readers.is_empty(),
                _ => false,
            },
            _ => false,
        };
        !waits && self.enabled(thread, pending)
    }
}

fn unannounced(machine: &Machine, lock: ObjectId) -> bool {
    matches!(machine.object(lock), Object::RwLock { writer: None, .. })
}

fn unread(machine: &Machine, lock: ObjectId) -> bool {
    matches!(machine.object(lock), Object::RwLock { readers, .. } if readers.is_empty())
}

pub(super) fn enabled(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    match op {
        Op::ReadLock(id) => unannounced(machine, id) || machine.object(id).reads(thread) > 0,
        Op::TryReadLock(id) => {
            let lock = machine.object(id);
            lock.predicted_writer().is_none() || lock.reads(thread) > 0
        }
        // It fails while there are readers, whether a writer is predicted or not.
        Op::TryWriteLock(id) => {
            !unread(machine, id) || machine.object(id).predicted_writer().is_none()
        }
        Op::WriteBegin(id) => unannounced(machine, id),
        Op::WriteAcquire(id) => unread(machine, id),
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, thread: ThreadId, op: Op, _: u16) -> Effect {
    let reads = |id| machine.object(id).reads(thread);
    match op {
        // Recursive read-locking does not affect other threads.
        Op::ReadLock(id) | Op::TryReadLock(id) if reads(id) > 0 => Effect::NONE,
        Op::ReadUnlock(id) if reads(id) > 1 => Effect::NONE,
        Op::ReadLock(id) => Effect::touch(id, ReadLock),
        Op::ReadUnlock(id) => Effect::touch(id, ReadUnlock),
        Op::WriteUnlock(id) => Effect::touch(id, WriteUnlock),
        Op::TryReadLock(id) => match unannounced(machine, id) {
            true => Effect::touch(id, ReadLock),
            false => Effect::touch(id, ReadProbe).failed(),
        },
        // It fails if it timed out while another writer had the lock.
        Op::WriteBegin(id) => match unannounced(machine, id) {
            true => Effect::touch(id, WriteBegin),
            false => Effect::touch(id, WriteProbe).failed(),
        },
        Op::TryWriteLock(id) => match unannounced(machine, id) && unread(machine, id) {
            true => Effect::touch(id, TryWrite),
            false => Effect::touch(id, WriteProbe).failed(),
        },
        Op::WriteAcquire(id) => match machine.object(id) {
            // One that timed out withdraws its announcement.
            Object::RwLock { readers, .. } if !readers.is_empty() => {
                Effect::touch(id, TryWrite).failed()
            }
            Object::RwLock {
                readers_first: true,
                ..
            } => Effect::touch(id, TryWrite),
            Object::RwLock { .. } => Effect::touch(id, WriteAcquire),
            other => panic!("write lock of a {}", other.kind_name()),
        },
        op => unreachable!("{op:?} on a read-write lock"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Doing {
        thread, op, effect, ..
    } = *doing;
    let Some(Object::RwLock {
        writer,
        acquired,
        readers,
        version,
        ..
    }) = machine.object_of(op)
    else {
        return;
    };
    match op {
        Op::ReadLock(_) | Op::TryReadLock(_) if effect.ok => readers.push(thread),
        Op::ReadUnlock(_) if !readers.is_empty() => {
            // A guard may be dropped by another thread than the one that took it.
            let held = readers.iter().position(|reader| *reader == thread);
            readers.swap_remove(held.unwrap_or(0));
        }
        Op::WriteBegin(_) if effect.ok => *writer = Some(thread),
        Op::WriteAcquire(_) if effect.ok => *acquired = true,
        Op::WriteAcquire(_) => *writer = None,
        Op::TryWriteLock(_) if effect.ok => {
            *writer = Some(thread);
            *acquired = true;
        }
        Op::WriteUnlock(_) => {
            *writer = None;
            *acquired = false;
            *version += 1;
        }
        _ => {}
    }
}
