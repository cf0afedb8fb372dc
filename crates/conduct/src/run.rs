//! The state of one execution under way, and what a target reports to it.
//!
//! *Called by:* targets. *Owns:* the model's state, the operation that each thread has reached, the plan and the
//! execution recorded so far. A run is used again for the next plan, so that its memory is.
//!
//! *Invariant:* when [`Run::next`] is called, every thread that has not ended has announced an operation.

use crate::{
    hidden::HiddenObjects, late::LateWaits, policy::PolicyState, rounds::Rounds,
    states::KnownStates, time::VirtualTime,
};
use alloc::vec::Vec;
use reweave_model::{
    Choice, Divergence, Edge, End, Error, Execution, Gate, Machine, Object, ObjectId, Op, Pending,
    Plan, ThreadId, ThreadRecord, Watch,
};

/// A thread that nothing is known of yet.
const BLANK: ThreadRecord = ThreadRecord {
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
    pub(crate) state: Machine,
    /// The operation that each thread has reached.
    pub(crate) pending: Vec<Option<Pending>>,
    /// Threads that have not ended, in creation order.
    pub(crate) alive: Vec<ThreadId>,
    /// Threads that need not end.
    pub(crate) detached: Vec<ThreadId>,
    pub(crate) plan: Plan,
    pub(crate) execution: Execution,
    /// Threads of the run before: most are created in the same order again.
    before: Vec<ThreadRecord>,
    pub(crate) sleep: Vec<Choice>,
    pub(crate) divergence: Option<Divergence>,
    /// The thread that did the last event.
    pub(crate) last: Option<ThreadId>,
    /// The run is redundant: a writer was foretold too early.
    pub(crate) repeats: bool,
    pub(crate) policy: PolicyState,
    pub(crate) time: VirtualTime,
    pub(crate) late: LateWaits,
    pub(crate) hidden: HiddenObjects,
    pub(crate) rounds: Rounds,
    /// The states of the run, under [`Policy::States`](reweave_model::Policy::States).
    pub(crate) known: KnownStates,
}

impl Run {
    /// Starts an execution with its first thread.
    pub fn begin(&mut self, plan: &Plan) {
        self.state.clear();
        self.pending.clear();
        self.alive.clear();
        self.detached.clear();
        self.plan.clone_from(plan);
        let execution = &mut self.execution;
        execution.events.clear();
        core::mem::swap(&mut execution.threads, &mut self.before);
        execution.threads.clear();
        execution.objects.clear();
        execution.pointers.clear();
        execution.watches.clear();
        execution.epochs.clear();
        execution.attempts.clear();
        execution.stopped.clear();
        execution.states.clear();
        execution.names.clear();
        execution.accesses.clear();
        execution.unrecorded = None;
        execution.errors.clear();
        execution.end = End::Done;
        execution.spurious = self.state.spurious;
        execution.peeked = false;
        execution.timeouts_cut = false;
        execution.clocks_cut = false;
        execution.max_steps = plan.max_steps;
        self.state.max_steps = plan.max_steps;
        self.sleep.clear();
        self.divergence = None;
        self.last = None;
        self.repeats = false;
        self.policy.begin(plan.policy);
        self.time.clear();
        self.late.clear();
        self.hidden.clear();
        self.rounds.clear();
        self.known.clear();
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

    /// The model's state at this moment.
    #[inline]
    pub fn state(&self) -> &Machine {
        &self.state
    }

    /// A thread creates another one, which must announce its first operation before any thread goes on.
    pub fn spawn(&mut self, parent: ThreadId) -> ThreadId {
        let child = self.spawn_from(Some(parent));
        self.time.spawn(parent, child);
        child
    }

    fn spawn_from(&mut self, parent: Option<ThreadId>) -> ThreadId {
        let id = self.state.spawn(parent);
        let parent = parent.unwrap_or(id);
        let known = self.before.get_mut(id.index());
        self.execution
            .threads
            .push(known.map_or(BLANK, |known| core::mem::replace(known, BLANK)));
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
        self.policy.spawn();
        id
    }

    /// The thread need not end: when all others have ended and it cannot go on without a late timeout, the run is done.
    pub fn detach(&mut self, thread: ThreadId) {
        self.detached.push(thread);
    }

    /// Whether only threads are left that need not end.
    pub(crate) fn only_detached(&self) -> bool {
        let mut alive = self.alive.iter();
        !self.detached.is_empty() && alive.all(|thread| self.detached.contains(thread))
    }

    /// The run is discarded: a guess of the program's runtime was wrong, and other runs stand for it.
    pub fn discard(&mut self) {
        self.repeats = true;
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

    /// The thread has reached an operation.
    #[inline]
    pub fn announce(&mut self, thread: ThreadId, mut pending: Pending) {
        if let (Op::Recv { timed, .. }, Gate::Late) = (&mut pending.op, pending.gate) {
            // Until it is released it waits, and so learns of senders only as a receive that waits does.
            *timed = false;
        }
        self.pending[thread.index()] = Some(pending);
    }

    /// Goes with the next [`Run::announce`] of a parked loop that guesses which object will change: the other objects
    /// that it looked at, and what it saw.
    pub fn watch(&mut self, thread: ThreadId, words: Vec<(ObjectId, u64)>) {
        let since = self.moment(thread);
        self.execution.watches.push(Watch { since, words });
    }

    /// The thread has ended.
    pub fn finish(&mut self, thread: ThreadId) {
        self.pending[thread.index()] = None;
        let place = self.alive.iter().position(|other| *other == thread);
        self.alive.remove(place.expect("a thread ends once"));
        self.state.finish(thread);
    }

    /// The operation that a thread has reached.
    pub fn pending(&self, thread: ThreadId) -> Option<&Pending> {
        self.pending[thread.index()].as_ref()
    }

    /// The execution so far.
    #[inline]
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// This moment of a thread: after so many of its events.
    pub fn moment(&self, thread: ThreadId) -> Edge {
        Edge {
            thread,
            count: self.state.count(thread),
        }
    }

    /// Records an error.
    pub fn error(&mut self, error: Error) {
        self.execution.errors.push(error);
    }

    /// Why the last [`Run::next`] was [`Next::Diverged`](crate::Next::Diverged).
    pub fn divergence(&self) -> Option<&Divergence> {
        self.divergence.as_ref()
    }

    /// Closes the execution: the operation that every unfinished thread had reached, and how the run ended.
    pub fn end(&mut self, end: End) -> &mut Execution {
        if end == End::Livelock {
            self.show_waiting();
        }
        for (record, pending) in self.execution.threads.iter_mut().zip(&self.pending) {
            record.pending = *pending;
        }
        self.execution.end = end;
        &mut self.execution
    }
}
