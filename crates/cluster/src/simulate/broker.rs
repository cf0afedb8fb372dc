//! The simulated broker: what it holds, and how long it takes.
//!
//! *Called by:* `world`. *Owns:* values, the work queue, deliveries. *Invariant:* operations are done one after the other.

use crate::message::{PieceId, Record, Token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Broker {
    pub pieces: BTreeMap<PieceId, Vec<u8>>,
    /// Reports that are stored, as bytes.
    pub reports: BTreeMap<PieceId, Vec<u8>>,
    /// With its revision.
    pub record: (u64, Option<Record>),
    pub tokens: VecDeque<Delivery>,
    /// All pieces whose tokens were ever put into the queue.
    pub queued: BTreeSet<PieceId>,
    /// Workers that wait for tokens: slot and generation.
    pub waiting: VecDeque<(usize, u32)>,
    pub operations: u64,
    pub busy_ns: u64,
    free_ns: u64,
}

/// A token, and how often it was taken out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Delivery {
    pub token: Token,
    pub times: u32,
}

impl Broker {
    /// An operation arrives: when it is done.
    pub fn operation(&mut self, arrives_ns: u64, takes_ns: u64) -> u64 {
        self.operations += 1;
        self.busy_ns += takes_ns;
        self.free_ns = self.free_ns.max(arrives_ns) + takes_ns;
        self.free_ns
    }
}
