//! Calls that read and set resource limits. The limits are in [`crate::shared::resource_limits`].

use crate::{
    core::trampoline::Frame,
    kernel::{file_objects::Whole, overlay::overlay},
    outside_run,
    run::{accesses, call_sites, operations::failed, spin, world},
    shared::{process_identity::process as own_process, resource_limits as limits},
    trampoline,
};
use core::{ffi::c_int, ptr};
use libc::rlimit;
use reweave_model::Site;

trampoline! {
    getrlimit => get_limit, "rdx";
    getrlimit64 => get_limit, "rdx";
    setrlimit => set_limit, "rdx";
    setrlimit64 => set_limit, "rdx";
    prlimit => exchange_limit, "r8";
    prlimit64 => exchange_limit, "r8";
}

/// # Safety
///
/// As `getrlimit`: `into` points to room for a limit.
unsafe extern "C" fn get_limit(resource: c_int, into: *mut rlimit, frame: &Frame) -> c_int {
    outside_run!(getrlimit: fn(resource: c_int, into: *mut rlimit) -> c_int);
    // SAFETY: `into` points to room for a limit, by this function's contract.
    unsafe { exchange(resource, ptr::null(), into, frame) }
}

/// # Safety
///
/// As `setrlimit`: `new` points to a limit.
unsafe extern "C" fn set_limit(resource: c_int, new: *const rlimit, frame: &Frame) -> c_int {
    outside_run!(setrlimit: fn(resource: c_int, new: *const rlimit) -> c_int);
    // SAFETY: `new` points to a limit, by this function's contract.
    unsafe { exchange(resource, new, ptr::null_mut(), frame) }
}

/// # Safety
///
/// As `prlimit`: `new` and `old` are null or point to a limit and to room for one.
unsafe extern "C" fn exchange_limit(
    process: c_int,
    resource: c_int,
    new: *const rlimit,
    old: *mut rlimit,
    frame: &Frame,
) -> c_int {
    outside_run!(prlimit: fn(process: c_int, resource: c_int, new: *const rlimit, old: *mut rlimit) -> c_int);
    if process != 0 && process != own_process() {
        let site = call_sites::site(&frame.return_address);
        world::unsupported("prlimit of another process", site);
    }
    // SAFETY: `exchange` has this function's contract.
    unsafe { exchange(resource, new, old, frame) }
}

/// After a run: whether a limit that it has set might have mattered.
pub(super) fn conclude() {
    let has_set = |resource: u32| limits::set_in_run(resource as c_int).is_some();
    let changes_files = overlay().is_used();
    let mut world = world::borrow();
    if has_set(libc::RLIMIT_FSIZE) && changes_files {
        world.note_unsupported("a limit on the size of files that are changed", Site(1));
    }
    if has_set(libc::RLIMIT_NPROC) && world.threads.len() > 1 {
        world.note_unsupported("a limit on the number of threads and processes", Site(1));
    }
}

/// Sets a limit, if there is a new one, and answers with the old one, if that is wanted.
///
/// # Safety
///
/// `new` and `old` are null or point to a limit and to room for one.
unsafe fn exchange(resource: c_int, new: *const rlimit, old: *mut rlimit, frame: &Frame) -> c_int {
    let site = call_sites::site(&frame.return_address);
    match new.is_null() {
        true => Whole::Limits.look(site),
        false => Whole::Limits.change(site),
    }
    let Some(before) = limits::get(resource) else {
        return failed(libc::EINVAL);
    };
    spin::disturbed();
    if !old.is_null() {
        accesses::range(old as usize, size_of::<rlimit>(), true, frame);
        // SAFETY: not null, so it points to room for a limit, by this function's contract.
        unsafe { *old = before };
    }
    if new.is_null() {
        return 0;
    }
    // SAFETY: not null, so it points to a limit, by this function's contract.
    let new = unsafe { *new };
    if new.rlim_cur > new.rlim_max {
        return failed(libc::EINVAL);
    }
    if new.rlim_max > before.rlim_max {
        return failed(libc::EPERM);
    }
    limits::set(resource, new);
    0
}
