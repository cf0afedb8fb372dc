//! How many executions are expected below a branch, learned from those that were looked at.

use super::LogSum;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hash, Hasher},
};

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
    /// To whom it belongs: the execution that it was found by, or that one's owner, so many times on. See [`super::probe`].
    pub above: u32,
    /// How many executions were expected below it when that was looked up, as a logarithm to base 2.
    pub expected: f32,
    /// When that was: after so many passes. 0: never.
    pub asked: u32,
}

/// How many executions are below branches, by where they come from.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    means: HashMap<Kind, Mean, Quick>,
    /// What was worked out from the means since they last changed.
    known: HashMap<(u32, u32, u32), f32, Quick>,
    /// How often they changed.
    passes: u32,
}

/// Which property of a place, and its value.
type Kind = (u32, u32, u32);

/// Sizes seen, as logarithms.
#[derive(Debug, Default)]
struct Mean {
    sizes: LogSum,
    count: u32,
}

/// Kinds of places that are told apart; behind that, only known ones are added to.
const KINDS: usize = 1 << 16;

/// After so many examples the special counts as much as the general.
const EXAMPLES: f64 = 2.0;

impl Sizes {
    /// What is like a place, the most general first.
    fn kinds(place: &Place) -> [Kind; 5] {
        [
            (0, 0, 0),
            (1, place.siblings, 0),
            (2, place.position, 0),
            (3, place.siblings, place.rank),
            (4, place.position, place.rank),
        ]
    }

    /// Notes in a place what is expected of it, unless that has hardly changed since it was noted.
    pub fn expect(&mut self, place: &mut Place) {
        if place.asked == 0 || place.asked < self.passes / 2 {
            place.expected = self.expected(place);
            place.asked = self.passes.max(1);
        }
    }

    /// The size to be expected; its logarithm to base 2.
    fn expected(&mut self, place: &Place) -> f32 {
        let means = &self.means;
        let known = (place.position, place.siblings, place.rank);
        let known = self.known.entry(known);
        *known.or_insert_with(|| {
            let mut expected = None;
            let kinds = Sizes::kinds(place);
            for mean in kinds.iter().filter_map(|kind| means.get(kind)) {
                let count = f64::from(mean.count);
                let special = mean.sizes.ln() - count.ln();
                let mut mixed = LogSum::default();
                mixed.add(special + (count / (count + EXAMPLES)).ln());
                mixed.add(expected.unwrap_or(special) + (EXAMPLES / (count + EXAMPLES)).ln());
                expected = Some(mixed.ln());
            }
            (expected.unwrap_or(0.0) / std::f64::consts::LN_2) as f32
        })
    }

    /// Takes in that so much was found below a place: the natural logarithm. However many a place stands for, it is one example: a few
    /// that stand for most would drown what all the others tell.
    pub fn learn(&mut self, place: &Place, size: f64) {
        for kind in Sizes::kinds(place) {
            if self.means.len() >= KINDS && !self.means.contains_key(&kind) {
                continue;
            }
            let mean = self.means.entry(kind).or_default();
            mean.sizes.add(size);
            mean.count += 1;
        }
    }

    /// A pass is over: what was worked out before is out of date.
    pub fn renew(&mut self) {
        self.known.clear();
        self.passes += 1;
    }
}

/// A quick hash of some small numbers.
#[derive(Default)]
struct Numbers(u64);

type Quick = BuildHasherDefault<Numbers>;

impl Hasher for Numbers {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.hash(self);
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
