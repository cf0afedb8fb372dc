//! The names and signatures of shuttle 0.9, on Reweave: `shuttle = { package = "reweave-shuttle", ... }` in a manifest, and the
//! suite runs.
//!
//! What differs from shuttle:
//!
//! * [`check_dfs`] needs one execution for each class of interleavings, not one for each interleaving.
//! * A failing execution is kept as a trace file, which the panic names. [`replay`] takes its name or its text; schedules that
//!   shuttle itself printed cannot be replayed.
//! * Data races on declared cells, deadlocks with their holders, and livelocks are found. A step limit fails a test only if no error
//!   was found.
//! * [`sync::Arc`] has counts that are explored, so it is a type of its own and cannot be unsized. The feature `std-arc` makes it std's.
//! * A [`scheduler::Scheduler`] names a search. Schedulers of one's own are not possible.
//! * Timed waits may time out. Shuttle's never do.
//! * Labels, tags and vector clocks of tasks (`current`) are missing, as are annotations.

mod context;
pub mod current;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod rand;
mod runner;
pub mod scheduler;
pub mod sync;
pub mod thread;

pub use runner::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, PortfolioRunner, Runner,
    UngracefulShutdownConfig,
};

use scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use std::path::Path;

/// Kept for programs that name it. It has no meaning here: places are always known.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";

/// Kept for programs that name it. There are no such warnings here.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";

/// Runs the function once.
#[doc(hidden)]
#[track_caller]
pub fn check<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RoundRobinScheduler::new(1), Config::new()).run(f);
}

/// Runs the function in so many random schedules.
#[track_caller]
pub fn check_random<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(RandomScheduler::new(iterations), Config::new()).run(f);
}

/// As [`check_random`].
#[track_caller]
pub fn check_urw<F>(f: F, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(UrwRandomScheduler::new(iterations), Config::new()).run(f);
}

/// As [`check_random`], from this seed.
#[track_caller]
pub fn check_random_with_seed<F>(f: F, seed: u64, iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = RandomScheduler::new_from_seed(seed, iterations);
    Runner::new(scheduler, Config::new()).run(f);
}

/// Runs the function in so many schedules with random priorities, which change `depth - 1` times.
#[track_caller]
pub fn check_pct<F>(f: F, iterations: usize, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(PctScheduler::new(depth, iterations), Config::new()).run(f);
}

/// Runs the function in every order of its threads that matters, or in so many executions.
#[track_caller]
pub fn check_dfs<F>(f: F, max_iterations: Option<usize>)
where
    F: Fn() + Send + Sync + 'static,
{
    Runner::new(DfsScheduler::new(max_iterations, false), Config::new()).run(f);
}

/// As [`check_random`]: whether the function does the same when it is run the same way again is always looked at.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F>(f: F, max_iterations: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    let random = RandomScheduler::new(max_iterations);
    let scheduler = UncontrolledNondeterminismCheckScheduler::new(random);
    Runner::new(scheduler, Config::new()).run(f);
}

/// Runs the execution of a trace file: its name, or its text.
#[track_caller]
pub fn replay<F>(f: F, encoded_schedule: &str)
where
    F: Fn() + Send + Sync + 'static,
{
    let scheduler = ReplayScheduler::new_from_encoded(encoded_schedule);
    Runner::new(scheduler, Config::new()).run(f);
}

/// Runs the execution of a trace file.
///
/// # Panics
/// If the file cannot be read.
#[track_caller]
pub fn replay_from_file<F, P>(f: F, path: P)
where
    F: Fn() + Send + Sync + 'static,
    P: AsRef<Path>,
{
    let scheduler = ReplayScheduler::new_from_file(path);
    let scheduler = scheduler.expect("could not load schedule from file");
    Runner::new(scheduler, Config::new()).run(f);
}

#[doc(hidden)]
pub mod __reweave {
    pub use reweave::{sync::LazyLock, thread_local};
}

/// As [`std::thread_local!`], for the threads of a check.
#[macro_export]
macro_rules! thread_local {
    ($($tokens:tt)*) => {
        $crate::__reweave::thread_local! { $($tokens)* }
    };
}

/// As the macro of the crate `lazy_static`: initialised in each execution.
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
        #[allow(non_camel_case_types, dead_code, missing_copy_implementations)]
        $(#[$attr])*
        $($vis)* struct $name {
            __private: (),
        }

        #[doc(hidden)]
        $($vis)* static $name: $name = $name { __private: () };

        impl ::core::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static VALUE: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy::new(|| $make);
                VALUE.get()
            }
        }

        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                let _ = &**lazy;
            }
        }
    };
}
