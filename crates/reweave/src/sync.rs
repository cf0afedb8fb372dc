//! Synchronisation, by the names and signatures of [`std::sync`].
//!
//! Each object has one of std's inside: in a check the model says what happens and std's keeps the data, outside it does all. With
//! the `std` feature they are std's.
//!
//! `Arc` and `Weak` are std's always. Counting references is no operation that others wait for, and in a check one thread runs at a
//! time: who drops the last reference is a function of the operations done before, so the destructor runs at the same place whenever the
//! run is repeated. What this leaves out: a program that asks for `strong_count` or `try_unwrap` meets only the counts that
//! the operations around them lead to.

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
    barrier::{Barrier, BarrierWaitResult},
    condvar::{Condvar, WaitTimeoutResult},
    mutex::{Mutex, MutexGuard},
    once::{LazyLock, Once, OnceLock},
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};
pub use semaphore::Semaphore;
pub use std::sync::{Arc, LockResult, OnceState, PoisonError, TryLockError, TryLockResult, Weak};
#[cfg(feature = "std")]
pub use std::sync::{
    Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, RwLock,
    RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, atomic, mpsc,
};
