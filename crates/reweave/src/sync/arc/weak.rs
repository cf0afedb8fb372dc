//! [`Weak`].

use super::Arc;
use crate::rt::arcs::{self, Counts};
use std::{
    fmt,
    mem::ManuallyDrop,
    sync::{
        self,
        atomic::Ordering::{Acquire, Relaxed},
    },
};

/// As [`std::sync::Weak`].
#[repr(transparent)]
pub struct Weak<T: ?Sized>(ManuallyDrop<sync::Weak<T>>);

fn counts<T: ?Sized>(inner: &sync::Weak<T>) -> Counts {
    let strong = inner.strong_count();
    Counts {
        address: inner.as_ptr().cast::<()>() as usize,
        strong,
        // Std does not count them any more, and nobody can look at them, once there is no strong one.
        weak: if strong == 0 { 0 } else { inner.weak_count() },
    }
}

impl<T> Weak<T> {
    /// As [`std::sync::Weak::new`].
    #[must_use]
    pub const fn new() -> Weak<T> {
        Weak(ManuallyDrop::new(sync::Weak::new()))
    }
}

impl<T: ?Sized> Weak<T> {
    /// As [`std::sync::Weak::as_ptr`].
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }

    /// As [`std::sync::Weak::into_raw`].
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(self) -> *const T {
        self.inner().into_raw()
    }

    /// As [`std::sync::Weak::from_raw`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn from_raw(pointer: *const T) -> Weak<T> {
        // SAFETY: the pointer is from `into_raw` and brings a reference with it, as the caller promises.
        Weak(ManuallyDrop::new(unsafe { sync::Weak::from_raw(pointer) }))
    }

    pub(super) fn inner(self) -> sync::Weak<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once: `this` is neither used nor dropped after it.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    /// As [`std::sync::Weak::upgrade`].
    #[inline(always)]
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let object = arcs::before_upgrade(counts(&self.0));
        while object.is_some() {
            let Some((object, word)) = arcs::look(counts(&self.0), Relaxed) else {
                break;
            };
            if word % arcs::WEAK == 0 {
                return None;
            }
            if arcs::exchange(object, word, word + 1, Acquire) {
                break;
            }
        }
        let inner = self.0.upgrade();
        if object.is_none() {
            arcs::upgraded(self.0.as_ptr().cast::<()>() as usize, inner.is_some());
        }
        inner.map(|inner| Arc(ManuallyDrop::new(inner)))
    }

    /// As [`std::sync::Weak::strong_count`].
    #[inline(always)]
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.look();
        self.0.strong_count()
    }

    /// As [`std::sync::Weak::weak_count`].
    #[inline(always)]
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        self.look();
        self.0.weak_count()
    }

    #[inline(always)]
    #[track_caller]
    fn look(&self) {
        let counts = counts(&self.0);
        if counts.strong == 0 && arcs::before_upgrade(counts).is_none() {
            arcs::upgraded(counts.address, false);
        } else {
            arcs::look(counts, Relaxed);
        }
    }

    /// As [`std::sync::Weak::ptr_eq`].
    #[must_use]
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        arcs::clones(|| counts(&self.0), arcs::WEAK, Relaxed);
        Weak(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        // SAFETY: taken once: `self` is not used after it.
        let inner = unsafe { ManuallyDrop::take(&mut self.0) };
        arcs::drops_weak(counts(&inner));
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T: ?Sized> From<sync::Weak<T>> for Weak<T> {
    fn from(inner: sync::Weak<T>) -> Weak<T> {
        Weak(ManuallyDrop::new(inner))
    }
}

impl<T: ?Sized> From<Weak<T>> for sync::Weak<T> {
    fn from(weak: Weak<T>) -> sync::Weak<T> {
        weak.inner()
    }
}
