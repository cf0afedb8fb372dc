//! What a check came out with, and the result document of it.

use crate::found::Error;
use reweave_explore::{AlgorithmName, Duplicates, Estimate, Totals};
use reweave_report::{BlockedBy, Coverage, Estimated, Multiplies, ResultDocument};
use std::time::Duration;

/// What a check came out with.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it was explored.
    pub algorithm: AlgorithmName,
    /// Which executions count as the same.
    pub equivalence: &'static str,
    /// Why not by who reads from whom, where that needs the fewest executions.
    pub because: Option<String>,
    /// What was counted.
    pub totals: Totals,
    /// Executions that were run more than once, if they can be.
    pub duplicates: Option<Duplicates>,
    /// How large the search is, as far as it was explored.
    pub estimate: Option<Estimate>,
    /// What makes it large.
    pub multiplies: Option<Multiplies>,
    /// What it covers, if that was asked for.
    pub coverage: Option<Coverage>,
    /// Why not everything was explored; empty: everything was.
    pub incomplete: Vec<String>,
    /// What went wrong, each distinct error once, the first one found first.
    pub errors: Vec<Error>,
    /// How many more went wrong, with no time left to run their executions once more.
    pub unconfirmed: usize,
    /// On how many workers.
    pub workers: usize,
    /// How long it took.
    pub elapsed: Duration,
}

impl Outcome {
    /// The result document, but for what only the subject knows: weak orders, warnings, how it was run again.
    pub fn document(&self, program: &str) -> ResultDocument {
        let mut document = ResultDocument::new(program, self.algorithm.name(), self.equivalence);
        document.algorithm_because.clone_from(&self.because);
        document.complete = self.incomplete.is_empty();
        document.incomplete.clone_from(&self.incomplete);
        document.executions = self.totals.executions;
        document.blocked_by = self.blocked_by();
        document.blocked = document.blocked_by.assume + document.blocked_by.redundant;
        document.duplicates = self.duplicates.map(|it| it.count);
        document.duplicates_missed = self.duplicates.is_some_and(|it| it.at_least);
        document.events = self.totals.events;
        document.threads_max = self.totals.threads_max;
        document.elapsed_s = self.elapsed.as_secs_f64();
        document.estimate = self.estimated();
        if document.estimate.is_some_and(|it| it.covered < 1.0) {
            document.multiplies.clone_from(&self.multiplies);
        }
        document.coverage.clone_from(&self.coverage);
        document.workers = self.workers as u32;
        document.errors = self.errors.iter().map(Error::finding).collect();
        document.doubt();
        document
    }

    /// How large the search is, if an execution ended by itself. Random schedules are as many as were asked for, which says nothing.
    fn estimated(&self) -> Option<Estimated> {
        let counts = self.totals.executions > 0 && !self.algorithm.samples();
        let estimate = self.estimate.filter(|_| counts)?;
        let elapsed = self.elapsed.as_secs_f64();
        let log10 = estimate.ln_total(self.totals.executions) / std::f64::consts::LN_10;
        Some(Estimated::new(
            log10,
            elapsed + estimate.seconds_left(elapsed),
            estimate.covered(),
        ))
    }

    /// Runs that did not end by themselves.
    pub fn blocked_by(&self) -> BlockedBy {
        BlockedBy {
            assume: self.totals.assume_blocked,
            redundant: self.totals.redundant,
        }
    }
}
