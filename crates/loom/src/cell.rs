//! Cells whose accesses are checked for data races.

mod plain;

pub use plain::Cell;

use std::fmt;

/// As loom's. As there, the end of a cell is not checked: what owns it may be std's, which is not seen.
pub struct UnsafeCell<T: ?Sized>(reweave::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// A cell with a value.
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(reweave::cell::UnsafeCell::with_unseen_end(value))
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads through a pointer to the value.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.0.with(f)
    }

    /// Writes through a pointer to the value.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
    }

    /// A pointer for reading, checked now and at each use.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        self.0.with(|_| ());
        ConstPtr(&raw const self.0)
    }

    /// A pointer for writing, checked now and at each use.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        self.0.with_mut(|_| ());
        MutPtr(&raw const self.0)
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// As loom's.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized>(*const reweave::cell::UnsafeCell<T>);

/// As loom's.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized>(*const reweave::cell::UnsafeCell<T>);

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a pointer: it is there, and nothing changes it meanwhile.
    #[allow(clippy::should_implement_trait, reason = "loom's signature")]
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the cell is there, and nothing changes its value meanwhile, as the caller promises.
        unsafe { &*(*self.0).with(|pointer| pointer) }
    }

    /// Reads through the pointer.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        // SAFETY: as in loom, whose pointer may not outlive its cell either.
        unsafe { (*self.0).with(f) }
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a pointer: it is there, and nothing else uses it meanwhile.
    #[allow(
        clippy::should_implement_trait,
        clippy::mut_from_ref,
        reason = "loom's signature"
    )]
    #[track_caller]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the cell is there, and nothing else uses its value meanwhile, as the caller promises.
        unsafe { &mut *(*self.0).with_mut(|pointer| pointer) }
    }

    /// Writes through the pointer.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        // SAFETY: as in loom, whose pointer may not outlive its cell either.
        unsafe { (*self.0).with_mut(f) }
    }
}
