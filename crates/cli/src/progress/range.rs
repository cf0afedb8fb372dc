//! How large a search may be: a range that also holds what its own past says about the estimate.
//!
//! *Decides:* what the progress line calls the least and the most. An estimate knows how far off it may be by chance. If it
//! has grown while it was watched, it may grow so again: the range reaches as far above it as it has come since half of
//! the time was over, and below it as far as it has fallen. *Owns:* the estimates so far.

use reweave_explore::Estimate;

/// Estimates so far, with their times.
#[derive(Default)]
pub struct Sizes {
    seen: Vec<(f64, f64)>,
}

/// From the least to the most.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Natural logarithms of numbers of executions.
    ln_least: f64,
    ln_most: f64,
}

/// Two amounts.
pub struct Between(f64, f64);

impl Sizes {
    /// The range now, after so many seconds.
    pub fn range(&mut self, seconds: f64, estimate: &Estimate) -> Range {
        let now = estimate.ln_runs;
        self.seen.push((seconds, now));
        let recent = self.seen.iter().filter(|(at, _)| *at >= seconds / 2.0);
        let moved = recent.map(|(_, then)| now - then);
        let (fallen, grown) = moved.fold((0.0f64, 0.0f64), |(fallen, grown), by| {
            (fallen.min(by), grown.max(by))
        });
        let within = estimate.within.max(1.0).ln();
        Range {
            ln_least: (now - within.max(-fallen)).max((estimate.done.max(1) as f64).ln()),
            ln_most: now + within.max(grown),
        }
    }
}

impl Range {
    /// Numbers of executions.
    pub fn sizes<T: ToString>(&self, shown: impl Fn(f64) -> T) -> String {
        let log10 = |ln: f64| two_digits(ln / std::f64::consts::LN_10);
        Between(log10(self.ln_least), log10(self.ln_most)).text(shown)
    }

    /// Seconds that are left.
    pub fn seconds(&self, estimate: &Estimate, elapsed: f64) -> Between {
        let left = |ln_runs| {
            Estimate {
                ln_runs,
                ..*estimate
            }
            .seconds_left(elapsed)
            .max(0.0)
        };
        Between(left(self.ln_least), left(self.ln_most))
    }
}

/// A number by its decimal logarithm, rounded to two digits: more would say more than is known.
fn two_digits(log10: f64) -> f64 {
    let scale = log10.floor() - 1.0;
    match scale > 0.0 {
        true => scale + 10f64.powf(log10 - scale).round().log10(),
        false => log10,
    }
}

impl Between {
    /// `36 s to 61 s`, or one amount if both are spelled alike.
    pub fn text<T: ToString>(&self, shown: impl Fn(f64) -> T) -> String {
        let (least, most) = (shown(self.0).to_string(), shown(self.1).to_string());
        match least == most {
            true => least,
            false => format!("{least} to {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(sizes: &mut Sizes, seconds: f64, runs: f64) -> (f64, f64) {
        let estimate = Estimate {
            ln_runs: runs.ln(),
            done: 10,
            within: 1.5,
        };
        let range = sizes.range(seconds, &estimate);
        (range.ln_least.exp().round(), range.ln_most.exp().round())
    }

    /// By chance it is off by half. It was a third as large at half time, so it may become three times as large.
    #[test]
    fn an_estimate_that_grows_may_grow_again() {
        let mut sizes = Sizes::default();
        assert_eq!(range(&mut sizes, 1.0, 300.0), (200.0, 450.0));
        assert_eq!(range(&mut sizes, 10.0, 300.0), (200.0, 450.0));
        assert_eq!(range(&mut sizes, 20.0, 900.0), (600.0, 2700.0));
        assert_eq!(range(&mut sizes, 50.0, 900.0), (600.0, 1350.0));
        assert_eq!(range(&mut sizes, 60.0, 300.0), (100.0, 450.0));
    }

    #[test]
    fn what_is_done_is_the_least() {
        assert_eq!(range(&mut Sizes::default(), 1.0, 12.0).0, 10.0);
    }
}
