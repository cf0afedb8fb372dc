//! Claims: what was tried at the nodes of a search. The one thing that workers share.
//!
//! A [`Node`] is a point at which executions part. A worker that finds out there that something else has to be tried *claims* it; the
//! first claim counts, and its worker gets the branch. Branches hold on to the nodes that their executions pass; with the last of them a
//! node is gone.
//!
//! A node has one *owner*: the process whose search made it, or took it over with what is left of a fragment. In another process the node
//! is only known: a claim there is answered by [`Claimed::Elsewhere`], and the branch travels to the owner, which makes the claim
//! ([`crate::Search::absorb`]). The finder goes on at once; nothing waits for an answer.
//!
//! *Called by:* `dpor` and `rf`. *Invariant:* claims at one node have a total order, and a branch knows those before its own only.

use crate::algorithms::{StoredVisited, Visited};
use reweave_model::{Choice, ThreadId};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// What is claimed: a number that stands for the same at a node in every process.
pub type Claim = u128;

/// A choice as a claim.
pub(crate) fn claim_of(choice: Choice) -> Claim {
    Claim::from(choice.thread.0) << 16 | Claim::from(choice.outcome)
}

/// And back.
pub(crate) fn choice_of(claim: &Claim) -> Choice {
    Choice {
        thread: ThreadId((claim >> 16) as u32),
        outcome: *claim as u16,
    }
}

/// How claims are made. A cluster can put its own in place of [`AtNodes`].
pub trait Claims: fmt::Debug + Send + Sync {
    /// Claims something at a node: atomic, and in one order for all who claim there.
    fn claim(&self, node: &Node, what: Claim) -> Claimed;
}

/// What became of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claimed {
    /// It is the first of its kind. At an ordered node: the claims before it, in order.
    First(Vec<Claim>),
    /// It was made before, or needs no trying.
    Known,
    /// The node belongs to another process, and this one does not know the claim. The branch is offered to the owner.
    Elsewhere,
}

/// Claims at the nodes themselves, under a lock of each node: for the workers of one process.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtNodes;

impl Claims for AtNodes {
    fn claim(&self, node: &Node, what: Claim) -> Claimed {
        node.claim(what)
    }
}

/// The name of a node in all processes: the search that named it, and a number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct NodeId {
    /// See [`crate::Fragment`].
    pub search: u64,
    /// Counted there.
    pub number: u64,
}

/// A point at which executions part.
#[derive(Debug)]
pub struct Node {
    /// Only nodes that travelled have one.
    id: OnceLock<NodeId>,
    /// The node of an earlier execution that passed here, where an algorithm needs it.
    pub before: Option<Arc<Node>>,
    /// The first decision that belongs to it, counted in events, where an algorithm needs it.
    pub first: u32,
    /// What needs no trying here: earlier branches elsewhere cover it.
    pub covered: Vec<Claim>,
    /// The states that `stateful` has visited: the node stands for the whole search then.
    pub(crate) visited: Option<Box<Visited>>,
    tried: Mutex<Tried>,
}

#[derive(Debug)]
struct Tried {
    /// Whether this process decides.
    owned: bool,
    claims: Set,
}

/// What was tried, as far as it is known here.
#[derive(Debug)]
enum Set {
    /// In the order of claims; few.
    Ordered(Vec<Claim>),
    Unordered(HashSet<Claim, BuildHasherDefault<AsIs>>),
}

impl Set {
    fn contains(&self, what: Claim) -> bool {
        match self {
            Set::Ordered(claims) => claims.contains(&what),
            Set::Unordered(claims) => claims.contains(&what),
        }
    }

    /// Adds it unless it is there, and says what was there before in order.
    fn insert(&mut self, what: Claim) -> Option<Vec<Claim>> {
        match self {
            Set::Ordered(claims) if claims.contains(&what) => None,
            Set::Ordered(claims) => {
                let earlier = claims.clone();
                claims.push(what);
                Some(earlier)
            }
            Set::Unordered(claims) => claims.insert(what).then(Vec::new),
        }
    }
}

impl Node {
    fn new(before: Option<Arc<Node>>, first: u32, covered: Vec<Claim>, claims: Set) -> Node {
        Node {
            id: OnceLock::new(),
            before,
            first,
            covered,
            visited: None,
            tried: Mutex::new(Tried {
                owned: true,
                claims,
            }),
        }
    }

    /// A node whose claims are ordered. Some of them are made, others need no trying.
    pub fn ordered(covered: Vec<Claim>, claims: Vec<Claim>) -> Node {
        Node::new(None, 0, covered, Set::Ordered(claims))
    }

    /// A node that stands for a whole search, with the states that it has visited.
    pub(crate) fn of_states(visited: Visited) -> Node {
        Node {
            visited: Some(Box::new(visited)),
            ..Node::ordered(Vec::new(), Vec::new())
        }
    }

    /// A node whose claims are many and in no order that matters.
    pub fn unordered(before: Option<Arc<Node>>, first: u32) -> Node {
        Node::new(
            before,
            first,
            Vec::new(),
            Set::Unordered(HashSet::default()),
        )
    }

    /// Claims something here.
    pub fn claim(&self, what: Claim) -> Claimed {
        let mut tried = self.tried();
        if self.covered.contains(&what) {
            return Claimed::Known;
        }
        match (tried.claims.insert(what), tried.owned) {
            (None, _) => Claimed::Known,
            (Some(earlier), true) => Claimed::First(earlier),
            (Some(_), false) => Claimed::Elsewhere,
        }
    }

    /// Whether something was tried here, or needs no trying.
    pub fn knows(&self, what: Claim) -> bool {
        self.covered.contains(&what) || self.tried().claims.contains(what)
    }

    fn tried(&self) -> MutexGuard<'_, Tried> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its name; given by `name` if it has none yet.
    pub(crate) fn name(&self, name: impl FnOnce() -> NodeId) -> NodeId {
        *self.id.get_or_init(name)
    }

    pub(crate) fn is_owned(&self) -> bool {
        self.tried().owned
    }

    /// From now on this process decides here; these claims were made elsewhere.
    pub(crate) fn take_over(&self, claims: impl IntoIterator<Item = Claim>) {
        let mut tried = self.tried();
        tried.owned = true;
        match &mut tried.claims {
            // What was only offered so far has no place in the order yet.
            Set::Ordered(mine) => *mine = claims.into_iter().collect(),
            Set::Unordered(mine) => *mine = claims.into_iter().collect(),
        }
    }

    /// As plain data, but for the node before it. Lent: it stays with this process.
    pub(crate) fn store(&self, before: Option<u32>, lent: bool) -> StoredNode {
        let tried = self.tried();
        let (ordered, claims) = match &tried.claims {
            Set::Ordered(claims) => (true, claims.iter().map(halves).collect()),
            Set::Unordered(claims) => {
                let mut claims: Vec<(u64, u64)> = claims.iter().map(halves).collect();
                claims.sort_unstable();
                (false, claims)
            }
        };
        StoredNode {
            id: self.id.get().copied(),
            owned: tried.owned && !lent,
            before,
            first: self.first,
            covered: self.covered.iter().map(halves).collect(),
            ordered,
            claims,
            visited: self.visited.as_ref().map(|visited| visited.store()),
        }
    }
}

/// A node as plain data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct StoredNode {
    pub id: Option<NodeId>,
    /// Whether it belongs to the process that gets the fragment.
    pub owned: bool,
    /// The index of the node before it; that is stored earlier.
    pub before: Option<u32>,
    first: u32,
    /// Claims are stored as two halves each.
    covered: Vec<(u64, u64)>,
    ordered: bool,
    claims: Vec<(u64, u64)>,
    #[serde(default)]
    visited: Option<StoredVisited>,
}

/// A claim as two halves.
pub(crate) fn halves(claim: &Claim) -> (u64, u64) {
    ((claim >> 64) as u64, *claim as u64)
}

pub(crate) fn whole(&(high, low): &(u64, u64)) -> Claim {
    Claim::from(high) << 64 | Claim::from(low)
}

impl StoredNode {
    /// The node, behind another one.
    pub fn restore(&self, before: Option<Arc<Node>>) -> Node {
        let claims = match self.ordered {
            true => Set::Ordered(self.claims().collect()),
            false => Set::Unordered(self.claims().collect()),
        };
        let covered = self.covered.iter().map(whole).collect();
        let mut node = Node::new(before, self.first, covered, claims);
        let visited = self.visited.clone();
        node.visited = visited.map(|visited| Box::new(visited.restore()));
        node.tried().owned = self.owned;
        if let Some(id) = self.id {
            node.name(|| id);
        }
        node
    }

    /// Whether the first decision of a node without one before it is the first of all.
    pub fn makes_sense(&self) -> bool {
        (self.before.is_some() || self.first == 0 || self.ordered)
            && (self.owned || self.id.is_some())
            && self.visited.as_ref().is_none_or(StoredVisited::makes_sense)
    }

    pub fn claims(&self) -> impl Iterator<Item = Claim> {
        self.claims.iter().map(whole)
    }
}

/// What is claimed is a hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.0 = value as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_claim_counts() {
        let node = Node::ordered(vec![7], vec![1]);
        assert_eq!(AtNodes.claim(&node, 7), Claimed::Known);
        assert_eq!(AtNodes.claim(&node, 2), Claimed::First(vec![1]));
        assert_eq!(AtNodes.claim(&node, 3), Claimed::First(vec![1, 2]));
        assert_eq!(AtNodes.claim(&node, 2), Claimed::Known);
        assert!(node.knows(7) && node.knows(3) && !node.knows(4));
    }

    /// In another process a node only filters what is known there, once.
    #[test]
    fn claims_at_a_lent_node_go_to_its_owner() {
        let node = Node::unordered(None, 0);
        assert_eq!(node.claim(1), Claimed::First(Vec::new()));
        let id = NodeId {
            search: 5,
            number: 6,
        };
        node.name(|| id);
        let lent = node.store(None, true).restore(None);
        assert!(!lent.is_owned() && node.is_owned());
        assert_eq!(lent.claim(1), Claimed::Known);
        assert_eq!(lent.claim(2), Claimed::Elsewhere);
        assert_eq!(lent.claim(2), Claimed::Known);
        lent.take_over([1, 9]);
        assert_eq!(lent.claim(9), Claimed::Known);
        assert_eq!(lent.claim(2), Claimed::First(Vec::new()));
    }
}
