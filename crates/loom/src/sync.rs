//! Synchronisation.

mod notify;

pub use notify::Notify;
pub use reweave::sync::{
    Arc, Barrier, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    WaitTimeoutResult, Weak, mpsc,
};
pub use std::sync::{LockResult, TryLockResult};

/// Atomics.
pub mod atomic {
    pub use reweave::sync::atomic::*;

    /// As [`std::hint::spin_loop`].
    #[track_caller]
    pub fn spin_loop_hint() {
        reweave::hint::spin_loop();
    }
}
