//! [`Cell`].

use super::UnsafeCell;
use std::mem;

/// As [`std::cell::Cell`], checked for data races.
#[derive(Debug, Default)]
pub struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    /// With this value.
    pub const fn new(value: T) -> Cell<T> {
        Cell(UnsafeCell::new(value))
    }

    /// As [`std::cell::Cell::set`].
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// As [`std::cell::Cell::swap`].
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        if !std::ptr::eq(self, other) {
            // SAFETY: two cells, of which no reference is ever given out: `Cell` is not `Sync`.
            let swap = |mine, theirs| unsafe { std::ptr::swap(mine, theirs) };
            self.0
                .with_mut(|mine| other.0.with_mut(|theirs| swap(mine, theirs)));
        }
    }

    /// As [`std::cell::Cell::replace`].
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: no reference to the value is ever given out, and `Cell` is not `Sync`.
        self.0
            .with_mut(|place| unsafe { mem::replace(&mut *place, value) })
    }

    /// As [`std::cell::Cell::get`].
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: no reference to the value is ever given out, and `Cell` is not `Sync`.
        self.0.with(|place| unsafe { *place })
    }

    /// As [`std::cell::Cell::take`].
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// As [`std::cell::Cell::into_inner`].
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    fn eq(&self, other: &Cell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}
