//! [`Condvar`]. In a check a wait is three events: release and enqueue, wake, lock again.

use super::MutexGuard;
use crate::{
    rt::{self, Slot, poll::Frame},
    time,
};
use reweave_model::{Object, ObjectId, Op};
use std::{
    fmt,
    sync::{self, LockResult, PoisonError},
    time::Duration,
};

/// As [`std::sync::Condvar`]. In a check waits end spuriously only when the check asks for it.
pub struct Condvar {
    slot: Slot,
    inner: sync::Condvar,
}

/// As [`std::sync::WaitTimeoutResult`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// As [`std::sync::WaitTimeoutResult::timed_out`].
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// As [`std::sync::Condvar::new`].
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar {
            slot: Slot::new(),
            inner: sync::Condvar::new(),
        }
    }

    #[track_caller]
    fn id(&self) -> ObjectId {
        self.slot.id(Object::condvar)
    }

    /// As [`std::sync::Condvar::wait`].
    ///
    /// # Errors
    /// If the mutex is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let frame = Frame::here();
        let result = self.wait_at(guard, &frame);
        rt::poll::sweep();
        result
    }

    #[inline(never)]
    #[track_caller]
    fn wait_at<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        frame: &Frame,
    ) -> LockResult<MutexGuard<'a, T>> {
        let this = rt::here(self);
        if rt::active() {
            return this.wait_checked(guard, false, frame).0;
        }
        if rt::inert() {
            return Ok(guard);
        }
        let (lock, inner) = guard.split();
        let inner = inner.expect("a guard holds its lock");
        MutexGuard::again(lock, this.inner.wait(inner))
    }

    /// As [`std::sync::Condvar::wait_while`].
    ///
    /// # Errors
    /// If the mutex is poisoned.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`std::sync::Condvar::wait_timeout`]. In a check a timeout is one of the ways it can go, whatever the duration.
    ///
    /// # Errors
    /// If the mutex is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let frame = Frame::here();
        let result = self.wait_timeout_at(guard, duration, &frame);
        rt::poll::sweep();
        result
    }

    #[inline(never)]
    #[track_caller]
    fn wait_timeout_at<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
        frame: &Frame,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let this = rt::here(self);
        if rt::active() {
            let (guard, timed_out) = this.wait_checked(guard, true, frame);
            if timed_out {
                time::advance(duration);
            }
            return with(guard, timed_out);
        }
        if rt::inert() {
            return Ok((guard, WaitTimeoutResult(true)));
        }
        let (lock, inner) = guard.split();
        let inner = inner.expect("a guard holds its lock");
        let (inner, timed_out) = match this.inner.wait_timeout(inner, duration) {
            Ok((inner, result)) => (Ok(inner), result.timed_out()),
            Err(error) => {
                let (inner, result) = error.into_inner();
                (Err(PoisonError::new(inner)), result.timed_out())
            }
        };
        with(MutexGuard::again(lock, inner), timed_out)
    }

    /// As [`std::sync::Condvar::wait_timeout_while`].
    ///
    /// # Errors
    /// If the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        // Not a look at the clock: the program does not see it.
        let start = time::passed();
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = duration
                .checked_sub(time::passed().saturating_duration_since(start))
                .filter(|left| !left.is_zero())
            else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    /// As [`std::sync::Condvar::notify_one`].
    #[track_caller]
    pub fn notify_one(&self) {
        let this = rt::here(self);
        if rt::active() {
            rt::op(Op::NotifyOne(this.id()));
        } else if !rt::inert() {
            this.inner.notify_one();
        }
    }

    /// As [`std::sync::Condvar::notify_all`].
    #[track_caller]
    pub fn notify_all(&self) {
        let this = rt::here(self);
        if rt::active() {
            rt::op(Op::NotifyAll(this.id()));
        } else if !rt::inert() {
            this.inner.notify_all();
        }
    }

    /// The guard, and whether the wait timed out.
    #[track_caller]
    fn wait_checked<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timed: bool,
        frame: &Frame,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        let condvar = self.id();
        let clean = guard.is_clean();
        if rt::ends_spuriously(condvar, frame) {
            let (lock, inner) = guard.split();
            let mutex = lock.id();
            rt::op(match clean {
                true => Op::UnlockClean(mutex),
                false => Op::Unlock(mutex),
            });
            drop(inner);
            rt::op(Op::Lock(mutex));
            return (lock.taken(), false);
        }
        let (lock, inner) = guard.split();
        let mutex = lock.id();
        rt::op_enqueue(Op::Enqueue { condvar, mutex }, clean);
        drop(inner);
        let wake = Op::Wake { condvar, timed };
        let woken = match timed {
            true => rt::op_timed(wake, frame),
            false => rt::op(wake),
        };
        rt::op(Op::Lock(mutex));
        (lock.taken(), !woken.ok)
    }
}

fn with<T>(
    guard: LockResult<MutexGuard<'_, T>>,
    timed_out: bool,
) -> LockResult<(MutexGuard<'_, T>, WaitTimeoutResult)> {
    let result = WaitTimeoutResult(timed_out);
    match guard {
        Ok(guard) => Ok((guard, result)),
        Err(error) => Err(PoisonError::new((error.into_inner(), result))),
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
