//! Limits that the program has set for itself (`setrlimit`).
//!
//! The kernel never learns of them, since its limits would be the runtime's as well. The allocator and `mmap` keep to the limits
//! on memory, the descriptor table to the one on descriptors. Where one on the size of files or on processes might have mattered, the
//! search is incomplete. Computing takes no time, so one on that is never reached.

use crate::{
    core::{
        cell, channel,
        per_process::{PerProcess, ProcessChange},
    },
    real,
    run::heap,
};
use alloc::vec::Vec;
use core::{ffi::c_int, sync::atomic::Ordering};
use libc::rlimit;

/// Limits that this run has set, by resource.
static LIMITS: PerProcess<Vec<(c_int, rlimit)>> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    LIMITS.change(change);
}

/// A new run.
pub fn clear() {
    LIMITS.borrow().clear();
    heap::LIMIT.set(usize::MAX);
}

/// Bytes of memory that the program can have.
pub fn memory() -> usize {
    let limits = LIMITS.borrow();
    let of_memory = |(resource, _): &&(c_int, rlimit)| {
        matches!(*resource as u32, libc::RLIMIT_AS | libc::RLIMIT_DATA)
    };
    let set = limits.iter().filter(of_memory);
    let least = set.map(|(_, limit)| limit.rlim_cur as usize).min();
    least.unwrap_or(usize::MAX).min(heap::most())
}

/// How many descriptors the program can have.
pub fn descriptors() -> u64 {
    match set_in_run(libc::RLIMIT_NOFILE as c_int) {
        Some(limit) => limit.rlim_cur,
        None => channel::header().max_descriptors.load(Ordering::Relaxed),
    }
}

/// The limit that this run has set.
pub fn set_in_run(resource: c_int) -> Option<rlimit> {
    let limits = LIMITS.borrow();
    let found = limits.iter().find(|(known, _)| *known == resource);
    found.map(|(_, limit)| *limit)
}

/// The limit that holds now; `None`: there is no such resource.
pub fn get(resource: c_int) -> Option<rlimit> {
    if let Some(limit) = set_in_run(resource) {
        return Some(limit);
    }
    let mut limit = rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let real = real!(getrlimit: fn(c_int, *mut rlimit) -> c_int);
    // SAFETY: the answer goes to a local.
    let known = unsafe { real(resource, &mut limit) } == 0;
    if resource as u32 == libc::RLIMIT_NOFILE {
        limit.rlim_cur = descriptors();
    }
    known.then_some(limit)
}

/// Sets a limit of this run.
pub fn set(resource: c_int, limit: rlimit) {
    {
        let mut limits = LIMITS.borrow();
        limits.retain(|(known, _)| *known != resource);
        limits.push((resource, limit));
    }
    cell::changed();
    heap::LIMIT.set(memory());
}
