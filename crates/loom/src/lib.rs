//! The names and signatures of loom 0.7, on Reweave: `loom = { package = "reweave-loom", ... }` in a manifest, and the suite runs.
//!
//! What differs from loom:
//!
//! * Exploration is sequentially consistent. Loom also explores what some weaker orders allow. Declared orders are used to find data
//!   races, as in loom.
//! * Nothing is bounded by default: not the threads, and branches only by 10,000 steps of an execution.
//! * `explore`, `stop_exploring` and `skip_branch` do nothing: all of the closure is explored.
//! * Leaks are not reported; `reweave::Allocator` with `REWEAVE_LEAKS=1` does that.
//! * Outside of a model the types work as std's. Loom's panic.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use model::model;

/// As loom's. Here the number of threads has no limit.
pub const MAX_THREADS: usize = 5;

/// Does nothing: everything is explored.
pub fn explore() {}

/// Does nothing: everything is explored.
pub fn stop_exploring() {}

/// Does nothing: everything is explored.
pub fn skip_branch() {}

#[doc(hidden)]
pub mod __reweave {
    pub use reweave::{sync::LazyLock, thread_local};
}

/// As loom's: thread-local variables, initialised in each execution.
#[macro_export]
macro_rules! thread_local {
    ($($tokens:tt)*) => {
        $crate::__reweave::thread_local! { $($tokens)* }
    };
}

/// As loom's: statics, initialised in each execution.
#[macro_export]
macro_rules! lazy_static {
    ($(#[$attr:meta])* static ref $name:ident : $type:ty = $make:expr; $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attr])* () $name, $type, $make);
        $crate::lazy_static!($($rest)*);
    };
    ($(#[$attr:meta])* pub static ref $name:ident : $type:ty = $make:expr; $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attr])* (pub) $name, $type, $make);
        $crate::lazy_static!($($rest)*);
    };
    ($(#[$attr:meta])* pub ($($vis:tt)+) static ref $name:ident : $type:ty = $make:expr; $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attr])* (pub ($($vis)+)) $name, $type, $make);
        $crate::lazy_static!($($rest)*);
    };
    () => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ($(#[$attr:meta])* ($($vis:tt)*) $name:ident, $type:ty, $make:expr) => {
        #[allow(non_camel_case_types, dead_code)]
        $(#[$attr])*
        $($vis)* struct $name {
            __private: (),
        }

        #[doc(hidden)]
        $($vis)* static $name: $name = $name { __private: () };

        impl ::core::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static VALUE: $crate::__reweave::LazyLock<$type> =
                    $crate::__reweave::LazyLock::new(|| $make);
                &VALUE
            }
        }
    };
}
