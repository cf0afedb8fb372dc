//! Estimates over time: a sample of them, and the curve through it.
//!
//! As a search goes on its estimate moves. A curve `f` through the estimates so far, fitted with more weight on later ones, is
//! asked where it will meet the truth: the solution of `f(t) = t`, the time at which as much is done as there is.

use crate::{
    fit::{self, Curve},
    probe::Dice,
};
use serde::{Deserialize, Serialize};

/// A random sample, of constant size, of all estimates so far.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Series {
    /// Time, and the natural logarithm of the estimate.
    points: Vec<(f64, f64)>,
    /// Estimates noted or left out.
    seen: u64,
}

/// Points in the sample.
const POINTS: usize = 256;

impl Series {
    /// Takes an estimate into the sample, or leaves it out: then nobody needs to work it out.
    pub fn note(&mut self, time: f64, ln_estimate: impl FnOnce() -> f64) {
        self.seen += 1;
        if self.points.len() < POINTS {
            self.points.push((time, ln_estimate()));
            return;
        }
        // Each of those seen stays with the same chance. The number seen is the seed: nothing else needs to be kept.
        let slot = Dice(self.seen).next() % self.seen;
        if let Some(point) = self.points.get_mut(slot as usize) {
            *point = (time, ln_estimate());
        }
    }

    /// The estimate by the default curve; the plain one where that meets nothing.
    pub fn fit(&self, plain: f64) -> f64 {
        self.fit_by(Curve::Logarithmic, plain)
    }

    /// The estimate by any curve.
    pub fn fit_by(&self, curve: Curve, plain: f64) -> f64 {
        fit::meet(curve, &self.points).unwrap_or(plain)
    }
}
