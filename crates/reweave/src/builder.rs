//! What to check and how far: [`Builder`] and its environment.
//!
//! *Decides:* which options hold, those of the environment before those of the program. *Called by:* tests, and `#[reweave::test]`.

use crate::{report::Report, searching};
use reweave_explore::Algorithm;
use std::{env, path::PathBuf, str::FromStr, time::Duration};

/// A check to be made. The environment overrides what the program says: `REWEAVE_ALGORITHM`, `REWEAVE_WORKERS`, `REWEAVE_BUDGET`
/// (`500ms`, `10s`, `5m`), `REWEAVE_MAX_EXECUTIONS`, `REWEAVE_PREEMPTIONS`, `REWEAVE_REPLAY`, `REWEAVE_OUTPUT`.
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    pub(crate) name: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) workers: usize,
    pub(crate) budget: Option<Duration>,
    pub(crate) max_executions: Option<u64>,
    pub(crate) max_steps: u32,
    pub(crate) preemptions: Option<u32>,
    pub(crate) keep_going: bool,
    pub(crate) spurious_wakeups: bool,
    pub(crate) trace_dir: Option<PathBuf>,
    pub(crate) replay: Option<PathBuf>,
    pub(crate) leaks: bool,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder {
            name: "check".into(),
            algorithm: Algorithm::Auto,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            budget: None,
            max_executions: None,
            max_steps: 100_000,
            preemptions: None,
            keep_going: false,
            spurious_wakeups: false,
            trace_dir: None,
            replay: None,
            leaks: false,
        }
    }
}

impl Builder {
    /// All interleavings that matter, on all cores, up to the first error.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// For people and file names.
    pub fn name(mut self, name: &str) -> Builder {
        self.name = name.into();
        self
    }

    /// How to explore.
    pub fn algorithm(mut self, algorithm: Algorithm) -> Builder {
        self.algorithm = algorithm;
        self
    }

    /// How many OS threads explore at once; at least one.
    pub fn workers(mut self, workers: usize) -> Builder {
        self.workers = workers.max(1);
        self
    }

    /// Stop after this time.
    pub fn budget(mut self, budget: Duration) -> Builder {
        self.budget = Some(budget);
        self
    }

    /// Stop after so many executions; for `random` and `pct`, how many there are.
    pub fn max_executions(mut self, executions: u64) -> Builder {
        self.max_executions = Some(executions);
        self
    }

    /// Cut an execution after so many events.
    pub fn max_steps(mut self, steps: u32) -> Builder {
        self.max_steps = steps;
        self
    }

    /// Only schedules with at most so many preemptions.
    pub fn preemptions(mut self, preemptions: u32) -> Builder {
        self.preemptions = Some(preemptions);
        self
    }

    /// Go on after an error and collect all distinct ones.
    pub fn keep_going(mut self, keep_going: bool) -> Builder {
        self.keep_going = keep_going;
        self
    }

    /// Waits may also end without a notification.
    pub fn spurious_wakeups(mut self, spurious_wakeups: bool) -> Builder {
        self.spurious_wakeups = spurious_wakeups;
        self
    }

    /// Write a trace file of each error into this directory. Without it [`Builder::run`] writes none, [`Builder::check`] into `reweave-out`.
    pub fn trace_dir(mut self, directory: impl Into<PathBuf>) -> Builder {
        self.trace_dir = Some(directory.into());
        self
    }

    /// Run only the execution of this trace file.
    pub fn replay(mut self, trace: impl Into<PathBuf>) -> Builder {
        self.replay = Some(trace.into());
        self
    }

    /// Look for memory that is never freed. Not possible yet: the report says so, as incomplete.
    pub fn leaks(mut self, leaks: bool) -> Builder {
        self.leaks = leaks;
        self
    }

    /// Explores, and says what came of it.
    ///
    /// # Panics
    /// If an environment variable cannot be understood, a trace file cannot be read, or a check is already under way on this
    /// thread.
    pub fn run(self, f: impl Fn() + Send + Sync + 'static) -> Report {
        searching::run(&self.with_environment(), f)
    }

    /// As [`Builder::run`].
    ///
    /// # Panics
    /// With the report, if there was an error or the program did not behave the same when it was run again; and as [`Builder::run`].
    pub fn check(mut self, f: impl Fn() + Send + Sync + 'static) {
        self.trace_dir
            .get_or_insert_with(|| PathBuf::from("reweave-out"));
        let report = self.run(f);
        if report.divergence.is_some() || !report.errors.is_empty() {
            panic!("{report}");
        }
        println!("{report}");
    }

    fn with_environment(mut self) -> Builder {
        if let Some(algorithm) = variable("REWEAVE_ALGORITHM", Algorithm::from_str) {
            self.algorithm = algorithm;
        }
        if let Some(workers) = variable("REWEAVE_WORKERS", number::<usize>) {
            self.workers = workers.max(1);
        }
        let budget = variable("REWEAVE_BUDGET", duration);
        self.budget = budget.or(self.budget);
        let executions = variable("REWEAVE_MAX_EXECUTIONS", number);
        self.max_executions = executions.or(self.max_executions);
        let preemptions = variable("REWEAVE_PREEMPTIONS", number);
        self.preemptions = preemptions.or(self.preemptions);
        let path = |text: &str| Ok(PathBuf::from(text));
        self.replay = variable("REWEAVE_REPLAY", path).or(self.replay);
        self.trace_dir = variable("REWEAVE_OUTPUT", path).or(self.trace_dir);
        self
    }
}

/// Checks a closure with the usual options.
///
/// # Panics
/// As [`Builder::check`].
pub fn check(f: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(f);
}

/// An environment variable that is set and not empty.
fn variable<T>(name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    let value = parse(&text);
    Some(value.unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "not a number".into())
}

/// `500ms`, `1.5s`, `10m`, `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "not a time such as 500ms, 10s, 5m or 1h".to_owned();
    let unit = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or_else(wrong)?;
    let (value, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let value: f64 = value.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(value * seconds).map_err(|_| wrong())
}

/// What `#[reweave::test]` calls.
#[doc(hidden)]
pub mod for_macro {
    use super::Builder;
    use std::path::PathBuf;

    /// Checks, or with `expect`, sees to it that an error of this kind is found.
    ///
    /// # Panics
    /// If not.
    pub fn run_test(
        builder: Builder,
        expect: Option<&'static str>,
        body: impl Fn() + Send + Sync + 'static,
    ) {
        let Some(kind) = expect else {
            return builder.check(body);
        };
        let mut builder = builder;
        builder
            .trace_dir
            .get_or_insert_with(|| PathBuf::from("reweave-out"));
        let report = builder.run(body);
        let found = report.errors.iter().any(|error| error.kind.name() == kind);
        assert!(
            found && report.divergence.is_none(),
            "expected an error of kind {kind}: {report}"
        );
        println!("{report}");
    }
}
