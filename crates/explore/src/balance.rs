//! How the parts of a search that several processes explore hang together, and Inspect's way of that, for comparison.
//!
//! Usually a node has one owner, and a branch that is found elsewhere travels there: nothing is run twice. *Inspect* (Distributed Inspect,
//! sections 3.3 and 3.4) does without owners. A worker that has nothing to do gets the backtrack point nearest to the root from one that has
//! several (its figure 6), with a copy of all nodes above. What either of them finds at such a node later it explores itself,
//! so schedules are run twice. Eager backtrack sets (its figure 9), which name all races of an operation and not the latest one only, make
//! that rarer. Schedules that were run before are counted.
//!
//! *Called by:* searches of `dpor`. *Owns:* the schedules that were run. *Invariants:* a branch sleeps on claims of its own copy of a node only; each of
//! those was claimed before the copy was made, or in the copy, so no two branches sleep on each other and every class is met
//! (`tests/fragments.rs`).
//!
//! Deviation from the paper: there a worker offers work; here the coordinator calls pieces back while workers have nothing to do, and
//! hands their points out.

use crate::{
    algorithm::Algorithm, explorer::Branch, fragment::Fragment, fragment::FragmentError,
    search::Search,
};
use reweave_model::Execution;
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Each node has an owner, and nothing is run twice.
    #[default]
    Owners,
    /// Nodes are copied; backtrack sets are eager.
    Inspect,
    /// Nodes are copied; backtrack sets grow with the latest race of each operation, as in sequential DPOR.
    InspectLazy,
}

impl Balance {
    /// All of them.
    pub const ALL: [Balance; 3] = [Balance::Owners, Balance::Inspect, Balance::InspectLazy];

    /// As users spell it.
    pub fn name(self) -> &'static str {
        match self {
            Balance::Owners => "owners",
            Balance::Inspect => "inspect",
            Balance::InspectLazy => "inspect-lazy",
        }
    }

    /// Whether each fragment has nodes of its own.
    pub fn copies(self) -> bool {
        self != Balance::Owners
    }

    /// Whether only the latest race of an operation counts.
    pub(crate) fn is_lazy(self) -> bool {
        self == Balance::InspectLazy
    }
}

impl FromStr for Balance {
    type Err = UnknownBalance;

    fn from_str(text: &str) -> Result<Balance, UnknownBalance> {
        let mut all = Balance::ALL.into_iter();
        all.find(|it| it.name() == text).ok_or(UnknownBalance)
    }
}

/// A word that names no balance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownBalance;

impl fmt::Display for UnknownBalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("owners, inspect or inspect-lazy is expected")
    }
}

impl std::error::Error for UnknownBalance {}

/// Executions that were run before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Duplicates {
    /// How many.
    pub count: u64,
    /// Some may be missing: the search was taken over, and schedules are not stored with it.
    pub at_least: bool,
}

/// What an execution was, as a number: its threads and outcomes in order. Two of two million schedules have the same with a probability of 1e-7.
pub(crate) fn schedule(execution: &Execution) -> u64 {
    let mut hasher = DefaultHasher::new();
    for event in &execution.events {
        (event.thread.0, event.outcome).hash(&mut hasher);
    }
    hasher.finish()
}

/// The schedules of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedules {
    /// In the order in which they were run, by a fragment.
    listed: Vec<u64>,
    /// All of them, in the whole search.
    known: HashSet<u64>,
    duplicates: Duplicates,
}

/// Schedules as plain data.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StoredSchedules {
    listed: Vec<u64>,
    duplicates: Duplicates,
}

impl Schedules {
    pub fn note(&mut self, schedules: &[u64], whole: bool) {
        if !whole {
            return self.listed.extend(schedules);
        }
        let known = &mut self.known;
        let again = schedules.iter().filter(|it| !known.insert(**it));
        self.duplicates.count += again.count() as u64;
    }

    pub fn absorb(&mut self, stored: &StoredSchedules, whole: bool) {
        self.note(&stored.listed, whole);
        self.duplicates.count += stored.duplicates.count;
        self.duplicates.at_least |= stored.duplicates.at_least;
    }

    pub fn store(&self) -> StoredSchedules {
        StoredSchedules {
            listed: self.listed.clone(),
            duplicates: Duplicates {
                at_least: self.duplicates.at_least || !self.known.is_empty(),
                ..self.duplicates
            },
        }
    }
}

/// How many steps a branch has: the fewer, the nearer it is to the root.
fn steps<P>(branch: &Branch<P>) -> usize {
    branch.shared.1 as usize + branch.rest.steps.len()
}

impl<A: Algorithm> Search<A> {
    /// How many executions were run more than once; `None`: none can be.
    pub fn duplicates(&self) -> Option<Duplicates> {
        let copies = self.options().balance.copies();
        copies.then_some(self.schedules.duplicates)
    }

    /// Notes the executions of a fragment, or of all workers.
    pub(crate) fn note_schedules(&mut self, schedules: &[u64]) {
        let whole = self.exchange.identity.is_whole();
        self.schedules.note(schedules, whole);
    }

    /// Takes in a fragment's schedules.
    pub(crate) fn absorb_schedules(&mut self, stored: &StoredSchedules) {
        let whole = self.exchange.identity.is_whole();
        self.schedules.absorb(stored, whole);
    }

    /// All that is left, which one process explores from here on.
    pub(crate) fn take_frontier(&mut self) -> Vec<Branch<A::Payload>> {
        self.groups.clear();
        std::mem::take(&mut self.frontier)
    }

    /// What comes to the frontier next came from one worker.
    pub(crate) fn begin_group(&mut self) {
        if self.options().balance.copies() {
            self.groups.push(self.frontier.len());
        }
    }

    /// Hands out everything, in at most so many fragments: to each worker what it had, and to those that had nothing the branch nearest to
    /// the root of one that has most.
    pub(crate) fn unload(&mut self, most: usize) -> Vec<Fragment> {
        let mut hands: Vec<Vec<Branch<A::Payload>>> = Vec::new();
        let mut all = std::mem::take(&mut self.frontier);
        for start in std::mem::take(&mut self.groups).into_iter().rev() {
            hands.push(all.split_off(start.min(all.len())));
        }
        hands.push(all);
        hands.retain(|hand| !hand.is_empty());
        // In the order in which they came.
        hands.reverse();
        while hands.len() > most.max(1) {
            hands.sort_by_key(|hand| std::cmp::Reverse(hand.len()));
            let smallest = hands.pop().expect("there are several");
            hands.last_mut().expect("there is one").extend(smallest);
        }
        while hands.len() < most {
            let largest = hands.iter_mut().filter(|hand| hand.len() > 1);
            let Some(largest) = largest.max_by_key(|hand| hand.len()) else {
                break;
            };
            let nearest = (0..largest.len()).min_by_key(|index| steps(&largest[*index]));
            let point = largest.remove(nearest.expect("it has several"));
            hands.push(vec![point]);
        }
        let fragments = hands.into_iter().map(|hand| self.hand_out(hand));
        fragments.collect()
    }
}

/// A fragment whose copies of nodes would be those of another one makes no sense.
pub(crate) fn agrees(balance: Balance, listed: &StoredSchedules) -> Result<(), FragmentError> {
    let empty = listed.listed.is_empty() && listed.duplicates.count == 0;
    match balance.copies() || empty {
        true => Ok(()),
        false => Err(FragmentError::Damaged(
            "schedules are listed that are not counted",
        )),
    }
}
