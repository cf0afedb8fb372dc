//! Ids and processors as every run of the program sees them.

use crate::run::world;
use core::ffi::c_int;

/// The id of the process.
pub const PROCESS: c_int = 1000;
/// The id of its parent.
pub const PARENT: c_int = 999;
/// Processors of the machine. Few, for programs that start a thread on each.
pub const PROCESSORS: usize = 2;

/// The id of the running thread: that of the process plus the thread's slot.
pub fn current_thread() -> c_int {
    PROCESS + world::borrow().slot() as c_int
}
