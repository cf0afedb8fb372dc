//! The choice of a thread where the plan names none.
//!
//! *Owns:* the random numbers of a run and the priorities of its threads. Both follow from the plan's seed, so a plan
//! gives the same run on every machine.

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{Choice, Policy, ThreadId};

/// What a policy keeps during a run.
#[derive(Debug, Default)]
pub(crate) struct PolicyState {
    random: Random,
    /// Of each thread.
    priorities: Vec<u64>,
    /// Events before which PCT lowers the priority of the running thread.
    changes: Vec<u32>,
}

impl PolicyState {
    pub(crate) fn begin(&mut self, policy: Policy) {
        self.priorities.clear();
        self.changes.clear();
        match policy {
            Policy::Random(seed) => self.random = Random(seed),
            Policy::Pct {
                seed,
                changes,
                steps,
            } => {
                self.random = Random(seed);
                for _ in 0..changes {
                    let place = self.random.below(u64::from(steps.max(1))) as u32;
                    self.changes.push(place);
                }
            }
            Policy::First | Policy::Loops | Policy::States { .. } | Policy::Stay => {}
        }
    }

    /// One more thread.
    pub(crate) fn spawn(&mut self) {
        self.priorities.push(self.random.next() | 1 << 63);
    }
}

impl Run {
    pub(crate) fn by_policy(&mut self) -> Option<Choice> {
        match self.plan.policy {
            Policy::First | Policy::Loops | Policy::States { .. } => self.first(),
            Policy::Stay => match self.last {
                Some(last) if self.can_go(last) => self.awake(last).or_else(|| self.first()),
                _ => self.first(),
            },
            Policy::Random(_) => self.at_random(),
            Policy::Pct { .. } => self.by_priority(),
        }
    }

    fn first(&self) -> Option<Choice> {
        let mut able = self.alive.iter().filter(|thread| self.can_go(**thread));
        able.find_map(|thread| self.awake(*thread))
    }

    /// Any outcome of any thread, each with the same chance.
    fn at_random(&mut self) -> Option<Choice> {
        let mut chosen = None;
        let mut seen = 0;
        for &thread in &self.alive {
            if !self.can_go(thread) {
                continue;
            }
            let op = self.pending[thread.index()]?.op;
            for outcome in 0..self.state.outcomes(thread, op) {
                seen += 1;
                if self.policy.random.below(seen) == 0 {
                    chosen = Some(Choice { thread, outcome });
                }
            }
        }
        chosen
    }

    fn by_priority(&mut self) -> Option<Choice> {
        let done = self.execution.events.len() as u32;
        if let (Some(last), true) = (self.last, self.policy.changes.contains(&done)) {
            // Below all first priorities, and below those lowered earlier.
            self.policy.priorities[last.index()] = u64::from(u32::MAX - done);
        }
        let able = self.alive.iter().filter(|thread| self.can_go(**thread));
        let priority = |thread: &&ThreadId| self.policy.priorities[thread.index()];
        let thread = *able.max_by_key(priority)?;
        let op = self.pending[thread.index()]?.op;
        let outcomes = u64::from(self.state.outcomes(thread, op));
        let outcome = self.policy.random.below(outcomes) as u16;
        Some(Choice { thread, outcome })
    }
}

/// A small seeded generator (splitmix64): the same numbers on every machine.
#[derive(Clone, Copy, Debug, Default)]
struct Random(u64);

impl Random {
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
