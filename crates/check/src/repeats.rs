//! Executions that are run once more at the end of a clean search: a program that does not do the same again was not explored.

use crate::subject::{Fault, Subject};
use reweave_model::{End, Execution};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// The first one, and one from late in the search.
#[derive(Default)]
pub(crate) struct Repeats {
    count: AtomicU64,
    kept: Mutex<[Option<Execution>; 2]>,
}

impl Repeats {
    /// Keeps the first execution and the last one; of more than 64, the 64th, 128th, 256th and so on, the latest of them only.
    pub(crate) fn note(&self, execution: &Execution) {
        let number = self.count.fetch_add(1, Relaxed) + 1;
        let kept = number < 64 || number.is_power_of_two();
        if kept && execution.end != End::Redundant {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept[usize::from(number > 1)] = Some(execution.clone());
        }
    }

    /// Runs them again; whether there was time for all of them.
    pub(crate) fn confirm(self, subject: &impl Subject) -> Result<bool, Fault> {
        let kept = self.kept.into_inner();
        let kept = kept.unwrap_or_else(PoisonError::into_inner);
        for execution in kept.iter().flatten() {
            match subject.confirm(execution) {
                Err(Fault::Late) => return Ok(false),
                done => done?,
            };
        }
        Ok(true)
    }
}
