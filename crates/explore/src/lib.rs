//! Exploration: executions in, plans out.
//!
//! [`Search`] drives a [`Target`] through everything that its [`Algorithm`] finds worth running. Algorithms are one file
//! each over one happens-before kernel; they see finished executions and say which plans to run next. The crate knows no
//! operating system, no clock, no file, and not what a target is made of.
#![forbid(unsafe_code)]

mod dfs;
mod dpor;
mod draft;
mod estimate;
mod explorer;
mod happens;
mod log;
mod optimal;
mod probing;
mod replay;
mod rf;
mod schedule;
mod search;
mod stored;
mod target;

pub use estimate::{Curve, Estimate, Estimator, Gauge, Guess, Probing, Recorded, Strategy};
pub use explorer::{Algorithm, Branch, Explorer, Options};
pub use log::{Happened, Log, Reader};
pub use schedule::{Schedule, Wish};
pub use search::{Flow, Search, Totals};
pub use stored::Stored;
pub use target::{Target, TargetError};
