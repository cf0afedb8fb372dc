//! What a program may use, and how long it may take.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// See the module.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes that each thread of the program can have, of heap and of other memory; 0: as many as there are.
    pub memory: u64,
    /// Bytes of output that are kept of a run.
    pub output: u64,
    /// How long a thread may go on without a visible operation.
    pub time: Duration,
    /// When a run that is under way is given up.
    pub until: Arc<OnceLock<Instant>>,
    /// Set to have it given up.
    pub stop: Arc<AtomicBool>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: 1 << 30,
            output: 1 << 20,
            time: Duration::from_secs(10),
            until: Arc::default(),
            stop: Arc::default(),
        }
    }
}

impl Limits {
    /// The same, for runs that are made in any case.
    #[must_use]
    pub fn without_end(&self) -> Limits {
        Limits {
            until: Arc::default(),
            stop: Arc::default(),
            ..self.clone()
        }
    }

    /// Whether there is no time left.
    pub(crate) fn late(&self) -> bool {
        let over = |until: &Instant| Instant::now() >= *until;
        self.stop.load(Relaxed) || self.until.get().is_some_and(over)
    }
}
