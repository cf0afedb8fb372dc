//! Runs a concurrent Rust test again and again, in every interleaving of its threads that matters.
//!
//! With the `std` feature the mirrors are std's own types and nothing is checked: for production builds of code that imports
//! them from here.

pub mod cell;
pub mod sync;

#[cfg(not(feature = "std"))]
mod allocator;
#[cfg(not(feature = "std"))]
pub mod any;
#[cfg(not(feature = "std"))]
mod builder;
#[cfg(not(feature = "std"))]
mod check;
#[cfg(not(feature = "std"))]
mod error;
#[cfg(not(feature = "std"))]
pub mod future;
#[cfg(not(feature = "std"))]
pub mod hint;
#[cfg(not(feature = "std"))]
mod report;
#[cfg(not(feature = "std"))]
mod rt;
#[cfg(not(feature = "std"))]
mod share;
#[cfg(not(feature = "std"))]
pub mod thread;
#[cfg(not(feature = "std"))]
pub mod time;
#[cfg(not(feature = "std"))]
mod watchdog;

#[cfg(not(feature = "std"))]
pub use allocator::Allocator;
#[cfg(not(feature = "std"))]
pub use any::{any, any_bool, assume};
#[cfg(not(feature = "std"))]
pub use builder::Builder;
#[cfg(not(feature = "std"))]
pub use error::{CheckError, ValueError, VariableError};
#[cfg(not(feature = "std"))]
pub use report::{Error, Report, Warning};
#[cfg(not(feature = "std"))]
pub use reweave_explore::AlgorithmName as Algorithm;
#[cfg(not(feature = "std"))]
pub use reweave_macros::test;
#[cfg(not(feature = "std"))]
pub use reweave_model::Kind;

/// Runs a closure in every interleaving that matters and panics with the whole story when one of them goes wrong.
#[cfg(not(feature = "std"))]
#[track_caller]
pub fn check(check: impl Fn() + Send + Sync + 'static) {
    Builder::new().check(check);
}

/// What `#[reweave::test]` calls.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
pub mod __macro {
    use crate::Builder;

    /// Whether the caller runs in a check.
    pub fn in_check() -> bool {
        crate::rt::task().is_some()
    }

    /// Says what came out, and panics with the story of an error.
    #[track_caller]
    pub fn conclude(report: &crate::Report) {
        report.announce();
        if let Some(story) = report.story() {
            panic!("{story}");
        }
    }

    /// Makes the check; `expect`: the kind of error that it must find.
    #[track_caller]
    pub fn run_test(
        builder: Builder,
        expect: Option<&'static str>,
        body: impl Fn() + Send + Sync + 'static,
    ) {
        let Some(expected) = expect else {
            builder.check(body);
            return;
        };
        let report = builder.run(body);
        report.announce();
        match report
            .errors
            .iter()
            .find(|error| error.kind.name() == expected)
        {
            Some(error) => println!("{}", error.story),
            None => panic!(
                "a `{expected}` was expected and not found: {}",
                report.story().unwrap_or_else(|| report.summary())
            ),
        }
    }
}

#[cfg(feature = "std")]
pub use std::alloc::System as Allocator;
#[cfg(feature = "std")]
pub use std::{hint, thread, thread_local, time};

/// For drivers and tests of this workspace: a closure as a target of the engine.
#[cfg(not(feature = "std"))]
#[doc(hidden)]
pub mod target {
    pub use crate::rt::{ClosureTarget, Visible, Wanted};
    pub use reweave_explore::{Target, TargetError};
    pub use reweave_model as model;
}
