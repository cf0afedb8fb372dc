//! Trees of executions: recorded ones, and generated ones like those of the programs that the thesis measured.
//!
//! *Decides:* which executions follow from which, and what each weighs. *Called by:* `home`. *Owns:* a recorded tree. *Invariant:* what
//! follows from a branch depends on the branch alone, so every worker finds the same.

use crate::sentence::Sentence;
use reweave_estimate::{Dice, Family, Recorded, Shares};
use std::{fmt, str::FromStr};

/// An execution that is to be run, with all that follows from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Branch {
    /// Which one: a node of the tree.
    pub(super) node: u64,
    /// Decisions before it.
    pub(super) depth: u32,
    /// What part of the search it is, if all siblings are alike: the natural logarithm of that.
    pub(super) weight: f64,
}

/// A tree of executions.
#[derive(Debug)]
pub enum Tree {
    /// As a search was recorded.
    Recorded(Family),
    /// Made up.
    Generated(Shape),
}

/// How many ways each decision has, in made-up trees. An execution is a way from the root to a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// So many threads with one step each that depends on all others: n! executions.
    Scheduling(u32),
    /// So many users, one after the other, that find as many resources free: min(resources, users left) ways each time.
    Resource(u32, u32),
    /// Requests to a store, some of which depend on others: no two parts of the tree are alike. So many decisions at most.
    Store(u32),
}

/// Names of [`Shape`]s, for people.
pub const SHAPES: &str = "scheduling:THREADS, resource:USERS,RESOURCES, store:REQUESTS";

impl FromStr for Shape {
    type Err = Sentence;

    fn from_str(text: &str) -> Result<Shape, Sentence> {
        let wrong = || Sentence(format!("{text}: no such tree; there are {SHAPES}"));
        let (name, sizes) = text.split_once(':').ok_or_else(wrong)?;
        let sizes: Result<Vec<u32>, _> = sizes.split(',').map(str::parse).collect();
        match (name, &sizes.map_err(|_| wrong())?[..]) {
            ("scheduling", &[threads @ 1..=20]) => Ok(Shape::Scheduling(threads)),
            ("resource", &[users @ 1..=40, resources @ 1..=40]) => {
                Ok(Shape::Resource(users, resources))
            }
            ("store", &[requests @ 1..=200]) => Ok(Shape::Store(requests)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Scheduling(threads) => write!(f, "scheduling:{threads}"),
            Shape::Resource(users, resources) => write!(f, "resource:{users},{resources}"),
            Shape::Store(requests) => write!(f, "store:{requests}"),
        }
    }
}

impl Shape {
    /// Ways at a decision behind so many others; `None`: the execution is over.
    fn ways(self, depth: u32, node: u64) -> Option<u32> {
        match self {
            Shape::Scheduling(threads) => Some(threads - depth).filter(|ways| *ways > 0),
            Shape::Resource(users, resources) => {
                Some(resources.min(users - depth)).filter(|ways| *ways > 0)
            }
            // One in sixteen decisions is the last one; the others have 1.6 ways on average.
            Shape::Store(requests) if depth < requests => match number(node) % 16 {
                0 if depth > 4 => None,
                0..=8 => Some(1),
                9..=13 => Some(2),
                _ => Some(3),
            },
            Shape::Store(_) => None,
        }
    }
}

/// A number that depends on this one alone.
pub(super) fn number(from: u64) -> u64 {
    Dice(from).next()
}

impl Tree {
    /// Of a search that was recorded.
    pub fn recorded(search: &Recorded) -> Tree {
        Tree::Recorded(search.family())
    }

    /// Where the search begins.
    pub(super) fn root(&self) -> Branch {
        Branch {
            node: match self {
                Tree::Recorded(_) => 0,
                Tree::Generated(_) => 1,
            },
            depth: 0,
            weight: 0.0,
        }
    }

    /// Runs an execution: adds what follows from it, what is to be run first last.
    pub(super) fn follow(&self, branch: Branch, shares: &mut Shares, out: &mut Vec<Branch>) {
        match self {
            Tree::Recorded(family) => {
                let children = family.children(branch.node as usize);
                shares.deal(children.iter().map(|(_, position)| *position));
                out.extend(children.iter().map(|(node, position)| Branch {
                    node: *node as u64,
                    depth: *position,
                    weight: branch.weight + shares.of(*position),
                }));
            }
            Tree::Generated(shape) => {
                let Branch {
                    mut node,
                    mut depth,
                    mut weight,
                } = branch;
                while let Some(ways) = shape.ways(depth, node) {
                    depth += 1;
                    weight -= f64::from(ways).ln();
                    let way = |index: u32| number(node ^ u64::from(index) << 57);
                    out.extend((1..ways).map(|index| Branch {
                        node: way(index),
                        depth,
                        weight,
                    }));
                    node = way(0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(tree: &Tree) -> (u64, f64) {
        let (mut stack, mut shares) = (vec![tree.root()], Shares::default());
        let (mut count, mut least) = (0, 0.0f64);
        while let Some(branch) = stack.pop() {
            count += 1;
            least = least.min(branch.weight);
            tree.follow(branch, &mut shares, &mut stack);
        }
        (count, least)
    }

    /// 6! ways to order six; 3^4 * 3! ways for six users of three resources, each of the weight 1 / that.
    #[test]
    fn generated_trees_have_their_sizes() {
        let tree = |text: &str| Tree::Generated(text.parse().unwrap());
        assert_eq!(size(&tree("scheduling:6")).0, 720);
        let (count, least) = size(&tree("resource:6,3"));
        assert_eq!(count, 3 * 3 * 3 * 3 * 2);
        assert!((least + 162f64.ln()).abs() < 1e-9, "{least}");
        assert!(size(&tree("store:12")).0 > 20);
        assert_eq!(size(&tree("store:20")), size(&tree("store:20")));
    }

    #[test]
    fn shapes_are_read() {
        for text in ["scheduling:8", "resource:12,4", "store:30"] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "scheduling",
            "scheduling:x",
            "store:1,2",
            "tree:3",
            "scheduling:99",
        ] {
            let why = text.parse::<Shape>().unwrap_err();
            assert!(why.0.contains("no such tree"), "{why}");
        }
    }
}
