//! One door to all algorithms: what is still to be explored after an execution.

use crate::{dfs::Dfs, optimal::Optimal};
use reweave_model::{Execution, Plan};

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Every interleaving.
    Dfs,
    /// One execution for each Mazurkiewicz trace.
    Optimal,
}

/// A piece of work: one execution to run and all that follows from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// To be run.
    pub plan: Plan,
}

/// Says what is still to be explored after an execution.
#[derive(Debug)]
pub struct Explorer {
    algorithm: Algorithm,
    dfs: Dfs,
    optimal: Optimal,
    plans: Vec<Plan>,
}

impl Explorer {
    /// For one worker.
    pub fn new(algorithm: Algorithm) -> Explorer {
        Explorer {
            algorithm,
            dfs: Dfs::default(),
            optimal: Optimal::default(),
            plans: Vec::new(),
        }
    }

    /// Where every search begins.
    pub fn root(&self) -> Branch {
        Branch {
            plan: Plan::default(),
        }
    }

    /// Adds the branches that follow from an execution.
    pub fn branches(&mut self, branch: &Branch, execution: &Execution, out: &mut Vec<Branch>) {
        match self.algorithm {
            Algorithm::Dfs => self.dfs.children(&branch.plan, execution, &mut self.plans),
            Algorithm::Optimal => self
                .optimal
                .children(&branch.plan, execution, &mut self.plans),
        }
        out.extend(self.plans.drain(..).map(|plan| Branch { plan }));
    }
}
