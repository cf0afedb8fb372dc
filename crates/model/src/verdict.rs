//! Errors found in a target.

use crate::execution::{Edge, Site};
use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// What went wrong, in the words of the result document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Kind {
    DataRace,
    Deadlock,
    Assertion,
    Crash,
    ExitStatus,
    Memory,
    Misuse,
    Livelock,
}

impl Kind {
    /// As the result document spells it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::DataRace => "data-race",
            Kind::Deadlock => "deadlock",
            Kind::Assertion => "assertion",
            Kind::Crash => "crash",
            Kind::ExitStatus => "exit-status",
            Kind::Memory => "memory",
            Kind::Misuse => "misuse",
            Kind::Livelock => "livelock",
        }
    }
}

/// One error of one execution.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Error {
    /// What it is.
    pub kind: Kind,
    /// For misuse and memory errors, which rule was broken.
    pub rule: Option<String>,
    /// For people.
    pub message: String,
    /// The source places it is about; two errors are the same when kind, rule and places are.
    pub sites: Vec<Site>,
    /// In which thread it came up, after how many of its events, where it has such a moment.
    pub after: Option<Edge>,
}
