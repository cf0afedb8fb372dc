//! How others look at a check under way and stop it.

use reweave_explore::{Estimate, Gauge, Search};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64},
};

/// How others look at a check under way and stop it.
#[derive(Default)]
pub struct Control {
    /// Set to stop after the executions that are being run. Shared with signal handlers.
    pub stop: Arc<AtomicBool>,
    /// Executions begun, of the search under way.
    pub runs: AtomicU64,
    /// Executions with errors, of the search under way.
    pub failures: AtomicU64,
    /// Events of the last execution.
    pub depth: AtomicU64,
    /// Called after every execution with its number of events.
    pub witness: Option<Witness>,
    gauge: Mutex<Option<Arc<Gauge>>>,
}

/// See [`Control::witness`].
pub type Witness = Box<dyn Fn(&Control, usize) + Send + Sync>;

impl Control {
    /// One that is stopped together with others.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Control {
        Control {
            stop,
            ..Control::default()
        }
    }

    /// How large the search under way is; `None` before its first execution is over.
    pub fn estimate(&self) -> Option<Estimate> {
        let gauge = self.gauge.lock().unwrap_or_else(PoisonError::into_inner);
        gauge.as_ref().and_then(|gauge| gauge.estimate())
    }

    /// How many workers have something to do.
    pub fn busy(&self) -> usize {
        let gauge = self.gauge.lock().unwrap_or_else(PoisonError::into_inner);
        gauge.as_ref().map_or(0, |gauge| gauge.busy())
    }

    pub(crate) fn watch(&self, search: &Search) {
        let mut gauge = self.gauge.lock().unwrap_or_else(PoisonError::into_inner);
        *gauge = Some(search.gauge());
    }
}
