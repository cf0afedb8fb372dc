//! Runs a concurrent Rust test again and again, in every interleaving of its threads that matters.

//!
//! With the `std` feature the mirrors are std's own types and nothing is checked: for production builds of code that imports
//! them from here.

pub mod cell;
pub mod sync;

#[cfg(not(feature = "std"))]
pub mod any;
#[cfg(not(feature = "std"))]
pub mod hint;
#[cfg(not(feature = "std"))]
mod rt;
#[cfg(not(feature = "std"))]
pub mod thread;
#[cfg(not(feature = "std"))]
pub mod time;

#[cfg(not(feature = "std"))]
pub use any::{any, any_bool, assume};
#[cfg(feature = "std")]
pub use std::{hint, thread, thread_local, time};

/// For drivers and tests of this workspace: a closure as a target of the engine.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
pub mod target {
    pub use crate::rt::ClosureTarget;
    pub use reweave_explore::Target;
    pub use reweave_model as model;
}
