//! `dfs`: every interleaving and every outcome, one execution each. The oracle that other algorithms are cross-checked against,
//! and the search under a preemption bound.
//!
//! Each execution is the first one, by the policy, that begins with its plan; its children differ from it in one choice
//! behind the plan. *Never reports* an interleaving twice; *may miss* nothing.
//!
//! A preemption takes the turn from a thread that could have gone on. Under a bound the policy makes none, and children
//! that would have too many are cut, which is said. Nothing sleeps, so every class that has a schedule within the bound
//! is met.
//!
//! Under a bound each *situation* is left in each way once, in the whole search: a prefix up to the order of independent events,
//! the thread whose turn it is, and the preemptions so far. What follows from a situation, and what the bound cuts there, is a
//! function of these, so classes are met as without this, by far fewer executions. CHESS prunes its bounded search in the same way
//! (Musuvathi, Qadeer: *Partial-order reduction for context-bounded state exploration*). A situation is known by a hash
//! of 128 bits; two with the same one would be taken for the same.

use crate::{
    algorithm::{
        Algorithm, Found, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload, Unfit,
    },
    claims::{Claim, Claimed, Claims, Node},
    draft::Draft,
    happens::Happens,
    replay::Replay,
};
use reweave_model::{Choice, Execution, Mark, Plan, Policy, ThreadId};
use situation::Situation;
use std::sync::Arc;

mod situation;

/// Finds the children of executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub struct Dfs {
    /// Preemptions that a schedule may have.
    bound: Option<u32>,
    claims: Option<Arc<dyn Claims>>,
    happens: Happens,
    replay: Replay,
    situation: Situation,
}

/// Under a bound, the node that stands for the search: claims there are ways out of situations.
type Shared = Option<Arc<Node>>;

/// A branch, to be found at the node of another process unless the claim was made here.
type Claimable = Option<Box<(Arc<Node>, Claim)>>;

impl Algorithm for Dfs {
    type Payload = Shared;

    fn new(options: &Options, claims: &Arc<dyn Claims>) -> Dfs {
        Dfs {
            bound: options.preemptions,
            claims: Some(claims.clone()),
            ..Dfs::default()
        }
    }

    fn first(options: &Options) -> (Policy, Shared) {
        match options.preemptions {
            Some(_) => (Policy::Stay, Some(Arc::new(Node::unordered(None, 0)))),
            None => (Policy::First, None),
        }
    }

    fn branches(&mut self, ran: Ran<'_, Shared>, found: &mut Found<Shared>) -> Result<(), Unfit> {
        let shared = ran.payload.as_ref();
        found.cut = self.children(ran.plan, ran.execution, shared, &mut found.children);
        Ok(())
    }

    fn store(shared: &Shared, nodes: &mut NodeStore) -> StoredPayload {
        StoredPayload {
            numbers: Vec::new(),
            nodes: shared.iter().map(|node| nodes.add(node)).collect(),
        }
    }

    fn restore(
        options: &Options,
        stored: StoredPayload,
        nodes: &[Arc<Node>],
    ) -> Result<Shared, Malformed> {
        let nodes = stored.nodes(nodes)?;
        let expected = usize::from(options.preemptions.is_some());
        match stored.numbers.is_empty() && nodes.len() == expected {
            true => Ok(nodes.into_iter().next()),
            false => Err(Malformed),
        }
    }
}

impl Dfs {
    /// The positions of all that was enabled and not done, behind the plan.
    pub(crate) fn alternatives(&mut self, plan: &Plan, execution: &Execution) -> Vec<u32> {
        let mut children = Vec::new();
        self.children(plan, execution, None, &mut children);
        children.iter().map(|new| new.child.shared).collect()
    }

    /// Adds the execution's children within the bound. Says whether some were cut.
    fn children(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        shared: Option<&Arc<Node>>,
        out: &mut Vec<NewBranch<Shared>>,
    ) -> bool {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.replay.rewind(execution, &self.happens);
        self.situation.begin(execution);
        let mut cut = false;
        let mut turn = Turn::default();
        for (position, event) in (0..).zip(&execution.events) {
            let goes_on = |last: &ThreadId| self.replay.goes_on(execution, &self.happens, *last);
            turn.running = turn.last.filter(goes_on);
            if execution.epochs.binary_search(&position).is_ok() {
                self.replay.epoch(execution, &self.happens);
                self.situation.epoch();
            }
            if position as usize >= plan.steps.len() {
                cut |= self.leave(plan, execution, (position, turn), shared, out);
            }
            turn.preemptions += turn.cost(event.thread);
            turn.last = Some(event.thread);
            if shared.is_some() {
                self.situation.advance(event, self.happens.row(position));
            }
            self.replay.advance(execution, &self.happens, position);
        }
        cut
    }

    /// Adds the ways out of the situation before an event, but for the event's own. Says whether some were cut.
    fn leave(
        &self,
        plan: &Plan,
        execution: &Execution,
        (position, turn): (u32, Turn),
        shared: Option<&Arc<Node>>,
        out: &mut Vec<NewBranch<Shared>>,
    ) -> bool {
        let event = &execution.events[position as usize];
        let mut cut = false;
        for &thread in self.replay.state.order() {
            let Some(pending) = self.replay.pending(execution, &self.happens, thread) else {
                continue;
            };
            if !self.replay.state.enabled(thread, &pending) {
                continue;
            }
            if self
                .bound
                .is_some_and(|bound| turn.preemptions + turn.cost(thread) > bound)
            {
                cut = true;
                continue;
            }
            for outcome in 0..self.replay.state.outcomes(thread, pending.op) {
                if (thread, outcome) == (event.thread, event.outcome) {
                    continue;
                }
                let Some(claim) = self.claim(shared, turn, Choice { thread, outcome }) else {
                    continue;
                };
                let (counts, triggers) = (self.replay.counts(), self.replay.triggers());
                let mut child = Draft::new(plan, execution, counts, triggers, position);
                child.push(thread, pending, outcome, Mark::Default);
                let branch = NewBranch::new(child.child, shared.cloned());
                out.push(NewBranch { claim, ..branch });
            }
        }
        cut
    }

    /// Whether a situation was not left in this way before (`Some`), and what the branch carries then.
    fn claim(&self, shared: Option<&Arc<Node>>, turn: Turn, choice: Choice) -> Option<Claimable> {
        let (Some(node), Some(claims)) = (shared, &self.claims) else {
            return Some(None);
        };
        let way = self
            .situation
            .way_out(turn.running, turn.preemptions, choice);
        match claims.claim(node, way) {
            Claimed::First(_) => Some(None),
            Claimed::Known => None,
            Claimed::Elsewhere => Some(Some(Box::new((node.clone(), way)))),
        }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    last: Option<ThreadId>,
    /// The last one, if it can go on.
    running: Option<ThreadId>,
    preemptions: u32,
}

impl Turn {
    /// Preemptions in giving the turn to a thread.
    fn cost(&self, thread: ThreadId) -> u32 {
        u32::from(self.running.is_some_and(|running| running != thread))
    }
}
