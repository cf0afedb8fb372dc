//! Calls that answer by writing to memory what they know of files: where they look, and what of their answers differs from run to run.

use super::{
    callers, descriptors,
    disk::{HERE, Use, alone, bytes, enter, redirect, refuse, state},
    files,
};
use crate::disk;
use core::ffi::c_int;

pub fn path<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], true, Use::Look, from, 0);
}

pub fn link<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], false, Use::Look, from, 0);
}

/// For calls that look at an open file.
pub fn open_file<const DESCRIPTOR: usize>(arguments: &mut [usize; 6], from: &usize) {
    let (descriptor, site) = (arguments[DESCRIPTOR] as c_int, callers::site(from));
    descriptors::look_up(descriptor, site);
    match files::kind(descriptor) {
        // What is in a directory shows.
        libc::S_IFDIR => enter(false, site),
        _ => files::look_at_open(descriptor, from),
    }
    arguments[DESCRIPTOR] = descriptors::found(descriptor) as usize;
}

/// For calls that look where the process is.
pub fn here(_: &mut [usize; 6], from: &usize) {
    enter(false, callers::site(from));
}

/// For `getdents64`, which goes through a directory by its descriptor.
pub fn entries(_: &mut [usize; 6], from: &usize) {
    files::moving();
    if !alone() {
        refuse("getdents64 beside other threads", callers::site(from));
    }
}

pub fn link_at(arguments: &mut [usize; 6], from: &usize) {
    redirect(
        arguments[0] as c_int,
        &mut arguments[1],
        false,
        Use::Look,
        from,
        0,
    );
}

pub fn path_at<const DIRECTORY: usize, const PATH: usize, const FLAGS: usize>(
    arguments: &mut [usize; 6],
    from: &usize,
) {
    let follow = arguments[FLAGS] as c_int & libc::AT_SYMLINK_NOFOLLOW == 0;
    let directory = arguments[DIRECTORY] as c_int;
    redirect(directory, &mut arguments[PATH], follow, Use::Look, from, 0);
}

/// When files were last changed, in a run that changes them: as long ago as the run began.
const THEN: i64 = 1_767_225_600;

unsafe fn smoothed(stat: usize) {
    // SAFETY: the kernel has filled it in.
    let stat = unsafe { &mut *(stat as *mut libc::stat) };
    (stat.st_atime, stat.st_mtime, stat.st_ctime) = (THEN, THEN, THEN);
    (stat.st_atime_nsec, stat.st_mtime_nsec, stat.st_ctime_nsec) = (0, 0, 0);
}

fn is_copy(path: &[u8]) -> bool {
    state().disk.used() && disk::beneath(path, &state().disk.copy_of(b""))
}

/// The path was exchanged for that of a copy.
fn was_copy() -> bool {
    is_copy(&state().texts[0])
}

pub fn smooth<const STAT: usize>(arguments: &[usize; 6]) {
    if was_copy() {
        // SAFETY: as above.
        unsafe { smoothed(arguments[STAT]) };
    }
}

pub fn smooth_open<const DESCRIPTOR: usize, const STAT: usize>(arguments: &[usize; 6]) {
    if !state().disk.used() {
        return;
    }
    let path = alloc::format!("/proc/self/fd/{}", arguments[DESCRIPTOR] as c_int);
    if is_copy(&disk::read_link(path.as_bytes()).unwrap_or_default()) {
        // SAFETY: as above.
        unsafe { smoothed(arguments[STAT]) };
    }
}

pub fn smooth_extended(arguments: &[usize; 6]) {
    if !was_copy() {
        return;
    }
    // SAFETY: the kernel has filled it in.
    let stat = unsafe { &mut *(arguments[4] as *mut libc::statx) };
    for time in [
        &mut stat.stx_atime,
        &mut stat.stx_mtime,
        &mut stat.stx_ctime,
        &mut stat.stx_btime,
    ] {
        (time.tv_sec, time.tv_nsec) = (THEN, 0);
    }
}

/// Where the process is, as the program calls it.
pub fn smooth_directory(arguments: &[usize; 6]) {
    // SAFETY: filled in by the call before.
    let Some(path) = (unsafe { bytes(arguments[0]) }).filter(|path| is_copy(path)) else {
        return;
    };
    let original = disk::terminated(&state().disk.original_of(path));
    // SAFETY: shorter than what is there.
    unsafe { core::ptr::copy(original.as_ptr(), arguments[0] as *mut u8, original.len()) };
}
