//! The semantics: when an operation is enabled, which outcomes it has, what it returns, touches and changes.
//!
//! Used by targets while they run ([`crate::Run`]) and by algorithms that ask what would have been possible at another
//! point of a finished execution. The state owns all objects and what the model knows of each thread.

use crate::{
    access::{Access, Class},
    execution::{Edge, Gate, Pending, Watch},
    object::{Generation, Object, OnceState},
    op::{ObjectId, Op, ThreadId},
};
use alloc::{collections::VecDeque, vec::Vec};

/// What an operation would return and touch if it were done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Effect {
    pub ok: bool,
    pub result: u64,
    pub after: Option<Edge>,
    pub access: [Option<Access>; 2],
}

/// Objects and threads at one moment of an execution.
#[derive(Clone, Debug)]
pub struct State {
    objects: Vec<Object>,
    threads: Vec<ThreadState>,
    paths: Vec<Vec<u32>>,
    /// Threads in creation order: by path, so that it is the same order in every run.
    order: Vec<ThreadId>,
    /// Whether a wait may end without a notification.
    pub spurious: bool,
    /// Events after which a thread goes no further.
    pub max_steps: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadState {
    children: u32,
    /// Events done.
    count: u32,
    finished: bool,
    /// The notification that ended its wait.
    granted: Option<Edge>,
    /// Objects (by number, modulo 64) at which it has used up the unprovoked failure of a weak compare-exchange, until
    /// one succeeds there.
    failed: u64,
    /// It has left a wait without cause.
    roused: bool,
    /// A late timeout or a wrong guess of a parked loop was let go.
    released: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            objects: Vec::new(),
            threads: Vec::new(),
            paths: Vec::new(),
            order: Vec::new(),
            spurious: false,
            max_steps: u32::MAX,
        }
    }
}

/// Results of [`Op::Recv`], [`Op::TryRecv`] and [`Op::TrySend`], beside `ok`.
const EMPTY_OR_FULL: u64 = 1;
const DISCONNECTED: u64 = 2;

impl State {
    /// Back to nothing, keeping memory.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.threads.clear();
        self.paths.clear();
        self.order.clear();
    }

    /// Back to the beginning of an execution with these objects, keeping the threads.
    pub fn rewind(&mut self, objects: &[Object]) {
        self.objects.clear();
        self.objects.extend_from_slice(objects);
        self.threads.fill(ThreadState::default());
    }

    /// A new thread. Its place in the order comes from its path.
    pub fn spawn(&mut self, parent: Option<ThreadId>) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        let path = match parent {
            None => Vec::new(),
            Some(parent) => {
                let nth = &mut self.threads[parent.index()].children;
                let prefix = &self.paths[parent.index()];
                let mut path = Vec::with_capacity(prefix.len() + 1);
                path.extend_from_slice(prefix);
                path.push(*nth);
                *nth += 1;
                path
            }
        };
        self.spawn_at(path);
        id
    }

    /// A new thread with a known path.
    pub fn spawn_at(&mut self, path: Vec<u32>) {
        let id = ThreadId(self.threads.len() as u32);
        let place = self
            .order
            .partition_point(|other| self.paths[other.index()] < path);
        self.order.insert(place, id);
        self.paths.push(path);
        self.threads.push(ThreadState::default());
    }

    /// The thread came to its end.
    pub fn finish(&mut self, thread: ThreadId) {
        self.threads[thread.index()].finished = true;
    }

    /// Whether it did.
    pub fn finished(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].finished
    }

    /// How many events it has done.
    pub fn count(&self, thread: ThreadId) -> u32 {
        self.threads[thread.index()].count
    }

    /// Its name in every run.
    pub fn path(&self, thread: ThreadId) -> &[u32] {
        &self.paths[thread.index()]
    }

    /// All threads in creation order.
    pub fn order(&self) -> &[ThreadId] {
        &self.order
    }

    /// Makes an object known.
    pub fn create(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        ObjectId(self.objects.len() as u32 - 1)
    }

    /// The object as it is now.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    /// All objects as they are now.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Sets an atomic's value without an event: for memory that its owner changes while nobody else can see it.
    pub fn poke(&mut self, id: ObjectId, value: u64) {
        self.objects[id.index()] = Object::Atomic(value);
    }

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

    /// Whether a thread has done as many steps as it may.
    pub fn exhausted(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].count >= self.max_steps
    }

    /// Whether a pending operation can go now.
    pub fn enabled(&self, thread: ThreadId, pending: &Pending) -> bool {
        if self.exhausted(thread) {
            return false;
        }
        match pending.gate {
            Gate::Open => self.possible(thread, pending.op),
            Gate::Late if self.threads[thread.index()].released => true,
            _ if self.threads[thread.index()].released => match pending.op {
                Op::Await(..) => true,
                op => self.possible(thread, op),
            },
            Gate::Word(seen) => {
                let object = pending.op.object().expect("a spin loop polls an object");
                self.object(object).differs(seen) && self.possible(thread, pending.op)
            }
            Gate::Late => self.possible(thread, pending.op.untimed()),
        }
    }

    fn possible(&self, thread: ThreadId, op: Op) -> bool {
        let me = &self.threads[thread.index()];
        match op {
            Op::Join(other) => self.finished(other),
            Op::Assume(holds) => holds,
            Op::Await(object, seen) => self.object(object).differs(seen),
            Op::Lock(mutex) => self.free(mutex),
            Op::ReadLock(lock) | Op::WriteBegin(lock) => {
                matches!(self.object(lock), Object::RwLock { writer: None, .. })
            }
            Op::WriteAcquire(lock) => {
                matches!(self.object(lock), Object::RwLock { readers, .. } if readers.is_empty())
            }
            Op::Wake { timed, .. } => {
                timed || me.granted.is_some() || (self.spurious && !me.roused)
            }
            Op::SemAcquire { object, timed } => {
                timed || self.object(object) != &Object::Semaphore(0)
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
            Op::Park { object, timed } => timed || self.object(object) == &Object::Parker(true),
            _ => true,
        }
    }

    /// How many outcomes an enabled operation can have: `0..n`.
    pub fn outcomes(&self, thread: ThreadId, op: Op) -> u16 {
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
                Some(full) if full.leader.is_none() => full.members.len(),
                _ => 1,
            },
            _ => 1,
        };
        u16::try_from(n).unwrap_or(u16::MAX)
    }

    fn value(&self, object: ObjectId) -> u64 {
        match self.object(object) {
            Object::Atomic(value) => *value,
            other => panic!("{} used as an atomic", other.kind_name()),
        }
    }

    fn generation(&self, barrier: ObjectId, thread: ThreadId) -> Option<&Generation> {
        match self.object(barrier) {
            Object::Barrier { leaving, .. } => {
                leaving.iter().find(|full| full.members.contains(&thread))
            }
            _ => None,
        }
    }

    fn free(&self, mutex: ObjectId) -> bool {
        matches!(self.object(mutex), Object::Mutex { holder: None, .. })
    }

    fn unlock(&mut self, mutex: ObjectId, changed: bool) {
        if let Object::Mutex { holder, version } = &mut self.objects[mutex.index()] {
            *holder = None;
            *version += u64::from(changed);
        }
    }

    /// The first of some threads in creation order.
    fn first(&self, threads: &[ThreadId]) -> ThreadId {
        self.nth(threads, 0)
    }

    /// The n-th of some threads in creation order.
    fn nth(&self, threads: &[ThreadId], n: usize) -> ThreadId {
        let place = |thread: ThreadId| {
            let path = self.path(thread);
            threads
                .iter()
                .filter(|other| self.path(**other) < path)
                .count()
        };
        *threads
            .iter()
            .find(|thread| place(**thread) == n)
            .expect("an outcome is below the number of outcomes")
    }

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
                effect.access = touch(object, Class::Read);
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
            Op::ReadLock(lock) => effect.access = touch(lock, Class::ReadLock),
            Op::ReadUnlock(lock) => effect.access = touch(lock, Class::ReadUnlock),
            Op::WriteBegin(lock) => effect.access = touch(lock, Class::WriteBegin),
            Op::WriteAcquire(lock) => effect.access = touch(lock, Class::WriteAcquire),
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
            Op::NotifyAll(condvar) => effect.access = touch(condvar, Class::Write),
            Op::SemAcquire { object, .. } | Op::SemTryAcquire(object) => {
                effect.ok = self.object(object) != &Object::Semaphore(0);
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
                match full.leader {
                    Some((leader, settled)) => {
                        effect.result = u64::from(leader == thread);
                        effect.after = Some(settled);
                    }
                    None => {
                        let leader = self.nth(&full.members, outcome.into());
                        effect.result = u64::from(leader == thread);
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
                effect.ok = self.object(object) == &Object::Parker(true);
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

    /// Does an operation.
    pub fn apply(&mut self, thread: ThreadId, op: Op, outcome: u16) -> Effect {
        let effect = self.effect(thread, op, outcome);
        let me = &mut self.threads[thread.index()];
        me.count += 1;
        me.released = false;
        let step = Edge {
            thread,
            count: me.count,
        };
        if let Op::NotifyAll(condvar) = op {
            if let Object::Condvar(waiters) = &mut self.objects[condvar.index()] {
                for waiter in waiters.drain(..) {
                    self.threads[waiter.index()].granted = Some(step);
                }
            }
            return effect;
        }
        let Some(object) = op.object() else {
            return effect;
        };
        if let Op::Enqueue { mutex, .. } = op {
            self.unlock(mutex, true);
        }
        if let Op::Unlock(mutex) | Op::UnlockClean(mutex) = op {
            self.unlock(mutex, matches!(op, Op::Unlock(_)));
            return effect;
        }
        let leader = match (op, effect.access[0]) {
            (Op::Leave(_), Some(_)) => {
                let full = self
                    .generation(object, thread)
                    .expect("left only when full");
                Some(self.nth(&full.members, outcome.into()))
            }
            _ => None,
        };
        let me = &mut self.threads[thread.index()];
        match (&mut self.objects[object.index()], op) {
            (Object::Atomic(value), Op::Store(_, new)) => *value = new,
            (Object::Atomic(value), Op::Rmw(_, rmw)) => *value = rmw.apply(*value),
            (Object::Atomic(value), Op::CompareExchange { new, weak, .. }) => {
                if effect.ok {
                    *value = new;
                    me.failed &= !place(object);
                } else if weak && outcome == 1 {
                    me.failed |= place(object);
                }
            }
            (Object::Mutex { version, .. }, Op::Store(..)) => *version += 1,
            (Object::Mutex { holder, .. }, Op::Lock(_)) => *holder = Some(thread),
            (Object::Mutex { holder, .. }, Op::TryLock(_)) if effect.ok => *holder = Some(thread),
            (Object::RwLock { readers, .. }, Op::ReadLock(_)) => readers.push(thread),
            (Object::RwLock { readers, .. }, Op::TryReadLock(_)) if effect.ok => {
                readers.push(thread)
            }
            (Object::RwLock { readers, .. }, Op::ReadUnlock(_)) => {
                // A guard may be dropped by another thread than the one that took it.
                let held = readers
                    .iter()
                    .position(|reader| *reader == thread)
                    .unwrap_or(0);
                if !readers.is_empty() {
                    readers.swap_remove(held);
                }
            }
            (Object::RwLock { writer, .. }, Op::WriteBegin(_)) => *writer = Some(thread),
            (Object::RwLock { acquired, .. }, Op::WriteAcquire(_)) => *acquired = true,
            (
                Object::RwLock {
                    writer, acquired, ..
                },
                Op::TryWriteLock(_),
            ) if effect.ok => {
                *writer = Some(thread);
                *acquired = true;
            }
            (
                Object::RwLock {
                    writer,
                    acquired,
                    version,
                    ..
                },
                Op::WriteUnlock(_),
            ) => {
                *writer = None;
                *acquired = false;
                *version += 1;
            }
            (Object::Condvar(waiters), Op::Enqueue { .. }) => {
                waiters.push(thread);
                me.granted = None;
            }
            (Object::Condvar(waiters), Op::Wake { .. }) => {
                if me.granted.take().is_none() {
                    waiters.retain(|waiter| *waiter != thread);
                    me.roused |= effect.result == 2;
                }
            }
            (Object::Condvar(waiters), Op::NotifyOne(_)) => {
                if let Some(woken) = effect.result.checked_sub(1) {
                    let woken = ThreadId(woken as u32);
                    waiters.retain(|waiter| *waiter != woken);
                    self.threads[woken.index()].granted = Some(step);
                }
            }
            (Object::Semaphore(count), Op::SemAcquire { .. } | Op::SemTryAcquire(_)) => {
                *count -= u64::from(effect.ok);
            }
            (Object::Semaphore(count), Op::SemRelease(_)) => *count += 1,
            (
                Object::Barrier {
                    size,
                    full,
                    arrived,
                    leaving,
                },
                Op::Arrive(_),
            ) => {
                arrived.push(thread);
                if arrived.len() >= *size as usize {
                    leaving.push(Generation {
                        round: *full,
                        members: core::mem::take(arrived),
                        leader: None,
                    });
                    *full += 1;
                }
            }
            (Object::Barrier { leaving, .. }, Op::Leave(_)) => {
                for full in leaving
                    .iter_mut()
                    .filter(|full| full.members.contains(&thread))
                {
                    if let Some(leader) = leader {
                        full.leader = Some((leader, step));
                    }
                    full.members.retain(|member| *member != thread);
                }
                leaving.retain(|full| !full.members.is_empty());
            }
            (Object::Once(state), Op::OnceBegin { .. }) => {
                if matches!(effect.result, 0 | 3) {
                    *state = OnceState::Running(thread);
                }
            }
            (Object::Once(state), Op::OnceEnd(_, done)) => {
                *state = if done {
                    OnceState::Done
                } else {
                    OnceState::Failed
                };
            }
            (Object::Channel { queue, sent, .. }, Op::Send(_) | Op::TrySend(_)) if effect.ok => {
                queue.push_back(step);
                *sent += 1;
            }
            (
                Object::Channel {
                    capacity: room,
                    queue,
                    taken,
                    received,
                    ..
                },
                Op::Recv { .. } | Op::TryRecv(_),
            ) if effect.ok => {
                queue.pop_front();
                *received += 1;
                remember(taken, step, *room);
            }
            (Object::Channel { senders, .. }, Op::SenderAdd(_)) => *senders += 1,
            (Object::Channel { senders, .. }, Op::SenderDrop(_)) => *senders -= 1,
            (Object::Channel { receiver, .. }, Op::ReceiverDrop(_)) => *receiver = false,
            (Object::Parker(token), Op::Park { .. }) => *token = false,
            (Object::Parker(token), Op::Unpark(_)) => *token = true,
            _ => {}
        }
        effect
    }
}

/// An object's place in a set of 64.
fn place(object: ObjectId) -> u64 {
    1 << (object.0 % 64)
}

/// Keeps the steps that took messages while a sender may still refer to them.
fn remember(taken: &mut VecDeque<Edge>, step: Edge, room: Option<u32>) {
    match room {
        None => {}
        // Senders meet the receiver: each looks up the step that took its own message.
        Some(0) => taken.push_back(step),
        Some(room) => {
            taken.push_back(step);
            if taken.len() > room as usize {
                taken.pop_front();
            }
        }
    }
}
