//! A tree of executions as coordinators and workers see it.
//!
//! *Called by:* `simulate`. *Owns:* what is left of the tree. *Invariant:* pieces are bytes, as real ones are: nothing else passes
//! between the coordinator and workers.

use super::tree::{Branch, Tree, number};
use crate::{coordinator::Home, sentence::Sentence};
use reweave_estimate::{Shares, hands};

/// See the module.
#[derive(Debug)]
pub(super) struct TreeHome<'a> {
    tree: &'a Tree,
    explored: Explored,
    frontier: Vec<Branch>,
    out: usize,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Explored {
    pub runs: u64,
    /// How long they took.
    pub time_ns: u64,
}

/// How far a piece is explored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub time_ns: u64,
    pub most_runs: u64,
    /// However short the time is, one run is made.
    pub least: bool,
}

/// How long executions take: this long on average, some half of that and some half as much again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cost(pub u64);

impl Cost {
    fn of(self, branch: &Branch) -> u64 {
        let part = number(branch.node ^ 0x5eed) >> 32;
        self.0 / 2 + ((u128::from(self.0) * u128::from(part)) >> 32) as u64
    }
}

const BRANCH: usize = 20;

fn write(explored: Explored, branches: &[Branch]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16 + BRANCH * branches.len());
    bytes.extend(explored.runs.to_le_bytes());
    bytes.extend(explored.time_ns.to_le_bytes());
    for branch in branches {
        bytes.extend(branch.node.to_le_bytes());
        bytes.extend(branch.depth.to_le_bytes());
        bytes.extend(branch.weight.to_le_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<(Explored, Vec<Branch>)> {
    let (runs, rest) = bytes.split_first_chunk()?;
    let (time_ns, rest) = rest.split_first_chunk()?;
    let branches = rest.chunks(BRANCH).map(|bytes| {
        let (node, rest) = bytes.split_first_chunk()?;
        let (depth, rest) = rest.split_first_chunk()?;
        Some(Branch {
            node: u64::from_le_bytes(*node),
            depth: u32::from_le_bytes(*depth),
            weight: f64::from_le_bytes(rest.try_into().ok()?),
        })
    });
    let explored = Explored {
        runs: u64::from_le_bytes(*runs),
        time_ns: u64::from_le_bytes(*time_ns),
    };
    Some((explored, branches.collect::<Option<_>>()?))
}

/// How many branches are in a piece.
pub(super) fn branches(piece: &[u8]) -> u64 {
    (piece.len() / BRANCH) as u64
}

/// Explores a piece, depth first. The piece as it is then, and what was done.
pub(super) fn explore(tree: &Tree, cost: Cost, piece: &[u8], slice: Slice) -> (Vec<u8>, Explored) {
    let (_, mut stack) = read(piece).expect("pieces are made here");
    let done = advance(tree, cost, &mut stack, slice);
    (write(done, &stack), done)
}

fn advance(tree: &Tree, cost: Cost, stack: &mut Vec<Branch>, slice: Slice) -> Explored {
    let mut shares = Shares::default();
    let mut done = Explored::default();
    while done.runs < slice.most_runs {
        let Some(branch) = stack.pop() else {
            break;
        };
        let time_ns = done.time_ns + cost.of(&branch);
        if time_ns > slice.time_ns && !(slice.least && done.runs == 0) {
            // It is ended in the middle, and waits.
            stack.push(branch);
            break;
        }
        tree.follow(branch, &mut shares, stack);
        done.runs += 1;
        done.time_ns = time_ns;
    }
    done
}

impl TreeHome<'_> {
    /// All of a tree.
    pub fn new(tree: &Tree) -> TreeHome<'_> {
        TreeHome {
            tree,
            explored: Explored::default(),
            frontier: vec![tree.root()],
            out: 0,
        }
    }

    /// As a coordinator stored it.
    pub fn restored<'a>(tree: &'a Tree, bytes: &[u8]) -> Option<TreeHome<'a>> {
        let (out, rest) = bytes.split_first_chunk()?;
        let (explored, frontier) = read(rest)?;
        Some(TreeHome {
            tree,
            explored,
            frontier,
            out: u64::from_le_bytes(*out) as usize,
        })
    }

    /// Explores a little of it, at the user's end.
    pub fn begin(&mut self, cost: Cost, slice: Slice) -> Explored {
        let done = advance(self.tree, cost, &mut self.frontier, slice);
        self.note(done);
        done
    }

    /// What came back so far.
    pub fn explored(&self) -> Explored {
        self.explored
    }

    fn note(&mut self, done: Explored) {
        self.explored.runs += done.runs;
        self.explored.time_ns += done.time_ns;
    }
}

impl Home for TreeHome<'_> {
    fn deal(&mut self, most: usize) -> Vec<Vec<u8>> {
        let all = std::mem::take(&mut self.frontier);
        let weights: Vec<f64> = all.iter().map(|branch| branch.weight).collect();
        let pieces = hands(&weights, most).into_iter().map(|hand| {
            let branches: Vec<Branch> = hand.into_iter().map(|index| all[index]).collect();
            write(Explored::default(), &branches)
        });
        let pieces: Vec<_> = pieces.collect();
        self.out += pieces.len();
        pieces
    }

    fn absorb(&mut self, piece: &[u8]) -> Result<(), Sentence> {
        let (done, left) = read(piece).ok_or("a damaged piece")?;
        self.note(done);
        self.frontier.extend(left);
        self.out -= 1;
        Ok(())
    }

    fn restart(&mut self, _: &[u8]) -> Result<(), Sentence> {
        Err("trees do not restart".into())
    }

    fn store(&mut self) -> Vec<u8> {
        let out = (self.out as u64).to_le_bytes();
        [&out[..], &write(self.explored, &self.frontier)].concat()
    }

    fn runs(&self) -> u64 {
        self.explored.runs
    }

    fn is_over(&self) -> bool {
        self.frontier.is_empty() && self.out == 0
    }
}
