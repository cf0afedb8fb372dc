//! Where a run left its plan.

use crate::{execution::Site, op::OpKind, plan::Step};

/// The step at which a run left its plan: the program is not deterministic, or the plan is of another program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// The step of the plan, counted from 0.
    pub step: usize,
    /// What the plan says.
    pub expected: Step,
    /// The operation that the thread was about to do instead. `None`: the thread does not exist, has ended, or is
    /// blocked. If it equals the expected one, it had another result.
    pub actual: Option<(OpKind, Site)>,
}
