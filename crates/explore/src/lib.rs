//! Exploration: executions in, plans out.
#![forbid(unsafe_code)]

mod target;

pub use target::Target;
