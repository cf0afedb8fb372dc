//! A counting semaphore. std has none; a program that brings its own from elsewhere can be checked with this one.
//!
//! *Decides:* nothing in a check; the model counts there. *Called by:* the program under test. *Owns:* a count and a condition
//! variable for use outside of a check, which with the `std` feature is all there is.

#[cfg(not(feature = "std"))]
pub use checked::Semaphore;
#[cfg(feature = "std")]
pub use plain::Semaphore;

#[cfg(not(feature = "std"))]
mod checked {
    use super::plain;
    use crate::{rt, time};
    use reweave_model::{Object, ObjectId, Op};
    use std::{fmt, time::Duration};

    /// Lets a number of threads pass: each takes a permit, and gives it back later, or another thread does.
    ///
    /// A release happens before the acquisitions that come after it.
    pub struct Semaphore {
        slot: rt::Slot,
        inner: plain::Semaphore,
    }

    impl Semaphore {
        /// A semaphore with so many permits.
        pub const fn new(permits: usize) -> Semaphore {
            Semaphore {
                slot: rt::Slot::new(),
                inner: plain::Semaphore::new(permits),
            }
        }

        /// Takes a permit, waiting for one.
        #[track_caller]
        pub fn acquire(&self) {
            let this = rt::here(self);
            if rt::active() {
                let object = this.id();
                rt::op(Op::SemAcquire {
                    object,
                    timed: false,
                });
            } else if !rt::inert() {
                this.inner.acquire();
            }
        }

        /// Takes a permit if there is one.
        #[inline(always)]
        #[track_caller]
        pub fn try_acquire(&self) -> bool {
            let this = rt::here(self);
            if rt::active() {
                return rt::poll::attempt(rt::poll::Attempt::Semaphore, this.id()).0;
            }
            !rt::inert() && this.inner.try_acquire()
        }

        /// Takes a permit, waiting for one no longer than this. In a check a timeout is one of the ways it can go, whatever the
        /// duration.
        #[inline(always)]
        #[track_caller]
        pub fn acquire_timeout(&self, timeout: Duration) -> bool {
            let frame = rt::poll::Frame::here();
            self.acquire_timeout_at(timeout, &frame)
        }

        #[inline(never)]
        #[track_caller]
        fn acquire_timeout_at(&self, timeout: Duration, frame: &rt::poll::Frame) -> bool {
            let this = rt::here(self);
            if rt::active() {
                let object = this.id();
                let timed = true;
                let acquired = rt::op_timed(Op::SemAcquire { object, timed }, frame).ok;
                if !acquired {
                    time::advance(timeout);
                }
                return acquired;
            }
            !rt::inert() && this.inner.acquire_timeout(timeout)
        }

        /// Gives a permit.
        #[track_caller]
        pub fn release(&self) {
            let this = rt::here(self);
            if rt::active() {
                rt::op(Op::SemRelease(this.id()));
            } else if !rt::inert() {
                this.inner.release();
            }
        }

        #[track_caller]
        fn id(&self) -> ObjectId {
            self.slot
                .id(|| Object::Semaphore(self.inner.permits() as u64))
        }
    }

    impl fmt::Debug for Semaphore {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Semaphore").finish_non_exhaustive()
        }
    }
}

mod plain {
    use std::{
        fmt,
        sync::{Condvar, Mutex, MutexGuard, PoisonError},
        time::Duration,
    };

    /// Lets a number of threads pass: each takes a permit, and gives it back later, or another thread does.
    pub struct Semaphore {
        permits: Mutex<usize>,
        released: Condvar,
    }

    impl Semaphore {
        /// A semaphore with so many permits.
        pub const fn new(permits: usize) -> Semaphore {
            Semaphore {
                permits: Mutex::new(permits),
                released: Condvar::new(),
            }
        }

        fn lock(&self) -> MutexGuard<'_, usize> {
            self.permits.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// How many there are.
        #[cfg(not(feature = "std"))]
        pub(super) fn permits(&self) -> usize {
            *self.lock()
        }

        /// Takes a permit, waiting for one.
        pub fn acquire(&self) {
            let waited = self
                .released
                .wait_while(self.lock(), |permits| *permits == 0);
            *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        }

        /// Takes a permit if there is one.
        pub fn try_acquire(&self) -> bool {
            take(&mut self.lock())
        }

        /// Takes a permit, waiting for one no longer than this.
        pub fn acquire_timeout(&self, timeout: Duration) -> bool {
            let waited = self
                .released
                .wait_timeout_while(self.lock(), timeout, |permits| *permits == 0);
            take(&mut waited.unwrap_or_else(PoisonError::into_inner).0)
        }

        /// Gives a permit.
        pub fn release(&self) {
            *self.lock() += 1;
            self.released.notify_one();
        }
    }

    fn take(permits: &mut usize) -> bool {
        let free = *permits > 0;
        *permits -= usize::from(free);
        free
    }

    impl fmt::Debug for Semaphore {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Semaphore").finish_non_exhaustive()
        }
    }
}
