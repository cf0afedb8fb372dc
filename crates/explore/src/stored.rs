//! A search as plain data, to be written down and gone on with later.

use crate::{
    dpor::Node,
    estimate::Tally,
    explorer::{Branch, Options},
    search::{Search, Totals},
};
use reweave_model::{Choice, Plan};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// Grows with every change of what is stored.
const VERSION: u32 = 2;

/// A search as plain data. Nodes that branches share are stored once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stored {
    version: u32,
    options: Options,
    totals: Totals,
    tally: Tally,
    nodes: Vec<StoredNode>,
    branches: Vec<StoredBranch>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct StoredNode {
    sleep: Vec<Choice>,
    claims: Vec<Choice>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct StoredBranch {
    plan: Plan,
    path: Vec<u32>,
    more: u64,
    weight: f64,
}

impl Search {
    /// As plain data.
    pub fn store(&self) -> Stored {
        let mut nodes = Vec::new();
        let mut known = HashMap::new();
        let whole = |branch: &Branch| {
            let mut plan = Plan::default();
            branch.write_plan(&mut plan);
            plan
        };
        let branches = self.frontier.iter().map(|branch| StoredBranch {
            plan: whole(branch),
            path: branch
                .path
                .iter()
                .map(|node| {
                    *known.entry(Arc::as_ptr(node)).or_insert_with(|| {
                        nodes.push(StoredNode {
                            sleep: node.sleep.clone(),
                            claims: node
                                .claims
                                .lock()
                                .expect("nobody panics while claiming")
                                .clone(),
                        });
                        nodes.len() as u32 - 1
                    })
                })
                .collect(),
            more: branch.more,
            weight: branch.weight,
        });
        let branches = branches.collect();
        Stored {
            version: VERSION,
            options: *self.options(),
            totals: *self.totals(),
            tally: self.tally(),
            nodes,
            branches,
        }
    }

    /// Goes on where a stored search stopped.
    pub fn resume(stored: Stored) -> Result<Search, String> {
        if stored.version != VERSION {
            return Err(format!(
                "the search was stored in version {} of the format, this is version {VERSION}",
                stored.version
            ));
        }
        let nodes: Vec<Arc<Node>> = stored
            .nodes
            .into_iter()
            .map(|node| {
                Arc::new(Node {
                    sleep: node.sleep,
                    claims: Mutex::new(node.claims),
                })
            })
            .collect();
        let branch = |branch: StoredBranch| {
            let path = branch
                .path
                .iter()
                .map(|index| nodes.get(*index as usize).cloned());
            let path: Option<Vec<_>> = path.collect();
            let path = path.ok_or("the stored search names a node that it does not hold")?;
            Ok(Branch::new(branch.plan, path, branch.more, branch.weight))
        };
        let frontier = stored
            .branches
            .into_iter()
            .map(branch)
            .collect::<Result<_, String>>()?;
        Ok(Search::from_parts(
            stored.options,
            frontier,
            stored.totals,
            stored.tally,
        ))
    }
}
