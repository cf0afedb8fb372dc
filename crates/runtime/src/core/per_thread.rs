//! What a module keeps for each thread of the run.

use super::{
    cell::{self, RunCell},
    families::Birth,
    trampoline::RECORDED,
};
use alloc::vec::Vec;
use reweave_model::{Identity, ThreadId};

/// A value for each thread, made when it is first asked for.
///
/// Which value is asked for is no change that a state must know of; what becomes of it is, unless it is `ASIDE`.
pub struct PerThread<T, const ASIDE: bool = false>(RunCell<Vec<T>, true>);

impl<T: Default, const ASIDE: bool> PerThread<T, ASIDE> {
    pub const fn new() -> PerThread<T, ASIDE> {
        PerThread(RunCell::new(Vec::new()))
    }

    /// Uses the value of a thread. The closure must not switch threads, nor ask for a value of the same table.
    #[track_caller]
    pub fn with<R>(&self, thread: ThreadId, what: impl FnOnce(&mut T) -> R) -> R {
        let mut all = self.0.borrow();
        if all.len() <= thread.index() {
            all.resize_with(thread.index() + 1, T::default);
        }
        let value = &mut all[thread.index()];
        if ASIDE || !RECORDED.get() {
            return what(value);
        }
        let before = digest(value);
        let result = what(value);
        if digest(value) != before {
            cell::changed();
        }
        result
    }

    /// Adds the values of all threads to a state.
    pub fn identify(&self, out: &mut Identity)
    where
        T: Copy,
    {
        let all = self.0.borrow();
        let unused = digest(&T::default());
        for (thread, value) in all.iter().enumerate() {
            let value = digest(value);
            if value != unused {
                out.word(thread as u64);
                out.word(value);
            }
        }
        out.word(u64::MAX);
    }

    /// As [`PerThread::with`], if the thread has a value.
    #[track_caller]
    pub fn with_known<R>(&self, thread: ThreadId, what: impl FnOnce(&mut T) -> R) -> Option<R> {
        let all = self.0.borrow().len();
        (thread.index() < all).then(|| self.with(thread, what))
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

/// The bytes of a value as a number. What lists point to is not in it, but how long they are.
fn digest<T>(value: &T) -> u64 {
    let start = core::ptr::from_ref(value).cast::<u8>();
    let mut sum = Identity::default();
    for at in 0..size_of::<T>() {
        // SAFETY: the byte belongs to the value. It is read as memory, whether the value uses it or not.
        sum.word(u64::from(unsafe { start.add(at).read_volatile() }));
    }
    sum.id().0 as u64
}
