//! How many executions are expected below a branch, learned from those that were looked at.
//!
//! All that is known of a branch before it is run are a few numbers: its [`Traits`]. A plane is laid through the logarithms of the sizes
//! seen, over these numbers, by weighted least squares: large sizes count more than small ones, and those of later passes more than those
//! of earlier ones. A dozen slopes are learned from a few dozen executions.

use serde::{Deserialize, Serialize};
use std::{array::from_fn, f64::consts::LN_2};

/// Where a branch comes from: all that is known of it before it is run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// What part of the search it is, if all siblings are alike: the natural logarithm of that.
    pub weight: f64,
    /// Where it leaves its parent.
    pub position: u32,
    /// How many children that has.
    pub siblings: u32,
    /// How many of them are to be run before it, itself included.
    pub rank: u32,
    /// How many of them leave later.
    pub later: u32,
    /// How many executions there are above it, from its parent to the first one.
    pub generation: u32,
    /// Position, siblings and rank of its parent.
    pub parent: [u32; 3],
    /// To whom it belongs: the execution that it was found by, or that one's owner, so many times on. See [`crate::Pass`].
    pub above: u32,
    /// How many executions were expected below it when that was looked up, as a logarithm to base 2.
    pub expected: f32,
    /// When that was: in the pass with this number. 0: never.
    pub asked: u32,
}

/// What sizes are expected by.
type Traits = [f64; TRAITS];

const TRAITS: usize = 11;

impl Place {
    /// That of a child which leaves at a position.
    pub fn child(&self, position: u32, siblings: u32, rank: u32, later: u32) -> Place {
        Place {
            position,
            siblings,
            rank,
            later,
            generation: self.generation + 1,
            parent: [self.position, self.siblings, self.rank],
            ..Place::default()
        }
    }

    fn traits(&self) -> Traits {
        let number = f64::from;
        let [position, siblings, rank] = self.parent;
        [
            number(self.position),
            number(self.siblings),
            number(self.siblings).ln_1p(),
            number(self.rank),
            number(self.rank).ln_1p(),
            number(self.later),
            number(self.later).ln_1p(),
            number(self.generation),
            number(position),
            number(siblings).ln_1p(),
            number(rank),
        ]
    }
}

/// How many executions are below branches, by where they come from.
#[derive(Debug, Default)]
pub struct Sizes {
    seen: Sums,
    plane: Plane,
    /// The largest size seen; its natural logarithm.
    largest: f64,
    /// How often something was learned.
    passes: u32,
}

/// Sums over examples, each with its weight but for the first.
#[derive(Debug, Default)]
struct Sums {
    examples: f64,
    weights: f64,
    size: f64,
    traits: Traits,
    /// Traits times size.
    products: Traits,
    /// Traits times traits.
    squares: [Traits; TRAITS],
}

/// A size for all traits, as a natural logarithm: what the mean example has, and how much more for how much more of each trait.
#[derive(Debug, Default)]
struct Plane {
    mean: f64,
    at: Traits,
    slopes: Traits,
}

/// An example counts as this power of its logarithm and one.
const LARGE: i32 = 3;

/// What was learned before a pass counts for this part of what is learned from it.
const OLD: f64 = 0.5;

/// A slope is believed in as if so many examples said that there is none.
const FLAT: f64 = 3.0;

/// More than this above the largest size seen, a natural logarithm, is never expected.
const BEYOND: f64 = 2.0;

impl Sizes {
    /// Notes in a place what is expected of it, unless that has hardly changed since it was noted.
    pub fn expect(&self, place: &mut Place) {
        if place.asked <= self.passes - self.passes / 4 {
            let size = self.plane.at(&place.traits());
            let size = size.clamp(0.0, self.largest + BEYOND);
            place.expected = (size / LN_2) as f32;
            place.asked = self.passes + 1;
        }
    }

    /// Takes in that so much was found below a place: the natural logarithm. However many a place stands for, it is one example: a few
    /// that stand for most would drown what all the others tell.
    pub fn learn(&mut self, place: &Place, size: f64) {
        self.largest = self.largest.max(size);
        let weight = (1.0 + size).powi(LARGE);
        self.seen.add(&place.traits(), size, weight);
    }

    /// A pass is over: what it told is used from now on.
    pub fn renew(&mut self) {
        self.plane = self.seen.plane();
        self.seen.fade(OLD);
        self.passes += 1;
    }
}

impl Sums {
    fn add(&mut self, traits: &Traits, size: f64, weight: f64) {
        self.examples += 1.0;
        self.weights += weight;
        self.size += weight * size;
        for (row, trait_) in traits.iter().enumerate() {
            let weighed = weight * trait_;
            self.traits[row] += weighed;
            self.products[row] += weighed * size;
            for (square, other) in self.squares[row].iter_mut().zip(traits) {
                *square += weighed * other;
            }
        }
    }

    /// Lets all of them count for less.
    fn fade(&mut self, by: f64) {
        let squares = self.squares.as_flattened_mut().iter_mut();
        let sums = [&mut self.examples, &mut self.weights, &mut self.size].into_iter();
        let sums = sums.chain(&mut self.traits).chain(&mut self.products);
        sums.chain(squares).for_each(|sum| *sum *= by);
    }

    /// The plane through the examples that is off by the least squares.
    fn plane(&self) -> Plane {
        if self.weights <= 0.0 {
            return Plane::default();
        }
        let mean = self.size / self.weights;
        let at = self.traits.map(|sum| sum / self.weights);
        let mut matrix: [Traits; TRAITS] = from_fn(|row| {
            from_fn(|column| self.squares[row][column] / self.weights - at[row] * at[column])
        });
        for (index, row) in matrix.iter_mut().enumerate() {
            let spread = row[index].max(0.0);
            row[index] = spread + FLAT / self.examples * (spread + 1e-3);
        }
        let right = from_fn(|row| self.products[row] / self.weights - at[row] * mean);
        Plane {
            mean,
            at,
            slopes: solve(matrix, right),
        }
    }
}

impl Plane {
    fn at(&self, traits: &Traits) -> f64 {
        let more = (0..TRAITS).map(|index| self.slopes[index] * (traits[index] - self.at[index]));
        self.mean + more.sum::<f64>()
    }
}

/// Solves linear equations whose matrix is symmetric and positive definite, by elimination. An unknown that rounding leaves nothing for
/// is zero.
fn solve(mut matrix: [Traits; TRAITS], mut right: Traits) -> Traits {
    for pivot in 0..TRAITS {
        let from = matrix[pivot];
        for row in pivot + 1..TRAITS {
            if from[pivot] > 0.0 {
                let factor = matrix[row][pivot] / from[pivot];
                for (mine, other) in matrix[row].iter_mut().zip(&from).skip(pivot) {
                    *mine -= factor * other;
                }
                right[row] -= factor * right[pivot];
            }
        }
    }
    let mut solution = [0.0; TRAITS];
    for row in (0..TRAITS).rev() {
        let known = (row + 1..TRAITS).map(|column| matrix[row][column] * solution[column]);
        let left = right[row] - known.sum::<f64>();
        if matrix[row][row] > 0.0 {
            solution[row] = left / matrix[row][row];
        }
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Dice;

    fn some_place(dice: &mut Dice) -> Place {
        let mut below = |bound: u64| (dice.next() % bound) as u32;
        let parent = Place {
            position: below(50),
            siblings: below(9) + 1,
            rank: below(5) + 1,
            generation: below(6),
            ..Place::default()
        };
        let siblings = below(9) + 1;
        parent.child(below(100), siblings, 1 + below(siblings.into()), below(4))
    }

    fn expected(sizes: &Sizes, mut place: Place) -> f64 {
        sizes.expect(&mut place);
        f64::from(place.expected) * LN_2
    }

    /// Sizes that grow by a factor with each step that is left are expected to, even where none was seen, and however large they are.
    #[test]
    fn what_grows_evenly_is_learned() {
        for unit in [0.1, 100.0] {
            let truth = |place: &Place| {
                let steps = f64::from(120 - place.position);
                unit * (steps + 4.0 * f64::from(place.rank) + 3.0 * f64::from(place.generation))
            };
            let (mut sizes, mut dice) = (Sizes::default(), Dice(1));
            for _ in 0..10 {
                for _ in 0..100 {
                    let place = some_place(&mut dice);
                    sizes.learn(&place, truth(&place));
                }
                sizes.renew();
            }
            for _ in 0..100 {
                let place = some_place(&mut dice);
                let (found, truth) = (expected(&sizes, place), truth(&place));
                assert!((found - truth).abs() < 0.1 * truth, "{found} {truth}");
            }
        }
    }

    #[test]
    fn nothing_is_expected_of_what_nobody_saw() {
        let mut sizes = Sizes::default();
        let place = some_place(&mut Dice(2));
        assert_eq!(expected(&sizes, place), 0.0);
        sizes.renew();
        assert_eq!(expected(&sizes, place), 0.0);
        // One example says the same of all places.
        sizes.learn(&place, 7.0);
        sizes.renew();
        assert!((expected(&sizes, some_place(&mut Dice(3))) - 7.0).abs() < 1e-3);
    }

    #[test]
    fn what_is_noted_is_looked_up_again_after_a_while() {
        let (mut sizes, mut dice) = (Sizes::default(), Dice(4));
        let mut place = some_place(&mut dice);
        sizes.expect(&mut place);
        let mut asked = Vec::new();
        for _ in 0..16 {
            sizes.learn(&place, 1.0);
            sizes.renew();
            sizes.expect(&mut place);
            asked.push(place.asked);
        }
        assert_eq!(
            asked,
            [2, 3, 4, 4, 6, 6, 8, 8, 8, 11, 11, 11, 11, 15, 15, 15]
        );
    }
}
