//! Vector clocks: how many events of each thread lie in the past.

use alloc::vec::Vec;

/// A set of events that is closed under "before": for each thread a count of its first events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// How many events of the thread it holds.
    pub fn get(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    /// Sets the count of one thread.
    pub fn set(&mut self, thread: usize, count: u32) {
        if thread >= self.0.len() {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] = count;
    }

    /// Adds what another one holds.
    pub fn join(&mut self, other: &Clock) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether everything it holds is in the other.
    pub fn within(&self, other: &Clock) -> bool {
        (0..self.0.len()).all(|thread| self.0[thread] <= other.get(thread))
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes over another's contents, reusing memory.
    pub fn copy_from(&mut self, other: &Clock) {
        self.0.clone_from(&other.0);
    }
}
