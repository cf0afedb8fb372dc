//! Searches on a cluster: `check --cluster`, `worker`, `cluster` and `simulate`.
//!
//! *Called by:* `check`, `suite` and `main`. *Owns:* how a native check is written for other processes; the crate `cluster` does not know
//! what a program is.

mod admin;
mod home;
mod program;
mod search;
mod simulation;
mod turns;
mod worker;

pub use admin::run as manage;
pub use search::explore;
pub use simulation::run as simulate;
pub use turns::{Remote, SharedCluster, TurnLength};
pub use worker::run as work;

use crate::output::Failure;
use reweave_cluster::{Broker, BrokerError, Credentials, Sentence};
use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
};

/// Everything that goes wrong with a broker is a matter of how it was started or named.
impl From<BrokerError> for Failure {
    fn from(error: BrokerError) -> Failure {
        error.to_string().into()
    }
}

impl From<Sentence> for Failure {
    fn from(sentence: Sentence) -> Failure {
        sentence.0.into()
    }
}

/// A number that no other process has.
fn fresh() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn connect(url: &str, credentials: Option<&Path>) -> Result<(Broker, Credentials), Failure> {
    let credentials = match credentials {
        Some(file) => Credentials::read(file)?,
        None => Credentials::default(),
    };
    Ok((Broker::connect(url, &credentials)?, credentials))
}
