//! `dpor`: dynamic partial-order reduction with persistent sets found on the fly, sleep sets and locksets.
//!
//! After Flanagan and Godefroid as the Inspect papers use it: two operations of different threads that depend on each
//! other and are not ordered otherwise are a reason to try the second one's thread where the first one went. A node
//! stands for a prefix of an execution; what was tried there are its *claims*, in order, and a branch sleeps on
//! strictly earlier claims only, so workers can share nodes and nothing else.
//!
//! Deviations from the papers: (1) branches come from finished executions, not from a stack; (2) outcomes: a claim is
//! a thread with an outcome, and where a thread is tried all its outcomes are; (3) an operation whose kind of touch
//! may change (compare-exchange, try-lock, timed waits) counts as dependent on everything at its object when branches
//! are looked for, while sleepers wake by what is really touched; (4) operations that never got their turn count too;
//! (5) what is tried is a thread that can begin all that lies between the two and does not depend on the first (a
//! *source set*), not always the second thread: with sleep sets the papers' choice loses classes (in `T0: a; b`, `T1: B`,
//! `T2: b; A`, capitals being writes, one of them), since the second thread may be asleep there while what comes before it is
//! not.
//!
//! *Never reports* a schedule twice, but may meet a class more than once and give up runs that could only repeat others;
//! *may miss* nothing.

use crate::{
    algorithm::{
        Algorithm, Found, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload, Unfit,
    },
    claims::{Claimed, Claims, Node, choice_of, claim_of},
    draft::{Child, Draft},
    happens::{Happens, Quad},
    replay::Replay,
};
use reweave_model::{
    Choice, Event, Execution, Mark, ObjectId, Op, Pending, Plan, Policy, ThreadId,
};
use std::{collections::HashMap, sync::Arc};

/// The nodes that a plan passes, one a step. A node stands for a prefix of executions; its claims are ordered.
type Path = Vec<Arc<Node>>;

/// Finds the branches that follow from executions. Owns reusable tables only.
#[derive(Debug)]
pub struct Dpor {
    claims: Arc<dyn Claims>,
    /// Only the latest race of an operation counts.
    latest: bool,
    happens: Happens,
    replay: Replay,
    /// Positions, and the threads of which one is to be tried there.
    wanted: Vec<(u32, Vec<ThreadId>)>,
    /// The operation that each of these is about, if only the latest race of one counts.
    operations: Vec<u32>,
    operation: u32,
    row: Vec<Quad>,
    held: Vec<Vec<ObjectId>>,
    /// Locks held exclusively by the thread of each event when it was done.
    locks: Vec<Vec<ObjectId>>,
}

impl Algorithm for Dpor {
    type Payload = Path;

    fn new(options: &Options, claims: &Arc<dyn Claims>) -> Dpor {
        Dpor {
            claims: claims.clone(),
            latest: options.balance.is_lazy(),
            happens: Happens::default(),
            replay: Replay::default(),
            wanted: Vec::new(),
            operations: Vec::new(),
            operation: 0,
            row: Vec::new(),
            held: Vec::new(),
            locks: Vec::new(),
        }
    }

    fn first(_: &Options) -> (Policy, Path) {
        (Policy::First, Path::new())
    }

    fn branches(&mut self, ran: Ran<'_, Path>, found: &mut Found<Path>) -> Result<(), Unfit> {
        self.find(ran.plan, ran.payload, ran.execution, &mut found.children);
        Ok(())
    }

    fn store(path: &Path, nodes: &mut NodeStore) -> StoredPayload {
        StoredPayload {
            numbers: Vec::new(),
            nodes: path.iter().map(|node| nodes.add(node)).collect(),
        }
    }

    fn restore(_: &Options, stored: StoredPayload, nodes: &[Arc<Node>]) -> Result<Path, Malformed> {
        stored.nodes(nodes)
    }
}

impl Dpor {
    /// Adds all that must be tried because of this execution.
    fn find(
        &mut self,
        plan: &Plan,
        path: &Path,
        execution: &Execution,
        out: &mut Vec<NewBranch<Path>>,
    ) {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.find_locks(execution);
        self.find_wanted(execution);
        if self.latest {
            self.keep_latest(execution);
        }
        self.wanted.sort_unstable();
        self.wanted.dedup();

        self.replay.rewind(execution, &self.happens);
        let mut nodes = path.clone();
        let mut sleep = plan.sleep.clone();
        for position in 0..execution.events.len() {
            let event = &execution.events[position];
            if execution.epochs.binary_search(&(position as u32)).is_ok() {
                self.replay.epoch(execution, &self.happens);
            }
            let taken = Choice {
                thread: event.thread,
                outcome: event.outcome,
            };
            if position >= nodes.len() {
                let sleepers = sleep.iter().copied().map(claim_of).collect();
                nodes.push(Arc::new(Node::ordered(sleepers, vec![claim_of(taken)])));
            }
            let fresh = position >= plan.steps.len();
            self.try_here(plan, execution, position as u32, &nodes, fresh, out);
            if fresh {
                let state = &self.replay.state;
                let effect = state.effect(event.thread, event.op, event.outcome);
                sleep.retain(|sleeper| {
                    let pending = self
                        .replay
                        .pending(execution, &self.happens, sleeper.thread);
                    sleeper.thread != event.thread
                        && pending.is_some_and(|pending| {
                            state.enabled(sleeper.thread, &pending)
                                && !state.depends(
                                    &effect,
                                    sleeper.thread,
                                    pending.op,
                                    sleeper.outcome,
                                )
                        })
                });
            }
            self.replay
                .advance(execution, &self.happens, position as u32);
        }
    }

    /// Claims what is wanted at one position.
    fn try_here(
        &self,
        plan: &Plan,
        execution: &Execution,
        position: u32,
        nodes: &Path,
        fresh: bool,
        out: &mut Vec<NewBranch<Path>>,
    ) {
        let event = &execution.events[position as usize];
        let mut threads = Vec::new();
        if fresh && event.outcomes > 1 {
            threads.push(event.thread);
        }
        let from = self.wanted.partition_point(|(other, _)| *other < position);
        let node = &nodes[position as usize];
        for (_, any) in self.wanted[from..]
            .iter()
            .take_while(|(other, _)| *other == position)
        {
            let known = |thread: &ThreadId| {
                let op = self
                    .replay
                    .pending(execution, &self.happens, *thread)
                    .map(|pending| pending.op);
                let outcomes = op.map_or(0, |op| self.replay.state.outcomes(*thread, op));
                (0..outcomes).all(|outcome| {
                    node.knows(claim_of(Choice {
                        thread: *thread,
                        outcome,
                    }))
                })
            };
            if !any.iter().any(known) {
                threads.push(any[0]);
            }
        }
        for thread in threads {
            let Some(pending) = self.replay.pending(execution, &self.happens, thread) else {
                continue;
            };
            if !self.replay.state.enabled(thread, &pending) {
                continue;
            }
            for outcome in 0..self.replay.state.outcomes(thread, pending.op) {
                let choice = Choice { thread, outcome };
                let (node, claim) = (&nodes[position as usize], claim_of(choice));
                let earlier = match self.claims.claim(node, claim) {
                    Claimed::Known => continue,
                    Claimed::First(earlier) => Some(earlier),
                    Claimed::Elsewhere => None,
                };
                let sleepers = match &earlier {
                    Some(earlier) => node.covered.iter().chain(earlier).map(choice_of).collect(),
                    None => self.choices(execution),
                };
                let child = self.child(plan, execution, position, choice, pending, sleepers);
                out.push(NewBranch {
                    claim: earlier.is_none().then(|| Box::new((node.clone(), claim))),
                    ..NewBranch::new(child, nodes[..=position as usize].to_vec())
                });
            }
        }
    }

    /// The plan in which a choice is made at a position. Those of the sleepers sleep in it that do not depend on the choice.
    fn child(
        &self,
        plan: &Plan,
        execution: &Execution,
        position: u32,
        choice: Choice,
        pending: Pending,
        sleepers: Vec<Choice>,
    ) -> Child {
        let replay = &self.replay;
        let (counts, triggers) = (replay.counts(), replay.triggers());
        let mut draft = Draft::new(plan, execution, counts, triggers, position);
        draft.push(choice.thread, pending, choice.outcome, Mark::Default);
        let state = &replay.state;
        let effect = state.effect(choice.thread, pending.op, choice.outcome);
        let sleeps = |sleeper: &Choice| {
            let other = replay.pending(execution, &self.happens, sleeper.thread);
            sleeper.thread != choice.thread
                && other.is_some_and(|other| {
                    state.enabled(sleeper.thread, &other)
                        && !state.depends(&effect, sleeper.thread, other.op, sleeper.outcome)
                })
        };
        draft
            .child
            .rest
            .sleep
            .extend(sleepers.into_iter().filter(sleeps));
        draft.child
    }

    /// All that could be done here.
    fn choices(&self, execution: &Execution) -> Vec<Choice> {
        let replay = &self.replay;
        let mut choices = Vec::new();
        for &thread in replay.state.order() {
            let pending = replay.pending(execution, &self.happens, thread);
            let outcomes = pending.map_or(0, |it| replay.state.outcomes(thread, it.op));
            choices.extend((0..outcomes).map(|outcome| Choice { thread, outcome }));
        }
        choices
    }

    /// Finds where the order of two events might have been another.
    fn find_wanted(&mut self, execution: &Execution) {
        self.wanted.clear();
        self.operations.clear();
        let end = execution.events.len() as u32;
        for position in 0..end {
            let event = execution.events[position as usize];
            let nth = self.happens.nth(position);
            self.race(execution, event.thread, event.op, nth, position);
        }
        for (index, record) in execution.threads.iter().enumerate() {
            if let Some(pending) = record.pending {
                let thread = ThreadId(index as u32);
                let nth = self.happens.of_thread(thread).len();
                self.race(execution, thread, pending.op, nth, end);
            }
        }
    }

    /// Of the races of each operation keeps the latest that can be tried the other way round: an operation that was blocked at one event
    /// may have raced with what came before that.
    fn keep_latest(&mut self, execution: &Execution) {
        let mut order: Vec<usize> = (0..self.wanted.len()).collect();
        order.sort_by_key(|index| self.wanted[*index].0);
        let mut order = order.into_iter().peekable();
        let mut latest: HashMap<u32, usize> = HashMap::new();
        self.replay.rewind(execution, &self.happens);
        for position in 0..execution.events.len() as u32 {
            if execution.epochs.binary_search(&position).is_ok() {
                self.replay.epoch(execution, &self.happens);
            }
            while let Some(index) = order.next_if(|it| self.wanted[*it].0 == position) {
                let thread = self.wanted[index].1[0];
                let pending = self.replay.pending(execution, &self.happens, thread);
                if pending.is_some_and(|it| self.replay.state.enabled(thread, &it)) {
                    latest.insert(self.operations[index], index);
                }
            }
            self.replay.advance(execution, &self.happens, position);
        }
        let kept = latest.into_values();
        self.wanted = kept.map(|index| self.wanted[index].clone()).collect();
    }

    /// An operation, announced after its thread's last event and done at `end`, against all it might have come before.
    fn race(&mut self, execution: &Execution, thread: ThreadId, op: Op, nth: usize, end: u32) {
        if op.only_orders() && !matches!(op, Op::Leave(_)) {
            return;
        }
        self.operation = self.operation.wrapping_add(1);
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(self.happens.coming(execution, thread, nth));
        for earlier in (0..end).rev() {
            let event = &execution.events[earlier as usize];
            if event.thread == thread
                || self.happens.in_row(&row, earlier)
                || !may_depend(event, op)
                || !self.co_enabled(event, earlier, thread, nth, op)
            {
                continue;
            }
            self.row = row;
            self.want(execution, thread, op, earlier, end);
            row = std::mem::take(&mut self.row);
        }
        self.row = row;
    }

    /// One of the threads that can begin what does not depend on an event, up to the operation, is to be tried instead
    /// of the event.
    fn want(&mut self, execution: &Execution, thread: ThreadId, op: Op, position: u32, end: u32) {
        let happens = &self.happens;
        let free = |other: &u32| !happens.in_row(happens.row(*other), position);
        let behind: Vec<u32> = (position + 1..end).filter(free).collect();
        let first = |event: &&u32| {
            let row = happens.row(**event);
            !behind
                .iter()
                .any(|other| other < *event && happens.in_row(row, *other))
        };
        let threads = behind
            .iter()
            .filter(first)
            .map(|event| execution.events[*event as usize].thread);
        let mut threads: Vec<ThreadId> = threads.collect();
        let depends = |other: &u32| {
            let event = &execution.events[*other as usize];
            event.thread == thread || may_depend(event, op) || happens.in_row(&self.row, *other)
        };
        if !behind.iter().any(depends) {
            threads.insert(0, thread);
        }
        if !threads.is_empty() {
            self.wanted.push((position, threads));
            self.operations.push(self.operation);
        }
    }

    /// Two operations under one lock, or lock and unlock of one mutex, can never both be next.
    fn co_enabled(
        &self,
        event: &Event,
        position: u32,
        thread: ThreadId,
        nth: usize,
        op: Op,
    ) -> bool {
        if let (Op::Unlock(a) | Op::UnlockClean(a), Op::Lock(b))
        | (Op::Lock(b), Op::Unlock(a) | Op::UnlockClean(a)) = (event.op, op)
        {
            if a == b {
                return false;
            }
        }
        let mine = match self.happens.of_thread(thread).get(nth) {
            Some(done) => &self.locks[*done as usize],
            None => &self.held[thread.index()],
        };
        !self.locks[position as usize]
            .iter()
            .any(|lock| mine.contains(lock))
    }

    fn find_locks(&mut self, execution: &Execution) {
        self.held.clear();
        self.held.resize_with(execution.threads.len(), Vec::new);
        self.locks.clear();
        for event in &execution.events {
            let held = &mut self.held[event.thread.index()];
            self.locks.push(held.clone());
            held.extend(event.op.locks().filter(|_| event.ok));
            if let Some(lock) = event.op.unlocks() {
                held.retain(|other| *other != lock);
            }
        }
    }
}

/// Whether an event and an operation that is yet to be done may depend on each other.
fn may_depend(event: &Event, op: Op) -> bool {
    let objects = |op: Op| [op.object(), op.second()];
    let mine = objects(op);
    let shared = objects(event.op)
        .into_iter()
        .flatten()
        .any(|object| mine.contains(&Some(object)));
    let only_reads = |op: Op| matches!(op, Op::Load(_) | Op::Await(..));
    let reader = |op: Op| matches!(op, Op::ReadLock(_) | Op::ReadUnlock(_));
    let commute = (only_reads(event.op) && only_reads(op))
        || (reader(event.op) && reader(op))
        || matches!((event.op, op), (Op::SemRelease(_), Op::SemRelease(_)));
    shared && !commute
}
