//! The semantics: when an operation is enabled, which outcomes it has, what it returns, touches and changes.
//!
//! Used by targets while they run (crate `conduct`) and by algorithms that ask what would have been possible at another
//! point of a finished execution. The state owns all objects and what the model knows of each thread.

mod effect;
mod enabled;

use crate::{
    access::{Access, Class},
    execution::Edge,
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
    /// Of each thread. Those behind the last one are from earlier runs: most threads are created in the same order again.
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

impl State {
    /// Back to nothing, keeping memory.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.threads.clear();
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
        let index = self.threads.len();
        self.make_path(index);
        let (known, new) = self.paths.split_at_mut(index);
        let path = &mut new[0];
        match parent {
            None => path.clear(),
            Some(parent) => {
                let children = &mut self.threads[parent.index()].children;
                let (nth, prefix) = (*children, known[parent.index()].as_slice());
                *children += 1;
                let known = path.split_last();
                if known.is_none_or(|(last, first)| *last != nth || !first.iter().eq(prefix)) {
                    path.clear();
                    path.extend_from_slice(prefix);
                    path.push(nth);
                }
            }
        }
        self.add_thread()
    }

    /// A new thread with a known path.
    pub fn spawn_at(&mut self, path: &[u32]) -> ThreadId {
        let index = self.threads.len();
        self.make_path(index);
        let known = &mut self.paths[index];
        if !known.iter().eq(path) {
            known.clear();
            known.extend_from_slice(path);
        }
        self.add_thread()
    }

    fn make_path(&mut self, index: usize) {
        if self.paths.len() == index {
            self.paths.push(Vec::new());
        }
    }

    fn add_thread(&mut self) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        self.threads.push(ThreadState::default());
        let mut order = core::mem::take(&mut self.order);
        self.enlist(id, &mut order);
        self.order = order;
        id
    }

    /// Puts a thread into its place among others in creation order.
    pub fn enlist(&self, thread: ThreadId, order: &mut Vec<ThreadId>) {
        let path = self.path(thread);
        let earlier = |other: &ThreadId| self.path(*other) < path;
        if order.last().is_none_or(earlier) {
            order.push(thread);
        } else {
            order.insert(order.partition_point(earlier), thread);
        }
    }

    /// The thread came to its end.
    pub fn finish(&mut self, thread: ThreadId) {
        self.threads[thread.index()].finished = true;
    }

    /// Whether it did.
    #[inline]
    pub fn finished(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].finished
    }

    /// How many events it has done.
    #[inline]
    pub fn count(&self, thread: ThreadId) -> u32 {
        self.threads[thread.index()].count
    }

    /// Its name in every run.
    #[inline]
    pub fn path(&self, thread: ThreadId) -> &[u32] {
        &self.paths[thread.index()]
    }

    /// All threads in creation order.
    #[inline]
    pub fn order(&self) -> &[ThreadId] {
        &self.order
    }

    /// Makes an object known.
    pub fn create(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        ObjectId(self.objects.len() as u32 - 1)
    }

    /// The object as it is now.
    #[inline]
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

    /// Whether one of those who leave a barrier is told that it leads.
    fn leads(&self, barrier: ObjectId) -> bool {
        matches!(self.object(barrier), Object::Barrier { leads: true, .. })
    }

    #[inline]
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

    /// Corrects the value of an atomic after a store whose value the target learned only later.
    pub fn settle(&mut self, object: ObjectId, settled: u64) {
        if let Object::Atomic(value) = &mut self.objects[object.index()] {
            *value = settled;
        }
    }

    /// Does an operation.
    pub fn apply(&mut self, thread: ThreadId, op: Op, outcome: u16) -> Effect {
        #[cfg(debug_assertions)]
        let (expected, value) = (self.effect(thread, op, outcome), self.atomic(op));
        let effect = match self.apply_simple(thread, &op) {
            Some((ok, result, access)) => Effect {
                ok,
                result,
                after: None,
                access: [Some(access), None],
            },
            None => self.apply_any(thread, op, outcome),
        };
        #[cfg(debug_assertions)]
        {
            assert_eq!(effect, expected, "one meaning of {op:?}");
            if let Some((by_value, after)) = value.and_then(|value| op.effect_on(value)) {
                let seen = (effect, self.atomic(op));
                assert_eq!(seen, (by_value, Some(after)), "one meaning of {op:?}");
            }
        }
        effect
    }

    /// The value of the atomic that an operation is about, if it is about one.
    #[cfg(debug_assertions)]
    fn atomic(&self, op: Op) -> Option<u64> {
        match self.object(op.object()?) {
            Object::Atomic(value) => Some(*value),
            _ => None,
        }
    }

    /// Does one of the most frequent operations, which have one outcome, as [`State::apply_any`] does, sooner: whether it succeeds, what
    /// it returns and touches.
    #[inline(always)]
    pub fn apply_simple(&mut self, thread: ThreadId, op: &Op) -> Option<(bool, u64, Access)> {
        let (Op::Load(id)
        | Op::Store(id, _)
        | Op::Rmw(id, _)
        | Op::CompareExchange {
            object: id,
            weak: false,
            ..
        }
        | Op::Lock(id)
        | Op::Unlock(id)) = *op
        else {
            return None;
        };
        let mut ok = true;
        let (result, class) = match (*op, &mut self.objects[id.index()]) {
            (Op::Load(_), Object::Atomic(value)) => (*value, Class::Read),
            (Op::Store(_, new), Object::Atomic(value)) => {
                *value = new;
                (0, Class::Write)
            }
            (Op::Rmw(_, rmw), Object::Atomic(value)) => {
                let old = *value;
                *value = rmw.apply(old);
                (old, Class::Write)
            }
            (Op::CompareExchange { expected, new, .. }, Object::Atomic(value)) => {
                let old = *value;
                ok = old == expected;
                if ok {
                    *value = new;
                    self.threads[thread.index()].failed &= !place(id);
                }
                (old, if ok { Class::Write } else { Class::Read })
            }
            (Op::Lock(_), Object::Mutex { holder, .. }) => {
                *holder = Some(thread);
                (0, Class::Write)
            }
            (Op::Unlock(_), Object::Mutex { holder, version }) => {
                *holder = None;
                *version += 1;
                (0, Class::Write)
            }
            _ => return None,
        };
        self.count_step(thread);
        Some((ok, result, Access { object: id, class }))
    }

    #[inline]
    fn count_step(&mut self, thread: ThreadId) {
        let me = &mut self.threads[thread.index()];
        me.count += 1;
        me.released = false;
    }

    /// Does a join: the step it comes after.
    #[inline]
    pub fn join(&mut self, thread: ThreadId, other: ThreadId) -> Edge {
        self.count_step(thread);
        Edge {
            thread: other,
            count: self.count(other),
        }
    }

    /// Does any operation.
    pub fn apply_any(&mut self, thread: ThreadId, op: Op, outcome: u16) -> Effect {
        let effect = self.effect(thread, op, outcome);
        self.count_step(thread);
        let step = Edge {
            thread,
            count: self.count(thread),
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
            (Object::RwLock { writer, .. }, Op::WriteBegin(_)) if effect.ok => {
                *writer = Some(thread);
            }
            (Object::RwLock { acquired, .. }, Op::WriteAcquire(_)) if effect.ok => *acquired = true,
            (Object::RwLock { writer, .. }, Op::WriteAcquire(_)) => *writer = None,
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
            (Object::Condvar(waiters), Op::Enqueue { .. } | Op::EnqueueIf { .. }) if effect.ok => {
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
                    ..
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
