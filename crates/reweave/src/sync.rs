//! Synchronisation, by the names and signatures of [`std::sync`].
//!
//! Each object has one of std's inside: in a check the model says what happens and std's keeps the data, outside it does all. With
//! the `std` feature they are std's.
//!
//! Of an `Arc`, counts are events only where they matter: see [`Arc`].

#[cfg(not(feature = "std"))]
mod arc;
#[cfg(not(feature = "std"))]
pub mod atomic;
#[cfg(not(feature = "std"))]
mod barrier;
#[cfg(not(feature = "std"))]
mod condvar;
#[cfg(not(feature = "std"))]
pub mod mpsc;
#[cfg(not(feature = "std"))]
mod mutex;
#[cfg(not(feature = "std"))]
mod once;
#[cfg(not(feature = "std"))]
mod rwlock;
mod semaphore;

#[cfg(not(feature = "std"))]
pub use self::{
    arc::{Arc, Weak},
    barrier::{Barrier, BarrierWaitResult},
    condvar::{Condvar, WaitTimeoutResult},
    mutex::{Mutex, MutexGuard},
    once::{LazyLock, Once, OnceLock},
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};
pub use semaphore::Semaphore;
#[cfg(feature = "std")]
pub use std::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, RwLock,
    RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, Weak, atomic, mpsc,
};
pub use std::sync::{LockResult, OnceState, PoisonError, TryLockError, TryLockResult};
