//! Allocation. Leaks are not reported: see the crate.

pub use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

/// As loom's: a value. That it is dropped is not checked.
#[derive(Debug)]
pub struct Track<T>(T);

impl<T> Track<T> {
    /// With this value.
    pub fn new(value: T) -> Track<T> {
        Track(value)
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Takes it out.
    pub fn into_inner(self) -> T {
        self.0
    }
}
