//! A search as plain data, to be written down and gone on with later.

use crate::{
    dpor::Node,
    estimate::{Tally, sizes::Place},
    explorer::{Branch, Options},
    rf::{Claims, Trail},
    search::{Search, Totals},
};
use reweave_model::{Choice, Plan, Step};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// Grows with every change of what is stored.
const VERSION: u32 = 9;

/// A search as plain data. Nodes that branches share are stored once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stored {
    version: u32,
    options: Options,
    totals: Totals,
    tally: Tally,
    nodes: Vec<StoredNode>,
    claims: Vec<StoredClaims>,
    branches: Vec<StoredBranch>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct StoredNode {
    sleep: Vec<Choice>,
    claims: Vec<Choice>,
}

/// What was tried at the decisions of one run of `rf`. Those of earlier runs are stored before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct StoredClaims {
    earlier: Option<u32>,
    first: u32,
    /// Two halves each.
    tried: Vec<(u64, u64)>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct StoredBranch {
    /// Steps that it begins with, as the branch before it does: neighbours have most of them in common.
    same: usize,
    /// How it goes on.
    plan: Plan,
    path: Vec<u32>,
    /// For `rf`: the order of decisions, the first new one, and what was tried.
    order: Vec<u32>,
    fresh: u32,
    claims: Option<u32>,
    more: u64,
    place: Place,
    /// What follows from it is yet to be found from here on.
    from: u32,
}

impl Search {
    /// As plain data.
    pub fn store(&self) -> Stored {
        let mut nodes = Vec::new();
        let mut known = HashMap::new();
        let mut claims = ClaimsStore::default();
        let mut before = Vec::new();
        let mut shortened = |branch: &Branch| {
            let mut plan = Plan::default();
            branch.write_plan(&mut plan);
            let both = plan.steps.iter().zip(&before);
            let same = both.take_while(|(mine, theirs)| mine == theirs).count();
            let rest = plan.steps.split_off(same);
            before = std::mem::replace(&mut plan.steps, rest.clone());
            before.extend(rest);
            (same, plan)
        };
        let waiting = self.waiting();
        let branches = waiting.iter().map(|branch| (branch, shortened(branch)));
        let branches = branches.map(|(branch, (same, plan))| StoredBranch {
            same,
            plan,
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
            order: branch.trail.order.clone(),
            fresh: branch.trail.fresh,
            claims: branch.trail.claims.as_ref().map(|tried| claims.add(tried)),
            more: branch.more,
            place: branch.place,
            from: branch.from,
        });
        let branches = branches.collect();
        Stored {
            version: VERSION,
            options: *self.options(),
            totals: *self.totals(),
            tally: self.tally(),
            nodes,
            claims: claims.stored,
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
        let claims = resume_claims(stored.claims)?;
        let mut before: Vec<Step> = Vec::new();
        let branch = |branch: StoredBranch| {
            let mut plan = branch.plan;
            let same = before.get(..branch.same);
            let same = same.ok_or("a branch of the stored search begins with nothing")?;
            plan.steps.splice(0..0, same.iter().copied());
            before.clone_from(&plan.steps);
            let path = branch
                .path
                .iter()
                .map(|index| nodes.get(*index as usize).cloned());
            let path: Option<Vec<_>> = path.collect();
            let path = path.ok_or("the stored search names a node that it does not hold")?;
            let tried = branch
                .claims
                .map(|index| claims.get(index as usize).cloned());
            if matches!(tried, Some(None)) || !permutation(&branch.order) {
                return Err("the stored search has a branch that makes no sense".into());
            }
            let trail = Trail {
                order: branch.order,
                fresh: branch.fresh,
                claims: tried.flatten(),
                above: branch.place.above,
            };
            let from = branch.from;
            let plain = Branch::new(plan, path, branch.more, branch.place);
            Ok(Branch {
                trail,
                from,
                ..plain
            })
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

/// Claims that branches share, each once.
#[derive(Default)]
struct ClaimsStore {
    known: HashMap<*const Claims, u32>,
    stored: Vec<StoredClaims>,
}

impl ClaimsStore {
    fn add(&mut self, claims: &Arc<Claims>) -> u32 {
        if let Some(index) = self.known.get(&Arc::as_ptr(claims)) {
            return *index;
        }
        let (earlier, first, tried) = claims.parts();
        let earlier = earlier.map(|earlier| self.add(earlier));
        let halves = |claim: u128| ((claim >> 64) as u64, claim as u64);
        self.stored.push(StoredClaims {
            earlier,
            first,
            tried: tried.into_iter().map(halves).collect(),
        });
        let index = self.stored.len() as u32 - 1;
        self.known.insert(Arc::as_ptr(claims), index);
        index
    }
}

fn resume_claims(stored: Vec<StoredClaims>) -> Result<Vec<Arc<Claims>>, String> {
    let mut claims: Vec<Arc<Claims>> = Vec::new();
    for StoredClaims {
        earlier,
        first,
        tried,
    } in stored
    {
        let earlier = match earlier {
            None if first > 0 => {
                return Err("the stored search has decisions without beginning".into());
            }
            None => None,
            Some(index) => Some(
                claims
                    .get(index as usize)
                    .cloned()
                    .ok_or("the stored search names decisions that it does not hold")?,
            ),
        };
        let whole = |(high, low): (u64, u64)| u128::from(high) << 64 | u128::from(low);
        let tried = tried.into_iter().map(whole).collect();
        claims.push(Arc::new(Claims::new(earlier, first, tried)));
    }
    Ok(claims)
}

fn permutation(order: &[u32]) -> bool {
    let mut seen = vec![false; order.len()];
    order.iter().all(|place| {
        let slot = seen.get_mut(*place as usize);
        slot.is_some_and(|seen| !std::mem::replace(seen, true))
    })
}
