//! One check of one program, whatever the program is made of: what is the same for Rust tests and native programs.
//!
//! [`check`] drives a search over a [`Subject`] within its limits, collects distinct errors, has each of them made simpler and run once more, writes
//! their traces and says what came out and what was left unexplored. Nothing here prints.
#![forbid(unsafe_code)]

mod drive;
mod found;
mod repeats;
mod settings;
mod shorten;
mod subject;

pub use drive::{Control, Outcome, Settings, check};
pub use found::Error;
pub use settings::duration;
pub use subject::{Fault, Subject, difference, plan_of};
