//! Small random programs as targets, and what a class of executions is.

pub mod program;
pub mod random;
