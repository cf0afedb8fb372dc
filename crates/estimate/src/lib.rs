//! How large a search is, estimated while it is under way.
//!
//! The search tells this crate of its executions as numbers: where branches leave, how many there are, what they weigh. What a branch is,
//! and which algorithm found it, is not known here.
//!
//! A search walks a tree: every execution has children, the branches that follow from it. Each branch carries its
//! *weight*: the chance that a random walk comes to it which begins at the first execution and throws a die wherever
//! something else could have been done ([`Shares`]). The weights of all executions of a finished search add up to one;
//! those seen so far, to the part of the search that is covered. Everything is kept as logarithms: programs with 10^2000
//! schedules are real, and their weights are numbers.
//!
//! [`Gauge`] collects what workers count, and gives an [`Estimate`] at any time. A [`Prober`] draws branches at random, so that estimates are good
//! early. A [`Log`] records a search, and [`Recorded`] replays it through all estimators.

#![forbid(unsafe_code)]

mod evaluate;
mod fit;
mod gauge;
mod log;
mod logarithm;
mod pace;
mod probe;
mod prober;
mod rehearse;
mod series;
mod sizes;
mod tree;
mod weight;

pub use evaluate::{Guess, Recorded};
pub use fit::Curve;
pub use gauge::{Gauge, Passed, Tally};
pub use log::{Happened, Log, LogError, Reader};
pub use logarithm::LogSum;
pub use pace::Probing;
pub use probe::{Dice, Pass, Placed, SoFar};
pub use prober::{Prober, UnderWay};
pub use rehearse::Family;
pub use sizes::{Place, Sizes};
pub use tree::{Estimator, Strategy};
pub use weight::{Shares, hands};

/// How large a search is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The natural logarithm of the runs expected in all.
    pub ln_runs: f64,
    /// Runs so far.
    pub done: u64,
    /// How sure: in four of five cases the number of runs is not farther off than by this factor. One: it is exact.
    pub within: f64,
}

impl Estimate {
    /// The part that is done, between 0 and 1.
    pub fn covered(&self) -> f64 {
        self.ln_covered().exp()
    }

    /// Its natural logarithm: covered parts beyond any floating-point number are told apart.
    pub fn ln_covered(&self) -> f64 {
        ((self.done as f64).ln() - self.ln_runs).min(0.0)
    }

    /// How many there will be in all of what has been counted so often up to now; the natural logarithm of that.
    pub fn ln_total(&self, so_far: u64) -> f64 {
        (so_far as f64).ln() - self.ln_covered()
    }

    /// Runs still to be made, for shortest-first: comparable far beyond what a floating-point number holds.
    pub fn ln_remaining(&self) -> f64 {
        self.ln_runs + (-self.ln_covered().exp()).ln_1p()
    }

    /// Seconds still to go, at this rate; infinite where no number can hold them.
    pub fn seconds_left(&self, elapsed: f64) -> f64 {
        elapsed * (self.ln_remaining() - (self.done as f64).ln()).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_something_huge() {
        let ten = std::f64::consts::LN_10;
        let estimate = Estimate {
            ln_runs: 2000.0 * ten,
            done: 1000,
            within: 2.0,
        };
        assert!((estimate.ln_remaining() - 2000.0 * ten).abs() < 1e-9);
        assert!((estimate.ln_covered() + 1997.0 * ten).abs() < 1e-9);
        assert!((estimate.ln_total(500) - (2000.0 * ten - 2f64.ln())).abs() < 1e-9);
        assert_eq!(estimate.seconds_left(1.0), f64::INFINITY);
        let half = Estimate {
            ln_runs: 20f64.ln(),
            done: 10,
            within: 1.0,
        };
        assert!((half.seconds_left(3.0) - 3.0).abs() < 1e-9);
        let all = Estimate {
            ln_runs: 10f64.ln(),
            done: 10,
            within: 1.0,
        };
        assert_eq!(all.seconds_left(3.0), 0.0);
    }
}
