//! Plans: what a target is asked to run.

use crate::{
    execution::Site,
    op::{OpKind, ThreadId},
};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A thread that goes, and the outcome it has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Choice {
    pub thread: ThreadId,
    pub outcome: u16,
}

/// One step of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Who goes.
    pub choice: Choice,
    /// What it is expected to do; anything else is a divergence.
    pub kind: OpKind,
    /// Where it is expected to do it.
    pub site: Site,
    /// Whether it is expected to get what it asks for, where that is known.
    pub ok: Option<bool>,
    /// What the algorithm wants to remember about it.
    pub mark: Mark,
}

/// Why a step is in the plan. Targets ignore it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Mark {
    /// The policy would have taken it too.
    #[default]
    Default,
    /// Brings on a later [`Mark::Overtakes`].
    Leads,
    /// Goes before a step of this thread that the policy would have taken.
    Overtakes(ThreadId),
    /// Reads from somewhere else than the policy would have had it read when so many events were done.
    Reads(u32),
}

/// What to do after the last step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Policy {
    /// The first enabled thread in creation order, with its first outcome.
    #[default]
    First,
    /// As `First`. A round of a loop that changed nothing is taken back ([`Attempt`](crate::Attempt)), and its thread waits until something
    /// that the round read is written.
    Loops,
    /// As `First`. States are recorded ([`Execution::states`](crate::Execution)), no loop is parked, and a run that comes to a state for the second
    /// time ends there: as redundant, or as a livelock, where the algorithm knows that no schedule leaves the cycle.
    States {
        /// What a cycle that closes after the plan is.
        livelock: bool,
    },
    /// Go on with the same thread while it can, then the first.
    Stay,
    /// Any enabled thread and outcome, by a seeded generator.
    Random(u64),
    /// Random priorities, lowered at `changes` random places of the first `steps` ones.
    Pct {
        /// Of the generator.
        seed: u64,
        /// Places where the running thread's priority drops.
        changes: u32,
        /// Length of a run, roughly.
        steps: u32,
    },
}

/// The outcome of a sleeper under [`Policy::Loops`] that wakes when anything is written.
pub const HOLD_ANY: u16 = u16::MAX;

/// One run to make: these steps, then the policy, never a choice of the target's own.
#[derive(PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// To be followed exactly.
    pub steps: Vec<Step>,
    /// Choices that may not be taken after the steps until something that depends on them was done. Under [`Policy::Loops`]: threads that do not
    /// go on until something is written that they would read.
    pub sleep: Vec<Choice>,
    /// What then.
    pub policy: Policy,
    /// Events after which a thread goes no further, as if it were blocked.
    pub max_steps: u32,
}

impl Clone for Plan {
    fn clone(&self) -> Plan {
        Plan {
            steps: self.steps.clone(),
            sleep: self.sleep.clone(),
            ..*self
        }
    }

    /// Keeps memory: every run is made over the one before.
    fn clone_from(&mut self, other: &Plan) {
        self.steps.clone_from(&other.steps);
        self.sleep.clone_from(&other.sleep);
        self.policy = other.policy;
        self.max_steps = other.max_steps;
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            steps: Vec::new(),
            sleep: Vec::new(),
            policy: Policy::First,
            max_steps: 100_000,
        }
    }
}
