//! The one place that says on which library the corpus, the structures and the litmus tests run.
//!
//! Everything below `tests/` takes `cell`, `hint`, `sync` and `thread` from here and from nowhere
//! else.
// INTEGRATOR: once the mirror is there this file is the one line `pub use reweave::{cell, hint,
// sync, thread};` and the rest of it goes, with the `corpus-harness` gates in `corpus.rs`,
// `structures.rs`, `litmus.rs` and `harness/mod.rs`.
#![allow(unused_imports, reason = "each test binary uses its own part")]

#[cfg(feature = "corpus-harness")]
pub use reweave::{cell, hint, sync, thread};
#[cfg(not(feature = "corpus-harness"))]
pub use std::{hint, sync, thread};

/// What `reweave::cell` offers, unchecked.
#[cfg(not(feature = "corpus-harness"))]
pub mod cell {
    #![allow(dead_code, reason = "each test binary uses its own part")]

    /// std's cell with the closure accessors whose accesses the checker sees.
    #[derive(Debug)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        pub fn with<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
            access(self.0.get())
        }

        pub fn with_mut<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
            access(self.0.get())
        }
    }
}
