//! Fragments: pieces of a search as plain data, to be explored by another process, or later.
//!
//! A fragment taken out of a search by [`Search::split`] holds some of its branches. Another process explores it ([`Search::resume`]) and
//! sends back what came of it, a fragment too ([`Search::store`]): totals, branches that are left, and branches that belong to nodes of
//! others. [`Search::absorb`] puts it together with the search it came from, or with any other part of that. A fragment of the whole search
//! is how a search is paused.
//!
//! **Nodes and owners.** Branches of `dpor` and `rf` hold on to nodes, where claims are made. A node stays with the process that made it:
//! those that a fragment needs are *lent*, by name. The holder of the fragment knows what was claimed when they were lent; what it finds
//! there beyond that it cannot claim itself, so it *offers* the branches to the owner, in what it sends back, and goes on. The owner makes the claim
//! and takes the branches, or drops them. When a fragment comes back, its own nodes come with it and belong to whoever absorbs it. An
//! offer for a node that is still elsewhere waits in the search that absorbed it.
//!
//! *Invariants:* every node has one owner at a time, as long as a fragment is resumed once and absorbed once. However a search is split, totals
//! of an exact algorithm are those of one search, and classes are those of every algorithm (`tests/fragments.rs`).

use crate::{
    algorithm::{Algorithm, NodeStore, Options, Unfit},
    balance::{StoredSchedules, agrees},
    claims::{Claim, Claimed, Claims, Node, NodeId, StoredNode, claim_of, halves, whole},
    explorer::{Branch, Offer},
    search::{Search, Totals},
    stored_branch::StoredBranch,
};
use reweave_estimate::{Tally, hands};
use reweave_model::{Plan, Step};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, fmt, sync::Arc};

/// Grows with every change of what is stored.
const VERSION: u32 = 15;

/// A piece of a search. Nodes that branches share are stored once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fragment {
    version: u32,
    options: Options,
    identity: Identity,
    totals: Totals,
    tally: Tally,
    unfit: Option<Unfit>,
    nodes: Vec<StoredNode>,
    branches: Vec<StoredBranch>,
    offers: Vec<StoredOffer>,
    #[serde(default)]
    schedules: StoredSchedules,
}

impl Fragment {
    /// What it explores.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What was seen in it so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many branches are left in it.
    pub fn branches(&self) -> usize {
        self.branches.len()
    }
}

/// Distinguishes a search from other fragments of it. The first search has id 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Identity {
    id: u64,
    /// Fragments taken out of it.
    fragments: u64,
    /// Nodes that it has named.
    named: u64,
}

impl Identity {
    /// Of the next fragment.
    fn next(&mut self) -> Identity {
        self.fragments += 1;
        let mut id = self
            .id
            .wrapping_add(self.fragments.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb_u64] {
            id = (id ^ id >> 29).wrapping_mul(factor);
        }
        Identity {
            id: id ^ id >> 32,
            ..Identity::default()
        }
    }

    fn name(&mut self) -> NodeId {
        self.named += 1;
        NodeId {
            search: self.id,
            number: self.named,
        }
    }
}

impl Identity {
    /// Whether it is the whole search, parts of which may be elsewhere.
    pub fn is_whole(&self) -> bool {
        self.id == 0
    }

    /// Whether it is the whole search, parts of which are elsewhere.
    pub fn lends(&self) -> bool {
        self.is_whole() && self.fragments > 0
    }
}

/// What a search has to do with other processes.
#[derive(Debug)]
pub(crate) struct Exchange<P> {
    pub identity: Identity,
    /// Nodes that travelled, its own and those of others.
    nodes: HashMap<NodeId, Arc<Node>>,
    /// Branches for nodes that belong to others.
    pub offers: Vec<Offer<P>>,
}

impl<P> Default for Exchange<P> {
    fn default() -> Exchange<P> {
        Exchange {
            identity: Identity::default(),
            nodes: HashMap::new(),
            offers: Vec::new(),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct StoredOffer {
    node: u32,
    /// Two halves.
    claim: (u64, u64),
    branches: Vec<StoredBranch>,
}

/// Why a fragment cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FragmentError {
    /// It was stored in another version of the format: this one.
    Version(u32),
    /// It is of a search with other options.
    OtherOptions,
    /// Its parts do not fit together; which.
    Damaged(&'static str),
}

impl fmt::Display for FragmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FragmentError::Version(version) => write!(
                f,
                "the search was stored in version {version} of the format, this is version {VERSION}"
            ),
            FragmentError::OtherOptions => f.write_str("it was explored with other options"),
            FragmentError::Damaged(what) => write!(f, "the stored search is damaged: {what}"),
        }
    }
}

impl std::error::Error for FragmentError {}

impl<A: Algorithm> Search<A> {
    /// All of it as plain data.
    pub fn store(&self) -> Fragment {
        let mut writer = Writer::default();
        let branches = self.waiting();
        let branches = branches.iter().map(|it| writer.branch::<A>(it)).collect();
        let offers = self.exchange.offers.iter();
        let offers = offers.map(|it| writer.offer::<A>(it)).collect();
        // Others may have offers for these.
        let mut lent: Vec<_> = self.exchange.nodes.iter().collect();
        lent.sort_unstable_by_key(|(id, _)| **id);
        for (_, node) in lent {
            writer.nodes.add(node);
        }
        let nodes = writer.nodes.nodes();
        Fragment {
            version: VERSION,
            options: *self.options(),
            identity: self.exchange.identity,
            totals: self.totals,
            tally: self.tally(),
            unfit: self.unfit.clone(),
            nodes: nodes.map(|(it, before)| it.store(before, false)).collect(),
            branches,
            offers,
            schedules: self.schedules.store(),
        }
    }

    /// Hands out about half of what is left, the branches nearer to the root, to be explored elsewhere; `None` if there is only one branch.
    pub fn split(&mut self) -> Option<Fragment> {
        self.settle();
        if self.frontier.len() < 2 || !self.options().algorithm.splits() {
            return None;
        }
        let half = self.frontier.len() / 2;
        let branches = self.frontier.drain(..half).collect();
        self.forget_passes();
        Some(self.hand_out(branches))
    }

    /// Hands out everything that is left, in at most so many fragments of about the same weight.
    pub fn deal(&mut self, most: usize) -> Vec<Fragment> {
        self.settle();
        if self.options().balance.copies() {
            let fragments = self.unload(most);
            self.forget_passes();
            return fragments;
        }
        let all = std::mem::take(&mut self.frontier);
        let weights: Vec<f64> = all.iter().map(|branch| branch.place.weight).collect();
        let hands = hands(&weights, most);
        let mut all: Vec<Option<Branch<A::Payload>>> = all.into_iter().map(Some).collect();
        // As they lay on the stack.
        let fragments = hands.into_iter().map(|hand| {
            let taken = hand.into_iter().map(|index| all[index].take());
            let taken = taken.map(|it| it.expect("every branch goes into one hand"));
            self.hand_out(taken.collect())
        });
        let fragments = fragments.collect();
        self.frontier = all.into_iter().flatten().collect();
        self.forget_passes();
        fragments
    }

    /// What is left changed, so passes of probing over all of it say nothing any more.
    fn forget_passes(&mut self) {
        let mut tally = self.tally();
        tally.forget_passes();
        self.measure(tally);
    }

    /// A fragment of these branches. Their nodes are lent, or copied.
    pub(crate) fn hand_out(&mut self, branches: Vec<Branch<A::Payload>>) -> Fragment {
        let mut writer = Writer::default();
        let branches = branches.iter().map(|it| writer.branch::<A>(it)).collect();
        let copies = self.options().balance.copies();
        let exchange = &mut self.exchange;
        let nodes = writer.nodes.nodes().map(|(node, before)| {
            if copies {
                return node.store(before, false);
            }
            let id = node.name(|| exchange.identity.name());
            exchange.nodes.insert(id, node.clone());
            node.store(before, true)
        });
        let nodes = nodes.collect();
        Fragment {
            version: VERSION,
            options: *self.options(),
            identity: self.exchange.identity.next(),
            totals: Totals::default(),
            tally: Tally::default(),
            unfit: None,
            nodes,
            branches,
            offers: Vec::new(),
            schedules: StoredSchedules::default(),
        }
    }

    /// Explores a fragment, with any algorithm and any claims.
    pub fn restore(
        fragment: Fragment,
        claims: Arc<dyn Claims>,
    ) -> Result<Search<A>, FragmentError> {
        let mut search = Search::empty(fragment.options, claims);
        search.exchange.identity = fragment.identity;
        search.absorb(fragment)?;
        Ok(search)
    }

    /// Takes in what was done of a fragment elsewhere, and what is left of it. Where it fails nothing has changed.
    pub fn absorb(&mut self, fragment: Fragment) -> Result<(), FragmentError> {
        if fragment.version != VERSION {
            return Err(FragmentError::Version(fragment.version));
        }
        if fragment.options != *self.options() {
            return Err(FragmentError::OtherOptions);
        }
        agrees(fragment.options.balance, &fragment.schedules)?;
        let nodes = self.restore_nodes(&fragment.nodes)?;
        let mut reader = Reader {
            options: fragment.options,
            nodes: &nodes,
            before: Vec::new(),
        };
        let branches = fragment
            .branches
            .into_iter()
            .map(|it| reader.branch::<A>(it));
        let branches: Vec<_> = branches.collect::<Result<_, _>>()?;
        let offers = fragment.offers.into_iter().map(|it| reader.offer::<A>(it));
        let offers: Vec<_> = offers.collect::<Result<_, _>>()?;
        self.take_over(&fragment.nodes, &nodes);
        self.settle();
        self.begin_group();
        self.frontier.extend(branches);
        self.absorb_schedules(&fragment.schedules);
        self.totals.merge(&fragment.totals);
        self.unfit = self.unfit.take().or(fragment.unfit);
        self.exchange.offers.extend(offers);
        let mut tally = self.tally();
        let mut theirs = fragment.tally;
        if fragment.identity.id != self.exchange.identity.id {
            // Its passes are about a part of the search.
            theirs.forget_passes();
        }
        tally.merge(&theirs);
        tally.adopt(self.accept_offers());
        self.measure(tally);
        Ok(())
    }

    /// The nodes of a fragment: those that are known here, or new ones.
    fn restore_nodes(&self, stored: &[StoredNode]) -> Result<Vec<Arc<Node>>, FragmentError> {
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        for node in stored {
            let before = node.before.map(|index| nodes.get(index as usize).cloned());
            if matches!(before, Some(None)) || !node.makes_sense() {
                return Err(FragmentError::Damaged(
                    "a node comes after one that is missing",
                ));
            }
            let known = node.id.and_then(|id| self.exchange.nodes.get(&id));
            if known.is_some_and(|known| known.is_owned() && node.owned) {
                return Err(FragmentError::Damaged("a node has two owners"));
            }
            nodes.push(match known {
                Some(known) => known.clone(),
                None => Arc::new(node.restore(before.flatten())),
            });
        }
        Ok(nodes)
    }

    /// The nodes that came with a fragment belong to this search now; those of others are remembered by name.
    fn take_over(&mut self, stored: &[StoredNode], nodes: &[Arc<Node>]) {
        for (stored, node) in stored.iter().zip(nodes) {
            if stored.owned && !node.is_owned() {
                node.take_over(stored.claims());
            }
            if let Some(id) = stored.id {
                self.exchange.nodes.insert(id, node.clone());
            }
        }
    }

    /// Claims what was offered for nodes of this search, and takes the branches. Returns how many there are.
    fn accept_offers(&mut self) -> usize {
        let before = self.frontier.len();
        let offers = std::mem::take(&mut self.exchange.offers);
        for offer in offers {
            if !offer.node.is_owned() {
                self.exchange.offers.push(offer);
                continue;
            }
            let Claimed::First(earlier) = offer.node.claim(offer.claim) else {
                continue;
            };
            let sleeps =
                |claim: Claim| earlier.contains(&claim) || offer.node.covered.contains(&claim);
            for mut branch in offer.branches {
                // All that might sleep is in the plan. What does was claimed earlier.
                branch.rest.sleep.retain(|choice| sleeps(claim_of(*choice)));
                self.frontier.push(branch);
            }
        }
        self.frontier.len() - before
    }
}

/// Turns branches into plain data.
#[derive(Default)]
struct Writer {
    nodes: NodeStore,
    /// The steps of the branch before.
    before: Vec<Step>,
}

impl Writer {
    fn branch<A: Algorithm>(&mut self, branch: &Branch<A::Payload>) -> StoredBranch {
        let mut plan = Plan::default();
        branch.write_plan(&mut plan);
        let both = plan.steps.iter().zip(&self.before);
        let same = both.take_while(|(mine, theirs)| mine == theirs).count();
        let rest = plan.steps.split_off(same);
        self.before = std::mem::replace(&mut plan.steps, rest.clone());
        self.before.extend(rest);
        StoredBranch {
            same,
            plan,
            payload: A::store(&branch.payload, &mut self.nodes),
            place: branch.place,
            again: branch.again,
        }
    }

    fn offer<A: Algorithm>(&mut self, offer: &Offer<A::Payload>) -> StoredOffer {
        StoredOffer {
            node: self.nodes.add(&offer.node),
            claim: halves(&offer.claim),
            branches: offer
                .branches
                .iter()
                .map(|it| self.branch::<A>(it))
                .collect(),
        }
    }
}

/// And back.
struct Reader<'a> {
    options: Options,
    nodes: &'a [Arc<Node>],
    before: Vec<Step>,
}

impl Reader<'_> {
    fn branch<A: Algorithm>(
        &mut self,
        stored: StoredBranch,
    ) -> Result<Branch<A::Payload>, FragmentError> {
        let mut plan = stored.plan;
        let same = self.before.get(..stored.same);
        let same = same.ok_or(FragmentError::Damaged("a branch begins with nothing"))?;
        plan.steps.splice(0..0, same.iter().copied());
        self.before.clone_from(&plan.steps);
        let payload = A::restore(&self.options, stored.payload, self.nodes);
        let payload = payload.map_err(|_| FragmentError::Damaged("a branch makes no sense"))?;
        let mut branch = Branch::new(plan, payload, stored.place);
        branch.again = stored.again;
        Ok(branch)
    }

    fn offer<A: Algorithm>(
        &mut self,
        stored: StoredOffer,
    ) -> Result<Offer<A::Payload>, FragmentError> {
        let node = self.nodes.get(stored.node as usize).cloned();
        let branches = stored.branches.into_iter().map(|it| self.branch::<A>(it));
        Ok(Offer {
            node: node.ok_or(FragmentError::Damaged("an offer is for no node"))?,
            claim: whole(&stored.claim),
            branches: branches.collect::<Result<_, _>>()?,
        })
    }
}
