//! Which place makes a search large: where threads most often touch what others touch too.
//!
//! *Decides:* what the advice for a search that does not come to its end names. *Called by:* `check`, for a few
//! executions of each search: the first, the second, the fourth and so on. *Owns:* the counts of the last of them.

use reweave_model::{Execution, ObjectId, Site};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

/// A place with its part of the steps that can meet other threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Heaviest {
    pub site: Site,
    /// The thread that is there most often, by its creation path.
    pub thread: Vec<u32>,
    /// How often it is there in one execution.
    pub times: u64,
    /// How many threads are there.
    pub threads: u64,
    /// How many steps of all threads are there, of how many that touch shared objects.
    pub steps: (u64, u64),
}

/// The place of the last execution that was looked at.
#[derive(Default)]
pub(crate) struct Heavy(Mutex<(u64, Option<Heaviest>)>);

impl Heavy {
    /// Looks at an execution, if it is its turn.
    pub(crate) fn note(&self, execution: &Execution) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.0 += 1;
        if held.0.is_power_of_two() {
            held.1 = heaviest(execution);
        }
    }

    /// What is known so far.
    pub(crate) fn place(&self) -> Option<Heaviest> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.1.clone()
    }
}

/// The place with the most steps on objects that several threads touch; of two, the one that comes first.
fn heaviest(execution: &Execution) -> Option<Heaviest> {
    let mut users: HashMap<ObjectId, (u32, bool)> = HashMap::new();
    for event in &execution.events {
        if let Some(object) = event.op.object() {
            let (first, shared) = users.entry(object).or_insert((event.thread.0, false));
            *shared |= *first != event.thread.0;
        }
    }
    let shared = |object: ObjectId| users.get(&object).is_some_and(|(_, shared)| *shared);
    let mut total = 0;
    let mut sites: HashMap<Site, (usize, BTreeMap<u32, u64>)> = HashMap::new();
    for (position, event) in execution.events.iter().enumerate() {
        if event.op.object().is_some_and(shared) {
            total += 1;
            let (_, threads) = sites
                .entry(event.site)
                .or_insert_with(|| (position, BTreeMap::new()));
            *threads.entry(event.thread.0).or_default() += 1;
        }
    }
    let steps = |threads: &BTreeMap<u32, u64>| threads.values().sum::<u64>();
    let most = |(_, (first, threads)): &(Site, (usize, BTreeMap<u32, u64>))| {
        (steps(threads), std::cmp::Reverse(*first))
    };
    let (site, (_, threads)) = sites.into_iter().max_by_key(most)?;
    // Of equally busy threads the first one.
    let busiest = threads
        .iter()
        .max_by_key(|(thread, times)| (**times, std::cmp::Reverse(**thread)));
    let (thread, times) = busiest?;
    Some(Heaviest {
        site,
        thread: execution.threads.get(*thread as usize)?.path.clone(),
        times: *times,
        threads: threads.len() as u64,
        steps: (steps(&threads), total),
    })
}
