//! When an operation can go, and which outcomes it has.

use super::{State, place};
use crate::{
    execution::{Gate, Pending, Watch},
    object::{Object, OnceState},
    op::{ObjectId, Op, ThreadId},
};

impl State {
    /// Lets go what waits only for "nothing else can run".
    pub fn release(&mut self, thread: ThreadId) {
        self.threads[thread.index()].released = true;
    }

    /// Whether "nothing else can run" lets a pending operation go.
    pub fn releasable(&self, pending: &Pending, watch: Option<&Watch>) -> bool {
        pending.gate == Gate::Late
            || watch.is_some_and(|watch| {
                let changed = |&(object, seen): &(ObjectId, u64)| self.object(object).differs(seen);
                watch.words.iter().any(changed)
            })
    }

    /// Whether only a foretold writer keeps a pending operation from going. (Of those who wait for the lock as writers, the
    /// first one is the one to be foretold.)
    pub fn held_back(&self, thread: ThreadId, pending: &Pending) -> bool {
        let Some(lock) = pending.op.object().map(|object| self.object(object)) else {
            return false;
        };
        let Some(next) = lock.foretold().filter(|next| *next != thread) else {
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

    /// Whether a thread could go on, for counting preemptions: a writer that may only be foretold waits for the readers.
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

    /// Whether a thread has done as many steps as it may and does not come to this operation.
    #[inline]
    pub fn exhausted(&self, thread: ThreadId, op: Op) -> bool {
        self.threads[thread.index()].count >= self.max_steps && !op.completes()
    }

    /// Whether a pending operation can go now.
    #[inline]
    pub fn enabled(&self, thread: ThreadId, pending: &Pending) -> bool {
        if self.exhausted(thread, pending.op) {
            return false;
        }
        match pending.gate {
            Gate::Open => self.possible(thread, &pending.op),
            gate => self.let_through(thread, &pending.op, gate),
        }
    }

    fn let_through(&self, thread: ThreadId, op: &Op, gate: Gate) -> bool {
        match gate {
            Gate::Open => self.possible(thread, op),
            Gate::Late if self.threads[thread.index()].released => true,
            _ if self.threads[thread.index()].released => match op {
                Op::Await(..) => true,
                op => self.possible(thread, op),
            },
            Gate::Word(seen) => {
                let object = op.object().expect("a spin loop polls an object");
                self.object(object).differs(seen) && self.possible(thread, op)
            }
            Gate::Late => self.possible(thread, &op.untimed()),
        }
    }

    #[inline]
    fn possible(&self, thread: ThreadId, op: &Op) -> bool {
        match *op {
            // The most frequent ones.
            Op::Load(_) | Op::Store(..) | Op::Rmw(..) | Op::Unlock(_) => true,
            Op::Lock(mutex) => self.free(mutex),
            Op::Join(other) => self.finished(other),
            _ => self.possible_else(thread, op),
        }
    }

    fn possible_else(&self, thread: ThreadId, op: &Op) -> bool {
        let me = &self.threads[thread.index()];
        match *op {
            Op::Assume(holds) => holds,
            Op::Await(object, seen) => {
                let object = self.object(object);
                object.foretold().is_none() && object.differs(seen)
            }
            Op::ReadLock(lock) => {
                let lock = self.object(lock);
                matches!(lock, Object::RwLock { writer: None, .. }) || lock.reads(thread) > 0
            }
            Op::TryReadLock(lock) => {
                let lock = self.object(lock);
                lock.foretold().is_none() || lock.reads(thread) > 0
            }
            // It fails while there are readers, foretold or not.
            Op::TryWriteLock(lock) => match self.object(lock) {
                Object::RwLock { readers, .. } if !readers.is_empty() => true,
                lock => lock.foretold().is_none(),
            },
            Op::WriteBegin(lock) => {
                matches!(self.object(lock), Object::RwLock { writer: None, .. })
            }
            Op::WriteAcquire(lock) => {
                matches!(self.object(lock), Object::RwLock { readers, .. } if readers.is_empty())
            }
            Op::Wake { timed, .. } => {
                timed || me.granted.is_some() || (self.spurious && !me.roused)
            }
            Op::SemAcquire { object, timed } => {
                timed || !matches!(self.object(object), Object::Semaphore(0))
            }
            Op::Leave(barrier) => match self.generation(barrier, thread) {
                Some(full) => full.leader.is_some() || self.first(&full.members) == thread,
                None => false,
            },
            Op::OnceBegin { object, .. } => {
                !matches!(self.object(object), Object::Once(OnceState::Running(_)))
            }
            Op::Send(channel) => match self.object(channel) {
                Object::Channel {
                    capacity: Some(room),
                    queue,
                    receiver,
                    ..
                } => *room == 0 || queue.len() < *room as usize || !receiver,
                _ => true,
            },
            Op::Handoff(channel, message) => match self.object(channel) {
                Object::Channel {
                    received, receiver, ..
                } => *received > message || !receiver,
                _ => true,
            },
            Op::Recv { object, timed } => match self.object(object) {
                Object::Channel { queue, senders, .. } => {
                    timed || !queue.is_empty() || *senders == 0
                }
                _ => true,
            },
            Op::Park { object, timed } => {
                timed || matches!(self.object(object), Object::Parker(true))
            }
            _ => true,
        }
    }

    /// How many outcomes an enabled operation can have: `0..n`.
    #[inline]
    pub fn outcomes(&self, thread: ThreadId, op: Op) -> u16 {
        match op {
            Op::Any(_)
            | Op::NotifyOne(_)
            | Op::CompareExchange { weak: true, .. }
            | Op::Wake { timed: true, .. }
            | Op::Leave(_) => self.several(thread, op),
            _ => 1,
        }
    }

    fn several(&self, thread: ThreadId, op: Op) -> u16 {
        let me = &self.threads[thread.index()];
        let n = match op {
            Op::Any(n) => n as usize,
            Op::NotifyOne(condvar) => match self.object(condvar) {
                Object::Condvar(waiters) => waiters.len().max(1),
                _ => 1,
            },
            Op::CompareExchange {
                object,
                expected,
                weak: true,
                ..
            } if me.failed & place(object) == 0 && self.value(object) == expected => 2,
            Op::Wake { timed: true, .. } if self.spurious && !me.roused && me.granted.is_none() => {
                2
            }
            Op::Leave(barrier) => match self.generation(barrier, thread) {
                Some(full) if full.leader.is_none() && self.leads(barrier) => full.members.len(),
                _ => 1,
            },
            _ => 1,
        };
        u16::try_from(n).unwrap_or(u16::MAX)
    }
}
