//! `dfs`: every interleaving and every outcome, one execution each. The oracle that other algorithms are cross-checked against,
//! and the search under a preemption bound.
//!
//! Each execution is the first one, by the policy, that begins with its plan; its children differ from it in one choice
//! behind the plan. *Never reports* an interleaving twice; *may miss* nothing.
//!
//! A preemption takes the turn from a thread that could have gone on. Under a bound the policy makes none, and children
//! that would have too many are cut, which is said. Nothing sleeps, so every class that has a schedule within the bound
//! is met.

use crate::{
    algorithm::{
        Algorithm, Found, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload, Unfit,
    },
    claims::{Claims, Node},
    draft::Draft,
    happens::Happens,
    replay::Replay,
};
use reweave_model::{Execution, Mark, Plan, Policy};
use std::sync::Arc;

/// Finds the children of executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub struct Dfs {
    /// Preemptions that a schedule may have.
    bound: Option<u32>,
    happens: Happens,
    replay: Replay,
}

impl Algorithm for Dfs {
    type Payload = ();

    fn new(options: &Options, _: &Arc<dyn Claims>) -> Dfs {
        Dfs {
            bound: options.preemptions,
            ..Dfs::default()
        }
    }

    fn first(options: &Options) -> (Policy, ()) {
        match options.preemptions {
            Some(_) => (Policy::Stay, ()),
            None => (Policy::First, ()),
        }
    }

    fn branches(&mut self, ran: Ran<'_, ()>, found: &mut Found<()>) -> Result<(), Unfit> {
        found.cut = self.children(ran.plan, ran.execution, &mut found.children);
        Ok(())
    }

    fn store((): &(), _: &mut NodeStore) -> StoredPayload {
        StoredPayload::default()
    }

    fn restore(_: &Options, stored: StoredPayload, _: &[Arc<Node>]) -> Result<(), Malformed> {
        stored.numbers().map(|[]| ())
    }
}

impl Dfs {
    /// The positions of all that was enabled and not done, behind the plan.
    pub(crate) fn alternatives(&mut self, plan: &Plan, execution: &Execution) -> Vec<u32> {
        let mut children = Vec::new();
        self.children(plan, execution, &mut children);
        children.iter().map(|new| new.child.shared).collect()
    }

    /// Adds the execution's children within the bound. Says whether some were cut.
    fn children(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        out: &mut Vec<NewBranch<()>>,
    ) -> bool {
        let bound = self.bound;
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.replay.rewind(execution, &self.happens);
        let mut cut = false;
        let mut preemptions = 0;
        let mut last = None;
        for (position, event) in execution.events.iter().enumerate() {
            let position = position as u32;
            let running = last.filter(|last| self.replay.goes_on(execution, &self.happens, *last));
            if execution.epochs.binary_search(&position).is_ok() {
                self.replay.epoch(execution, &self.happens);
            }
            let cost = |thread| u32::from(running.is_some_and(|running| running != thread));
            if position as usize >= plan.steps.len() {
                for &thread in self.replay.state.order() {
                    let Some(pending) = self.replay.pending(execution, &self.happens, thread)
                    else {
                        continue;
                    };
                    if !self.replay.state.enabled(thread, &pending) {
                        continue;
                    }
                    if bound.is_some_and(|bound| preemptions + cost(thread) > bound) {
                        cut = true;
                        continue;
                    }
                    for outcome in 0..self.replay.state.outcomes(thread, pending.op) {
                        if (thread, outcome) == (event.thread, event.outcome) {
                            continue;
                        }
                        let mut child = Draft::new(
                            plan,
                            execution,
                            self.replay.counts(),
                            self.replay.triggers(),
                            position,
                        );
                        child.push(thread, pending, outcome, Mark::Default);
                        out.push(NewBranch::new(child.child, ()));
                    }
                }
            }
            preemptions += cost(event.thread);
            last = Some(event.thread);
            self.replay.advance(execution, &self.happens, position);
        }
        cut
    }
}
