//! Calls that answer by writing to memory what they know of files: where they look, and what of their answers differs from run to run.

use crate::{
    core::{call_sites, sys},
    kernel::{
        descriptor_table,
        file_names::{HERE, alone, bytes, enter, refuse, state},
        file_objects, overlay,
        path_resolution::{Use, redirect},
    },
};
use core::ffi::c_int;

pub fn path<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], true, Use::Look, from, 0);
}

/// For calls that ask about the disk on which something lies: not the one of the copies.
pub fn original(arguments: &mut [usize; 6], from: &usize) {
    path::<0>(arguments, from);
    let text = &mut state().texts[0];
    let place = text.strip_suffix(b"\0").unwrap_or(text);
    let there = is_copy(place) && overlay::look(place).is_some();
    if !there {
        return;
    }
    let mut real = state().disk.original_of(place);
    while overlay::look(&real).is_none() {
        real.truncate(overlay::parent(&real).len());
    }
    *text = overlay::terminated(&real);
    arguments[0] = text.as_ptr() as usize;
}

pub fn link<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], false, Use::Look, from, 0);
}

/// For calls that look at an open file.
pub fn open_file<const DESCRIPTOR: usize>(arguments: &mut [usize; 6], from: &usize) {
    let (descriptor, site) = (arguments[DESCRIPTOR] as c_int, call_sites::site(from));
    descriptor_table::look_up(descriptor, site);
    match file_objects::kind(descriptor) {
        // What is in a directory shows.
        libc::S_IFDIR => enter(false, site),
        _ => file_objects::look_at_open(descriptor, from),
    }
    let found = descriptor_table::found(descriptor);
    let link = alloc::format!("/proc/self/fd/{found}");
    state().texts[0] = match state().disk.used() {
        true => overlay::read_link(link.as_bytes()).unwrap_or_default(),
        false => Default::default(),
    };
    arguments[DESCRIPTOR] = found as usize;
}

/// For calls that look where the process is.
pub fn here(_: &mut [usize; 6], from: &usize) {
    enter(false, call_sites::site(from));
}

/// For `getdents64`, which goes through a directory by its descriptor.
pub fn entries(_: &mut [usize; 6], from: &usize) {
    file_objects::moving();
    if !alone() {
        refuse("getdents64 beside other threads", call_sites::site(from));
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
    let has = |flag: c_int| arguments[FLAGS] as c_int & flag != 0;
    let follow = !has(libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the program's own text.
    let path = unsafe { bytes(arguments[PATH]) }.unwrap_or_default();
    if path.is_empty() && has(libc::AT_EMPTY_PATH) && arguments[DIRECTORY] as c_int != HERE {
        return open_file::<DIRECTORY>(arguments, from);
    }
    let directory = arguments[DIRECTORY] as c_int;
    redirect(directory, &mut arguments[PATH], follow, Use::Look, from, 0);
}

/// When files were last changed, in a run that changes them: as long ago as the run began.
const THEN: i64 = 1_767_225_600;

/// What the kernel has noted as the time of a change that a run has made; what the program has set, or what the original had, stays.
fn is_noted(seconds: i64) -> bool {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let clock = libc::CLOCK_REALTIME as usize;
    let into = &raw mut now as usize;
    // SAFETY: writes a local.
    unsafe { sys::call(libc::SYS_clock_gettime, [clock, into, 0, 0, 0, 0]) };
    (state().began - 1..=now.tv_sec).contains(&seconds)
}

unsafe fn smoothed(stat: usize) {
    // SAFETY: the kernel has filled it in.
    let stat = unsafe { &mut *(stat as *mut libc::stat) };
    for (seconds, rest) in [
        (&mut stat.st_atime, &mut stat.st_atime_nsec),
        (&mut stat.st_mtime, &mut stat.st_mtime_nsec),
    ] {
        if is_noted(*seconds) {
            (*seconds, *rest) = (THEN, 0);
        }
    }
    (stat.st_ctime, stat.st_ctime_nsec) = (THEN, 0);
}

fn is_copy(path: &[u8]) -> bool {
    state().disk.used() && overlay::beneath(path, &state().disk.copy_of(b""))
}

/// The path was exchanged for that of a copy.
fn was_copy() -> bool {
    is_copy(&state().texts[0])
}

pub fn smooth<const STAT: usize>(arguments: &[usize; 6], result: isize) -> isize {
    if was_copy() {
        // SAFETY: as above.
        unsafe { smoothed(arguments[STAT]) };
    }
    result
}

pub fn smooth_extended(arguments: &[usize; 6], result: isize) -> isize {
    if !was_copy() {
        return result;
    }
    // SAFETY: the kernel has filled it in.
    let stat = unsafe { &mut *(arguments[4] as *mut libc::statx) };
    for time in [
        &mut stat.stx_atime,
        &mut stat.stx_mtime,
        &mut stat.stx_ctime,
        &mut stat.stx_btime,
    ] {
        if is_noted(time.tv_sec) {
            (time.tv_sec, time.tv_nsec) = (THEN, 0);
        }
    }
    result
}

/// Where the process is, as the program calls it.
pub fn smooth_directory(arguments: &[usize; 6], result: isize) -> isize {
    // SAFETY: filled in by the call before.
    let Some(path) = (unsafe { bytes(arguments[0]) }).filter(|path| is_copy(path)) else {
        return result;
    };
    let original = overlay::terminated(&state().disk.original_of(path));
    // SAFETY: shorter than what is there.
    unsafe { core::ptr::copy(original.as_ptr(), arguments[0] as *mut u8, original.len()) };
    result
}

/// What is open, as the program calls it.
pub fn smooth_link<const TEXT: usize, const ROOM: usize>(
    arguments: &[usize; 6],
    result: isize,
) -> isize {
    let place = &state().texts[0];
    let place = place.strip_suffix(b"\0").unwrap_or(place);
    let target = overlay::read_link(place).filter(|target| is_copy(target));
    let Some(target) = target.filter(|_| overlay::beneath(place, b"/proc")) else {
        return result;
    };
    let original = state().disk.original_of(&target);
    let length = original.len().min(arguments[ROOM]);
    // SAFETY: the program's own memory, with that much room.
    unsafe { core::ptr::copy(original.as_ptr(), arguments[TEXT] as *mut u8, length) };
    length as isize
}
