//! MPI: an implementation of our own, whose calls are the visible operations of the program.
//!
//! Each rank is a process of the run, forked where `main` would begin ([`launch`]). All that is kept of messages and communicators lies in
//! memory that the processes share ([`state`]). Constants and the layout of structures are those of MPICH.
//!
//! Which receive takes which message is determined by the order of both at their ranks ([`matching`]), once the source of a wildcard
//! is known. So a wildcard *guesses* its source, an unordered choice, and everything else is deterministic: one execution for each
//! possible choice. A wrong guess is discarded ([`waiting`]). See `docs/design/mpi.md`.
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

mod call;
mod collective_calls;
mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod groups;
mod launch;
mod matching;
mod messages;
mod probes;
mod reductions;
mod requests;
mod state;
mod type_calls;
mod unsupported;
mod waiting;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    begin_run: state::begin_run,
    before_main: launch::begin,
    process_is_to_end: launch::await_others,
    process_ends: launch::end,
    ..Family::QUIET
};
