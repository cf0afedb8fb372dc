//! What can be run again under control.

use reweave_model::{Divergence, Execution, Plan};

/// Runs one plan and hands back one execution. It never branches and never decides anything by itself.
pub trait Target {
    /// Runs the plan to the end of the execution. An error in the program is part of the execution; a program that does
    /// not do what the plan expects is a divergence.
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence>;

    /// How many plans it likes to be told of at once.
    fn batch(&self) -> usize {
        1
    }

    /// These will be run next, in this order, unless the search stops. A target that works ahead begins with them here;
    /// what it hands back must not depend on whether it did.
    fn prepare(&mut self, plans: &[Plan]) {
        let _ = plans;
    }
}
