//! Probing: a random sample of the tree, level by level, that says how many executions there are below some branches.
//!
//! After Knuth and Chen, in the form known as stochastic enumeration. A level is a list of branches, each standing for a number of
//! branches like it. If there are more than the width, as many are drawn: the larger the part of the tree that a branch is
//! expected to stand for, the likelier; one that is drawn stands for more than before, in inverse proportion. Those drawn
//! are run; their children are the next level. What all levels stand for is, on average, the number of executions below the first level,
//! whatever was expected: expectations decide only how much the sample scatters. They are learned from earlier passes
//! ([`Sizes`]): for the size of an execution counts itself, what was seen below children that were drawn, and what was expected below all
//! others. That scatters far less than what those drawn stand for.
//!
//! *Owners.* Where an algorithm remembers what was tried at a decision (`rf`: a read and a later write), a branch is found by one of many
//! executions that passed the decision. It belongs to the one that passed it first, and stands for as many as that one does: others
//! like the finder would have found the same branch and not another one.
//!
//! Nothing is run for the sake of the sample alone: what a pass runs is done, what it does not draw is left for later.

use crate::{LogSum, sizes::Place, sizes::Sizes};
use std::f64::consts::LN_2;

/// What a pass draws from.
pub trait Placed {
    /// Where it comes from.
    fn place(&mut self) -> &mut Place;
}

/// One pass over the tree below some branches.
#[derive(Debug)]
pub struct Pass<B> {
    width: usize,
    level: Vec<Item<B>>,
    nodes: Vec<Node>,
    total: LogSum,
    so_far: SoFar,
}

/// What a pass that is under way would come to, by what is expected below the level it is at.
#[derive(Clone, Copy, Debug)]
pub struct SoFar {
    /// Executions below the first level; the natural logarithm.
    pub below: f64,
    /// The part of that which was seen and not just expected.
    pub seen: f64,
}

#[derive(Debug)]
struct Item<B> {
    branch: B,
    /// For how many it stands; the natural logarithm.
    stands: f64,
    owner: Option<usize>,
}

/// A branch that was drawn.
#[derive(Debug)]
struct Node {
    place: Place,
    stands: f64,
    owner: Option<usize>,
    /// Executions below it and itself, seen or expected.
    size: LogSum,
}

impl<B: Placed> Pass<B> {
    /// Below these branches, with so many on a level. What is to be run of them, each with its number, is taken out.
    pub fn new(
        branches: &mut Vec<B>,
        width: usize,
        sizes: &Sizes,
        dice: &mut Dice,
    ) -> (Pass<B>, Vec<(usize, B)>) {
        let mut pass = Pass {
            width,
            level: Vec::new(),
            nodes: Vec::new(),
            total: LogSum::default(),
            so_far: SoFar {
                below: 0.0,
                seen: 0.0,
            },
        };
        pass.total.add((branches.len() as f64).ln());
        let expected = branches.iter_mut().map(|branch| {
            let place = branch.place();
            sizes.expect(place);
            place.expected
        });
        let parts = parts(expected.collect());
        // Neighbours are alike: evenly spaced draws take some of each kind.
        let mut draws = Draws::new(&parts, width, dice);
        let mut chances = parts.iter().map(|part| draws.draw(*part));
        let mut stands = Vec::new();
        let drawn = branches.extract_if(.., |_| {
            let chance = chances.next().flatten();
            stands.extend(chance);
            chance.is_some()
        });
        let drawn: Vec<B> = drawn.collect();
        let numbered = drawn.into_iter().zip(stands);
        let drawn = numbered.map(|(mut branch, stands)| {
            let place = *branch.place();
            (pass.node(place, stands, None), branch)
        });
        let drawn = drawn.collect();
        (pass, drawn)
    }

    /// Draws what is to be run of the level that is complete now, each with its number; the others are left. Nothing: the pass is over.
    pub fn draw(&mut self, sizes: &Sizes, dice: &mut Dice, left: &mut Vec<B>) -> Vec<(usize, B)> {
        let mut level = std::mem::take(&mut self.level);
        let expected = self.expect(&mut level, sizes);
        level.iter().for_each(|item| self.total.add(item.stands));
        let chances = match level.len() > self.width {
            true => self.chances(&mut level, expected, dice),
            false => vec![Some(0.0); level.len()],
        };
        let mut drawn = Vec::with_capacity(self.width);
        for (mut item, chance) in level.drain(..).zip(chances) {
            match chance {
                None => {
                    let expected = f64::from(item.branch.place().expected) * LN_2;
                    let owner = item.owner.map(|owner| &mut self.nodes[owner]);
                    owner.into_iter().for_each(|owner| owner.size.add(expected));
                    left.push(item.branch);
                }
                Some(more) => {
                    let place = *item.branch.place();
                    let number = self.node(place, item.stands + more, item.owner);
                    drawn.push((number, item.branch));
                }
            }
        }
        self.level = level;
        drawn
    }

    /// What each of a level stands for with all that is expected below it; logarithms to base 2.
    fn expect(&mut self, level: &mut [Item<B>], sizes: &Sizes) -> Vec<f32> {
        let mut all = self.total;
        let expected = level.iter_mut().map(|item| {
            let place = item.branch.place();
            sizes.expect(place);
            all.add(item.stands + f64::from(place.expected) * LN_2);
            (item.stands / LN_2) as f32 + place.expected
        });
        let expected = expected.collect();
        self.so_far = SoFar {
            below: all.ln(),
            seen: (self.total.ln() - all.ln()).exp(),
        };
        expected
    }

    /// What it would come to, as of the last level that was drawn from.
    pub fn so_far(&self) -> SoFar {
        self.so_far
    }

    /// Who of a level is drawn, and for how many times as many it stands then: natural logarithms.
    fn chances(
        &self,
        level: &mut [Item<B>],
        expected: Vec<f32>,
        dice: &mut Dice,
    ) -> Vec<Option<f64>> {
        let parts = parts(expected);
        let mut order: Vec<(u32, u32)> = level
            .iter_mut()
            .zip(0..)
            .map(|(item, index)| (item.branch.place().position, index))
            .collect();
        order.sort_unstable();
        let mut draws = Draws::new(&parts, self.width, dice);
        let mut chances = vec![None; level.len()];
        for (_, index) in order {
            chances[index as usize] = draws.draw(parts[index as usize]);
        }
        chances
    }

    fn node(&mut self, place: Place, stands: f64, owner: Option<usize>) -> usize {
        let mut size = LogSum::default();
        size.add(0.0);
        self.nodes.push(Node {
            place,
            stands,
            owner,
            size,
        });
        self.nodes.len() - 1
    }

    /// Adds a branch that was found by one that was drawn to the next level.
    pub fn child(&mut self, finder: usize, mut branch: B) {
        let mut owner = Some(finder);
        for _ in 0..branch.place().above {
            owner = owner.and_then(|owner| self.nodes[owner].owner);
        }
        self.level.push(Item {
            branch,
            // An owner from before this pass is only one.
            stands: owner.map_or(0.0, |owner| self.nodes[owner].stands),
            owner,
        });
    }

    /// How many were drawn.
    pub fn runs(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Learns from what was seen, and says how many executions there are below the branches: the natural logarithm.
    pub fn conclude(mut self, sizes: &mut Sizes) -> f64 {
        assert!(
            self.level.is_empty(),
            "branches wait in a pass that is over"
        );
        while let Some(node) = self.nodes.pop() {
            let size = node.size.ln();
            if let Some(owner) = node.owner {
                self.nodes[owner].size.add(size);
            }
            sizes.learn(&node.place, size);
        }
        sizes.renew();
        self.total.ln()
    }

    /// What was not run yet.
    pub fn waiting(&self) -> impl Iterator<Item = &B> {
        self.level.iter().map(|item| &item.branch)
    }

    /// What was not run yet, of a pass that is given up.
    pub fn abandon(self) -> impl Iterator<Item = B> {
        self.level.into_iter().map(|item| item.branch)
    }
}

/// Who is expected to stand for more is drawn more often, but not quite in proportion: what is expected may be wrong.
const TRUST: f32 = 0.9;

/// How often each is drawn, in a common unit, from what it is expected to stand for: logarithms to base 2. Roughly: a straight line
/// between powers of two.
fn parts(mut logarithms: Vec<f32>) -> Vec<f32> {
    let most = logarithms.iter().copied().fold(f32::MIN, f32::max);
    logarithms.iter_mut().for_each(|part| {
        // What is too small for a number still gets a chance.
        let power = (TRUST * (*part - most)).max(-40.0);
        *part = f32::from_bits(((power + 127.0) * (1 << 23) as f32) as u32);
    });
    logarithms
}

/// Draws at even distances, beginning at a random one.
struct Draws {
    step: f64,
    next: f64,
    past: f64,
}

impl Draws {
    fn new(parts: &[f32], width: usize, dice: &mut Dice) -> Draws {
        let sum: f64 = parts.iter().map(|part| f64::from(*part)).sum();
        let step = match parts.len() > width {
            true => sum / width as f64,
            false => 0.0,
        };
        Draws {
            step,
            next: step * dice.fraction(),
            past: 0.0,
        }
    }

    /// Whether this part is drawn, and by how much more it stands for then.
    fn draw(&mut self, part: f32) -> Option<f64> {
        let part = f64::from(part);
        self.past += part;
        if part < self.step && self.past <= self.next {
            return None;
        }
        if self.step > 0.0 && self.next < self.past {
            let steps = ((self.past - self.next) / self.step).ceil();
            self.next += steps * self.step;
        }
        Some((self.step / part).ln().max(0.0))
    }
}

/// Random numbers from a seed: the generator known as SplitMix64.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// Any number.
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
            position: node as u32 % 7,
            siblings: siblings as u32,
            rank: (siblings - before) as u32,
            ..Place::default()
        }
    }

    /// One pass over the whole tree: what it says, and which nodes it ran and left.
    fn pass(
        tree: &[Vec<usize>],
        width: usize,
        sizes: &mut Sizes,
        dice: &mut Dice,
    ) -> (f64, Vec<usize>, Vec<usize>) {
        let mut left = vec![(0, Place::default())];
        let (mut pass, mut drawn) = Pass::new(&mut left, width, sizes, dice);
        let mut run = Vec::new();
        while !drawn.is_empty() {
            for (number, (node, _)) in drawn {
                run.push(node);
                let children = &tree[node];
                for (before, child) in children.iter().enumerate() {
                    pass.child(number, (*child, place(*child, before, children.len())));
                }
            }
            drawn = pass.draw(sizes, dice, &mut left);
        }
        let left = left.into_iter().map(|(node, _)| node).collect();
        (pass.conclude(sizes).exp(), run, left)
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

    /// Ten children, of which two are run, find one branch that belongs to their parent: it is one, however many its finders stand for.
    #[test]
    fn what_is_found_by_many_is_one() {
        let (mut sizes, mut dice) = (Sizes::default(), Dice(0));
        let mut left = vec![(0, Place::default())];
        let (mut pass, drawn) = Pass::new(&mut left, 2, &sizes, &mut dice);
        for child in 0..10 {
            pass.child(drawn[0].0, (1 + child, place(child, child, 10)));
        }
        let drawn = pass.draw(&sizes, &mut dice, &mut left);
        assert_eq!((drawn.len(), left.len()), (2, 8));
        let above = Place {
            above: 1,
            ..Place::default()
        };
        pass.child(drawn[1].0, (11, above));
        let drawn = pass.draw(&sizes, &mut dice, &mut left);
        assert_eq!(drawn.len(), 1);
        assert!(pass.draw(&sizes, &mut dice, &mut left).is_empty());
        let found = pass.conclude(&mut sizes).exp();
        assert!((found - 12.0).abs() < 1e-9, "{found}");
    }

    /// The mean of many narrow passes is the size, while what is expected of branches changes with every pass.
    #[test]
    fn passes_are_right_on_average() {
        for seed in 0..5 {
            let tree = tree(seed);
            let (mut sizes, mut dice) = (Sizes::default(), Dice(seed));
            let passes = 40_000;
            let found = (0..passes).map(|_| pass(&tree, 3, &mut sizes, &mut dice).0);
            let mean = found.sum::<f64>() / f64::from(passes);
            assert!((mean - 200.0).abs() < 10.0, "seed {seed}: {mean}");
        }
    }
}
