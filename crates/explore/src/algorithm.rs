//! What an algorithm is: executions in, branches out.
//!
//! An algorithm is one folder (or file) below `algorithms` and one row of the table in `algorithms.rs`. It implements [`Algorithm`]; the
//! search, its workers, fragments and estimates know nothing else of it. What a branch carries for its algorithm alone is its *payload*.

use crate::{
    algorithms::AlgorithmName,
    balance::Balance,
    claims::{Claim, Claims, Node},
    draft::Child,
};
use reweave_estimate::Probing;
use reweave_model::{Execution, Plan, Policy};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap, fmt, sync::Arc};

/// What to explore, and how far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Options {
    /// How.
    pub algorithm: AlgorithmName,
    /// For `rf`: rounds of loops that change nothing are taken back, and are no part of a class. Fingerprints of threads are taken at every
    /// read then, so a search begins without, and restarts with it once a loop was seen to wait.
    #[serde(default)]
    pub loops: bool,
    /// Only schedules with at most so many preemptions.
    pub preemptions: Option<u32>,
    /// Events after which a thread goes no further.
    pub max_steps: u32,
    /// For `random` and `pct`: how many runs.
    pub samples: u64,
    /// For `random` and `pct`: the first run's seed; the others follow.
    pub seed: u64,
    /// For `pct`: places where a priority changes.
    pub depth: u32,
    /// For `optimal`: children of one execution that are found at a time. One that has more is run again for the rest, and counted once.
    pub at_once: u32,
    /// How many executions are drawn at random, so that the size of the search is known early.
    pub probing: Probing,
    /// For `dpor` in several processes: how their parts hang together.
    #[serde(default)]
    pub balance: Balance,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            algorithm: AlgorithmName::Auto,
            loops: false,
            preemptions: None,
            max_steps: 100_000,
            samples: 10_000,
            seed: 0,
            depth: 3,
            at_once: 10_000,
            probing: Probing::default(),
            balance: Balance::default(),
        }
    }
}

impl Options {
    /// Which executions count as the same.
    pub fn equivalence(&self) -> &'static str {
        match self.loops && self.by_reads() {
            true => "reads-from-exits",
            false => self.algorithm.equivalence(),
        }
    }

    /// Whether classes are those of `rf`.
    pub fn by_reads(&self) -> bool {
        matches!(self.algorithm, AlgorithmName::Auto | AlgorithmName::Rf)
            && self.preemptions.is_none()
    }

    /// What to explore with where this cannot explore the program.
    pub fn instead(&mut self, unfit: &Unfit) {
        match *unfit == Unfit::LOOPS && !self.loops {
            true => self.loops = true,
            false => (self.algorithm, self.loops) = (AlgorithmName::Optimal, false),
        }
    }
}

/// Reads executions and finds the branches that must still be explored. One value for each worker. It owns reusable tables only: all that
/// has to be remembered is in payloads and claims, so any worker can go on with any branch.
pub trait Algorithm: Sized + Send {
    /// What a branch carries for this algorithm alone.
    type Payload: Clone + fmt::Debug + Send + Sync;

    /// For one worker. Claims are made through `claims`.
    fn new(options: &Options, claims: &Arc<dyn Claims>) -> Self;

    /// The first branch of every search: its plan has no steps, only a policy.
    fn first(options: &Options) -> (Policy, Self::Payload);

    /// Finds the branches that follow from an execution. An error stops the search: the algorithm cannot explore this program.
    fn branches(
        &mut self,
        ran: Ran<'_, Self::Payload>,
        found: &mut Found<Self::Payload>,
    ) -> Result<(), Unfit>;

    /// A payload as plain data.
    fn store(payload: &Self::Payload, nodes: &mut NodeStore) -> StoredPayload;

    /// The payload again. `nodes` are those of the fragment.
    fn restore(
        options: &Options,
        stored: StoredPayload,
        nodes: &[Arc<Node>],
    ) -> Result<Self::Payload, Malformed>;
}

/// An execution, and the branch that it was run for.
#[derive(Debug)]
pub struct Ran<'a, P> {
    /// What was planned.
    pub plan: &'a Plan,
    /// What the branch carries.
    pub payload: &'a P,
    /// What happened.
    pub execution: &'a Execution,
    /// Asked now and then in a long analysis: whether to leave the rest of it for another time, as [`Found::rest`].
    pub interrupt: &'a Interrupt,
}

/// A question that a search asks while it analyses an execution: whether its time is over.
#[derive(Clone)]
pub struct Interrupt(Arc<dyn Fn() -> bool + Send + Sync>);

impl Interrupt {
    /// Which is answered by this.
    pub fn new(over: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt(Arc::new(over))
    }

    /// Whether to stop.
    pub fn asked(&self) -> bool {
        (self.0)()
    }
}

impl Default for Interrupt {
    fn default() -> Interrupt {
        Interrupt::new(|| false)
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

/// What follows from an execution.
#[derive(Debug)]
pub struct Found<P> {
    /// The branches. Those to be run first come last.
    pub children: Vec<NewBranch<P>>,
    /// Not all branches were found: the execution is to be run once more for the rest, which leave at this position or later. It is
    /// counted once.
    pub rest: Option<(u32, P)>,
    /// What the execution keeps of its weight, a natural logarithm, where the algorithm weighs branches itself.
    pub kept: Option<f64>,
    /// Whether a bound kept something from being explored.
    pub cut: bool,
    /// How many claims were made at nodes that other executions share.
    pub claimed: u64,
    /// The execution turned out to be one that another branch stands for: it is counted as redundant.
    pub repeats: bool,
}

impl<P> Default for Found<P> {
    fn default() -> Found<P> {
        Found {
            children: Vec::new(),
            rest: None,
            kept: None,
            cut: false,
            claimed: 0,
            repeats: false,
        }
    }
}

/// A branch that was found.
#[derive(Debug)]
pub struct NewBranch<P> {
    /// Its plan.
    pub child: Child,
    /// What it carries.
    pub payload: P,
    /// Where other executions would have found it as well: to which of the executions above its finder it belongs, counted from there. Else 0.
    pub above: u32,
    /// Its part of the weight of its finder, a natural logarithm; `None`: by where it leaves.
    pub part: Option<f64>,
    /// It was found at a node of another process, which has to make this claim first ([`crate::Claimed::Elsewhere`]). All its possible
    /// sleepers are in its plan: the owner keeps those that were claimed earlier.
    pub claim: Option<Box<(Arc<Node>, Claim)>>,
}

impl<P> NewBranch<P> {
    /// A branch that only its finder can find.
    pub fn new(child: Child, payload: P) -> NewBranch<P> {
        NewBranch {
            child,
            payload,
            above: 0,
            part: None,
            claim: None,
        }
    }

    /// The same with another payload.
    pub fn map<Q>(self, payload: impl FnOnce(P) -> Q) -> NewBranch<Q> {
        NewBranch {
            child: self.child,
            payload: payload(self.payload),
            above: self.above,
            part: self.part,
            claim: self.claim,
        }
    }
}

/// Why an algorithm cannot explore a program: the end of a sentence that begins with *because*.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unfit(Cow<'static, str>);

impl Unfit {
    /// Rounds of a loop may have to be taken back ([`Options::loops`]).
    pub const LOOPS: Unfit = Unfit::because("a loop waits for something to change");

    /// For this reason.
    pub const fn because(why: &'static str) -> Unfit {
        Unfit(Cow::Borrowed(why))
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A payload as plain data: numbers, and the nodes that it holds on to, as indices in its fragment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StoredPayload {
    /// In an order that the algorithm knows.
    pub numbers: Vec<u64>,
    /// See [`NodeStore`].
    pub nodes: Vec<u32>,
}

/// A stored payload that its algorithm did not write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl StoredPayload {
    /// Numbers and no nodes.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> StoredPayload {
        StoredPayload {
            numbers: numbers.into_iter().collect(),
            nodes: Vec::new(),
        }
    }

    /// The numbers, if there are just so many, and no nodes.
    pub fn numbers<const N: usize>(&self) -> Result<[u64; N], Malformed> {
        let numbers = self.numbers.as_slice().try_into();
        match self.nodes.is_empty() {
            true => numbers.map_err(|_| Malformed),
            false => Err(Malformed),
        }
    }

    /// Its nodes.
    pub fn nodes(&self, all: &[Arc<Node>]) -> Result<Vec<Arc<Node>>, Malformed> {
        let nodes = self.nodes.iter().map(|index| all.get(*index as usize));
        nodes.map(|node| node.cloned().ok_or(Malformed)).collect()
    }
}

/// Nodes that the branches of a fragment share, each stored once.
#[derive(Debug, Default)]
pub struct NodeStore {
    known: HashMap<*const Node, u32>,
    nodes: Vec<Arc<Node>>,
}

impl NodeStore {
    /// The index of a node; those before it have smaller ones.
    pub fn add(&mut self, node: &Arc<Node>) -> u32 {
        // A loop: there may be as many as executions on a path.
        let mut missing = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| !self.known.contains_key(&Arc::as_ptr(node))) {
            missing.push(node);
            next = node.before.as_ref();
        }
        for node in missing.into_iter().rev() {
            self.known
                .insert(Arc::as_ptr(node), self.nodes.len() as u32);
            self.nodes.push(node.clone());
        }
        self.known[&Arc::as_ptr(node)]
    }

    /// All of them, with the index of the node before each.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Arc<Node>, Option<u32>)> {
        self.nodes.iter().map(|node| {
            let before = node.before.as_ref();
            (node, before.map(|before| self.known[&Arc::as_ptr(before)]))
        })
    }
}
