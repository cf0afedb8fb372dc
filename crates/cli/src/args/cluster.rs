//! What `worker` and `cluster` are asked for.
//!
//! *Called by:* `cluster`. *Owns:* nothing.

use super::{
    Format,
    check::{bytes, number},
};
use clap::{Args, Subcommand};
use reweave_cluster::Shape;
use std::{
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

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
    /// The longest file that a program can write
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    pub max_file: u64,
    /// Processes and threads that the user of the worker can have while programs run; the superuser has no such limit
    #[arg(long, value_name = "N", default_value = "4096", value_parser = number::<NonZeroU64>)]
    pub max_processes: NonZeroU64,
    /// Bytes that the files of one program can have, and all programs that lie here at a time
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = bytes)]
    pub max_disk: u64,
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

/// Options of `simulate`.
#[derive(Args, Debug)]
pub struct SimulateOptions {
    /// A log of a search, as `reweave check --log FILE` writes it
    #[arg(
        value_name = "LOG",
        required_unless_present = "tree",
        conflicts_with = "tree"
    )]
    pub log: Option<PathBuf>,
    /// A made-up tree instead: scheduling:THREADS, resource:USERS,RESOURCES, store:REQUESTS
    #[arg(long, value_name = "TREE")]
    pub tree: Option<Shape>,
    /// How many pieces are explored at once; several numbers are simulated one after the other
    #[arg(long, value_name = "N,...", value_delimiter = ',', required = true, value_parser = number::<NonZeroUsize>)]
    pub workers: Vec<NonZeroUsize>,
    /// How many of them are in one process
    #[arg(long, value_name = "N", default_value = "16", value_parser = number::<NonZeroUsize>)]
    pub cores: NonZeroUsize,
    /// How long an execution takes
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = fine)]
    pub execution: Duration,
    /// From a process to the broker, or back
    #[arg(long, value_name = "TIME", default_value = "250us", value_parser = fine)]
    pub latency: Duration,
    /// What the broker takes for a message or a value
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = fine)]
    pub operation: Duration,
    /// How long a piece is explored, at most
    #[arg(long, value_name = "TIME", value_parser = reweave_check::duration)]
    pub slice: Option<Duration>,
    /// The same time for all pieces, however many workers are busy
    #[arg(long)]
    pub fixed: bool,
    /// How many of a hundred pieces are lost: workers die, or fall silent for four seconds, before they report
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = clap::value_parser!(f64))]
    pub lost: f64,
    /// How often a process of workers dies in an hour
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(f64))]
    pub deaths: f64,
    /// How often the coordinator dies in an hour
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(f64))]
    pub takeovers: f64,
    /// Decides all that is left to chance
    #[arg(long, value_name = "N", default_value = "0", value_parser = number::<u64>)]
    pub seed: u64,
    /// The format to write
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A time, also in microseconds.
fn fine(text: &str) -> Result<Duration, String> {
    let count = text.strip_suffix("us").and_then(|count| count.parse().ok());
    match count {
        Some(count) => Ok(Duration::from_micros(count)),
        None => reweave_check::duration(text).map_err(|error| error.to_string()),
    }
}
