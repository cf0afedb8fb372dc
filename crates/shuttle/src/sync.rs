//! Synchronisation.

#[cfg(not(feature = "std-arc"))]
pub use reweave::sync::{Arc, Weak};
pub use reweave::sync::{
    Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceState,
    PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
    WaitTimeoutResult, mpsc,
};
#[cfg(feature = "std-arc")]
pub use std::sync::{Arc, Weak};

/// Atomics.
pub mod atomic {
    pub use reweave::sync::atomic::*;

    /// As [`std::hint::spin_loop`].
    #[track_caller]
    pub fn spin_loop_hint() {
        reweave::hint::spin_loop();
    }
}
