//! Programs of several processes that connect to each other.

mod oracle;
mod program;

pub use oracle::outcomes;
pub use program::{random, source};
