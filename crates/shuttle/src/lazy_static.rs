//! Statics that are initialised in each execution.

use reweave::sync::LazyLock;
use std::fmt;

pub use crate::lazy_static;

/// What is behind a static of [`lazy_static!`](crate::lazy_static!).
pub struct Lazy<T: Sync>(LazyLock<T>);

impl<T: Sync> Lazy<T> {
    /// One that has no value yet.
    pub const fn new(init: fn() -> T) -> Lazy<T> {
        Lazy(LazyLock::new(init))
    }

    /// The value, made at its first use.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        LazyLock::force(&self.0)
    }
}

impl<T: Sync> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// What statics of [`lazy_static!`](crate::lazy_static!) have in common.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value, if it was not used before.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}
