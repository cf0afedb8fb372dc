//! Runs a concurrent Rust test again and again, in every interleaving of its threads that matters.
//!
//! ```
//! use reweave::{sync::{Arc, atomic::{AtomicU32, Ordering::SeqCst}}, thread};
//!
//! let report = reweave::Builder::new().run(|| {
//!     let count = Arc::new(AtomicU32::new(0));
//!     let theirs = count.clone();
//!     let t = thread::spawn(move || theirs.fetch_add(1, SeqCst));
//!     count.fetch_add(1, SeqCst);
//!     t.join().unwrap();
//!     assert_eq!(count.load(SeqCst), 2);
//! });
//! assert!(report.complete && report.errors.is_empty());
//! assert_eq!(report.executions, 2);
//! ```
//!
//! `thread`, `sync`, `cell`, `time` and `hint` mirror std by name and signature. Inside a check ([`Builder`], [`check()`], or
//! `#[reweave::test]` on a test) their operations are scheduled; outside they are std's.
//!
//! With the `std` feature the mirrors are std's own types and nothing is checked: for production builds of code that imports
//! them from here.

pub mod cell;
pub mod sync;

#[cfg(not(feature = "std"))]
pub mod any;
#[cfg(not(feature = "std"))]
mod builder;
#[cfg(not(feature = "std"))]
pub mod hint;
#[cfg(not(feature = "std"))]
mod report;
#[cfg(not(feature = "std"))]
mod rt;
#[cfg(not(feature = "std"))]
mod searching;
#[cfg(not(feature = "std"))]
pub mod thread;
#[cfg(not(feature = "std"))]
pub mod time;

#[cfg(feature = "std")]
pub use std::{hint, thread, thread_local, time};
#[cfg(not(feature = "std"))]
pub use {
    any::{any, any_bool, assume},
    builder::{Builder, check, for_macro as __macro},
    report::{Found, Report},
    reweave_explore::Algorithm,
    reweave_macros::test,
    reweave_model::Kind,
    reweave_report::BlockedBy,
};

/// For drivers and tests of this workspace: a closure as a target of the engine.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
pub mod target {
    pub use crate::rt::ClosureTarget;
    pub use reweave_explore::Target;
    pub use reweave_model as model;
}
