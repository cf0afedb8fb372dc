//! [`Arc`] and [`Weak`].
//!
//! *Decides:* which changes of the counts, and looks at them, the runtime hears of. *Called by:* the program under test. *Owns:* nothing but std's
//! `Arc`, which keeps the value and the true counts. Whether a change is an event is decided in `rt::arcs`.

mod convert;
mod traits;
mod weak;

pub use weak::Weak;

use crate::rt::arcs::{self, Counts, Falling};
use std::{
    any::Any,
    mem::{ManuallyDrop, MaybeUninit},
    panic::Location,
    pin::Pin,
    sync::atomic::Ordering::{Acquire, Relaxed},
};

/// As [`std::sync::Arc`], in a check with its counts explored where they matter: if a destructor does something that others can notice,
/// or the program looks at a count, the orders in which references are made and dropped are explored. Otherwise nothing of them is an event.
///
/// Stable Rust has no unsizing of user-defined pointers, and no `self: Arc<Self>` for them. `Arc<dyn Trait>` is made from a box or from
/// [`std::sync::Arc`]: `Arc::from(Box::new(value) as Box<dyn Trait>)`. The conversions to and from std's keep the value where it is.
#[repr(transparent)]
pub struct Arc<T: ?Sized>(ManuallyDrop<std::sync::Arc<T>>);

/// The counts of one of std's, by the address of its value.
#[inline]
fn counts<T: ?Sized>(inner: &std::sync::Arc<T>) -> Counts {
    Counts {
        address: address(inner),
        strong: std::sync::Arc::strong_count(inner),
        weak: std::sync::Arc::weak_count(inner),
    }
}

#[inline]
fn address<T: ?Sized>(inner: &std::sync::Arc<T>) -> usize {
    std::sync::Arc::as_ptr(inner).cast::<()>() as usize
}

impl<T> Arc<T> {
    /// As [`std::sync::Arc::new`].
    #[inline]
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::made(std::sync::Arc::new(value))
    }

    /// As [`std::sync::Arc::pin`].
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value stays where it is until it is dropped: it is behind a counted pointer.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// As [`std::sync::Arc::new_cyclic`].
    #[track_caller]
    pub fn new_cyclic<F: FnOnce(&Weak<T>) -> T>(make: F) -> Arc<T> {
        let place = Location::caller();
        Arc(ManuallyDrop::new(std::sync::Arc::new_cyclic(|weak| {
            let weak = Weak::from(weak.clone());
            arcs::made(weak.as_ptr() as usize, place);
            make(&weak)
        })))
    }

    /// As [`std::sync::Arc::new_uninit`].
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::made(std::sync::Arc::new_uninit())
    }

    /// As [`std::sync::Arc::new_uninit_slice`].
    #[track_caller]
    pub fn new_uninit_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::made(std::sync::Arc::new_uninit_slice(length))
    }

    /// As [`std::sync::Arc::try_unwrap`].
    ///
    /// # Errors
    /// The `Arc` itself, if there are other references.
    #[inline(always)]
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        while let Some((object, word)) = arcs::look(counts(&this.0), Relaxed) {
            if word % arcs::WEAK != 1 {
                return Err(this);
            }
            if arcs::exchange(object, word, word - 1, Relaxed) {
                arcs::last();
                break;
            }
        }
        let before = counts(&this.0);
        match std::sync::Arc::try_unwrap(this.inner()) {
            Ok(value) => {
                arcs::gone(before);
                Ok(value)
            }
            Err(inner) => Err(Arc(ManuallyDrop::new(inner))),
        }
    }

    /// As [`std::sync::Arc::into_inner`].
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let object = arcs::before_look(counts(&this.0));
        match object {
            Some(object) => arcs::takes(object),
            None => arcs::drops(|| counts(&this.0)),
        }
        let before = counts(&this.0);
        let value = std::sync::Arc::into_inner(this.inner())?;
        if object.is_some() {
            arcs::last();
        }
        arcs::gone(before);
        Some(value)
    }

    /// As [`std::sync::Arc::unwrap_or_clone`].
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    #[inline]
    #[track_caller]
    fn made(inner: std::sync::Arc<T>) -> Arc<T> {
        arcs::made(address(&inner), Location::caller());
        Arc(ManuallyDrop::new(inner))
    }

    /// Std's, with the reference.
    #[inline]
    fn inner(self) -> std::sync::Arc<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once: `this` is neither used nor dropped after it.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }

    /// Takes one of std's. For ports from loom, where it has this name.
    #[track_caller]
    pub fn from_std(inner: std::sync::Arc<T>) -> Arc<T> {
        Arc::from(inner)
    }

    /// Std's, with the reference. In a check, what is done with it is not seen.
    pub fn into_std(this: Arc<T>) -> std::sync::Arc<T> {
        this.inner()
    }

    /// As [`std::sync::Arc::into_raw`].
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Arc<T>) -> *const T {
        std::sync::Arc::into_raw(this.inner())
    }

    /// As [`std::sync::Arc::as_ptr`].
    #[must_use]
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        std::sync::Arc::as_ptr(&this.0)
    }

    /// As [`std::sync::Arc::from_raw`].
    ///
    /// # Safety
    /// As there: the pointer is from [`Arc::into_raw`], and brings a reference with it.
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        // SAFETY: the pointer is from `into_raw` and brings a reference with it, as the caller promises.
        Arc(ManuallyDrop::new(unsafe {
            std::sync::Arc::from_raw(pointer)
        }))
    }

    /// As [`std::sync::Arc::increment_strong_count`].
    ///
    /// # Safety
    /// As there.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: the pointer is from `into_raw`, as the caller promises; its reference is not dropped here.
        let this = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        std::mem::forget(Arc::clone(&this));
    }

    /// As [`std::sync::Arc::decrement_strong_count`].
    ///
    /// # Safety
    /// As there.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: the pointer is from `into_raw` and brings a reference with it, as the caller promises.
        drop(unsafe { Arc::from_raw(pointer) });
    }

    /// As [`std::sync::Arc::downgrade`].
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        arcs::clones(|| counts(&this.0), arcs::WEAK, Acquire);
        Weak::from(std::sync::Arc::downgrade(&this.0))
    }

    /// As [`std::sync::Arc::weak_count`].
    #[inline(always)]
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> usize {
        arcs::look(counts(&this.0), Relaxed);
        std::sync::Arc::weak_count(&this.0)
    }

    /// As [`std::sync::Arc::strong_count`].
    #[inline(always)]
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        arcs::look(counts(&this.0), Relaxed);
        std::sync::Arc::strong_count(&this.0)
    }

    /// As [`std::sync::Arc::ptr_eq`].
    #[must_use]
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        std::sync::Arc::ptr_eq(&this.0, &other.0)
    }

    /// As [`std::sync::Arc::get_mut`].
    #[inline(always)]
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        arcs::look(counts(&this.0), Acquire);
        std::sync::Arc::get_mut(&mut this.0)
    }
}

impl<T: Clone> Arc<T> {
    /// As [`std::sync::Arc::make_mut`].
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T {
        if Arc::get_mut(this).is_none() {
            // Clones also where weak references alone remain, whose value std would move away.
            *this = Arc::new((**this).clone());
        }
        std::sync::Arc::get_mut(&mut this.0).expect("there is no other reference")
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// As [`std::sync::Arc::downcast`].
    ///
    /// # Errors
    /// The `Arc` itself, if its value is of another type.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        match self.inner().downcast() {
            Ok(inner) => Ok(Arc(ManuallyDrop::new(inner))),
            Err(inner) => Err(Arc(ManuallyDrop::new(inner))),
        }
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// As [`std::sync::Arc::assume_init`].
    ///
    /// # Safety
    /// As there: the value is initialised.
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: the value is initialised, as the caller promises.
        Arc(ManuallyDrop::new(unsafe { self.inner().assume_init() }))
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// As [`std::sync::Arc::assume_init`].
    ///
    /// # Safety
    /// As there: the values are initialised.
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: the value is initialised, as the caller promises.
        Arc(ManuallyDrop::new(unsafe { self.inner().assume_init() }))
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[inline]
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        arcs::clones(|| counts(&self.0), 1, Relaxed);
        Arc(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: taken once: `self` is not used after it.
        let inner = unsafe { ManuallyDrop::take(&mut self.0) };
        arcs::drops(|| counts(&inner));
        if std::sync::Arc::strong_count(&inner) == 1 {
            let falling = Falling::begin(counts(&inner));
            drop(inner);
            drop(falling);
        }
    }
}
