//! Checks: what shuttle calls a runner.
//!
//! *Decides:* what shuttle's options mean here. *Called by:* the suite. *Owns:* nothing.

use crate::{
    context,
    scheduler::{Scheduler, Search},
};
use reweave::Report;
use std::{
    panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

/// As shuttle's. Fields that have no meaning here are kept for programs that set them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// No meaning: stacks have two megabytes.
    pub stack_size: usize,
    /// Where traces of failing executions go.
    pub failure_persistence: FailurePersistence,
    /// How long an execution may be.
    pub max_steps: MaxSteps,
    /// How long a check may take.
    pub max_time: Option<Duration>,
    /// No meaning.
    pub silence_warnings: bool,
    /// No meaning.
    pub record_steps_in_span: bool,
    /// No meaning: the other threads go on to their ends.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// As shuttle's.
    #[must_use]
    pub fn new() -> Config {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(1_000_000),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// Kept for programs that set it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// No meaning.
    Drop,
    /// No meaning.
    #[default]
    Leak,
}

/// Kept for programs that set it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// No meaning.
    pub immediately_return_on_panic: bool,
    /// No meaning.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// As shuttle's.
    #[must_use]
    pub const fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::Leak,
        }
    }
}

/// Where traces of failing executions go.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// As [`FailurePersistence::Print`].
    None,
    /// Into `reweave-out`; the panic names the file.
    Print,
    /// Into this directory, or into the current one.
    File(Option<PathBuf>),
}

/// How long an execution may be, in steps of any thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaxSteps {
    /// 100 million.
    None,
    /// The check fails if an execution is longer.
    FailAfter(usize),
    /// Longer ones are cut.
    ContinueAfter(usize),
}

impl MaxSteps {
    fn steps(self) -> u32 {
        match self {
            MaxSteps::None => 100_000_000,
            MaxSteps::FailAfter(steps) | MaxSteps::ContinueAfter(steps) => {
                u32::try_from(steps).unwrap_or(u32::MAX)
            }
        }
    }
}

/// A check of a function by a scheduler.
#[derive(Debug)]
pub struct Runner<S: ?Sized + Scheduler> {
    config: Config,
    scheduler: Box<S>,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// With this scheduler.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner {
            config,
            scheduler: Box::new(scheduler),
        }
    }

    /// Checks the function, and panics with the story of the first error. Returns the number of executions.
    #[track_caller]
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        run(&self.scheduler.search(), &self.config, Arc::new(f))
    }
}

#[track_caller]
fn run<F>(search: &Search, config: &Config, f: Arc<F>) -> usize
where
    F: Fn() + Send + Sync + 'static,
{
    let data = search.data;
    let report = builder(search, config).run(move || context::with(Some(data), || f()));
    reweave::__macro::conclude(&report);
    fail_if_cut(&report, config, Location::caller());
    usize::try_from(report.executions).unwrap_or(usize::MAX)
}

fn builder(search: &Search, config: &Config) -> reweave::Builder {
    let mut check = reweave::Builder::new()
        .algorithm(search.algorithm)
        .seed(search.seed)
        .max_steps(config.max_steps.steps())
        .weak_failures(false);
    if let Some(most) = search.most {
        check = check.max_executions(most as u64);
    }
    if let Some(depth) = search.depth {
        check = check.depth(u32::try_from(depth).unwrap_or(u32::MAX));
    }
    if let Some(most) = config.max_time {
        check = check.budget(most);
    }
    if let FailurePersistence::File(directory) = &config.failure_persistence {
        check = check.trace_dir(directory.clone().unwrap_or_else(|| ".".into()));
    }
    if let Some(trace) = &search.trace {
        check = check.replay(trace.path());
    }
    check
}

fn fail_if_cut(report: &Report, config: &Config, place: &Location<'_>) {
    let cut = report.incomplete.iter().any(|why| why == "max-steps");
    if let (true, MaxSteps::FailAfter(steps)) = (cut, config.max_steps) {
        panic!("exceeded max_steps bound {steps} in the check at {place}");
    }
}

/// A check of a function by several schedulers, one after the other.
#[derive(Debug)]
pub struct PortfolioRunner {
    searches: Vec<Search>,
    stop_on_first_failure: bool,
    config: Config,
}

impl PortfolioRunner {
    /// Without a scheduler yet. Unless `stop_on_first_failure`, the others are used after one has found an error, too.
    #[must_use]
    pub fn new(stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner {
            searches: Vec::new(),
            stop_on_first_failure,
            config,
        }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.searches.push(scheduler.search());
    }

    /// Checks the function, and panics with the story of the first error.
    #[track_caller]
    pub fn run<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let f = Arc::new(f);
        let mut failure = None;
        for search in &self.searches {
            let one = || run(search, &self.config, f.clone());
            if let Err(payload) = catch_unwind(AssertUnwindSafe(one)) {
                failure.get_or_insert(payload);
                if self.stop_on_first_failure {
                    break;
                }
            }
        }
        if let Some(payload) = failure {
            resume_unwind(payload);
        }
    }
}
