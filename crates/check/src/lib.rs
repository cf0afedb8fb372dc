//! One check of one program, whatever the program is made of: what is the same for Rust tests and native programs.
//!
//! [`check()`] drives a search over a [`Subject`] within its limits, collects distinct errors, has each of them made simpler and run
//! once more, writes their traces and says what came out and what was left unexplored. A [`Check`] is the same in slices of time: it can be paused, stored
//! and continued. Nothing here prints.
#![forbid(unsafe_code)]

mod check;
mod control;
mod coverage;
mod follow;
mod found;
mod heaviest;
mod outcome;
mod pieces;
mod repeats;
mod settings;
mod shorten;
mod stored;
mod subject;
mod trace_names;

pub use check::{Check, check};
pub use control::{Control, Witness};
pub use follow::{RecordedStep, follow};
pub use found::{Error, TraceFileError};
pub use outcome::Outcome;
pub use pieces::Piece;
pub use settings::{NotADuration, Settings, duration};
pub use stored::StoredCheck;
pub use subject::{Fault, Subject, difference, plan_of};
