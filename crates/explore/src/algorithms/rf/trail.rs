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
}

impl Trail {
    /// As plain data: the first new place, then the order.
    pub(super) fn store(&self, nodes: &mut NodeStore) -> StoredPayload {
        let numbers = [self.fresh].into_iter().chain(self.order.iter().copied());
        StoredPayload {
            numbers: numbers.map(u64::from).collect(),
            nodes: self.node.iter().map(|node| nodes.add(node)).collect(),
        }
    }

    pub(super) fn restore(stored: &StoredPayload, nodes: &[Arc<Node>]) -> Result<Trail, Malformed> {
        let numbers = stored.numbers.iter().map(|it| u32::try_from(*it));
        let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().map_err(|_| Malformed)?;
        let (&fresh, order) = numbers.split_first().ok_or(Malformed)?;
        let mut node = stored.nodes(nodes)?.into_iter();
        let trail = Trail {
            order: order.to_vec(),
            fresh,
            node: node.next(),
        };
        match permutation(order) && node.next().is_none() {
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
