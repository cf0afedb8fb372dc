//! Exploration: executions in, plans out.
//!
//! [`Search`] drives a [`Target`] through everything that its [`Algorithm`] finds worth running. Algorithms are one folder
//! each over one happens-before kernel; they see finished executions and find the branches to run next. A [`Fragment`] is a piece of a search that
//! another process can explore. The crate knows no operating system, no clock, no file, and not what a target is made of.
#![forbid(unsafe_code)]

mod algorithm;
mod algorithms;
mod balance;
mod claims;
mod draft;
mod explorer;
mod fragment;
mod happens;
mod replay;
mod schedule;
mod search;
mod stored_branch;
mod target;

pub use algorithm::{
    Algorithm, Found, Interrupt, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload,
    Unfit,
};
pub use algorithms::{AlgorithmName, AnyAlgorithm, AnyPayload, UnknownAlgorithm};
pub use balance::{Balance, Duplicates, UnknownBalance};
pub use claims::{AtNodes, Claim, Claimed, Claims, Node, NodeId};
pub use draft::Child;
pub use explorer::{Branch, Explorer};
pub use fragment::{Fragment, FragmentError};
pub use reweave_estimate::{
    Curve, Estimate, Estimator, Gauge, Guess, Happened, Log, LogError, Probing, Reader, Recorded,
    Strategy,
};
pub use schedule::{Schedule, Wish};
pub use search::{Departures, Flow, Search, Totals};
pub use target::{Target, TargetError};
