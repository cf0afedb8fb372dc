//! Runs a concurrent Rust test again and again, in every interleaving of its threads that matters.

pub mod any;
pub mod hint;
mod rt;
pub mod sync;
pub mod thread;
pub mod time;

pub use any::{any, any_bool, assume};

/// For drivers and tests of this workspace: a closure as a target of the engine.
#[doc(hidden)]
pub mod target {
    pub use crate::rt::ClosureTarget;
    pub use reweave_explore::Target;
    pub use reweave_model as model;
}
