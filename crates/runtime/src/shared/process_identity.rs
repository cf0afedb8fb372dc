//! Ids and processors as every run of the program sees them.

use crate::{
    core::per_process::ProcessId,
    run::{processes, world},
};
use core::ffi::c_int;

/// The id of the process.
pub fn process() -> c_int {
    number_of(processes::current())
}

/// The id of its parent: that of the first is not a process of the run, nor is the one that adopts orphans.
pub fn parent() -> c_int {
    match processes::of(processes::current()) {
        Some(own) if !processes::current().is_first() => {
            let parent = processes::of(own.parent);
            let lives = parent.is_some_and(|parent| parent.status.is_none());
            if lives {
                number_of(own.parent)
            } else {
                ADOPTER
            }
        }
        _ => OUTSIDE,
    }
}

/// The parent of the first process.
const OUTSIDE: c_int = 999;
/// The parent of orphans.
const ADOPTER: c_int = 1;

/// The id of a process of the run.
pub fn number_of(process: ProcessId) -> c_int {
    let known = processes::of(process);
    known.map_or(processes::number_of_first(), |known| known.number)
}

/// Processors of the machine. Few, for programs that start a thread on each.
pub const PROCESSORS: usize = 2;

/// The id of the running thread: that of the process plus the thread's slot.
pub fn current_thread() -> c_int {
    let slot = world::borrow().slot() as c_int;
    match processes::main_of_current() == world::borrow().current {
        true => process(),
        false => processes::number_of_first() + slot,
    }
}
