//! Sums of numbers that are known by their logarithms.

use serde::{Deserialize, Serialize};

/// A sum of positive numbers, each given by its natural logarithm; any of them may be too small or too large for a
/// floating-point number.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LogSum {
    /// The logarithm that everything is counted in units of: that of the largest number so far.
    unit: f64,
    sum: f64,
}

impl LogSum {
    /// Adds the number with this logarithm.
    pub fn add(&mut self, ln: f64) {
        if self.sum == 0.0 {
            *self = LogSum { unit: ln, sum: 1.0 };
        } else if ln <= self.unit {
            self.sum += (ln - self.unit).exp();
        } else {
            self.sum = self.sum * (self.unit - ln).exp() + 1.0;
            self.unit = ln;
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &LogSum) {
        if other.sum > 0.0 {
            self.add(other.ln());
        }
    }

    /// Its natural logarithm; that of an empty sum is minus infinity.
    pub fn ln(&self) -> f64 {
        match self.sum {
            0.0 => f64::NEG_INFINITY,
            sum => self.unit + sum.ln(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_beyond_floating_point() {
        let mut sum = LogSum::default();
        assert_eq!(sum.ln(), f64::NEG_INFINITY);
        for ln in [-5000.0, -4990.0, -5000.0] {
            sum.add(ln);
        }
        let expected = -4990.0 + (1.0 + 2.0 * (-10f64).exp()).ln();
        assert!((sum.ln() - expected).abs() < 1e-12);
        let mut other = LogSum::default();
        other.merge(&sum);
        other.merge(&LogSum::default());
        assert_eq!(other.ln(), sum.ln());
    }
}
