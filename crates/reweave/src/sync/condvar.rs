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
        if rt::active() {
            let (frame, lock) = (Frame::here(), guard.lock);
            self.wait_checked(guard, None, &frame);
            rt::poll::sweep();
            return lock.taken();
        }
        self.wait_outside(guard)
    }

    #[inline(never)]
    #[track_caller]
    fn wait_outside<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if rt::inert() {
            return Ok(guard);
        }
        let this = rt::here(self);
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
        if rt::active() {
            let (frame, lock) = (Frame::here(), guard.lock);
            let timed_out = self.wait_checked(guard, Some(duration), &frame);
            rt::poll::sweep();
            return with(lock.taken(), timed_out);
        }
        self.wait_timeout_outside(guard, duration)
    }

    #[inline(never)]
    #[track_caller]
    fn wait_timeout_outside<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        if rt::inert() {
            return Ok((guard, WaitTimeoutResult(true)));
        }
        let this = rt::here(self);
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

    /// A wait in a check, up to the lock that comes after it: whether it timed out. Not inlined, so that nothing of it gets into the
    /// program's frame.
    #[inline(never)]
    #[track_caller]
    fn wait_checked<T>(
        &self,
        guard: MutexGuard<'_, T>,
        limit: Option<Duration>,
        frame: &Frame,
    ) -> bool {
        let condvar = rt::here(self).id();
        let clean = guard.is_clean();
        let spurious = rt::ends_spuriously(condvar, frame);
        let (lock, inner) = guard.split();
        let mutex = lock.id();
        let mut timed_out = false;
        if spurious {
            rt::op(match clean {
                true => Op::UnlockClean(mutex),
                false => Op::Unlock(mutex),
            });
            drop(inner);
        } else {
            rt::op_enqueue(Op::Enqueue { condvar, mutex }, clean);
            drop(inner);
            let timed = limit.is_some();
            let wake = Op::Wake { condvar, timed };
            timed_out = match timed {
                true => !rt::op_timed(wake, frame).ok,
                false => !rt::op(wake).ok,
            };
        }
        rt::op(Op::Lock(mutex));
        if let Some(limit) = limit.filter(|_| timed_out) {
            time::advance(limit);
        }
        timed_out
    }
}

#[inline(always)]
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
