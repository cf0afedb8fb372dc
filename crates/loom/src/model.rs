//! Models: what loom calls a check.
//!
//! *Decides:* how loom's options are kept. *Called by:* the suite. *Owns:* nothing.

use std::{env, path::PathBuf, str::FromStr, time::Duration};

/// How long a model with a bound on preemptions is explored without it, before the bound is used.
const UNBOUNDED: Duration = Duration::from_secs(10);

/// As loom's. Fields that have no meaning here are kept for programs that set them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// No meaning: threads are not limited.
    pub max_threads: usize,
    /// Steps of an execution, if above 10,000.
    pub max_branches: usize,
    /// Executions; with `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// Time; with `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// The model is explored without a bound for ten seconds. If that is not all, it is explored again with the bound. With
    /// `LOOM_MAX_PREEMPTIONS`, which also makes it use the bound at once.
    pub preemption_bound: Option<usize>,
    /// No meaning: a failing execution is replayed from its trace file.
    pub checkpoint_file: Option<PathBuf>,
    /// No meaning.
    pub checkpoint_interval: usize,
    /// No meaning: everything is explored.
    pub expect_explicit_explore: bool,
    /// No meaning: places are always known.
    pub location: bool,
    /// No meaning.
    pub log: bool,
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("invalid value for `{name}`"),
    }
}

impl Builder {
    /// As loom's, with its environment variables.
    #[must_use]
    pub fn new() -> Builder {
        Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(1_000),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: None,
            checkpoint_interval: 20_000,
            expect_explicit_explore: false,
            location: false,
            log: false,
        }
    }

    /// No meaning.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Checks the model, and panics with the story of the first error.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let f = std::sync::Arc::new(f);
        let again = f.clone();
        let at_once = env::var_os("LOOM_MAX_PREEMPTIONS").is_some();
        if self.preemption_bound.is_some() && !at_once {
            let most = self.max_duration.map_or(UNBOUNDED, |it| it.min(UNBOUNDED));
            let report = self.reweave().budget(most).run(move || again());
            if report.complete || !report.errors.is_empty() {
                reweave::__macro::conclude(&report);
                return;
            }
        } else {
            drop(again);
        }
        let mut check = self.reweave();
        if let Some(bound) = self.preemption_bound {
            check = check.preemptions(u32::try_from(bound).unwrap_or(u32::MAX));
        }
        check.check(move || f());
    }

    fn reweave(&self) -> reweave::Builder {
        let steps = u32::try_from(self.max_branches).unwrap_or(u32::MAX);
        // Loom does not explore them either; REWEAVE_WEAK_FAILURES=1 does.
        let mut check = reweave::Builder::new()
            .weak_failures(false)
            .max_steps(steps.max(10_000));
        if let Some(most) = self.max_permutations {
            check = check.max_executions(most as u64);
        }
        if let Some(most) = self.max_duration {
            check = check.budget(most);
        }
        check
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Runs the closure in every interleaving that matters.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}
