//! How often a search is probed.

use serde::{Deserialize, Serialize};

/// How many executions are drawn at random, so that the size of the search is known early. That changes their order alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probing {
    /// None.
    Never,
    /// About one in a hundred: what it costs is lost in what the search does.
    #[default]
    Seldom,
    /// As many as serve the estimate: for searches that are weighed against others, or that time cuts off.
    Often,
}

/// The first executions are run depth first: most searches are over soon.
const FIRST: u64 = 8;

impl Probing {
    /// Whether it is time for a pass, after so many executions, so many of them in passes, the last of which had so many.
    ///
    /// Passes are ever rarer: looking at a sample costs more than going through all, and twice as much of it says little more.
    pub fn due(self, done: u64, probed: u64, last: u64) -> bool {
        done >= FIRST
            && match self {
                Probing::Never => false,
                Probing::Seldom => probed + last <= (100 + done / 100).min(1_200),
                Probing::Often => probed < 1_500 + 30 * done.isqrt(),
            }
    }

    /// How many a pass takes on a level, after so many executions, so many of them in passes, and so many passes. The first ones are
    /// narrow, to be over soon.
    pub fn width(self, done: u64, probed: u64, passes: usize) -> usize {
        match self {
            Probing::Never | Probing::Seldom => (probed.isqrt() as usize / 4).max(4),
            Probing::Often => (done.isqrt() as usize).max(2 << passes.min(2)),
        }
    }
}

/// Whether so many branches, from executions of so many steps, may be kept waiting for a pass. More are worked off from the top of the
/// stack, which stays flat.
pub(crate) fn few(branches: usize, steps: usize) -> bool {
    branches > 0 && branches * steps.max(32) <= 1 << 19
}
