//! The attribute `#[reweave::test]`: an ordinary test function becomes a check of all its interleavings.
//!
//! It only rewrites the function into calls of `reweave::Builder`; what a check does is decided there.
#![forbid(unsafe_code)]

mod expand;
mod options;

use proc_macro::TokenStream;

/// Runs the function in every interleaving of its threads that matters, as a `#[test]`.
///
/// ```text
/// #[reweave::test(algorithm = "optimal", budget = "10s")]
/// fn handoff_is_never_lost() { /* threads of `reweave::thread`, locks of `reweave::sync` */ }
/// ```
///
/// | option | meaning |
/// | --- | --- |
/// | `algorithm = "optimal"` | `auto`, `rf`, `dfs`, `dpor`, `optimal`, `stateful`, `random` or `pct` |
/// | `workers = 2` | how many threads explore at once |
/// | `preemptions = 2` | only schedules with at most so many preemptions |
/// | `budget = "10s"` | stop after this time; `ms`, `s`, `m`, `h` |
/// | `max_executions = 1000`, `max_steps = 5000` | stop after so many executions; cut an execution after so many steps |
/// | `spurious_wakeups` | waits may also end without a notification |
/// | `spurious_polls` | tasks may be polled once though no waker was used |
/// | `keep_going` | do not stop at the first error |
/// | `expect = "deadlock"` | the test passes when an error of this kind is found, and fails when none is |
///
/// `#[should_panic]`, `#[ignore]` and other attributes stay. A function that returns a `Result` fails with an `Err`.
#[proc_macro_attribute]
pub fn test(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(options.into(), function.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
