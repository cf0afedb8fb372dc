//! Pointers.
//!
//! The model never sees an address: see [`crate::rt::pointers`].

use super::{Ordering, exchange, id, load, look, modify, store};
use crate::rt::{
    self, Slot,
    pointers::{LOW_BITS, address_of, note, word_of},
};
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

#[inline(always)]
fn word<T>(pointer: *mut T) -> u64 {
    word_of(pointer.expose_provenance())
}

#[inline(always)]
fn pointer<T>(word: u64) -> *mut T {
    with_exposed_provenance_mut(address_of(word))
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

    /// As in std. In a check it is a load, if others may have stored something.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut *mut T {
        look(&self.slot);
        self.slot.forget();
        self.inner.get_mut()
    }

    /// As in std. In a check it is a load, if others may have stored something; hence it is not `const`.
    #[inline]
    #[track_caller]
    pub fn into_inner(self) -> *mut T {
        look(&self.slot);
        self.inner.into_inner()
    }

    /// As loom's: the value, which nobody else has, by a reference for the length of the call. In a check it is a load.
    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut *mut T) -> R) -> R {
        f(self.get_mut())
    }

    /// As loom's: the value, without synchronisation. In a check it is a load.
    ///
    /// # Safety
    /// Nothing stores meanwhile.
    #[track_caller]
    pub unsafe fn unsync_load(&self) -> *mut T {
        self.load(Relaxed)
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

    /// As in std. In a check a load and compare-exchanges, since the model does not calculate with addresses.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_ptr_add(&self, count: usize, order: Ordering) -> *mut T {
        self.calculate(order, |value| value.wrapping_add(count))
    }

    /// As in std; see [`AtomicPtr::fetch_ptr_add`].
    #[inline(always)]
    #[track_caller]
    pub fn fetch_ptr_sub(&self, count: usize, order: Ordering) -> *mut T {
        self.calculate(order, |value| value.wrapping_sub(count))
    }

    /// As in std; see [`AtomicPtr::fetch_ptr_add`].
    #[inline(always)]
    #[track_caller]
    pub fn fetch_byte_add(&self, bytes: usize, order: Ordering) -> *mut T {
        self.calculate(order, |value| value.wrapping_byte_add(bytes))
    }

    /// As in std; see [`AtomicPtr::fetch_ptr_add`].
    #[inline(always)]
    #[track_caller]
    pub fn fetch_byte_sub(&self, bytes: usize, order: Ordering) -> *mut T {
        self.calculate(order, |value| value.wrapping_byte_sub(bytes))
    }

    /// As in std. In a check one step when only the low three bits can change, else as [`AtomicPtr::fetch_ptr_add`].
    #[inline(always)]
    #[track_caller]
    pub fn fetch_or(&self, bits: usize, order: Ordering) -> *mut T {
        if bits & !LOW_BITS != 0 {
            return self.calculate(order, |value| value.map_addr(|address| address | bits));
        }
        self.tag(RmwKind::Or, bits, order)
    }

    /// As in std; see [`AtomicPtr::fetch_or`].
    #[inline(always)]
    #[track_caller]
    pub fn fetch_and(&self, bits: usize, order: Ordering) -> *mut T {
        if !bits & !LOW_BITS != 0 {
            return self.calculate(order, |value| value.map_addr(|address| address & bits));
        }
        self.tag(RmwKind::And, bits, order)
    }

    /// As in std; see [`AtomicPtr::fetch_or`].
    #[inline(always)]
    #[track_caller]
    pub fn fetch_xor(&self, bits: usize, order: Ordering) -> *mut T {
        if bits & !LOW_BITS != 0 {
            return self.calculate(order, |value| value.map_addr(|address| address ^ bits));
        }
        self.tag(RmwKind::Xor, bits, order)
    }

    /// Changes low bits: the same for a pointer's word.
    #[inline(always)]
    #[track_caller]
    fn tag(&self, kind: RmwKind, bits: usize, order: Ordering) -> *mut T {
        let change = |value: *mut T| {
            value.map_addr(|address| match kind {
                RmwKind::Or => address | bits,
                RmwKind::And => address & bits,
                _ => address ^ bits,
            })
        };
        let this = rt::here(self);
        if !rt::active() {
            return self.calculate(order, change);
        }
        let before = pointer(modify(this.id(), kind, bits as u64, 64, order));
        this.inner.store(change(before), Relaxed);
        before
    }

    #[inline(always)]
    #[track_caller]
    fn calculate(&self, order: Ordering, change: impl Fn(*mut T) -> *mut T) -> *mut T {
        let read = match order {
            Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
            Ordering::SeqCst => Ordering::SeqCst,
            _ => Relaxed,
        };
        let changed = self.fetch_update(order, read, |value| Some(change(value)));
        changed.expect("it is always changed")
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
        let mut new = false;
        let id = id(&self.slot, || {
            new = true;
            word(self.inner.load(Relaxed))
        });
        if new {
            note(id);
        }
        id
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
        self.load(Relaxed).fmt(f)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.load(Relaxed), f)
    }
}
