//! How a check is asked for: options, their overrides from the environment, and the ways to run it.
//!
//! Environment variables win over what the program says, so that a CI job can change a search without a rebuild.

use crate::{
    check,
    error::{CheckError, ValueError, VariableError},
    report::Report,
    share::share,
};
use reweave_explore::{AlgorithmName as Algorithm, Options};
use std::{
    env::VarError,
    num::{NonZeroUsize, ParseIntError},
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

/// A check to be made.
///
/// ```
/// use reweave::{sync::{Arc, Mutex}, thread};
///
/// let report = reweave::Builder::new().run(|| {
///     let total = Arc::new(Mutex::new(0));
///     let theirs = total.clone();
///     let other = thread::spawn(move || *theirs.lock().unwrap() += 1);
///     *total.lock().unwrap() += 1;
///     other.join().unwrap();
///     assert_eq!(*total.lock().unwrap(), 2);
/// });
/// assert!(report.complete && report.errors.is_empty());
/// assert_eq!(report.executions, 2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is run"]
pub struct Builder {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) workers: Option<usize>,
    pub(crate) budget: Option<Duration>,
    pub(crate) max_executions: Option<u64>,
    pub(crate) keep_going: bool,
    pub(crate) minimise: bool,
    pub(crate) spurious: bool,
    pub(crate) spurious_polls: bool,
    pub(crate) leaks: bool,
    pub(crate) weak_failures: bool,
    pub(crate) trace_dir: Option<PathBuf>,
    pub(crate) replay: Option<PathBuf>,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Everything, by the algorithm that needs the fewest executions, on all cores.
    pub fn new() -> Builder {
        Builder {
            name: String::new(),
            options: Options {
                max_steps: 10_000,
                ..Options::default()
            },
            workers: None,
            budget: None,
            max_executions: None,
            keep_going: false,
            minimise: true,
            spurious: false,
            spurious_polls: false,
            leaks: false,
            weak_failures: true,
            trace_dir: None,
            replay: None,
        }
    }

    /// What the check is called in reports and trace files.
    pub fn name(mut self, name: &str) -> Builder {
        self.name = name.into();
        self
    }

    /// How to explore.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Builder {
        self.options.algorithm = algorithm;
        self
    }

    /// How many workers run executions at the same time; without it, one for each core.
    pub fn workers(mut self, workers: usize) -> Builder {
        self.workers = Some(workers.max(1));
        self
    }

    /// Stops after this time; what was not explored by then makes the check incomplete.
    pub fn budget(mut self, budget: Duration) -> Builder {
        self.budget = Some(budget);
        self
    }

    /// Stops after so many runs.
    pub fn max_executions(mut self, executions: u64) -> Builder {
        self.max_executions = Some(executions);
        self.options.samples = executions;
        self
    }

    /// Cuts an execution after so many steps (10,000 unless said otherwise): only loops that change their own state
    /// without end get there.
    pub fn max_steps(mut self, steps: u32) -> Builder {
        self.options.max_steps = steps;
        self
    }

    /// Only schedules in which at most so many times a thread that could go on loses its turn.
    pub fn preemptions(mut self, preemptions: u32) -> Builder {
        self.options.preemptions = Some(preemptions);
        self
    }

    /// For [`Algorithm::Random`] and [`Algorithm::Pct`]: where the random numbers begin.
    pub fn seed(mut self, seed: u64) -> Builder {
        self.options.seed = seed;
        self
    }

    /// For [`Algorithm::Pct`]: the least number of steps that an error needs in a certain order. Priorities change one time less.
    pub fn depth(mut self, depth: u32) -> Builder {
        self.options.depth = depth;
        self
    }

    /// Goes on after an error and collects every distinct one.
    pub fn keep_going(mut self, keep_going: bool) -> Builder {
        self.keep_going = keep_going;
        self
    }

    /// Whether a failing execution is made simpler before it is reported (by default it is): few preemptions, then few steps.
    pub fn minimise(mut self, minimise: bool) -> Builder {
        self.minimise = minimise;
        self
    }

    /// Lets a wait on a condition variable end without a notification, once for each thread.
    pub fn spurious_wakeups(mut self, spurious: bool) -> Builder {
        self.spurious = spurious;
        self
    }

    /// Lets each task be polled once though no waker of it was used, at any of its awaits.
    pub fn spurious_polls(mut self, spurious: bool) -> Builder {
        self.spurious_polls = spurious;
        self
    }

    /// Reports memory that an execution leaves behind. Needs [`crate::Allocator`] as the program's global allocator.
    pub fn leaks(mut self, leaks: bool) -> Builder {
        self.leaks = leaks;
        self
    }

    /// Whether `compare_exchange_weak` may fail for no reason (by default it may, once in a row). Without it a check of a loop around one is
    /// much smaller, and not what all processors do.
    pub fn weak_failures(mut self, weak_failures: bool) -> Builder {
        self.weak_failures = weak_failures;
        self
    }

    /// Where trace files go; without it, `reweave-out`.
    pub fn trace_dir(mut self, directory: impl AsRef<Path>) -> Builder {
        self.trace_dir = Some(directory.as_ref().into());
        self
    }

    /// Runs just the execution that a trace file holds.
    pub fn replay(mut self, trace: impl AsRef<Path>) -> Builder {
        self.replay = Some(trace.as_ref().into());
        self
    }

    /// Makes the check and says what came out. The closure is run once for every execution, from its beginning; all
    /// that its threads share must be made inside (or be `static`).
    ///
    /// # Panics
    ///
    /// When the closure does not do the same when it is run the same way again, when a trace file cannot be read or is
    /// of another program, and when an environment variable makes no sense.
    #[track_caller]
    pub fn run(self, check: impl Fn() + Send + Sync + 'static) -> Report {
        match self.try_run(check) {
            Ok(report) => report,
            Err(fault) => panic!("reweave: {fault}"),
        }
    }

    /// As [`Builder::run`], with an error instead of a panic when the check could not be made.
    pub fn try_run(self, check: impl Fn() + Send + Sync + 'static) -> Result<Report, CheckError> {
        check::run(self.with_environment()?, std::sync::Arc::new(check))
    }

    /// Makes the check and panics with the whole story when an error was found.
    #[track_caller]
    pub fn check(self, check: impl Fn() + Send + Sync + 'static) {
        crate::__macro::conclude(&self.run(check));
    }

    fn with_environment(mut self) -> Result<Builder, CheckError> {
        if self.name.is_empty() {
            // Test runners name the thread of a test after it.
            let thread = std::thread::current();
            let test = thread.name().filter(|name| *name != "main");
            self.name = test.map_or(String::new(), |test| format!("test::{test}"));
        }
        if let Some(algorithm) = variable("REWEAVE_ALGORITHM", algorithm)? {
            self.options.algorithm = algorithm;
        }
        if let Some(workers) = variable("REWEAVE_WORKERS", number::<NonZeroUsize>)? {
            self = self.workers(workers.get());
        }
        if let Some(budget) = variable("REWEAVE_BUDGET", duration)? {
            self = self.budget(budget);
        }
        if let Some(total) = variable("REWEAVE_TOTAL_BUDGET", duration)? {
            let share = share(total);
            self.budget = Some(self.budget.map_or(share, |own| own.min(share)));
        }
        if let Some(executions) = variable("REWEAVE_MAX_EXECUTIONS", number::<u64>)? {
            self = self.max_executions(executions);
        }
        if let Some(steps) = variable("REWEAVE_MAX_STEPS", number::<u32>)? {
            self = self.max_steps(steps);
        }
        if let Some(preemptions) = variable("REWEAVE_PREEMPTIONS", number::<u32>)? {
            self = self.preemptions(preemptions);
        }
        if let Some(keep_going) = variable("REWEAVE_KEEP_GOING", yes_or_no)? {
            self = self.keep_going(keep_going);
        }
        if let Some(minimise) = variable("REWEAVE_MINIMISE", yes_or_no)? {
            self = self.minimise(minimise);
        }
        if let Some(spurious) = variable("REWEAVE_SPURIOUS_WAKEUPS", yes_or_no)? {
            self = self.spurious_wakeups(spurious);
        }
        if let Some(spurious) = variable("REWEAVE_SPURIOUS_POLLS", yes_or_no)? {
            self = self.spurious_polls(spurious);
        }
        if let Some(leaks) = variable("REWEAVE_LEAKS", yes_or_no)? {
            self = self.leaks(leaks);
        }
        if let Some(weak) = variable("REWEAVE_WEAK_FAILURES", yes_or_no)? {
            self = self.weak_failures(weak);
        }
        if let Some(seed) = variable("REWEAVE_SEED", number::<u64>)? {
            self = self.seed(seed);
        }
        if let Some(directory) = variable("REWEAVE_OUTPUT", path)? {
            self = self.trace_dir(directory);
        }
        if let Some(trace) = variable("REWEAVE_REPLAY", path)? {
            self = self.replay(trace);
        }
        if self.options.preemptions.is_some() && self.options.algorithm.samples() {
            return Err(CheckError::BoundedSampling);
        }
        Ok(self)
    }
}

fn variable<T>(
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<Option<T>, CheckError> {
    let wrong = |error| CheckError::Variable { name, error };
    match std::env::var(name) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => match parse(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(wrong(VariableError::Value { text, error })),
        },
        Err(VarError::NotPresent) => Ok(None),
        Err(error) => Err(wrong(VariableError::NotText(error))),
    }
}

fn algorithm(text: &str) -> Result<Algorithm, ValueError> {
    text.parse().map_err(ValueError::Algorithm)
}

fn duration(text: &str) -> Result<Duration, ValueError> {
    reweave_check::duration(text).map_err(ValueError::Duration)
}

fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, ValueError> {
    text.parse().map_err(ValueError::Number)
}

fn yes_or_no(text: &str) -> Result<bool, ValueError> {
    match text {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        _ => Err(ValueError::NotABool),
    }
}

fn path(text: &str) -> Result<PathBuf, ValueError> {
    Ok(text.into())
}
