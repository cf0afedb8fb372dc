//! Conducts one execution: follows a plan, then its policy, and records what happened.
//!
//! A target tells it of threads, objects and the operations that threads have come to, asks who goes next, and has the
//! operation done here. It never decides anything itself. Owned by the target for the length of a run and reused for
//! the next one.
//!
//! Invariant: when [`Run::next`] is called, every living thread has announced an operation.

use crate::{
    execution::{Edge, End, Event, Execution, Gate, Pending, Site, ThreadRecord, Watch},
    machine::Machine,
    objects::Object,
    op::{ObjectId, Op, OpKind, ThreadId},
    order::Orders,
    past::Past,
    plan::{Choice, Plan, Policy, Step},
};
use alloc::vec::Vec;

/// Who goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Next {
    Go(Choice),
    End(End),
    /// The program did not do what the plan expects. [`Run::divergence`] tells.
    Diverged,
}

/// Where a run left its plan: a program that is not deterministic, or a plan of another program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The step of the plan, counted from 0.
    pub step: usize,
    /// What the plan says.
    pub expected: Step,
    /// What the thread had come to instead; `None`: it does not exist, has ended, or cannot go. When it is just what was
    /// expected, it had another result.
    pub actual: Option<(OpKind, Site)>,
}

/// Beyond all outcomes.
const ENDED: u32 = 1 << 16;
const DIVERGED: u32 = ENDED + 1;

/// An event as most are, to be filled in.
const BLANK: Event = Event {
    thread: ThreadId::MAIN,
    op: Op::Any(0),
    gate: Gate::Open,
    outcome: 0,
    outcomes: 1,
    ok: true,
    result: 0,
    after: None,
    access: [None, None],
    site: Site::ANY,
    order: Orders::IMPLIED,
};

/// A thread of which nothing is known yet.
const NOBODY: ThreadRecord = ThreadRecord {
    born: Edge {
        thread: ThreadId::MAIN,
        count: 0,
    },
    path: Vec::new(),
    name: None,
    pending: None,
};

/// One execution under way.
#[derive(Debug, Default)]
pub struct Run {
    state: Machine,
    pending: Vec<Option<Pending>>,
    /// Threads that have not come to their end, in creation order.
    alive: Vec<ThreadId>,
    plan: Plan,
    execution: Execution,
    /// Threads of the run before: most are created in the same order again.
    before: Vec<ThreadRecord>,
    sleep: Vec<Choice>,
    divergence: Option<Divergence>,
    last: Option<ThreadId>,
    /// It does the same as another run: a writer was foretold too early.
    repeats: bool,
    rng: Rng,
    priorities: Vec<u64>,
    /// Places where PCT lowers the running thread's priority.
    changes: Vec<u32>,
    past: Past,
}

impl Run {
    /// Begins an execution, with the first thread in it.
    pub fn begin(&mut self, plan: &Plan) {
        self.state.clear();
        self.pending.clear();
        self.alive.clear();
        self.plan.clone_from(plan);
        let execution = &mut self.execution;
        execution.events.clear();
        core::mem::swap(&mut execution.threads, &mut self.before);
        execution.threads.clear();
        execution.objects.clear();
        execution.pointers.clear();
        execution.watches.clear();
        execution.epochs.clear();
        execution.errors.clear();
        execution.end = End::Done;
        execution.spurious = self.state.spurious;
        execution.peeked = false;
        execution.max_steps = plan.max_steps;
        self.state.max_steps = plan.max_steps;
        self.sleep.clear();
        self.divergence = None;
        self.last = None;
        self.repeats = false;
        self.past.clear();
        self.priorities.clear();
        self.changes.clear();
        match plan.policy {
            Policy::Random(seed) => self.rng = Rng(seed),
            Policy::Pct {
                seed,
                changes,
                steps,
            } => {
                self.rng = Rng(seed);
                for _ in 0..changes {
                    let place = self.rng.below(u64::from(steps.max(1))) as u32;
                    self.changes.push(place);
                }
            }
            Policy::First | Policy::Stay => {}
        }
        self.spawn_from(None);
    }

    /// Allows waits to end without a notification, from the next [`Run::begin`] on.
    pub fn allow_spurious(&mut self, allow: bool) {
        self.state.spurious = allow;
    }

    /// See [`Execution::peeked`].
    pub fn peek(&mut self) {
        self.execution.peeked = true;
    }

    /// What the model knows right now.
    pub fn state(&self) -> &Machine {
        &self.state
    }

    /// A thread creates another one. It must announce its first operation before anybody goes on.
    pub fn spawn(&mut self, parent: ThreadId) -> ThreadId {
        self.spawn_from(Some(parent))
    }

    fn spawn_from(&mut self, parent: Option<ThreadId>) -> ThreadId {
        let id = self.state.spawn(parent);
        let parent = parent.unwrap_or(id);
        let known = self.before.get_mut(id.index());
        self.execution
            .threads
            .push(known.map_or(NOBODY, |known| core::mem::replace(known, NOBODY)));
        let record = &mut self.execution.threads[id.index()];
        record.born = Edge {
            thread: parent,
            count: self.state.count(parent),
        };
        record.name = None;
        record.pending = None;
        if !record.path.iter().eq(self.state.path(id)) {
            record.path.clear();
            record.path.extend_from_slice(self.state.path(id));
        }
        match self.state.order().last() == Some(&id) {
            true => self.alive.push(id),
            false => self.state.enlist(id, &mut self.alive),
        }
        self.pending.push(None);
        let priority = self.rng.next() | 1 << 63;
        self.priorities.push(priority);
        id
    }

    /// Gives a thread the program's name for it.
    pub fn name(&mut self, thread: ThreadId, name: &str) {
        self.execution.threads[thread.index()].name = Some(name.into());
    }

    /// Makes an object known at its first use.
    pub fn object(&mut self, object: Object) -> ObjectId {
        self.execution.objects.push(object.clone());
        self.state.create(object)
    }

    /// The values of an atomic are pointers.
    pub fn pointer(&mut self, object: ObjectId) {
        self.execution.pointers.push(object);
    }

    /// The thread has come to an operation.
    #[inline]
    pub fn announce(&mut self, thread: ThreadId, mut pending: Pending) {
        if let (Op::Recv { timed, .. }, Gate::Late) = (&mut pending.op, pending.gate) {
            // Until it is let go it waits, and so finds out about senders only as one that waits.
            *timed = false;
        }
        self.pending[thread.index()] = Some(pending);
    }

    /// As [`Run::announce`], for a parked loop that guesses which object will change: these changed too, or did not.
    pub fn watch(&mut self, thread: ThreadId, words: Vec<(ObjectId, u64)>) {
        let since = Edge {
            thread,
            count: self.state.count(thread),
        };
        self.execution.watches.push(Watch { since, words });
    }

    /// The thread came to its end.
    pub fn finish(&mut self, thread: ThreadId) {
        self.pending[thread.index()] = None;
        let place = self.alive.iter().position(|other| *other == thread);
        self.alive
            .remove(place.expect("a thread comes to its end once"));
        self.state.finish(thread);
    }

    /// What a thread has come to.
    pub fn pending(&self, thread: ThreadId) -> Option<&Pending> {
        self.pending[thread.index()].as_ref()
    }

    /// What has happened so far.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Whether a thread has come to know, since its first `count` events, of anything more that others did. Decided by dependence alone:
    /// the same in equivalent executions.
    pub fn heard(&mut self, thread: ThreadId, count: u32) -> bool {
        self.past.heard(&self.execution, thread, count)
    }

    /// Records an error.
    pub fn error(&mut self, error: crate::Error) {
        self.execution.errors.push(error);
    }

    /// Why the last [`Run::next`] was [`Next::Diverged`].
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// Who goes next, by plan or policy.
    #[inline]
    pub fn next(&mut self) -> Next {
        match self.decide() {
            (thread, outcome @ 0..ENDED) => Next::Go(Choice {
                thread: ThreadId(thread),
                outcome: outcome as u16,
            }),
            (_, ENDED) => Next::End(self.execution.end),
            _ => Next::Diverged,
        }
    }

    /// Thread and outcome, or what the constants say: two numbers are handed back without a detour through memory.
    fn decide(&mut self) -> (u32, u32) {
        let done = self.execution.events.len();
        if self.divergence.is_some() {
            return (0, DIVERGED);
        }
        if let Some(step) = self.plan.steps.get(done) {
            if self.fits(step) {
                return (step.choice.thread.0, step.choice.outcome.into());
            }
            return self.late_step(*step);
        }
        if done == self.plan.steps.len() {
            self.sleep.clone_from(&self.plan.sleep);
        }
        if let Some(choice) = self.by_policy() {
            return (choice.thread.0, choice.outcome.into());
        }
        if !self.sleep.is_empty() && self.anyone() {
            self.execution.end = End::Redundant;
        } else if self.epoch() {
            return self.decide();
        } else {
            self.execution.end = self.verdict();
        }
        (0, ENDED)
    }

    /// A step of the plan that cannot be done as it stands: its thread may have to be found out, or it is possible after late timeouts were
    /// let go.
    #[cold]
    fn late_step(&mut self, mut step: Step) -> (u32, u32) {
        if let Some(thread) = self.execution.resolve(step.choice.thread) {
            step.choice.thread = thread;
        }
        if self.fits(&step) || self.epoch() && self.fits(&step) {
            return (step.choice.thread.0, step.choice.outcome.into());
        }
        let thread = step.choice.thread.index();
        let actual = self.pending.get(thread).copied().flatten();
        self.divergence = Some(Divergence {
            step: self.execution.events.len(),
            expected: step,
            actual: actual.map(|pending| (pending.op.kind(), pending.site)),
        });
        (0, DIVERGED)
    }

    fn fits(&self, step: &Step) -> bool {
        let Choice { thread, outcome } = step.choice;
        let Some(Some(pending)) = self.pending.get(thread.index()) else {
            return false;
        };
        pending.op.kind() == step.kind
            && (pending.site == step.site || step.site == Site::ANY)
            && self.state.enabled(thread, pending)
            && (outcome == 0 || outcome < self.state.outcomes(thread, pending.op))
    }

    #[inline]
    fn can_go(&self, thread: ThreadId) -> bool {
        match &self.pending[thread.index()] {
            Some(pending) => self.state.enabled(thread, pending),
            None => false,
        }
    }

    fn anyone(&self) -> bool {
        self.alive.iter().any(|thread| self.can_go(*thread))
    }

    /// The first outcome of a thread that does not sleep.
    fn awake(&self, thread: ThreadId) -> Option<Choice> {
        if self.sleep.is_empty() {
            return Some(Choice { thread, outcome: 0 });
        }
        let op = self.pending[thread.index()]?.op;
        (0..self.state.outcomes(thread, op))
            .map(|outcome| Choice { thread, outcome })
            .find(|choice| !self.sleep.contains(choice))
    }

    fn by_policy(&mut self) -> Option<Choice> {
        match self.plan.policy {
            Policy::First => self.first(),
            Policy::Stay => match self.last {
                Some(last) if self.can_go(last) => self.awake(last).or_else(|| self.first()),
                _ => self.first(),
            },
            Policy::Random(_) => {
                let mut chosen = None;
                let mut seen = 0;
                for &thread in &self.alive {
                    if !self.can_go(thread) {
                        continue;
                    }
                    let op = self.pending[thread.index()]?.op;
                    for outcome in 0..self.state.outcomes(thread, op) {
                        seen += 1;
                        if self.rng.below(seen) == 0 {
                            chosen = Some(Choice { thread, outcome });
                        }
                    }
                }
                chosen
            }
            Policy::Pct { .. } => {
                let done = self.execution.events.len() as u32;
                if let (Some(last), true) = (self.last, self.changes.contains(&done)) {
                    // Below all first priorities, and below those lowered earlier.
                    self.priorities[last.index()] = u64::from(u32::MAX - done);
                }
                let able = self.alive.iter().filter(|thread| self.can_go(**thread));
                let thread = *able.max_by_key(|thread| self.priorities[thread.index()])?;
                let op = self.pending[thread.index()]?.op;
                let outcomes = u64::from(self.state.outcomes(thread, op));
                let outcome = self.rng.below(outcomes) as u16;
                Some(Choice { thread, outcome })
            }
        }
    }

    fn first(&self) -> Option<Choice> {
        let mut able = self.alive.iter().filter(|thread| self.can_go(**thread));
        able.find_map(|thread| self.awake(*thread))
    }

    /// Whether somebody could go on if it were not for a foretold writer.
    fn held_back(&self) -> bool {
        self.alive.iter().any(|thread| {
            self.pending[thread.index()]
                .is_some_and(|pending| self.state.held_back(*thread, &pending))
        })
    }

    /// When nothing can go on: lets late timeouts go, and loops that watched the wrong object.
    fn epoch(&mut self) -> bool {
        if self.anyone() || self.held_back() {
            return false;
        }
        let mut released = false;
        for index in 0..self.pending.len() {
            let thread = ThreadId(index as u32);
            let able = |pending: &Pending| !self.state.exhausted(thread, pending.op);
            if let Some(pending) = self.pending[index].filter(able) {
                let watch = self.execution.watch_of(thread, self.state.count(thread));
                if self.state.releasable(&pending, watch) {
                    self.state.release(thread);
                    released = true;
                }
            }
        }
        if released {
            self.execution
                .epochs
                .push(self.execution.events.len() as u32);
        }
        released
    }

    fn verdict(&self) -> End {
        if self.repeats || self.held_back() {
            return End::Redundant;
        }
        let waiting = || self.pending.iter().flatten();
        if waiting().next().is_none() {
            return End::Done;
        }
        let stopped = |thread: &ThreadId| {
            self.pending[thread.index()]
                .is_some_and(|pending| self.state.exhausted(*thread, pending.op))
        };
        if self.alive.iter().any(stopped) {
            return End::MaxSteps;
        }
        if waiting().any(|pending| matches!(pending.op, Op::Assume(_))) {
            return End::Blocked;
        }
        if waiting().any(|pending| matches!(pending.gate, Gate::Word(_))) {
            return End::Livelock;
        }
        End::Deadlock
    }

    /// Does the operation of the thread that was chosen to go.
    #[inline]
    pub fn step(&mut self, choice: Choice) -> Event {
        *self.go(choice)
    }

    /// As [`Run::step`], without a copy of the event.
    #[inline]
    pub fn go(&mut self, choice: Choice) -> &Event {
        let Choice { thread, outcome } = choice;
        if !self.sleep.is_empty() {
            self.wake_sleepers(choice);
        }
        let slot = &mut self.pending[thread.index()];
        let pending = slot.as_ref().expect("only a pending operation can be done");
        let step = self.execution.events.len();
        // Written in place: a whole one made elsewhere and then moved costs as much as all the rest.
        self.execution.events.push(BLANK);
        let event = &mut self.execution.events[step];
        event.thread = thread;
        event.op = pending.op;
        event.gate = pending.gate;
        event.outcome = outcome;
        event.site = pending.site;
        event.order = pending.order;
        match (self.state.apply_simple(thread, &pending.op), pending.op) {
            (Some((ok, result, access)), _) => {
                event.ok = ok;
                event.result = result;
                event.access[0] = Some(access);
            }
            (None, Op::Join(other)) => event.after = Some(self.state.join(thread, other)),
            (None, _) => {
                event.outcomes = self.state.outcomes(thread, pending.op);
                let effect = self.state.apply_any(thread, pending.op, outcome);
                event.ok = effect.ok;
                event.result = effect.result;
                event.after = effect.after;
                event.access = effect.access;
                if let (Op::TryWriteLock(lock), false) = (pending.op, effect.ok) {
                    // It would have failed before as well.
                    self.repeats |= self.state.object(lock).predicted_writer().is_some();
                }
            }
        }
        let ok = event.ok;
        *slot = None;
        self.last = Some(thread);
        if let Some(expected) = self.plan.steps.get(step) {
            if expected.ok.is_some_and(|expected| expected != ok) {
                self.differs(step);
            }
        }
        &self.execution.events[step]
    }

    /// An operation succeeded or failed when the plan says otherwise.
    #[cold]
    fn differs(&mut self, step: usize) {
        if self.divergence.is_none() {
            let event = &self.execution.events[step];
            self.divergence = Some(Divergence {
                step,
                expected: self.plan.steps[step],
                actual: Some((event.op.kind(), event.site)),
            });
        }
    }

    /// The store that was just done turns out to have written this value. (A target may learn it only when the program has gone on.)
    pub fn settle(&mut self, settled: u64) {
        if let Some(event) = self.execution.events.last_mut() {
            if let Op::Store(object, value) = &mut event.op {
                *value = settled;
                self.state.settle(*object, settled);
            }
        }
    }

    /// A sleeper wakes when something is done that depends on it, or by its own thread.
    fn wake_sleepers(&mut self, choice: Choice) {
        let Some(pending) = self.pending[choice.thread.index()] else {
            return;
        };
        let state = &self.state;
        let mine = state.effect(choice.thread, pending.op, choice.outcome);
        let asleep = &self.pending;
        self.sleep.retain(|sleeper| {
            let Some(other) = asleep[sleeper.thread.index()] else {
                return false;
            };
            sleeper.thread != choice.thread
                && state.enabled(sleeper.thread, &other)
                && !state.depends(&mine, sleeper.thread, other.op, sleeper.outcome)
        });
    }

    /// Closes the execution: what every unfinished thread had come to, and how it ended.
    pub fn end(&mut self, end: End) -> &mut Execution {
        for (record, pending) in self.execution.threads.iter_mut().zip(&self.pending) {
            record.pending = *pending;
        }
        self.execution.end = end;
        &mut self.execution
    }
}

/// A small seeded generator (splitmix64): the same numbers on every machine.
#[derive(Clone, Copy, Debug, Default)]
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        // The bias is below 2^-32 for the small `n` used here.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}
