//! Exploration: executions in, plans out.
#![forbid(unsafe_code)]

mod dfs;
mod draft;
mod explorer;
mod happens;
mod optimal;
mod replay;
mod target;

pub use explorer::{Algorithm, Branch, Explorer};
pub use target::Target;
