//! Pointers.

use super::{Ordering, exchange, id, load, modify, store};
use crate::rt::{self, Slot};
use reweave_model::{ObjectId, RmwKind};
use std::{
    fmt,
    ptr::{null_mut, with_exposed_provenance_mut},
    sync::atomic::{self as std_atomic, Ordering::Relaxed},
};

/// As [`std::sync::atomic::AtomicPtr`].
pub struct AtomicPtr<T> {
    slot: Slot,
    inner: std_atomic::AtomicPtr<T>,
}

fn word<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

fn pointer<T>(word: u64) -> *mut T {
    with_exposed_provenance_mut(word as usize)
}

impl<T> AtomicPtr<T> {
    /// As in std.
    #[inline]
    #[must_use]
    pub const fn new(value: *mut T) -> AtomicPtr<T> {
        AtomicPtr {
            slot: Slot::new(),
            inner: std_atomic::AtomicPtr::new(value),
        }
    }

    /// As in std.
    #[inline]
    pub fn get_mut(&mut self) -> &mut *mut T {
        self.slot.forget();
        self.inner.get_mut()
    }

    /// As in std.
    #[inline]
    pub const fn into_inner(self) -> *mut T {
        self.inner.into_inner()
    }

    /// As in std. In a check, what is done through it is not seen.
    #[inline]
    pub const fn as_ptr(&self) -> *mut *mut T {
        self.inner.as_ptr()
    }

    /// As in std.
    #[inline(always)]
    #[track_caller]
    pub fn load(&self, order: Ordering) -> *mut T {
        let this = rt::here(self);
        if rt::active() {
            pointer(load(this.id(), order))
        } else {
            rt::inert();
            this.inner.load(order)
        }
    }

    /// As in std.
    #[inline(always)]
    #[track_caller]
    pub fn store(&self, value: *mut T, order: Ordering) {
        let this = rt::here(self);
        if rt::active() {
            store(this.id(), word(value), order);
            this.inner.store(value, Relaxed);
        } else {
            rt::inert();
            this.inner.store(value, order);
        }
    }

    /// As in std.
    #[inline(always)]
    #[track_caller]
    pub fn swap(&self, value: *mut T, order: Ordering) -> *mut T {
        let this = rt::here(self);
        if rt::active() {
            let before = modify(this.id(), RmwKind::Swap, word(value), 64, order);
            this.inner.store(value, Relaxed);
            pointer(before)
        } else {
            rt::inert();
            this.inner.swap(value, order)
        }
    }

    /// As in std.
    ///
    /// # Errors
    /// The value found, when it is not the expected one.
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.exchange((current, new), false, (success, failure))
    }

    /// As in std. In a check it may fail for no reason, once in a row.
    ///
    /// # Errors
    /// The value found, when it was not exchanged.
    #[inline(always)]
    #[track_caller]
    pub fn compare_exchange_weak(
        &self,
        current: *mut T,
        new: *mut T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<*mut T, *mut T> {
        self.exchange((current, new), true, (success, failure))
    }

    /// As in std.
    ///
    /// # Errors
    /// The value found, when `f` said `None`.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_update<F>(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut f: F,
    ) -> Result<*mut T, *mut T>
    where
        F: FnMut(*mut T) -> Option<*mut T>,
    {
        let mut previous = self.load(fetch_order);
        while let Some(next) = f(previous) {
            match self.compare_exchange(previous, next, set_order, fetch_order) {
                Ok(value) => return Ok(value),
                Err(value) => previous = value,
            }
        }
        Err(previous)
    }

    #[inline(always)]
    #[track_caller]
    fn exchange(
        &self,
        (current, new): (*mut T, *mut T),
        weak: bool,
        orders: (Ordering, Ordering),
    ) -> Result<*mut T, *mut T> {
        let this = rt::here(self);
        if !rt::active() {
            rt::inert();
            return if weak {
                this.inner
                    .compare_exchange_weak(current, new, orders.0, orders.1)
            } else {
                this.inner
                    .compare_exchange(current, new, orders.0, orders.1)
            };
        }
        let words = (word(current), word(new));
        let (before, done) = exchange(this.id(), words, weak, orders);
        if done {
            this.inner.store(new, Relaxed);
            Ok(pointer(before))
        } else {
            Err(pointer(before))
        }
    }

    #[inline(always)]
    #[track_caller]
    fn id(&self) -> ObjectId {
        id(&self.slot, || word(self.inner.load(Relaxed)))
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> AtomicPtr<T> {
        AtomicPtr::new(null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    fn from(value: *mut T) -> AtomicPtr<T> {
        AtomicPtr::new(value)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rt::here(self).inner.fmt(f)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&rt::here(self).inner, f)
    }
}
