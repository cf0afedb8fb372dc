//! What a thread of a check knows of its search: where random numbers come from.
//!
//! *Owned by:* each thread, in its own storage. A thread that is created has it from its creator, so a number depends on the path of
//! threads and on how many were drawn before, not on the schedule.

use std::cell::Cell;

/// Where random numbers come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Data {
    /// The search draws them: they differ from execution to execution, and are kept in traces.
    Drawn,
    /// The same in each execution: the thread's state.
    Fixed(u64),
    /// A search of everything has no use for them.
    Refused,
}

thread_local! {
    static DATA: Cell<Option<Data>> = const { Cell::new(None) };
}

/// Of the running thread; `None`: outside of a check.
pub(crate) fn data() -> Option<Data> {
    DATA.get()
}

/// The running thread begins, with numbers from there. Threads of the system are used again, so each sets it.
pub(crate) fn set(data: Option<Data>) {
    DATA.set(data);
}

/// Runs the life of a thread with numbers from there.
pub(crate) fn with<R>(data: Option<Data>, life: impl FnOnce() -> R) -> R {
    set(data);
    life()
}

/// What a thread that is created now draws from.
pub(crate) fn inherit() -> Option<Data> {
    match data() {
        Some(Data::Fixed(_)) => Some(Data::Fixed(next_fixed())),
        data => data,
    }
}

/// The next number of the running thread.
///
/// # Panics
/// Unless its numbers are fixed.
pub(crate) fn next_fixed() -> u64 {
    let Some(Data::Fixed(state)) = data() else {
        panic!("numbers are not fixed");
    };
    // splitmix64.
    let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    DATA.set(Some(Data::Fixed(state)));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
