//! What `worker` and `cluster` are asked for.
//!
//! *Called by:* `cluster`. *Owns:* nothing.

use super::check::number;
use clap::{Args, Subcommand};
use std::{num::NonZeroUsize, path::PathBuf};

/// Options of `worker`.
#[derive(Args, Debug)]
pub struct WorkerOptions {
    /// The broker, such as nats://host:4222; several addresses of one broker are separated by commas
    #[arg(long, value_name = "URL", env = "REWEAVE_CLUSTER")]
    pub cluster: String,
    /// What to show the broker, and whose programs to believe
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// How many pieces to explore at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = number::<NonZeroUsize>)]
    pub workers: Option<NonZeroUsize>,
}

/// Options of `cluster`.
#[derive(Args, Debug)]
pub struct ClusterOptions {
    /// What to do.
    #[command(subcommand)]
    pub command: ClusterCommand,
    /// Where.
    #[command(flatten)]
    pub place: ClusterPlace,
}

/// Which cluster.
#[derive(Args, Debug)]
pub struct ClusterPlace {
    /// The broker, such as nats://host:4222
    #[arg(long, value_name = "URL", env = "REWEAVE_CLUSTER", global = true)]
    pub cluster: Option<String>,
    /// What to show the broker
    #[arg(long, value_name = "FILE", global = true)]
    pub credentials: Option<PathBuf>,
}

/// What can be done with a cluster.
#[derive(Subcommand, Debug)]
pub enum ClusterCommand {
    /// List workers and searches
    Status,
    /// Stop a search; it can be resumed
    Stop {
        /// Its name
        search: String,
    },
    /// Go on with a search that was stopped, or whose `check` has died, and report its result
    Resume {
        /// Its name
        search: String,
    },
    /// Show the line by which workers trust programs that are signed with a key
    Key {
        /// The file with the line `sign`
        credentials: PathBuf,
    },
}
