//! What workers tell of their executions, and what others learn from it.

use super::{Estimate, LogSum};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard};

/// How far a search is: asked at any time, from any thread, while workers go on.
#[derive(Debug, Default)]
pub struct Gauge {
    tally: Mutex<Tally>,
    /// What all of it weighs: the natural logarithm. A part of a search that was split weighs less than one.
    whole: f64,
}

impl Gauge {
    /// For a search that has done so much, and has branches of this weight left.
    pub(crate) fn new(tally: Tally, mut left: LogSum) -> Gauge {
        left.merge(&tally.weight);
        Gauge {
            tally: Mutex::new(tally),
            whole: left.ln(),
        }
    }

    /// How large the search is; `None` before the first execution.
    pub fn estimate(&self) -> Option<Estimate> {
        self.lock().estimate(self.whole)
    }

    /// Takes in what a worker has counted, unless somebody else is at it: then it can wait.
    pub(crate) fn offer(&self, tally: &mut Tally) {
        if let Ok(mut mine) = self.tally.try_lock() {
            mine.merge(&std::mem::take(tally));
        }
    }

    /// Takes in what a worker has counted.
    pub(crate) fn merge(&self, tally: &Tally) {
        self.lock().merge(tally);
    }

    pub(crate) fn tally(&self) -> Tally {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().expect("nobody panics while counting")
    }
}

/// Executions, and what they weigh.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    runs: u64,
    weight: LogSum,
}

impl Tally {
    /// Counts an execution that weighs so much: the natural logarithm of it.
    pub fn add(&mut self, ln_weight: f64) {
        self.runs += 1;
        self.weight.add(ln_weight);
    }

    pub fn merge(&mut self, other: &Tally) {
        self.runs += other.runs;
        self.weight.merge(&other.weight);
    }

    fn estimate(&self, whole: f64) -> Option<Estimate> {
        (self.runs > 0).then(|| Estimate {
            ln_runs: (self.runs as f64).ln() - (self.weight.ln() - whole).min(0.0),
            done: self.runs,
            within: 2.0,
        })
    }
}
