//! What a module keeps for each thread of the run.

use super::{cell::RunCell, families::Birth};
use alloc::vec::Vec;
use reweave_model::ThreadId;

/// A value for each thread, made when it is first asked for.
pub struct PerThread<T>(RunCell<Vec<T>>);

impl<T: Default> PerThread<T> {
    pub const fn new() -> PerThread<T> {
        PerThread(RunCell::new(Vec::new()))
    }

    /// Uses the value of a thread. The closure must not switch threads, nor ask for a value of the same table.
    #[track_caller]
    pub fn with<R>(&self, thread: ThreadId, what: impl FnOnce(&mut T) -> R) -> R {
        let mut all = self.0.borrow();
        if all.len() <= thread.index() {
            all.resize_with(thread.index() + 1, T::default);
        }
        what(&mut all[thread.index()])
    }

    /// As [`PerThread::with`], if the thread has a value.
    #[track_caller]
    pub fn with_known<R>(&self, thread: ThreadId, what: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.0.borrow().get_mut(thread.index()).map(what)
    }

    /// Passes the values of all threads. The closure must not ask for a value of the same table.
    pub fn each(&self, what: impl FnMut(&T)) {
        self.0.borrow().iter().for_each(what);
    }

    /// Gives a new thread the value of the thread whose place it takes; whether there is one. A thread that begins again has none.
    pub fn take_over(&self, birth: &Birth) -> bool {
        if birth.again {
            self.with(birth.child, |own| *own = T::default());
            return false;
        }
        let Some(before) = birth.reuses else {
            return false;
        };
        let value = self.with(before, core::mem::take);
        self.with(birth.child, |own| *own = value);
        true
    }

    /// As [`PerThread::take_over`], and the one thread of a new process gets a copy of its creator's value.
    pub fn take_over_or_copy(&self, birth: &Birth) -> bool
    where
        T: Clone,
    {
        if let (true, Some(parent)) = (birth.forked, birth.parent) {
            let value = self.with(parent, |value| value.clone());
            self.with(birth.child, |own| *own = value);
            return true;
        }
        self.take_over(birth)
    }

    /// Forgets all threads: a new run begins.
    pub fn clear(&self) {
        self.0.borrow().clear();
    }
}
