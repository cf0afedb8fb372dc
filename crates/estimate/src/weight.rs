//! The weights of the branches that follow from an execution.
//!
//! An execution is a path, and its children leave it at positions. A random walk along that path throws a die at each
//! such position: it goes on, or takes one of the children that leave there. So children that leave early weigh more
//! than those that leave late, as they should: more can still happen to them.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// Puts branches of these weights (natural logarithms) into so many hands of about the same weight: the heaviest first, each into the
/// lightest hand. Their numbers, in ascending order; there are no empty hands.
pub fn hands(weights: &[f64], most: usize) -> Vec<Vec<usize>> {
    let mut hands: Vec<Vec<usize>> = vec![Vec::new(); most.min(weights.len())];
    let mut heaviest: Vec<usize> = (0..weights.len()).collect();
    heaviest.sort_by(|one, other| weights[*other].total_cmp(&weights[*one]));
    let lightest = (0..hands.len()).map(|hand| Reverse((Weight(0.0), 0, hand)));
    let mut lightest: BinaryHeap<_> = lightest.collect();
    for index in heaviest {
        let Some(mut top) = lightest.peek_mut() else {
            break;
        };
        let Reverse((Weight(sum), count, hand)) = &mut *top;
        *sum += weights[index].exp();
        *count += 1;
        hands[*hand].push(index);
    }
    hands.iter_mut().for_each(|hand| hand.sort_unstable());
    hands
}

/// A sum of weights.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Weight(f64);

impl Eq for Weight {}

impl Ord for Weight {
    fn cmp(&self, other: &Weight) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Weight {
    fn partial_cmp(&self, other: &Weight) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shares out the weight of an execution. Owns a reusable table only.
#[derive(Debug, Default)]
pub struct Shares {
    /// Where children leave, and then the logarithm of the part that each gets.
    places: Vec<(u32, f64)>,
}

impl Shares {
    /// Children leave at these positions, in any order. Says what the execution itself keeps: the logarithm of a part.
    pub fn deal(&mut self, positions: impl Iterator<Item = u32>) -> f64 {
        self.places.clear();
        self.places
            .extend(positions.map(|position| (position, 0.0)));
        self.places.sort_unstable_by_key(|(position, _)| *position);
        let mut left = 0.0;
        for place in self.places.chunk_by_mut(|a, b| a.0 == b.0) {
            left -= (place.len() as f64 + 1.0).ln();
            place.iter_mut().for_each(|(_, part)| *part = left);
        }
        left
    }

    /// How many children there are.
    pub fn count(&self) -> u32 {
        self.places.len() as u32
    }

    /// How many children leave behind a position.
    pub fn later(&self, position: u32) -> u32 {
        self.count() - self.places.partition_point(|(other, _)| *other <= position) as u32
    }

    /// The logarithm of the part for one child that leaves at a position.
    pub fn of(&self, position: u32) -> f64 {
        let first = self.places.partition_point(|(other, _)| *other < position);
        self.places[first].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_weigh_about_the_same() {
        let weights = [0.5f64, 0.1, 0.2, 0.1, 0.1].map(f64::ln);
        assert_eq!(hands(&weights, 2), [vec![0], vec![1, 2, 3, 4]]);
        assert_eq!(hands(&weights, 9).len(), 5);
        assert!(hands(&weights, 0).is_empty() && hands(&[], 3).is_empty());
        // Those that weigh nothing any more are spread, too.
        let nothing = [f64::NEG_INFINITY; 6];
        assert_eq!(hands(&nothing, 3), [[0, 3], [1, 4], [2, 5]]);
    }

    #[test]
    fn parts_of_one() {
        let mut shares = Shares::default();
        assert_eq!(shares.deal([].into_iter()), 0.0);
        // At 2 two leave (a third each), at 5 one (a sixth), and a sixth is kept.
        let kept = shares.deal([5, 2, 2].into_iter()).exp();
        let parts = [5, 2, 2].map(|position| shares.of(position).exp());
        assert!((kept - 1.0 / 6.0).abs() < 1e-12);
        assert!((parts[0] - 1.0 / 6.0).abs() < 1e-12);
        assert!((parts[1] - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!([5, 2, 1].map(|position| shares.later(position)), [0, 1, 3]);
        assert!((kept + parts.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
