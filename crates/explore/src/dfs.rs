//! `dfs`: every interleaving and every outcome, one execution each. The oracle that other algorithms are held against,
//! and the search under a preemption bound.
//!
//! Each execution is the first one, by the policy, that begins with its plan; its children differ from it in one choice
//! behind the plan. *Never reports* an interleaving twice; *may miss* nothing.
//!
//! A preemption takes the turn from a thread that could have gone on. Under a bound the policy makes none, and children
//! that would have too many are cut, which is said. Nothing sleeps, so every class that has a schedule within the bound
//! is met.

use crate::{
    draft::{Child, Draft},
    happens::Happens,
    replay::Replay,
};
use reweave_model::{Execution, Mark, Plan};

/// Finds the children of executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub(crate) struct Dfs {
    happens: Happens,
    replay: Replay,
}

impl Dfs {
    /// Adds the plans of the execution's children within the bound; `None`: without bound. Says whether some were cut.
    pub fn children(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        bound: Option<u32>,
        out: &mut Vec<Child>,
    ) -> bool {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.replay.rewind(execution, &self.happens);
        let mut cut = false;
        let mut preemptions = 0;
        let mut last = None;
        for (position, event) in execution.events.iter().enumerate() {
            let position = position as u32;
            let running = last.filter(|last| self.replay.goes_on(execution, &self.happens, *last));
            if execution.epochs.contains(&position) {
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
                        out.push(child.child);
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
