//! What an execution is made of and what its operations mean.
//!
//! Plain data (ids, operations, events, plans, executions, verdicts) and one semantics: [`State`] says when an
//! operation is enabled, which outcomes it can have, what it changes and what it touches; [`Class::conflicts`] says
//! which two touches depend on each other. Targets run on it (crate `conduct`), algorithms reason with it, so both sides
//! always agree. The crate knows no operating system and no algorithm.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod clock;
mod divergence;
mod execution;
mod object;
mod op;
mod plan;
mod race;
mod state;
mod verdict;

pub use access::{Access, Class};
pub use clock::Clock;
pub use divergence::Divergence;
pub use execution::{Edge, End, Event, Execution, Gate, Pending, Site, ThreadRecord, Watch};
pub use object::{Generation, Object, OnceState};
pub use op::{ObjectId, Op, OpKind, Rmw, RmwKind, ThreadId};
pub use plan::{Choice, Mark, Plan, Policy, Step};
pub use race::{Order, RaceDetector, RaceFound};
pub use state::{Effect, State};
pub use verdict::{Error, Kind};
