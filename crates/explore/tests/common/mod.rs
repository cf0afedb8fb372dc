//! Small random programs as targets, and what a class of executions is.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod class;
pub mod program;
pub mod random;
