//! What an operation would return and touch, and which two depend on each other.

use super::{Effect, State};
use crate::{
    access::{Access, Class},
    execution::Edge,
    object::{Object, OnceState},
    op::{Op, ThreadId},
};

/// Results of [`Op::Recv`], [`Op::TryRecv`] and [`Op::TrySend`], beside `ok`.
const EMPTY_OR_FULL: u64 = 1;
const DISCONNECTED: u64 = 2;

impl Op {
    /// For an operation that looks at nothing but the value of an atomic: what it would do to one that holds this value, and the value
    /// afterwards.
    pub fn effect_on(self, value: u64) -> Option<(Effect, u64)> {
        let (ok, result, after, class) = match self {
            Op::Load(_) => (true, value, value, Class::Read),
            Op::Store(_, new) => (true, 0, new, Class::Write),
            Op::Rmw(_, rmw) => (true, value, rmw.apply(value), Class::Write),
            Op::CompareExchange {
                expected,
                new,
                weak: false,
                ..
            } => match value == expected {
                true => (true, value, new, Class::Write),
                false => (false, value, value, Class::Read),
            },
            _ => return None,
        };
        let object = self.object()?;
        let effect = Effect {
            ok,
            result,
            after: None,
            access: [Some(Access { object, class }), None],
        };
        Some((effect, after))
    }
}

impl State {
    /// What an enabled operation would do. Nothing is changed.
    pub fn effect(&self, thread: ThreadId, op: Op, outcome: u16) -> Effect {
        let me = &self.threads[thread.index()];
        let mut effect = Effect {
            ok: true,
            result: 0,
            after: None,
            access: [None, None],
        };
        let touch = |object, class| [Some(Access { object, class }), None];
        match op {
            Op::Join(other) => {
                effect.after = Some(Edge {
                    thread: other,
                    count: self.count(other),
                });
            }
            Op::Any(_) => effect.result = u64::from(outcome),
            Op::Assume(_) => {}
            Op::Load(object) => {
                effect.result = self.object(object).sees(op);
                let class = match self.object(object) {
                    Object::Semaphore(_) => Class::AcquireProbe,
                    _ => Class::Read,
                };
                effect.access = touch(object, class);
            }
            Op::Await(object, seen) => {
                effect.result = self.object(object).sees(op);
                effect.access = touch(object, self.object(object).notices(seen));
            }
            Op::Store(object, _) => effect.access = touch(object, Class::Write),
            Op::Rmw(object, _) => {
                effect.result = self.value(object);
                effect.access = touch(object, Class::Write);
            }
            Op::CompareExchange {
                object, expected, ..
            } => {
                effect.result = self.value(object);
                effect.ok = effect.result == expected && outcome == 0;
                effect.access = touch(object, if effect.ok { Class::Write } else { Class::Read });
            }
            Op::Lock(mutex) | Op::Unlock(mutex) | Op::UnlockClean(mutex) => {
                effect.access = touch(mutex, Class::Write);
            }
            Op::TryLock(mutex) => {
                effect.ok = self.free(mutex);
                effect.access = touch(mutex, if effect.ok { Class::Write } else { Class::Read });
            }
            // Nobody can tell how often a thread reads.
            Op::ReadLock(lock) | Op::TryReadLock(lock) if self.object(lock).reads(thread) > 0 => {}
            Op::ReadUnlock(lock) if self.object(lock).reads(thread) > 1 => {}
            Op::ReadLock(lock) => effect.access = touch(lock, Class::ReadLock),
            Op::ReadUnlock(lock) => effect.access = touch(lock, Class::ReadUnlock),
            Op::WriteBegin(lock) => {
                // It timed out while another writer had it.
                effect.ok = matches!(self.object(lock), Object::RwLock { writer: None, .. });
                let class = match effect.ok {
                    true => Class::WriteBegin,
                    false => Class::WriteProbe,
                };
                effect.access = touch(lock, class);
            }
            Op::WriteAcquire(lock) => {
                let Object::RwLock {
                    readers,
                    readers_first,
                    ..
                } = self.object(lock)
                else {
                    panic!("write lock of something else")
                };
                // One that timed out lets go what it had announced.
                effect.ok = readers.is_empty();
                let class = match (effect.ok, readers_first) {
                    (false, _) | (true, true) => Class::TryWrite,
                    (true, false) => Class::WriteAcquire,
                };
                effect.access = touch(lock, class);
            }
            Op::WriteUnlock(lock) => effect.access = touch(lock, Class::WriteUnlock),
            Op::TryReadLock(lock) => {
                effect.ok = matches!(self.object(lock), Object::RwLock { writer: None, .. });
                let class = if effect.ok {
                    Class::ReadLock
                } else {
                    Class::ReadProbe
                };
                effect.access = touch(lock, class);
            }
            Op::TryWriteLock(lock) => {
                effect.ok = matches!(
                    self.object(lock),
                    Object::RwLock { writer: None, readers, .. } if readers.is_empty()
                );
                let class = if effect.ok {
                    Class::TryWrite
                } else {
                    Class::WriteProbe
                };
                effect.access = touch(lock, class);
            }
            Op::Enqueue { condvar, mutex } => {
                effect.access = [
                    Some(Access {
                        object: condvar,
                        class: Class::Write,
                    }),
                    Some(Access {
                        object: mutex,
                        class: Class::Write,
                    }),
                ];
            }
            Op::EnqueueIf {
                condvar,
                atomic,
                expected,
            } => {
                effect.result = self.value(atomic);
                effect.ok = effect.result == expected;
                // What an operation touches must not depend on when it is done, so one that fails looks at both too. Who comes first among those
                // that wait is immaterial: waiters are woken in any order.
                effect.access = [condvar, atomic].map(|object| {
                    let class = Class::Read;
                    Some(Access { object, class })
                });
            }
            Op::Wake { condvar, timed } => match me.granted {
                Some(edge) => effect.after = Some(edge),
                None => {
                    effect.ok = !(timed && outcome == 0);
                    effect.result = 1 + u64::from(effect.ok);
                    effect.access = touch(condvar, Class::Write);
                }
            },
            Op::NotifyOne(condvar) => {
                if let Object::Condvar(waiters) = self.object(condvar) {
                    if !waiters.is_empty() {
                        effect.result = 1 + u64::from(self.nth(waiters, outcome.into()).0);
                    }
                }
                effect.access = touch(condvar, Class::Write);
            }
            Op::NotifyAll(condvar) => {
                if let Object::Condvar(waiters) = self.object(condvar) {
                    effect.result = waiters.len() as u64;
                }
                effect.access = touch(condvar, Class::Write);
            }
            Op::SemAcquire { object, .. } | Op::SemTryAcquire(object) => {
                effect.ok = !matches!(self.object(object), Object::Semaphore(0));
                let class = if effect.ok {
                    Class::Acquire
                } else {
                    Class::AcquireProbe
                };
                effect.access = touch(object, class);
            }
            Op::SemRelease(object) => effect.access = touch(object, Class::Release),
            Op::Arrive(barrier) => {
                if let Object::Barrier { full, .. } = self.object(barrier) {
                    let even = full % 2 == 0;
                    let class = if even {
                        Class::ArriveEven
                    } else {
                        Class::ArriveOdd
                    };
                    effect.access = touch(barrier, class);
                }
            }
            Op::Leave(barrier) => {
                let full = self
                    .generation(barrier, thread)
                    .expect("left only when full");
                let told = self.leads(barrier);
                match full.leader {
                    Some((leader, settled)) => {
                        effect.result = u64::from(told && leader == thread);
                        effect.after = Some(settled);
                    }
                    None => {
                        let leader = self.nth(&full.members, outcome.into());
                        effect.result = u64::from(told && leader == thread);
                        effect.access = touch(
                            barrier,
                            match full.round % 2 {
                                0 => Class::TripEven,
                                _ => Class::TripOdd,
                            },
                        );
                    }
                }
            }
            Op::OnceBegin { object, force } => {
                let (result, class) = match self.object(object) {
                    Object::Once(OnceState::Done) => (1, Class::Read),
                    Object::Once(OnceState::Failed) if !force => (2, Class::Read),
                    Object::Once(OnceState::Failed) => (3, Class::Write),
                    _ => (0, Class::Write),
                };
                effect.result = result;
                effect.access = touch(object, class);
            }
            Op::OnceEnd(object, _) => effect.access = touch(object, Class::Write),
            Op::Send(channel) | Op::TrySend(channel) => {
                let Object::Channel {
                    capacity,
                    queue,
                    taken,
                    sent,
                    receiver,
                    ..
                } = self.object(channel)
                else {
                    panic!("send on something else")
                };
                let full = capacity.is_some_and(|room| room > 0 && queue.len() >= room as usize);
                let class = if !receiver {
                    effect.ok = false;
                    effect.result = DISCONNECTED;
                    Class::Refused
                } else if full {
                    effect.ok = false;
                    effect.result = EMPTY_OR_FULL;
                    Class::Full
                } else {
                    effect.result = *sent;
                    if let Some(room) = capacity.filter(|room| *room > 0) {
                        // It takes the slot of message `sent - room`; `taken` ends with the latest one received.
                        let slot = (queue.len() + taken.len()).checked_sub(room as usize);
                        effect.after = slot.map(|slot| taken[slot]);
                    }
                    Class::Send
                };
                effect.access = touch(channel, class);
            }
            Op::Handoff(channel, message) => {
                if let Object::Channel {
                    received, taken, ..
                } = self.object(channel)
                {
                    effect.ok = *received > message;
                    if effect.ok {
                        let back = (received - message) as usize;
                        effect.after = taken.len().checked_sub(back).map(|i| taken[i]);
                    } else {
                        effect.access = touch(channel, Class::Refused);
                    }
                }
            }
            Op::Recv { object, .. } | Op::TryRecv(object) => {
                let Object::Channel { queue, senders, .. } = self.object(object) else {
                    panic!("receive on something else")
                };
                let class = match queue.front() {
                    Some(sent) => {
                        effect.after = Some(*sent);
                        match op {
                            Op::Recv { timed: false, .. } if !me.released => Class::Recv,
                            _ => Class::Poll,
                        }
                    }
                    None => {
                        effect.ok = false;
                        let gone = *senders == 0;
                        effect.result = if gone { DISCONNECTED } else { EMPTY_OR_FULL };
                        if gone { Class::Hangup } else { Class::Empty }
                    }
                };
                effect.access = touch(object, class);
            }
            Op::SenderAdd(channel) | Op::SenderDrop(channel) => {
                effect.access = touch(channel, Class::Handle);
            }
            Op::ReceiverDrop(channel) => effect.access = touch(channel, Class::Deaf),
            Op::Park { object, .. } => {
                effect.ok = matches!(self.object(object), Object::Parker(true));
                effect.access = touch(object, Class::Write);
            }
            Op::Unpark(object) => effect.access = touch(object, Class::Write),
        }
        effect
    }

    /// Whether an operation that is about to be done (with this effect) and an enabled one of another thread depend
    /// on each other: they touch something in ways that do not commute, or there is room for only one of them.
    pub fn depends(&self, mine: &Effect, other: ThreadId, other_op: Op, outcome: u16) -> bool {
        let theirs = self.effect(other, other_op, outcome);
        let touches = |effect: &Effect| effect.access.into_iter().flatten();
        touches(mine).any(|a| touches(&theirs).any(|b| a.conflicts(b)))
            || touches(mine).any(|a| touches(&theirs).any(|b| self.last_place(a, b)))
    }

    /// Two that take places of an object which has only one left.
    fn last_place(&self, a: Access, b: Access) -> bool {
        a == b
            && a.class.takes_place()
            && match self.object(a.object) {
                Object::Semaphore(count) => *count == 1,
                Object::Barrier { size, arrived, .. } => arrived.len() + 1 >= *size as usize,
                _ => false,
            }
    }
}
