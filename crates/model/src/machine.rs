//! The semantics of an execution: which operations are enabled, which outcomes they have, what they return, touch and change.
//!
//! [`Machine`] owns all objects and what the model knows of each thread. *Called by:* targets while they run (by way of their
//! conductor), algorithms that ask what would have been possible at another point of a finished execution, and reports
//! that walk through a trace. What an operation does to its object is in the file of the object (`objects/`); here are gates, steps,
//! outcomes and the fast path of the most frequent operations.
//!
//! Invariant: [`Machine::apply`] does what [`Machine::effect`] says; builds with debug assertions check it for every step.

use crate::{
    dependence::{Access, Class},
    execution::{Edge, Gate, Pending, Watch},
    objects::{self, Doing, Object, atomic::place},
    op::{ObjectId, Op, ThreadId},
};
use alloc::vec::Vec;

/// What an operation would return and touch if it were done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Effect {
    pub ok: bool,
    pub result: u64,
    pub after: Option<Edge>,
    pub access: [Option<Access>; 2],
}

impl Effect {
    /// Succeeds, returns 0, touches nothing.
    pub(crate) const NONE: Effect = Effect {
        ok: true,
        result: 0,
        after: None,
        access: [None, None],
    };

    /// Touches one object.
    #[inline]
    pub(crate) fn touch(object: ObjectId, class: Class) -> Effect {
        Effect {
            access: [Some(Access { object, class }), None],
            ..Effect::NONE
        }
    }

    /// Comes after a step.
    #[inline]
    pub(crate) fn after(step: Edge) -> Effect {
        Effect {
            after: Some(step),
            ..Effect::NONE
        }
    }

    /// The same with a result.
    #[inline]
    pub(crate) fn returning(self, result: u64) -> Effect {
        Effect { result, ..self }
    }

    /// The same without success.
    #[inline]
    pub(crate) fn failed(self) -> Effect {
        Effect { ok: false, ..self }
    }
}

/// Objects and threads at one moment of an execution.
#[derive(Clone, Debug)]
pub struct Machine {
    objects: Vec<Object>,
    threads: Vec<Thread>,
    /// Of each thread. Those behind the last one are from earlier runs: most threads are created in the same order again.
    paths: Vec<Vec<u32>>,
    /// Threads in creation order: by path, so that it is the same order in every run.
    order: Vec<ThreadId>,
    /// Whether a wait may end without a notification.
    pub spurious: bool,
    /// Events after which a thread goes no further.
    pub max_steps: u32,
}

/// What the model knows of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thread {
    children: u32,
    /// Events done.
    count: u32,
    finished: bool,
    /// The notification that ended its wait.
    pub(crate) notified: Option<Edge>,
    /// Objects (by number, modulo 64) at which it has used up the unprovoked failure of a weak compare-exchange, until
    /// one succeeds there.
    pub(crate) failed: u64,
    /// It has left a wait without cause.
    pub(crate) woke_spuriously: bool,
    /// A late timeout or a wrong guess of a parked loop was let go.
    pub(crate) let_go: bool,
}

/// What changes in a [`Machine`] while an execution is played: to return to.
#[derive(Clone, Debug)]
pub struct Moment {
    objects: Vec<Object>,
    threads: Vec<Thread>,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine {
            objects: Vec::new(),
            threads: Vec::new(),
            paths: Vec::new(),
            order: Vec::new(),
            spurious: false,
            max_steps: u32::MAX,
        }
    }
}

/// Threads.
impl Machine {
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
        self.threads.fill(Thread::default());
    }

    /// The present moment, to return to within the same execution.
    pub fn moment(&self) -> Moment {
        Moment {
            objects: self.objects.clone(),
            threads: self.threads.clone(),
        }
    }

    /// Returns to a moment of the same execution.
    pub fn return_to(&mut self, moment: &Moment) {
        self.objects.clone_from(&moment.objects);
        self.threads.clone_from(&moment.threads);
    }

    /// How many threads a thread has created.
    pub fn children(&self, thread: ThreadId) -> u32 {
        self.threads[thread.index()].children
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
        self.threads.push(Thread::default());
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

    /// Its last step so far.
    #[inline]
    pub(crate) fn last_step(&self, thread: ThreadId) -> Edge {
        Edge {
            thread,
            count: self.count(thread),
        }
    }

    #[inline]
    pub(crate) fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    #[inline]
    pub(crate) fn thread_mut(&mut self, thread: ThreadId) -> &mut Thread {
        &mut self.threads[thread.index()]
    }

    /// The n-th of some threads in creation order.
    pub(crate) fn nth(&self, threads: &[ThreadId], n: usize) -> ThreadId {
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

    /// Its last steps, which only looked at atomics, are taken back.
    pub fn take_back(&mut self, thread: ThreadId, steps: u32) {
        self.threads[thread.index()].count -= steps;
    }

    /// What belongs to the state of a thread beside what it has come to.
    pub(crate) fn flags(&self, thread: ThreadId) -> u64 {
        let Thread {
            children,
            finished,
            notified,
            woke_spuriously,
            let_go,
            ..
        } = *self.thread(thread);
        let bits = [finished, notified.is_some(), woke_spuriously, let_go];
        let flags = bits
            .into_iter()
            .fold(0, |all, bit| all << 1 | u64::from(bit));
        flags << 32 | u64::from(children)
    }

    /// Objects at which a thread has used up the unprovoked failure of a weak compare-exchange; some of them perhaps not.
    pub(crate) fn failures(&self, thread: ThreadId) -> impl Iterator<Item = ObjectId> + '_ {
        let failed = self.thread(thread).failed;
        let all =
            (0..self.objects.len() as u32).filter(move |index| failed >> (index % 64) & 1 == 1);
        all.map(ObjectId)
    }

    #[inline]
    fn count_step(&mut self, thread: ThreadId) {
        let me = &mut self.threads[thread.index()];
        me.count += 1;
        me.let_go = false;
    }
}

/// Objects.
impl Machine {
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

    #[inline]
    pub(crate) fn object_mut(&mut self, id: ObjectId) -> &mut Object {
        &mut self.objects[id.index()]
    }

    /// The object that an operation is about.
    #[inline]
    pub(crate) fn object_of(&mut self, op: Op) -> Option<&mut Object> {
        Some(&mut self.objects[op.object()?.index()])
    }

    /// As [`Machine::object_of`], with all threads.
    #[inline]
    pub(crate) fn object_and_threads(&mut self, op: Op) -> Option<(&mut Object, &mut [Thread])> {
        let object = &mut self.objects[op.object()?.index()];
        Some((object, &mut self.threads))
    }

    /// Sets an atomic's value without an event: for memory that its owner changes while no other thread can see it.
    pub fn poke(&mut self, id: ObjectId, value: u64) {
        self.objects[id.index()] = Object::Atomic(value);
    }

    /// The value that the last store wrote, where the target learns it only later.
    pub fn settle(&mut self, object: ObjectId, settled: u64) {
        if let Object::Atomic(value) = &mut self.objects[object.index()] {
            *value = settled;
        }
    }
}

/// When an operation can go.
impl Machine {
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
            gate => self.passes_gate(thread, &pending.op, gate),
        }
    }

    fn passes_gate(&self, thread: ThreadId, op: &Op, gate: Gate) -> bool {
        match gate {
            Gate::Open => self.possible(thread, op),
            Gate::Late if self.thread(thread).let_go => true,
            _ if self.thread(thread).let_go => match op {
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
            op => objects::enabled(self, thread, op),
        }
    }

    /// Lets go what waits only for "nothing else can run".
    pub fn release(&mut self, thread: ThreadId) {
        self.threads[thread.index()].let_go = true;
    }

    /// Whether "nothing else can run" lets a pending operation go.
    pub fn releasable(&self, pending: &Pending, watch: Option<&Watch>) -> bool {
        pending.gate == Gate::Late
            || watch.is_some_and(|watch| {
                let changed = |&(object, seen): &(ObjectId, u64)| self.object(object).differs(seen);
                watch.words.iter().any(changed)
            })
    }

    /// How many outcomes an enabled operation can have: `0..n`.
    #[inline]
    pub fn outcomes(&self, thread: ThreadId, op: Op) -> u16 {
        match op {
            Op::Any(_)
            | Op::NotifyOne(_)
            | Op::CompareExchange { weak: true, .. }
            | Op::Wake { timed: true, .. }
            | Op::Leave(_)
            | Op::Allocate(_)
            | Op::Reap { .. } => {
                u16::try_from(objects::outcomes(self, thread, op)).unwrap_or(u16::MAX)
            }
            _ => 1,
        }
    }

    /// Whether an operation of a stored trace, which succeeded or not, can be done here. A target that follows the model has no
    /// others; a damaged trace may.
    pub fn can_replay(&self, thread: ThreadId, op: Op, outcome: u16, ok: bool) -> bool {
        // A parked loop may have been let go by another object than the one it names, a write lock by its time limit.
        let let_go = match op {
            Op::Await(..) => true,
            Op::WriteBegin(_) | Op::WriteAcquire(_) | Op::Expect(_) => !ok,
            _ => false,
        };
        (let_go || (!self.exhausted(thread, op) && self.possible(thread, &op)))
            && outcome < self.outcomes(thread, op)
            && objects::well_formed(self, thread, op)
    }
}

/// What an operation does.
impl Machine {
    /// What an enabled operation would do. Nothing is changed.
    pub fn effect(&self, thread: ThreadId, op: Op, outcome: u16) -> Effect {
        objects::effect(self, thread, op, outcome)
    }

    /// Whether an operation that is about to be done (with this effect) and an enabled one of another thread depend
    /// on each other: they touch something in ways that do not commute, or there is room for only one of them.
    pub fn depends(&self, mine: &Effect, other: ThreadId, other_op: Op, outcome: u16) -> bool {
        let theirs = self.effect(other, other_op, outcome);
        let touches = |effect: &Effect| effect.access.into_iter().flatten();
        touches(mine).any(|a| touches(&theirs).any(|b| a.conflicts(b) || self.last_place(a, b)))
    }

    /// Two that take places of an object which has only one left.
    fn last_place(&self, a: Access, b: Access) -> bool {
        a == b && a.class.takes_place() && self.object(a.object).has_one_place()
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

    /// Does one of the most frequent operations, which have one outcome, as [`Machine::apply_any`] does, sooner: whether it succeeds, what
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

    /// A thread has seen another one end: the step it comes after.
    pub fn join(&mut self, thread: ThreadId, other: ThreadId) -> Edge {
        self.count_step(thread);
        self.last_step(other)
    }

    /// Does any operation; [`Machine::apply`] is faster for frequent ones.
    pub fn apply_any(&mut self, thread: ThreadId, op: Op, outcome: u16) -> Effect {
        let effect = self.effect(thread, op, outcome);
        self.count_step(thread);
        let doing = Doing {
            thread,
            op,
            outcome,
            effect,
            step: self.last_step(thread),
        };
        objects::apply(self, &doing);
        effect
    }
}
