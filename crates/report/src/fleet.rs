//! A search on a cluster over time: workers, pieces, executions and faults.
//!
//! *Called by:* the process that coordinates the search, to note it; the picture of it. *Owns:* nothing. *Invariant:* a course has at most
//! [`FleetCourse::MOST`] samples however long the search was: older ones are thinned out.

use serde::{Deserialize, Serialize};

/// See the module. Part of a result document, if a cluster explored.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FleetCourse {
    /// In the order of time.
    pub samples: Vec<FleetSample>,
    /// The least time between two samples.
    #[serde(skip)]
    gap_s: f64,
    /// The last one, which is kept only if none comes soon after it.
    #[serde(skip)]
    last: Option<FleetSample>,
}

/// What was known at a moment.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FleetSample {
    /// Seconds since the search began, or was taken over.
    pub at_s: f64,
    /// How many pieces all workers can explore at once.
    pub slots: u64,
    /// How many of this search they explored.
    pub busy: u64,
    /// Pieces that were out.
    pub pieces: u64,
    /// Executions so far.
    pub executions: u64,
    /// Reports taken in so far.
    pub reports: u64,
    /// Reports so far that came again or too late.
    pub repeated: u64,
    /// Workers so far that fell silent.
    pub lost: u64,
}

impl FleetCourse {
    /// The most samples.
    pub const MOST: usize = 120;

    /// A course with these.
    #[cfg(test)]
    pub(crate) fn of(samples: Vec<FleetSample>) -> FleetCourse {
        FleetCourse {
            samples,
            ..FleetCourse::default()
        }
    }

    /// Notes what is known now.
    pub fn note(&mut self, sample: FleetSample) {
        let due = |before: &FleetSample| sample.at_s >= before.at_s + self.gap_s;
        if !self.samples.last().is_none_or(due) {
            self.last = Some(sample);
            return;
        }
        self.last = None;
        self.samples.push(sample);
        if self.samples.len() >= FleetCourse::MOST {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            let span = self.samples.last().map_or(0.0, |last| last.at_s);
            self.gap_s = 2.0 * span / FleetCourse::MOST as f64;
        }
    }

    /// The course to the end of the search.
    #[must_use]
    pub fn ended(mut self) -> FleetCourse {
        self.samples.extend(self.last.take());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_searches_are_thinned_out_evenly() {
        let mut course = FleetCourse::default();
        for tick in 0..100_000_u32 {
            course.note(FleetSample {
                at_s: f64::from(tick) * 0.02,
                executions: tick.into(),
                ..FleetSample::default()
            });
        }
        let course = course.ended();
        let samples = &course.samples;
        assert!((50..=FleetCourse::MOST).contains(&samples.len()));
        assert_eq!(samples[0].executions, 0);
        assert_eq!(samples.last().map(|it| it.executions), Some(99_999));
        // 2,000 s in at least 50 parts.
        let gaps = samples.windows(2).map(|two| two[1].at_s - two[0].at_s);
        assert!(gaps.fold(0.0, f64::max) <= 40.0, "{samples:?}");
    }

    #[test]
    fn short_searches_have_every_sample() {
        let mut course = FleetCourse::default();
        for tick in 0..10_u32 {
            course.note(FleetSample {
                at_s: f64::from(tick),
                ..FleetSample::default()
            });
        }
        assert_eq!(course.ended().samples.len(), 10);
    }
}
