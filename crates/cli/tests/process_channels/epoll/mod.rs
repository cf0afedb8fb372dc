//! Programs of several threads that share an epoll.

mod oracle;
mod program;

pub use oracle::outcomes;
pub use program::{random, source};
