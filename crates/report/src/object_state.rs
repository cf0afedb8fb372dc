//! Objects of the model in trace files: their kinds, and their states at first use.
//!
//! *Decides:* what of an object is stored. *Called by:* `trace`, both ways. *Owns:* nothing.

use reweave_model::{Object, OnceState, Pipe, ThreadId};
use serde::{Deserialize, Serialize};

/// An object's kind and its state at first use. No thread can await an object before that, and only a forked process, which has copies
/// of what its parent held, can have it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum ObjectState {
    Atomic {
        value: u64,
    },
    Mutex {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<u32>,
    },
    Rwlock {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        readers_first: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        writer: Option<u32>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        readers: Vec<u32>,
    },
    Condvar,
    Semaphore {
        count: u64,
    },
    Barrier {
        size: u32,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        leaderless: bool,
    },
    Once {
        done: bool,
    },
    Channel {
        capacity: Option<u32>,
        senders: u32,
        receiver: bool,
    },
    Parker {
        token: bool,
    },
    Pool,
    Pipe {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        messages: bool,
        capacity: u64,
        writers: u32,
        readers: u32,
    },
}

/// A lock that these threads have.
fn held(mut lock: Object, owner: Option<u32>, sharers: &[u32]) -> Object {
    match &mut lock {
        Object::Mutex { holder, .. } => *holder = owner.map(ThreadId),
        Object::RwLock {
            writer,
            acquired,
            readers,
            ..
        } => {
            *writer = owner.map(ThreadId);
            *acquired = owner.is_some();
            *readers = sharers.iter().copied().map(ThreadId).collect();
        }
        _ => {}
    }
    lock
}

impl ObjectState {
    /// The threads that have it at first use.
    pub(crate) fn holders(&self) -> Vec<u32> {
        match self {
            ObjectState::Mutex { holder } => holder.iter().copied().collect(),
            ObjectState::Rwlock {
                writer, readers, ..
            } => readers.iter().chain(writer).copied().collect(),
            _ => Vec::new(),
        }
    }

    /// What is stored of an object.
    pub(crate) fn of(object: &Object) -> ObjectState {
        match object {
            Object::Atomic(value) => ObjectState::Atomic { value: *value },
            Object::Mutex { holder, .. } => ObjectState::Mutex {
                holder: holder.map(|thread| thread.0),
            },
            Object::RwLock {
                readers_first,
                writer,
                readers,
                ..
            } => ObjectState::Rwlock {
                readers_first: *readers_first,
                writer: writer.map(|thread| thread.0),
                readers: readers.iter().map(|thread| thread.0).collect(),
            },
            Object::Condvar(_) => ObjectState::Condvar,
            Object::Semaphore(count) => ObjectState::Semaphore { count: *count },
            Object::Barrier { size, leads, .. } => ObjectState::Barrier {
                size: *size,
                leaderless: !leads,
            },
            Object::Once(state) => ObjectState::Once {
                done: *state == OnceState::Done,
            },
            Object::Channel {
                capacity,
                senders,
                receiver,
                ..
            } => ObjectState::Channel {
                capacity: *capacity,
                senders: *senders,
                receiver: *receiver,
            },
            Object::Parker(token) => ObjectState::Parker { token: *token },
            Object::Pool(_) => ObjectState::Pool,
            Object::Pipe(pipe) => ObjectState::Pipe {
                messages: pipe.messages,
                capacity: pipe.capacity,
                writers: pipe.writers,
                readers: pipe.readers,
            },
        }
    }

    /// The model's object, as it was at first use.
    pub(crate) fn to_object(&self) -> Object {
        match *self {
            ObjectState::Atomic { value } => Object::Atomic(value),
            ObjectState::Mutex { holder } => held(Object::mutex(), holder, &[]),
            ObjectState::Rwlock {
                readers_first: false,
                writer,
                ref readers,
            } => held(Object::rwlock(), writer, readers),
            ObjectState::Rwlock {
                readers_first: true,
                writer,
                ref readers,
            } => held(Object::rwlock_readers_first(), writer, readers),
            ObjectState::Condvar => Object::condvar(),
            ObjectState::Semaphore { count } => Object::Semaphore(count),
            ObjectState::Barrier {
                size,
                leaderless: false,
            } => Object::barrier(size),
            ObjectState::Barrier {
                size,
                leaderless: true,
            } => Object::barrier_without_leader(size),
            ObjectState::Once { done: true } => Object::Once(OnceState::Done),
            ObjectState::Once { done: false } => Object::Once(OnceState::New),
            ObjectState::Channel {
                capacity,
                senders: count,
                receiver: open,
            } => {
                let mut channel = Object::channel(capacity);
                if let Object::Channel {
                    senders, receiver, ..
                } = &mut channel
                {
                    (*senders, *receiver) = (count, open);
                }
                channel
            }
            ObjectState::Parker { token } => Object::Parker(token),
            ObjectState::Pool => Object::pool(),
            ObjectState::Pipe {
                messages,
                capacity,
                writers,
                readers,
            } => Object::Pipe(Pipe::new(messages, capacity, writers, readers)),
        }
    }
}
