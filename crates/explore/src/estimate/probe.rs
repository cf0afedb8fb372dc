//! Probing: a random sample of the tree, level by level, that says how many executions there are below some branches.
//!
//! After Knuth and Chen, in the form known as stochastic enumeration. A level is a list of branches, each standing for a number of
//! branches like it. If there are more than the width, as many are drawn: the larger the part of the tree that a branch is
//! expected to stand for, the likelier; one that is drawn stands for more than before, in inverse proportion. Those drawn
//! are run; their children are the next level. What all levels stand for is, on average, the number of executions below the first level,
//! whatever was expected: expectations decide only how much the sample scatters. They are learned from earlier passes
//! ([`Sizes`]).
//!
//! Nothing is run for the sake of the sample alone: what a pass runs is done, what it does not draw is left for later.

use super::LogSum;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Where a branch comes from: all that is known of it before it is run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Place {
    /// What part of the search it is, if all siblings are alike: the natural logarithm of that.
    pub weight: f64,
    /// Where it leaves its parent.
    pub position: u32,
    /// How many children that has.
    pub siblings: u32,
    /// How many of them are to be run before it, itself included.
    pub rank: u32,
}

/// How many executions are below branches, by where they come from.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    means: HashMap<(u8, u32, u32), Mean>,
}

/// Sizes seen, as logarithms.
#[derive(Debug, Default)]
struct Mean {
    sizes: LogSum,
    weights: LogSum,
    count: u32,
}

/// More branches than these are not kept waiting for a pass: a stack that is worked off from its top stays flat.
pub(crate) const WAITING: usize = 8192;

/// How many a pass takes on a level, after so many executions and passes. The first ones are narrow, to be over soon.
pub(crate) fn width(done: u64, passes: usize) -> usize {
    (done.isqrt() as usize).max(2 << passes.min(2))
}

/// Kinds of places that are told apart; behind that, only known ones are added to.
const KINDS: usize = 1 << 16;

/// After so many examples the special counts as much as the general.
const EXAMPLES: f64 = 2.0;

impl Sizes {
    /// What is like a place, the most general first.
    fn kinds(place: &Place) -> [(u8, u32, u32); 5] {
        [
            (0, 0, 0),
            (1, place.siblings, 0),
            (2, place.position, 0),
            (3, place.siblings, place.rank),
            (4, place.position, place.rank),
        ]
    }

    /// The size to be expected; its natural logarithm.
    fn expected(&self, place: &Place) -> f64 {
        let mut expected = None;
        for mean in Sizes::kinds(place)
            .iter()
            .filter_map(|kind| self.means.get(kind))
        {
            let special = mean.sizes.ln() - mean.weights.ln();
            let count = f64::from(mean.count);
            let mut mixed = LogSum::default();
            mixed.add(special + (count / (count + EXAMPLES)).ln());
            mixed.add(expected.unwrap_or(special) + (EXAMPLES / (count + EXAMPLES)).ln());
            expected = Some(mixed.ln());
        }
        expected.unwrap_or(0.0)
    }

    fn learn(&mut self, place: &Place, weight: f64, size: f64) {
        for kind in Sizes::kinds(place) {
            if self.means.len() >= KINDS && !self.means.contains_key(&kind) {
                continue;
            }
            let mean = self.means.entry(kind).or_default();
            mean.sizes.add(weight + size);
            mean.weights.add(weight);
            mean.count += 1;
        }
    }
}

/// One pass over the tree below some branches.
#[derive(Debug)]
pub(crate) struct Pass<B> {
    width: usize,
    level: Vec<Item<B>>,
    nodes: Vec<Node>,
    total: LogSum,
}

#[derive(Debug)]
struct Item<B> {
    branch: B,
    place: Place,
    /// For how many it stands; the natural logarithm.
    stands: f64,
    parent: Option<usize>,
}

/// A branch that was drawn.
#[derive(Debug)]
struct Node {
    place: Place,
    stands: f64,
    parent: Option<usize>,
    /// Executions below it and itself.
    size: LogSum,
}

impl<B> Pass<B> {
    /// Below these branches, with so many on a level.
    pub fn new(branches: impl Iterator<Item = (B, Place)>, width: usize) -> Pass<B> {
        let item = |(branch, place)| Item {
            branch,
            place,
            stands: 0.0,
            parent: None,
        };
        Pass {
            width,
            level: branches.map(item).collect(),
            nodes: Vec::new(),
            total: LogSum::default(),
        }
    }

    /// Draws what is to be run of the level that is complete now, each with its number; the others are left. Nothing: the pass is over.
    pub fn draw(&mut self, sizes: &Sizes, dice: &mut Dice, left: &mut Vec<B>) -> Vec<(usize, B)> {
        let mut level = std::mem::take(&mut self.level);
        level.iter().for_each(|item| self.total.add(item.stands));
        let parts = match level.len() > self.width {
            true => {
                // Neighbours are alike: evenly spaced draws take some of each kind.
                level.sort_by_key(|item| item.place.position);
                parts(&level, sizes)
            }
            false => vec![1.0; level.len()],
        };
        let step = parts.iter().sum::<f64>() / self.width.min(level.len()).max(1) as f64;
        let mut next = step * dice.fraction();
        let mut past = 0.0;
        let mut drawn = Vec::new();
        for (item, part) in level.into_iter().zip(parts) {
            past += part;
            if part < step && past <= next {
                left.push(item.branch);
                continue;
            }
            while next < past {
                next += step;
            }
            let stands = item.stands + (step / part).ln().max(0.0);
            drawn.push((self.nodes.len(), item.branch));
            let mut size = LogSum::default();
            size.add(0.0);
            self.nodes.push(Node {
                place: item.place,
                stands,
                parent: item.parent,
                size,
            });
        }
        drawn
    }

    /// Adds a child of a branch that was drawn to the next level.
    pub fn child(&mut self, parent: usize, branch: B, place: Place) {
        self.level.push(Item {
            branch,
            place,
            stands: self.nodes[parent].stands,
            parent: Some(parent),
        });
    }

    /// Learns from what was seen, and says how many executions there are below the branches: the natural logarithm.
    pub fn conclude(mut self, sizes: &mut Sizes) -> f64 {
        while let Some(node) = self.nodes.pop() {
            let size = node.size.ln();
            if let Some(parent) = node.parent {
                let parent = &mut self.nodes[parent];
                parent.size.add(size + node.stands - parent.stands);
            }
            sizes.learn(&node.place, node.stands, size);
        }
        self.total.ln()
    }

    /// What was not run yet, of a pass that is given up.
    pub fn abandon(self) -> impl Iterator<Item = B> {
        self.level.into_iter().map(|item| item.branch)
    }
}

/// What each is expected to stand for, in a common unit.
fn parts<B>(level: &[Item<B>], sizes: &Sizes) -> Vec<f64> {
    let expected = level
        .iter()
        .map(|item| item.stands + sizes.expected(&item.place));
    let mut parts: Vec<f64> = expected.collect();
    let most = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // What is too small for a number still gets a chance.
    parts
        .iter_mut()
        .for_each(|part| *part = (*part - most).exp().max(1e-12));
    parts
}

/// Random numbers from a seed: the generator known as SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// At least 0 and less than 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random tree: the children of each node.
    fn tree(seed: u64) -> Vec<Vec<usize>> {
        let mut dice = Dice(seed);
        let mut children: Vec<Vec<usize>> = vec![Vec::new()];
        for node in 1..200 {
            // Skewed: later nodes hang below early ones more often.
            let parent = (dice.fraction() * dice.fraction() * node as f64) as usize;
            children[parent].push(node);
            children.push(Vec::new());
        }
        children
    }

    fn place(node: usize, before: usize, siblings: usize) -> Place {
        Place {
            weight: 0.0,
            position: node as u32 % 7,
            siblings: siblings as u32,
            rank: (siblings - before) as u32,
        }
    }

    /// One pass over the whole tree: what it says, and which nodes it ran and left.
    fn pass(
        tree: &[Vec<usize>],
        width: usize,
        sizes: &mut Sizes,
        dice: &mut Dice,
    ) -> (f64, Vec<usize>, Vec<usize>) {
        let mut pass = Pass::new([(0, Place::default())].into_iter(), width);
        let (mut run, mut left) = (Vec::new(), Vec::new());
        loop {
            let drawn = pass.draw(sizes, dice, &mut left);
            if drawn.is_empty() {
                return (pass.conclude(sizes).exp(), run, left);
            }
            for (number, node) in drawn {
                run.push(node);
                let children = &tree[node];
                for (before, child) in children.iter().enumerate() {
                    pass.child(number, *child, place(*child, before, children.len()));
                }
            }
        }
    }

    #[test]
    fn a_wide_pass_counts() {
        for seed in 0..50 {
            let tree = tree(seed);
            let (found, run, left) = pass(&tree, 1000, &mut Sizes::default(), &mut Dice(seed));
            assert!((found - 200.0).abs() < 1e-6, "seed {seed}: {found}");
            assert_eq!((run.len(), left.len()), (200, 0));
        }
    }

    #[test]
    fn nothing_is_run_twice_or_lost() {
        for seed in 0..50 {
            let tree = tree(seed);
            let (_, run, left) = pass(&tree, 3, &mut Sizes::default(), &mut Dice(seed));
            let mut known: Vec<usize> = run.iter().flat_map(|node| tree[*node].clone()).collect();
            known.push(0);
            known.sort_unstable();
            let mut met = [run, left].concat();
            met.sort_unstable();
            assert_eq!(met, known, "seed {seed}");
        }
    }

    /// The mean of many narrow passes is the size, while what is expected of branches changes with every pass.
    #[test]
    fn passes_are_right_on_average() {
        for seed in 0..5 {
            let tree = tree(seed);
            let (mut sizes, mut dice) = (Sizes::default(), Dice(seed));
            let passes = 4000;
            let found = (0..passes).map(|_| pass(&tree, 3, &mut sizes, &mut dice).0);
            let mean = found.sum::<f64>() / f64::from(passes);
            assert!((mean - 200.0).abs() < 10.0, "seed {seed}: {mean}");
        }
    }
}
