//! A prefix of an execution up to the order of independent events, as a hash.
//!
//! *Called by:* `dfs` under a bound, with the events of an execution in their order. *Invariant:* two prefixes that differ only in the order
//! of independent events have the same hash. So threads go in by their creation paths: their numbers follow the order in which they
//! were created.

use crate::{claims::Claim, happens::Row};
use reweave_model::{Choice, Event, Execution, ThreadId};

/// See the module. Reused from execution to execution.
#[derive(Debug, Default)]
pub(super) struct Situation {
    /// Of each thread's path.
    threads: Vec<u128>,
    /// The sum of the hashes of all events since the last epoch, which goes into it as well.
    hash: u128,
}

/// Odd, with no pattern in its bits: the golden ratio.
const FACTOR: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// A hash of both. Not the same when they change places.
fn mix(a: u128, b: u128) -> u128 {
    let mut hash = (a ^ b.rotate_left(41)).wrapping_mul(FACTOR).wrapping_add(b);
    hash ^= hash >> 67;
    hash = hash.wrapping_mul(FACTOR);
    hash ^ hash >> 59
}

impl Situation {
    /// Before the first event.
    pub(super) fn begin(&mut self, execution: &Execution) {
        self.hash = 0;
        self.threads.clear();
        let path = |path: &Vec<u32>| {
            let numbers = path.iter().map(|number| u128::from(*number) + 1);
            numbers.fold(FACTOR, mix)
        };
        let threads = execution.threads.iter().map(|record| path(&record.path));
        self.threads.extend(threads);
    }

    /// Everything so far comes before everything later.
    pub(super) fn epoch(&mut self) {
        self.hash = mix(self.hash, FACTOR);
    }

    /// Adds an event. `past` counts the events of each thread at or before it.
    pub(super) fn advance(&mut self, event: &Event, past: &Row) {
        let counts = past.as_flattened().iter().zip(&self.threads);
        let past = counts.filter(|(count, _)| **count > 0);
        let past = past.fold(0_u128, |sum, (count, thread)| {
            sum.wrapping_add(mix(*thread, *count as u128))
        });
        let event = mix(self.threads[event.thread.index()], event.outcome.into());
        self.hash = self.hash.wrapping_add(mix(event, past));
    }

    /// To leave the situation so, while a thread could go on, after so many preemptions.
    pub(super) fn way_out(
        &self,
        running: Option<ThreadId>,
        preemptions: u32,
        choice: Choice,
    ) -> Claim {
        let running = running.map_or(0, |thread| self.threads[thread.index()]);
        let chosen = mix(self.threads[choice.thread.index()], choice.outcome.into());
        let turn = mix(running, preemptions.into());
        mix(self.hash, mix(turn, chosen))
    }
}
