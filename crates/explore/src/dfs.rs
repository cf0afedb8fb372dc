//! `dfs`: every interleaving and every outcome, one execution each. The oracle that other algorithms are held against.
//!
//! Each execution is the first one, by the policy, that begins with its plan; its children differ from it in one choice
//! behind the plan. *Never reports* an interleaving twice; *may miss* nothing.

use crate::{draft::Draft, happens::Happens, replay::Replay};
use reweave_model::{Execution, Mark, Plan};

/// Finds the children of executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub(crate) struct Dfs {
    happens: Happens,
    replay: Replay,
}

impl Dfs {
    /// Adds the plans of the execution's children. The plan is the one it was run by.
    pub fn children(&mut self, plan: &Plan, execution: &Execution, out: &mut Vec<Plan>) {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.replay.rewind(execution, &self.happens);
        for (position, event) in execution.events.iter().enumerate() {
            let position = position as u32;
            if execution.epochs.contains(&position) {
                self.replay.epoch(execution, &self.happens);
            }
            if position as usize >= plan.steps.len() {
                for &thread in self.replay.state.order() {
                    let Some(pending) = self.replay.pending(execution, &self.happens, thread)
                    else {
                        continue;
                    };
                    if !self.replay.state.enabled(thread, &pending) {
                        continue;
                    }
                    for outcome in 0..self.replay.state.outcomes(thread, pending.op) {
                        if (thread, outcome) == (event.thread, event.outcome) {
                            continue;
                        }
                        let mut child = Draft::new(plan, execution, self.replay.triggers());
                        for earlier in 0..position {
                            child.event(earlier, Mark::Default);
                        }
                        child.push(thread, pending, outcome, Mark::Default);
                        out.push(child.plan);
                    }
                }
            }
            self.replay.advance(execution, &self.happens, position);
        }
    }
}
