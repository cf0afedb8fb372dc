//! What a branch of `rf` carries beyond its plan.

use crate::{
    algorithm::{Malformed, NodeStore, StoredPayload},
    claims::Node,
};
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// For each step of the plan its place in the order of decisions; empty: the same.
    pub(super) order: Vec<u32>,
    /// The first place of something that the run before did not have.
    pub(super) fresh: u32,
    /// What was tried at the decisions that it passes: the node of the run that made the last of them first.
    pub(super) node: Option<Arc<Node>>,
    /// Rounds of loops that were taken back on the way here, in the order of their places.
    pub(super) tried: Arc<[Tried]>,
    /// Decisions before this place were made before; 0: as marks say.
    pub(super) floor: u32,
    /// Nothing follows: it is run for how it ends.
    pub(super) leaf: bool,
}

/// A round that was taken back in one of the runs above: what it read is decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tried {
    /// Its thread: [`Graph::name`](super::graph::Graph::name).
    pub(super) name: u64,
    /// How many events the thread had done.
    pub(super) count: u32,
    /// In the order of decisions.
    pub(super) place: u32,
    pub(super) reads: Vec<TriedRead>,
    pub(super) kind: Kind,
}

/// What became of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It was taken back.
    TakenBack,
    /// It left the loop, in the run that did it first. The last of its reads is the first that is not as in the round before.
    Kept,
    /// The same, in a run in which the thread is held and does something else.
    Held,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::TakenBack, Kind::Kept, Kind::Held];
}

/// One of its reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TriedRead {
    pub source: u32,
    pub site: u32,
    pub way: Way,
}

/// With which operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Load,
    Exchange,
    WeakExchange,
    /// A read-modify-write that left the value as it was.
    Update,
}

impl Way {
    const ALL: [Way; 4] = [Way::Load, Way::Exchange, Way::WeakExchange, Way::Update];
}

impl Trail {
    /// As plain data: the first new place, whether nothing follows, the rounds, then the order.
    pub(super) fn store(&self, nodes: &mut NodeStore) -> StoredPayload {
        let mut numbers = vec![
            self.fresh,
            self.leaf.into(),
            self.floor,
            self.tried.len() as u32,
        ];
        for tried in self.tried.iter() {
            let (high, low) = ((tried.name >> 32) as u32, tried.name as u32);
            let length = tried.reads.len() as u32;
            numbers.extend([
                high,
                low,
                tried.count,
                tried.place,
                tried.kind as u32,
                length,
            ]);
            for read in &tried.reads {
                numbers.extend([read.source, read.site, read.way as u32]);
            }
        }
        numbers.extend_from_slice(&self.order);
        StoredPayload {
            numbers: numbers.into_iter().map(u64::from).collect(),
            nodes: self.node.iter().map(|node| nodes.add(node)).collect(),
        }
    }

    pub(super) fn restore(stored: &StoredPayload, nodes: &[Arc<Node>]) -> Result<Trail, Malformed> {
        let numbers = stored.numbers.iter().map(|it| u32::try_from(*it));
        let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().map_err(|_| Malformed)?;
        let mut numbers = numbers.into_iter();
        let mut next = || numbers.next().ok_or(Malformed);
        let (fresh, leaf, floor) = (next()?, next()? != 0, next()?);
        let mut tried = Vec::new();
        for _ in 0..next()? {
            let name = u64::from(next()?) << 32 | u64::from(next()?);
            let (count, place, kind, length) = (next()?, next()?, next()? as usize, next()?);
            let kind = *Kind::ALL.get(kind).ok_or(Malformed)?;
            let mut reads = Vec::new();
            for _ in 0..length {
                let (source, site, way) = (next()?, next()?, next()? as usize);
                let way = *Way::ALL.get(way).ok_or(Malformed)?;
                reads.push(TriedRead { source, site, way });
            }
            tried.push(Tried {
                name,
                count,
                place,
                reads,
                kind,
            });
        }
        let order: Vec<u32> = numbers.collect();
        let mut node = stored.nodes(nodes)?.into_iter();
        let whole = permutation(&order);
        let trail = Trail {
            order,
            fresh,
            node: node.next(),
            tried: tried.into(),
            floor,
            leaf,
        };
        match whole && node.next().is_none() {
            true => Ok(trail),
            false => Err(Malformed),
        }
    }
}

fn permutation(order: &[u32]) -> bool {
    let mut seen = vec![false; order.len()];
    order.iter().all(|place| {
        let slot = seen.get_mut(*place as usize);
        slot.is_some_and(|seen| !std::mem::replace(seen, true))
    })
}
