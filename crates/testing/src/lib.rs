//! What tests of several crates share, and the rules about the tree itself (`tidy`).
//!
//! A crate names this one among its dev-dependencies, and uses it in its integration tests. (Its unit tests would see two copies of the crate.)
#![allow(missing_docs, reason = "names say what they are; nothing is published")]
#![forbid(unsafe_code)]

pub mod class;
pub mod loops;
pub mod program;
pub mod random;
pub mod script;
pub mod tidy;
