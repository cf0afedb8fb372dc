//! Searches on a cluster: `check --cluster`, `worker`, `cluster` and `simulate`.
//!
//! *Called by:* `check` and `main`. *Owns:* how a native check is written for other processes; the crate `cluster` does not know
//! what a program is.

mod admin;
mod home;
mod program;
mod search;
mod simulation;
mod worker;

pub use admin::run as manage;
pub use search::explore;
pub use simulation::run as simulate;
pub use worker::run as work;

use crate::output::Failure;
use reweave_cluster::{Broker, BrokerError, Credentials, Sentence};
use std::path::Path;

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

fn connect(url: &str, credentials: Option<&Path>) -> Result<(Broker, Credentials), Failure> {
    let credentials = match credentials {
        Some(file) => Credentials::read(file)?,
        None => Credentials::default(),
    };
    Ok((Broker::connect(url, &credentials)?, credentials))
}
