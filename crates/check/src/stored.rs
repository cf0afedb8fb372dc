//! A check that was paused, as plain data: to be written down and continued later, by another process.

use crate::{check::Check, found::StoredCase, settings::Settings, subject::Subject};
use reweave_explore::{AlgorithmName, Fragment, FragmentError, Search};
use serde::{Deserialize, Serialize};
use std::{sync::atomic::AtomicBool, sync::atomic::Ordering::Relaxed, time::Duration};

/// A check as plain data, but for what its subject noticed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredCheck {
    pub(crate) search: Fragment,
    pub(crate) found: Vec<StoredCase>,
    pub(crate) races: bool,
    pub(crate) because: Option<String>,
    pub(crate) elapsed: Duration,
    /// Pieces of it that are elsewhere.
    #[serde(default)]
    pub(crate) out: u64,
}

impl<S: Subject> Check<S> {
    /// As plain data. A search that has to restart does so first.
    pub fn store(&mut self) -> StoredCheck {
        if self.subject.must_restart() {
            self.begin();
        }
        StoredCheck {
            search: self.search.store(),
            found: self.found.store(),
            races: self.races.load(Relaxed),
            because: self.because.clone(),
            elapsed: self.elapsed,
            out: self.out,
        }
    }

    /// Goes on where a check of the same program with the same settings stopped.
    pub fn resume(
        subject: S,
        settings: Settings,
        stored: StoredCheck,
    ) -> Result<Check<S>, FragmentError> {
        let search = Search::resume(stored.search)?;
        let mut expected = settings.options;
        if stored.because.is_some() {
            expected.algorithm = AlgorithmName::Optimal;
        }
        // How often sizes are looked at, and how many random schedules are wanted, do not change what is explored.
        let begun = search.options();
        // It turns out while it is explored that loops wait.
        expected.loops = begun.loops;
        expected.probing = begun.probing;
        if !expected.algorithm.samples() {
            expected.samples = begun.samples;
        }
        if *begun != expected {
            return Err(FragmentError::OtherOptions);
        }
        let mut check = Check::new(subject, settings);
        check.settings.options = expected;
        check.because = stored.because;
        check.search = search;
        check.found.restore(stored.found);
        check.races = AtomicBool::new(stored.races);
        check.elapsed = stored.elapsed;
        check.out = stored.out;
        Ok(check)
    }
}
