//! What a search covered: places, pairs of places by the orders in which they met, and lines.
//!
//! *Called by:* whoever ends a search, to fill it in; text and pages, to show it. *Owns:* nothing.

use serde::{Deserialize, Serialize};

/// See the module. Part of a result document, if it was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Places with operations that other threads can see, in the order of the source.
    pub places: Vec<CoveredPlace>,
    /// Pairs of them that are used with the same objects, those that never met first.
    pub pairs: Vec<PlacePair>,
    /// Lines of the program; absent where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCoverage>,
}

/// A place with operations that other threads can see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CoveredPlace {
    /// Where.
    pub location: String,
    /// What is done there, such as `lock`.
    pub operations: Vec<String>,
    /// How many threads came there.
    pub threads: u64,
    /// How often, in all executions.
    pub steps: u64,
    /// How many branches of the search left there: something else went first.
    pub branches: u64,
}

/// Two places at which different threads use the same object, in ways whose order matters.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlacePair {
    /// One place.
    pub first: String,
    /// The other, which may be the same.
    pub second: String,
    /// How they met.
    pub met: Met,
    /// In how many executions `first` came before `second`; of one place: the thread created first before the other.
    pub in_order: u64,
    /// In how many it came after it.
    pub reversed: u64,
}

/// How two places met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Met {
    /// In no execution did they use the same object.
    Never,
    /// In one order only, though nothing that came before ordered them.
    OneOrder,
    /// In one order only, which something else gives them: a creation, a join, other synchronisation.
    Ordered,
    /// In both orders.
    Both,
}

/// Which lines were reached.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LineCoverage {
    /// Lines with code.
    pub known: u64,
    /// Those of them that some execution reached.
    pub reached: u64,
    /// The others.
    pub unreached: Vec<UnreachedLines>,
}

/// Lines of a file that no execution reached.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnreachedLines {
    /// The file.
    pub file: String,
    /// First and last line of each stretch without a line that was reached.
    pub lines: Vec<(u32, u32)>,
}

impl Coverage {
    /// How many pairs met in this way.
    pub fn count(&self, met: Met) -> u64 {
        let such = self.pairs.iter().filter(|pair| pair.met == met);
        such.count() as u64
    }

    /// The places where most branches left, the first of them first.
    pub fn busiest(&self) -> Vec<&CoveredPlace> {
        let left = self.places.iter().filter(|place| place.branches > 0);
        let mut busiest: Vec<&CoveredPlace> = left.collect();
        busiest.sort_by_key(|place| std::cmp::Reverse(place.branches));
        busiest
    }

    /// All branches whose place is known.
    pub fn branches(&self) -> u64 {
        self.places.iter().map(|place| place.branches).sum()
    }
}

impl UnreachedLines {
    /// Such as `queue.c:12-15, 31`.
    pub fn spelled(&self) -> String {
        let stretch = |&(first, last): &(u32, u32)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let lines: Vec<String> = self.lines.iter().map(stretch).collect();
        format!("{}:{}", self.file, lines.join(", "))
    }
}
