//! The table of algorithms. A new one is a folder here and a row of the table: its name, type, spelling and equivalence.

mod dfs;
mod dispatch;
mod dpor;
mod optimal;
mod rf;
mod sampling;
mod stateful;

pub(crate) use dfs::Dfs;
pub(crate) use stateful::{StoredVisited, Visited};

use crate::{
    algorithm::{Algorithm, Found, Malformed, NodeStore, Options, Ran, StoredPayload, Unfit},
    claims::{Claims, Node},
};
use dispatch::algorithms;
use reweave_model::Policy;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};

algorithms! {
    /// The one that needs the fewest executions: `rf`, or `optimal` where that cannot serve.
    #[default]
    Auto: rf::Rf, "auto", "reads-from";
    /// Every interleaving.
    Dfs: dfs::Dfs, "dfs", "interleaving";
    /// Dynamic partial-order reduction with sleep sets.
    Dpor: dpor::Dpor, "dpor", "mazurkiewicz";
    /// One execution for each Mazurkiewicz trace.
    Optimal: optimal::Optimal, "optimal", "mazurkiewicz";
    /// One execution for each way in which reads get their values.
    Rf: rf::Rf, "rf", "reads-from";
    /// One visit for each state, with a part of the threads in each.
    Stateful: stateful::Stateful, "stateful", "states";
    /// Random schedules.
    Random: sampling::Sampling, "random", "none";
    /// Random priorities with a few changes: finds bugs of small depth with known probability.
    Pct: sampling::Sampling, "pct", "none";
}

impl AlgorithmName {
    /// Whether it only samples.
    pub fn samples(self) -> bool {
        self.equivalence() == "none"
    }

    /// Whether a part of its search can be explored by itself: by another process, or as a probe.
    pub fn splits(self) -> bool {
        self != AlgorithmName::Stateful
    }

    /// A bound on preemptions is kept by going through all schedules within it.
    fn within(self, options: &Options) -> AlgorithmName {
        match options.preemptions {
            Some(_) if !self.samples() => AlgorithmName::Dfs,
            _ => self,
        }
    }
}

/// No algorithm has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownAlgorithm(String);

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = AlgorithmName::NAMES.iter().map(|(name, _)| *name).collect();
        let (text, names) = (&self.0, names.join(", "));
        write!(f, "no algorithm is called `{text}`; there are {names}")
    }
}

impl std::error::Error for UnknownAlgorithm {}

impl FromStr for AlgorithmName {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<AlgorithmName, UnknownAlgorithm> {
        let named = AlgorithmName::NAMES.iter().find(|(name, _)| *name == text);
        let named = named.map(|(_, algorithm)| *algorithm);
        named.ok_or_else(|| UnknownAlgorithm(text.into()))
    }
}
