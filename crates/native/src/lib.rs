//! Native targets: compiles programs with instrumentation, starts them, feeds them plans and reads executions back.

pub mod binary;
pub mod compile;
pub mod symbols;

mod disk;
mod libraries;
mod limits;
mod native;
mod process;

pub use libraries::Libraries;
pub use limits::Limits;
pub use native::{Launch, Native, Observation, Spent};
pub use reweave_wire::{
    Detail, HelloModule, Library, Note, Place, PlaceKind, Races, Restart, Threads, Unit,
};
