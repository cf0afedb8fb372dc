//! Runs a concurrent Rust test again and again, in every interleaving of its threads that matters.

pub mod any;
pub mod hint;
mod rt;
pub mod sync;
pub mod thread;
pub mod time;

pub use any::{any, any_bool, assume};
