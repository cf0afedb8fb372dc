//! Objects of the model in trace files: their kinds, and their states at first use.
//!
//! *Decides:* what of an object is stored. *Called by:* `trace`, both ways. *Owns:* nothing.

use reweave_model::{Object, OnceState, Pipe};
use serde::{Deserialize, Serialize};

/// An object's kind and its state at first use. Nobody can hold or await an object before that, so this is all.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum ObjectState {
    Atomic {
        value: u64,
    },
    Mutex,
    Rwlock {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        readers_first: bool,
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

impl ObjectState {
    /// What is stored of an object.
    pub(crate) fn of(object: &Object) -> ObjectState {
        match object {
            Object::Atomic(value) => ObjectState::Atomic { value: *value },
            Object::Mutex { .. } => ObjectState::Mutex,
            Object::RwLock { readers_first, .. } => ObjectState::Rwlock {
                readers_first: *readers_first,
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
            ObjectState::Mutex => Object::mutex(),
            ObjectState::Rwlock {
                readers_first: false,
            } => Object::rwlock(),
            ObjectState::Rwlock {
                readers_first: true,
            } => Object::rwlock_readers_first(),
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
