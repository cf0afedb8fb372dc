//! What an execution is made of and what its operations mean.
//!
//! Plain data (ids, operations, events, plans, executions, verdicts) and one semantics: [`Machine`] says when an
//! operation is enabled, which outcomes it can have, what it changes and what it touches; [`Class::conflicts`] says
//! which two touches depend on each other. Targets run on it (crate `conduct`), algorithms reason with it, so both sides
//! always agree. The crate knows no operating system and no algorithm.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod clock;
mod dependence;
mod divergence;
mod execution;
mod identity;
mod machine;
mod objects;
mod op;
mod order;
mod plan;
mod verdict;

pub use clock::Clock;
pub use dependence::{Access, Class};
pub use divergence::Divergence;
pub use execution::{
    Attempt, Edge, End, Event, Execution, Gate, Pending, PlainAccess, Site, ThreadRecord, Watch,
};
pub use identity::{Identity, StateId, Unrecorded};
pub use machine::{Effect, Machine, Moment};
pub use objects::{
    Generation, Object, ObjectKind, OnceState,
    pipe::{GONE, NOT_NOW, Pipe},
    seen::VIEW_BITS,
    semaphore::MOST_COUNTED,
};
pub use op::{
    Code, ObjectId, Op, OpKind, Operands, Rmw, RmwKind, Synchronises, ThreadId, Turn, Waiting,
};
pub use order::{Order, Orders};
pub use plan::{Choice, HOLD_ANY, Mark, Plan, Policy, Step};
pub use verdict::{Error, Kind};
