//! A cluster in simulated time: the real coordinator and workers, over a tree of executions, a simulated broker and a clock of events.
//!
//! *Decides:* when things happen. *Called by:* the command, and tests. *Owns:* the clock, the broker and what it holds. *Invariants:* the
//! same setting gives the same course, to the last event; and what was run is the whole tree, each execution counted once.
//!
//! What a real cluster does in `coordinate`, `serve` and `broker` is done here by [`World`], in the same order and with the same
//! constants. Every message and every value costs the broker time, one after the other, and a way there and back.

mod broker;
mod course;
mod home;
mod tree;
mod world;

pub use course::{Course, Spent};
pub use tree::{SHAPES, Shape, Tree};

use crate::coordinator::Pace;
use std::time::Duration;
use world::World;

/// A cluster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// Pieces that can be explored at once, in all.
    pub workers: usize,
    /// Of them in one process.
    pub cores: usize,
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// How long an execution takes, on average.
    pub execution: Duration,
    /// From a process to the broker, or back.
    pub latency: Duration,
    /// What the broker takes for a message or a value.
    pub operation: Duration,
    /// And for each branch in it.
    pub branch: Duration,
    /// What the coordinator takes to take in a report, or to write a piece.
    pub report: Duration,
    /// And for each branch in it.
    pub report_branch: Duration,
    /// Until a worker has a program ready.
    pub opening: Duration,
    /// What part of explored pieces is lost: the worker dies before it reports, or is silent until another one has the piece.
    pub lost: f64,
    /// How often each process of workers dies.
    pub deaths_per_hour: f64,
    /// How often the coordinator dies. Another one takes over after two seconds.
    pub takeovers_per_hour: f64,
    /// How pieces are dealt.
    pub pace: Pace,
}

impl Default for Setting {
    /// As it was measured on one machine of two cores, but for the latency: see docs/benchmarks.md.
    fn default() -> Setting {
        Setting {
            workers: 1,
            cores: 16,
            seed: 0,
            execution: Duration::from_millis(10),
            latency: Duration::from_micros(250),
            operation: Duration::from_micros(20),
            branch: Duration::from_nanos(200),
            report: Duration::from_micros(100),
            report_branch: Duration::from_micros(5),
            opening: Duration::from_millis(200),
            lost: 0.0,
            deaths_per_hour: 0.0,
            takeovers_per_hour: 0.0,
            pace: Pace::default(),
        }
    }
}

/// What a cluster does with a tree.
pub fn simulate(tree: &Tree, setting: &Setting) -> Course {
    World::new(tree, setting).run()
}
