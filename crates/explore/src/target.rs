//! What can be run again under control.

use reweave_model::{Divergence, Execution, Plan};

/// Runs one plan and hands back one execution. It never branches and never decides anything by itself.
pub trait Target {
    /// Runs the plan to the end of the execution. An error in the program is part of the execution; a program that does
    /// not do what the plan expects is a divergence.
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence>;
}
