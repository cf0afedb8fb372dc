//! [`Notify`].

use reweave::sync::{Condvar, Mutex, PoisonError};

/// As loom's: a flag that one thread waits for.
#[derive(Debug, Default)]
pub struct Notify {
    notified: Mutex<bool>,
    changed: Condvar,
}

impl Notify {
    /// One without a notification.
    #[must_use]
    pub fn new() -> Notify {
        Notify::default()
    }

    /// Wakes the thread that waits, or the next one that does.
    #[track_caller]
    pub fn notify(&self) {
        let notified = self.notified.lock();
        *notified.unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Waits for a notification and takes it.
    #[track_caller]
    pub fn wait(&self) {
        let notified = self.notified.lock();
        let mut notified = notified.unwrap_or_else(PoisonError::into_inner);
        while !*notified {
            let woken = self.changed.wait(notified);
            notified = woken.unwrap_or_else(PoisonError::into_inner);
        }
        *notified = false;
    }
}
