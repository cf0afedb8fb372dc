//! Synchronisation, by the names and signatures of [`std::sync`].
//!
//! Each object has one of std's inside: in a check the model says what happens and std's keeps the data, outside it does all.

pub mod atomic;
mod condvar;
mod mutex;

pub use self::{
    condvar::{Condvar, WaitTimeoutResult},
    mutex::{Mutex, MutexGuard},
};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};
