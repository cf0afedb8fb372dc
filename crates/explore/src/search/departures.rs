//! Where branches leave: at which places something else went first.
//!
//! *Called by:* the workers of a search that is asked for it; read at its end. *Owns:* the counts.

use crate::explorer::Branch;
use reweave_model::{Execution, Site};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// See the module.
#[derive(Debug, Default)]
pub struct Departures(Mutex<HashMap<Site, u64>>);

impl Departures {
    /// Takes in what follows from an execution. What is left of a branch that is yet to be gone on with is none.
    pub(crate) fn note<P>(&self, execution: &Execution, found: &[Branch<P>]) {
        if found.is_empty() {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for branch in found.iter().filter(|branch| !branch.again) {
            let (_, shared) = branch.shared;
            // The step that does not come first there any more.
            if let Some(event) = execution.events.get(shared as usize) {
                *counts.entry(event.site).or_default() += 1;
            }
        }
    }

    /// How many branches left at each place.
    pub fn counts(&self) -> Vec<(Site, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(site, count)| (*site, *count)).collect()
    }
}
