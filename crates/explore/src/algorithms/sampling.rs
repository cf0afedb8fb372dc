//! `random` and `pct`: runs of random schedules, as many as asked for, with one seed after the other.
//!
//! The payload of a branch is how many runs follow it. They are handed out in two halves, so that workers can share them.
//!
//! *Never reports* anything twice but by chance; *may miss* everything that no run happened to meet.

use crate::{
    algorithm::{
        Algorithm, Found, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload, Unfit,
    },
    algorithms::AlgorithmName,
    claims::{Claims, Node},
    draft::Child,
};
use reweave_model::{Plan, Policy};
use std::sync::Arc;

/// Counts runs. Owns the length of the longest one, for `pct`.
#[derive(Debug)]
pub struct Sampling {
    longest: u32,
}

impl Algorithm for Sampling {
    /// How many runs follow.
    type Payload = u64;

    fn new(_: &Options, _: &Arc<dyn Claims>) -> Sampling {
        Sampling { longest: 0 }
    }

    fn first(options: &Options) -> (Policy, u64) {
        let policy = match options.algorithm {
            // The first run shows how long runs are.
            AlgorithmName::Pct => Policy::Pct {
                seed: options.seed,
                changes: options.depth,
                steps: 100,
            },
            _ => Policy::Random(options.seed),
        };
        (policy, options.samples.saturating_sub(1))
    }

    fn branches(&mut self, ran: Ran<'_, u64>, found: &mut Found<u64>) -> Result<(), Unfit> {
        let more = *ran.payload;
        self.longest = self.longest.max(ran.execution.events.len() as u32);
        let next = |by: u64| match ran.plan.policy {
            Policy::Pct { seed, changes, .. } => Policy::Pct {
                seed: seed.wrapping_add(by),
                changes,
                steps: self.longest,
            },
            Policy::Random(seed) => Policy::Random(seed.wrapping_add(by)),
            other => other,
        };
        let half = more / 2;
        for (first, count) in [(1 + half, more - half), (1, half)] {
            if count > 0 {
                let rest = Plan {
                    policy: next(first),
                    ..ran.plan.clone()
                };
                found.children.push(NewBranch {
                    part: Some((count as f64 / (more + 1) as f64).ln()),
                    ..NewBranch::new(Child { shared: 0, rest }, count - 1)
                });
            }
        }
        found.kept = Some(-((more + 1) as f64).ln());
        Ok(())
    }

    fn store(more: &u64, _: &mut NodeStore) -> StoredPayload {
        StoredPayload::of([*more])
    }

    fn restore(_: &Options, stored: StoredPayload, _: &[Arc<Node>]) -> Result<u64, Malformed> {
        stored.numbers().map(|[more]| more)
    }
}
