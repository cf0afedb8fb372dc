//! What can be run again under control, and why a run may give no execution.

use reweave_model::{Divergence, Execution, Plan};
use std::fmt;

/// Runs one plan and hands back one execution. It never branches and never decides anything by itself.
pub trait Target {
    /// Runs the plan to the end of the execution. An error in the program is part of the execution.
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError>;

    /// How many plans it likes to receive at once.
    fn batch(&self) -> usize {
        1
    }

    /// These will be run next, in this order, unless the search stops. A target that works ahead begins with them here;
    /// what it hands back must not depend on whether it did.
    fn prepare(&mut self, plans: &[Plan]) {
        let _ = plans;
    }
}

/// Why a target has no execution for a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetError {
    /// The program did not do what the plan expects: it is not deterministic, or the plan is of another program.
    Diverged(Divergence),
    /// The target cannot run the program, or cannot run it any more: why, in a sentence.
    Unavailable(String),
    /// The time for runs was over before this one ended. Another run of the same plan may succeed.
    Late,
}

impl TargetError {
    /// Of the errors of two workers, the one that explains more: a target that is not available explains why others diverged
    /// or came late, and a divergence is not a matter of time.
    #[must_use]
    pub fn or(self, other: TargetError) -> TargetError {
        let weight = |error: &TargetError| match error {
            TargetError::Unavailable(_) => 2,
            TargetError::Diverged(_) => 1,
            TargetError::Late => 0,
        };
        match weight(&other) > weight(&self) {
            true => other,
            false => self,
        }
    }
}

impl From<Divergence> for TargetError {
    fn from(divergence: Divergence) -> TargetError {
        TargetError::Diverged(divergence)
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Diverged(divergence) => write!(
                f,
                "the program does not follow the plan at step {}",
                divergence.step + 1
            ),
            TargetError::Unavailable(why) => f.write_str(why),
            TargetError::Late => f.write_str("the time for runs is over"),
        }
    }
}

impl std::error::Error for TargetError {}
