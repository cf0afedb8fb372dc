//! Searches, by the names of shuttle's schedulers.
//!
//! *Decides:* nothing. *Called by:* the suite, which makes them, and [`Runner`](crate::Runner). *Owns:* the options of a search.

mod search;

pub use search::Scheduler;

use crate::context::Data;
use reweave::Algorithm;
pub(crate) use search::Search;
use search::{Sealed, Trace};
use std::{env, io, path::Path, sync::Arc};

/// Goes through everything: see [`check_dfs`](crate::check_dfs).
#[derive(Debug)]
pub struct DfsScheduler {
    most: Option<usize>,
    data: Data,
}

impl DfsScheduler {
    /// So many executions at most; with `allow_random_data`, random numbers are the same in each.
    #[must_use]
    pub fn new(max_iterations: Option<usize>, allow_random_data: bool) -> DfsScheduler {
        DfsScheduler {
            most: max_iterations,
            data: match allow_random_data {
                true => Data::Fixed(0x12345678),
                false => Data::Refused,
            },
        }
    }
}

impl Sealed for DfsScheduler {
    fn search(&self) -> Search {
        Search {
            algorithm: match cfg!(feature = "std-arc") {
                // Destructors that run where a count that nobody sees ends: no two interleavings are known to be the same.
                true => Algorithm::Dfs,
                false => Algorithm::Auto,
            },
            most: self.most,
            data: self.data,
            ..Search::default()
        }
    }
}

/// The seed of a random search that was given none.
fn seed() -> u64 {
    match env::var("SHUTTLE_RANDOM_SEED") {
        Ok(seed) => match seed.parse() {
            Ok(seed) => seed,
            Err(error) => {
                panic!("The seed provided by SHUTTLE_RANDOM_SEED is not a valid u64: {error}")
            }
        },
        Err(_) => 0,
    }
}

/// Runs random schedules.
#[derive(Debug)]
pub struct RandomScheduler {
    iterations: usize,
    seed: u64,
}

impl RandomScheduler {
    /// So many, from the seed in `SHUTTLE_RANDOM_SEED`, or from 0: here a search is the same each time.
    #[must_use]
    pub fn new(max_iterations: usize) -> RandomScheduler {
        RandomScheduler::new_from_seed(seed(), max_iterations)
    }

    /// So many, from this seed.
    #[must_use]
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> RandomScheduler {
        RandomScheduler {
            iterations: max_iterations,
            seed,
        }
    }
}

impl Sealed for RandomScheduler {
    fn search(&self) -> Search {
        Search {
            algorithm: Algorithm::Random,
            most: Some(self.iterations),
            seed: self.seed,
            ..Search::default()
        }
    }
}

/// As [`RandomScheduler`].
#[derive(Debug)]
pub struct UrwRandomScheduler(RandomScheduler);

impl UrwRandomScheduler {
    /// So many schedules.
    #[must_use]
    pub fn new(max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler(RandomScheduler::new(max_iterations))
    }

    /// So many schedules, from this seed.
    #[must_use]
    pub fn new_from_seed(seed: u64, max_iterations: usize) -> UrwRandomScheduler {
        UrwRandomScheduler(RandomScheduler::new_from_seed(seed, max_iterations))
    }
}

impl Sealed for UrwRandomScheduler {
    fn search(&self) -> Search {
        self.0.search()
    }
}

/// Runs schedules with random priorities.
#[derive(Debug)]
pub struct PctScheduler {
    depth: usize,
    random: RandomScheduler,
}

impl PctScheduler {
    /// So many, whose priorities change `max_depth - 1` times.
    #[must_use]
    pub fn new(max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler::new_from_seed(seed(), max_depth, max_iterations)
    }

    /// As [`PctScheduler::new`], from this seed.
    #[must_use]
    pub fn new_from_seed(seed: u64, max_depth: usize, max_iterations: usize) -> PctScheduler {
        PctScheduler {
            depth: max_depth,
            random: RandomScheduler::new_from_seed(seed, max_iterations),
        }
    }
}

impl Sealed for PctScheduler {
    fn search(&self) -> Search {
        Search {
            algorithm: Algorithm::Pct,
            depth: Some(self.depth),
            ..self.random.search()
        }
    }
}

/// Runs one schedule: each thread for as long as it can go on.
#[derive(Debug)]
pub struct RoundRobinScheduler;

impl RoundRobinScheduler {
    /// So many times in shuttle. Here once: the others would be the same.
    #[must_use]
    pub fn new(max_iterations: usize) -> RoundRobinScheduler {
        let _ = max_iterations;
        RoundRobinScheduler
    }
}

impl Sealed for RoundRobinScheduler {
    fn search(&self) -> Search {
        Search {
            algorithm: Algorithm::Dfs,
            most: Some(1),
            data: Data::Fixed(0),
            ..Search::default()
        }
    }
}

/// As the scheduler inside: that a test does the same when it is run the same way again is always looked at.
#[derive(Debug)]
pub struct UncontrolledNondeterminismCheckScheduler<S>(S);

impl<S: Scheduler> UncontrolledNondeterminismCheckScheduler<S> {
    /// Around this one.
    #[must_use]
    pub fn new(scheduler: S) -> UncontrolledNondeterminismCheckScheduler<S> {
        UncontrolledNondeterminismCheckScheduler(scheduler)
    }
}

impl<S: Scheduler> Sealed for UncontrolledNondeterminismCheckScheduler<S> {
    fn search(&self) -> Search {
        self.0.search()
    }
}

/// Runs the execution of a trace file.
#[derive(Debug)]
pub struct ReplayScheduler(Arc<Trace>);

impl ReplayScheduler {
    /// Of the trace file with this name or this text.
    ///
    /// # Panics
    /// If it is neither: shuttle's own schedules cannot be replayed here.
    #[must_use]
    pub fn new_from_encoded(encoded_schedule: &str) -> ReplayScheduler {
        let text = encoded_schedule.trim();
        let trace = match text.starts_with('{') {
            true => Trace::written(text),
            false => Trace::file(text.as_ref()),
        };
        match trace {
            Ok(trace) => ReplayScheduler(Arc::new(trace)),
            Err(error) => panic!(
                "a trace file of Reweave is needed, by its name or its text; schedules of shuttle cannot be replayed \
                 ({error})"
            ),
        }
    }

    /// Of this trace file.
    ///
    /// # Errors
    /// If there is none.
    pub fn new_from_file<P: AsRef<Path>>(path: P) -> Result<ReplayScheduler, io::Error> {
        Trace::file(path.as_ref()).map(|trace| ReplayScheduler(Arc::new(trace)))
    }
}

impl Sealed for ReplayScheduler {
    fn search(&self) -> Search {
        Search {
            trace: Some(self.0.clone()),
            ..Search::default()
        }
    }
}
