//! `std::cell` with plain accesses that are checked for data races.
//!
//! *Decides:* which calls count as an access, and of what. *Called by:* the program under test. *Owns:* a tag in each
//! [`UnsafeCell`], which is the cell's identity for the race check: it moves with the cell, so memory that is used again for another
//! cell is never taken for the old one.
//!
//! `Cell` and `RefCell` are std's: they are not `Sync`, so no two threads can reach one without an `UnsafeCell` or a lock around it.

pub use std::cell::{BorrowError, BorrowMutError, Cell, OnceCell, Ref, RefCell, RefMut};

#[cfg(not(feature = "std"))]
pub use checked::UnsafeCell;
#[cfg(feature = "std")]
pub use plain::UnsafeCell;

#[cfg(not(feature = "std"))]
mod checked {
    use crate::rt;
    use std::{fmt, mem::offset_of};

    /// `std::cell::UnsafeCell` with [`with`](UnsafeCell::with) and [`with_mut`](UnsafeCell::with_mut), which are checked for data
    /// races while in a check. Two accesses of one cell by different threads, one of them mutable, must be ordered by
    /// synchronisation: declared memory orders count.
    ///
    /// [`get`](UnsafeCell::get) works as in std and is *not* checked: what is done with the pointer, and when, cannot be seen, and
    /// a guess would be a false alarm for readers or blind for writers. [`get_mut`](UnsafeCell::get_mut),
    /// [`into_inner`](UnsafeCell::into_inner) and dropping the cell count as writes: who does them must come after all others.
    /// Moving a cell is not seen.
    pub struct UnsafeCell<T: ?Sized> {
        // Has the destructor, so that the cell itself asks nothing more of `T` than std's does.
        tag: rt::Tag,
        inner: std::cell::UnsafeCell<T>,
    }

    impl<T> UnsafeCell<T> {
        /// A cell with a value.
        pub const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell {
                tag: rt::Tag::new(),
                inner: std::cell::UnsafeCell::new(value),
            }
        }

        /// One whose end is no access: for ports from loom, where what owns it may be std's.
        #[doc(hidden)]
        pub const fn with_unseen_end(value: T) -> UnsafeCell<T> {
            UnsafeCell {
                tag: rt::Tag::with_unseen_end(),
                inner: std::cell::UnsafeCell::new(value),
            }
        }

        /// Takes the value out. Counts as a write.
        pub fn into_inner(self) -> T {
            self.inner.into_inner()
        }

        /// A pointer to the value, from a pointer to the cell. Not checked, as [`get`](Self::get) is not, and for values of
        /// known size only.
        pub const fn raw_get(this: *const Self) -> *mut T {
            let offset = offset_of!(Self, inner);
            this.wrapping_byte_add(offset).cast_mut().cast()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Reads through a pointer to the value; checked for races, at the beginning and at the end of the call.
        #[track_caller]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            let this = rt::here(self);
            this.touch(false);
            let result = f(this.inner.get());
            this.touch(false);
            result
        }

        /// Writes through a pointer to the value; checked for races, at the beginning and at the end of the call.
        #[track_caller]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            let this = rt::here(self);
            this.touch(true);
            let result = f(this.inner.get());
            this.touch(true);
            result
        }

        /// A pointer to the value. What is done with it is not checked: use [`with`](Self::with) and
        /// [`with_mut`](Self::with_mut) for that.
        pub fn get(&self) -> *mut T {
            rt::here(self).inner.get()
        }

        /// The value, by a reference that nobody else has. Counts as a write.
        #[track_caller]
        pub fn get_mut(&mut self) -> &mut T {
            self.touch(true);
            self.inner.get_mut()
        }

        #[inline]
        #[track_caller]
        fn touch(&self, write: bool) {
            // A value without bytes cannot be raced for.
            if size_of_val(&self.inner) != 0 && rt::active() {
                self.tag.access(write);
            }
        }
    }

    impl<T: Default> Default for UnsafeCell<T> {
        fn default() -> Self {
            UnsafeCell::new(T::default())
        }
    }

    impl<T> From<T> for UnsafeCell<T> {
        fn from(value: T) -> Self {
            UnsafeCell::new(value)
        }
    }

    impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("UnsafeCell").finish_non_exhaustive()
        }
    }
}

#[cfg(feature = "std")]
mod plain {
    /// `std::cell::UnsafeCell` with the two methods that a check looks at.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A cell with a value.
        pub const fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// Takes the value out.
        #[inline(always)]
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Reads through a pointer to the value.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Writes through a pointer to the value.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }

        /// A pointer to the value.
        #[inline(always)]
        pub const fn get(&self) -> *mut T {
            self.0.get()
        }

        /// The value, by a reference that nobody else has.
        #[inline(always)]
        pub const fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        /// A pointer to the value, from a pointer to the cell.
        pub const fn raw_get(this: *const Self) -> *mut T {
            std::cell::UnsafeCell::raw_get(this as *const std::cell::UnsafeCell<T>)
        }
    }

    impl<T> From<T> for UnsafeCell<T> {
        fn from(value: T) -> Self {
            UnsafeCell::new(value)
        }
    }
}
