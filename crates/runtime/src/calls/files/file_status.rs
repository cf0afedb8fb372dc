//! Calls that write to memory what is known about files: where they look, and which of their answers differ from run to run.

use crate::{
    kernel::{
        descriptor_table,
        file_names::{HERE, enter, refuse},
        file_objects,
        ordering::alone,
        os_files,
        overlay::overlay,
        passed_calls::{all, fills},
        path_resolution::{PathUse, redirect, remember_path, replaced_path, send},
        paths::{beneath, terminated},
        program_memory::c_text,
        start_state,
    },
    run::call_sites,
};
use core::ffi::{CStr, c_char, c_int};

const STAT: usize = size_of::<libc::stat>();
const STATX: usize = size_of::<libc::statx>();
const STATFS: usize = size_of::<libc::statfs>();
const STATVFS: usize = size_of::<libc::statvfs>();

fills! {
    stat => 1, all::<STAT>, path::<0>, smooth::<1>;
    stat64 => 1, all::<STAT>, path::<0>, smooth::<1>;
    lstat => 1, all::<STAT>, link::<0>, smooth::<1>;
    lstat64 => 1, all::<STAT>, link::<0>, smooth::<1>;
    fstat => 1, all::<STAT>, open_file::<0>, smooth::<1>;
    fstat64 => 1, all::<STAT>, open_file::<0>, smooth::<1>;
    fstatat => 2, all::<STAT>, path_at::<0, 1, 3>, smooth::<2>;
    fstatat64 => 2, all::<STAT>, path_at::<0, 1, 3>, smooth::<2>;
    __xstat => 2, all::<STAT>, path::<1>, smooth::<2>;
    __lxstat => 2, all::<STAT>, link::<1>, smooth::<2>;
    __fxstat => 2, all::<STAT>, open_file::<1>, smooth::<2>;
    __xstat64 => 2, all::<STAT>, path::<1>, smooth::<2>;
    __lxstat64 => 2, all::<STAT>, link::<1>, smooth::<2>;
    __fxstat64 => 2, all::<STAT>, open_file::<1>, smooth::<2>;
    __fxstatat => 3, all::<STAT>, path_at::<1, 2, 4>, smooth::<3>;
    __fxstatat64 => 3, all::<STAT>, path_at::<1, 2, 4>, smooth::<3>;
    statx => 4, all::<STATX>, path_at::<0, 1, 2>, smooth_extended;
    statfs => 1, all::<STATFS>, original;
    statfs64 => 1, all::<STATFS>, original;
    statvfs => 1, all::<STATVFS>, original;
    statvfs64 => 1, all::<STATVFS>, original;
    fstatvfs => 1, all::<STATVFS>, open_file::<0>;
    fstatvfs64 => 1, all::<STATVFS>, open_file::<0>;
    getxattr => 2, counted::<3>, path::<0>;
    lgetxattr => 2, counted::<3>, link::<0>;
    fgetxattr => 2, counted::<3>, open_file::<0>;
    listxattr => 1, counted::<2>, path::<0>;
    llistxattr => 1, counted::<2>, link::<0>;
    flistxattr => 1, counted::<2>, open_file::<0>;
    fstatfs => 1, all::<STATFS>, open_file::<0>;
    fstatfs64 => 1, all::<STATFS>, open_file::<0>;
    getcwd => 0, text::<1>, here, smooth_directory;
    __getcwd_chk => 0, text::<1>, here, smooth_directory;
    getwd => 0, longest, here, smooth_directory;
    getdents64 => 1, counted::<2>, entries;
    readlink => 1, counted::<2>, link::<0>, smooth_link::<1, 2>;
    __readlink_chk => 1, counted::<2>, link::<0>, smooth_link::<1, 2>;
    __readlinkat_chk => 2, counted::<3>, link_at, smooth_link::<2, 3>;
    readlinkat => 2, counted::<3>, link_at, smooth_link::<2, 3>;
}

/// As many bytes as the call returns, at most as many as this argument says.
fn counted<const LENGTH: usize>(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        Some(result) => arguments[LENGTH].min(result.max(0) as usize),
        None => arguments[LENGTH],
    }
}

/// The bytes of a text, at most as many as this argument says; the call returns null or where the text lies.
fn text<const LENGTH: usize>(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        Some(0) => 0,
        // SAFETY: `getcwd` and its like return null or a text that ends with a nul.
        Some(text) => unsafe { CStr::from_ptr(text as *const c_char) }.count_bytes() + 1,
        None => arguments[LENGTH],
    }
}

/// The bytes of a text, at most as many as a path has.
fn longest(arguments: &[usize; 6], result: Option<isize>) -> usize {
    match result {
        None => libc::PATH_MAX as usize,
        result => text::<1>(arguments, result),
    }
}

fn path<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], true, PathUse::Look, from);
}

/// For calls that ask about the disk on which a file lies: that of the original.
fn original(arguments: &mut [usize; 6], from: &usize) {
    path::<0>(arguments, from);
    let place = replaced_path();
    let is_there = overlay().holds(&place) && os_files::look(&place).is_some();
    if is_there {
        let real = overlay().original_of(&place);
        send(Ok(os_files::nearest(&real).into()), &mut arguments[0], 0);
    }
}

fn link<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], false, PathUse::Look, from);
}

/// For calls that look at an open file.
fn open_file<const DESCRIPTOR: usize>(arguments: &mut [usize; 6], from: &usize) {
    let (descriptor, site) = (arguments[DESCRIPTOR] as c_int, call_sites::site(from));
    descriptor_table::look_up(descriptor, site);
    match os_files::file_type_of_open(descriptor) {
        // The status of a directory shows its entries.
        libc::S_IFDIR => enter(false, site),
        _ => file_objects::look_at_open(descriptor, from),
    }
    let found = descriptor_table::found(descriptor);
    let is_used = overlay().is_used();
    remember_path(match is_used {
        true => os_files::path_of_open(found).unwrap_or_default(),
        false => Default::default(),
    });
    arguments[DESCRIPTOR] = found as usize;
}

/// For calls that ask for the current directory.
fn here(_: &mut [usize; 6], from: &usize) {
    enter(false, call_sites::site(from));
}

/// For `getdents64`, which lists a directory by its descriptor.
fn entries(_: &mut [usize; 6], from: &usize) {
    start_state::offsets_change();
    if !alone() {
        refuse("getdents64 beside other threads", call_sites::site(from));
    }
}

fn link_at(arguments: &mut [usize; 6], from: &usize) {
    let directory = arguments[0] as c_int;
    redirect(directory, &mut arguments[1], false, PathUse::Look, from);
}

fn path_at<const DIRECTORY: usize, const PATH: usize, const FLAGS: usize>(
    arguments: &mut [usize; 6],
    from: &usize,
) {
    let has = |flag: c_int| arguments[FLAGS] as c_int & flag != 0;
    let follow = !has(libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the argument is a path, so it is null or ends with a nul, as the C library demands of its caller.
    let path = unsafe { c_text(arguments[PATH]) }.unwrap_or_default();
    if path.is_empty() && has(libc::AT_EMPTY_PATH) && arguments[DIRECTORY] as c_int != HERE {
        return open_file::<DIRECTORY>(arguments, from);
    }
    let directory = arguments[DIRECTORY] as c_int;
    redirect(directory, &mut arguments[PATH], follow, PathUse::Look, from);
}

/// The time of all changes that a run makes: when the run began, by its virtual clock (the beginning of 2026).
const RUN_BEGAN: i64 = 1_767_225_600;

/// Whether the operating system has noted this time for a change that the run has made. What the program has set, or the original
/// had, stays.
fn is_of_run(seconds: i64) -> bool {
    (start_state::began() - 1..=os_files::seconds()).contains(&seconds)
}

/// Whether the path of the call at hand was that of a copy.
fn was_copy() -> bool {
    overlay().holds(&replaced_path())
}

/// Replaces times that differ from run to run in a `stat`.
fn smooth<const STAT: usize>(arguments: &[usize; 6], result: isize) -> isize {
    if !was_copy() {
        return result;
    }
    // SAFETY: the operating system has just written a `stat` there, and only the running thread runs.
    let stat = unsafe { &mut *(arguments[STAT] as *mut libc::stat) };
    for (seconds, rest) in [
        (&mut stat.st_atime, &mut stat.st_atime_nsec),
        (&mut stat.st_mtime, &mut stat.st_mtime_nsec),
    ] {
        if is_of_run(*seconds) {
            (*seconds, *rest) = (RUN_BEGAN, 0);
        }
    }
    (stat.st_ctime, stat.st_ctime_nsec) = (RUN_BEGAN, 0);
    result
}

/// The same in a `statx`.
fn smooth_extended(arguments: &[usize; 6], result: isize) -> isize {
    if !was_copy() {
        return result;
    }
    // SAFETY: the operating system has just written a `statx` there, and only the running thread runs.
    let stat = unsafe { &mut *(arguments[4] as *mut libc::statx) };
    for time in [
        &mut stat.stx_atime,
        &mut stat.stx_mtime,
        &mut stat.stx_ctime,
        &mut stat.stx_btime,
    ] {
        if is_of_run(time.tv_sec) {
            (time.tv_sec, time.tv_nsec) = (RUN_BEGAN, 0);
        }
    }
    result
}

/// Replaces the current directory by what the program calls it.
pub(crate) fn smooth_directory(arguments: &[usize; 6], result: isize) -> isize {
    // SAFETY: the call before has written a text there that ends with a nul.
    let path = unsafe { c_text(arguments[0]) };
    let path = path.filter(|path| overlay().holds(path));
    let Some(path) = path else {
        return result;
    };
    let original = terminated(&overlay().original_of(path));
    // SAFETY: the text there is longer by the path of the overlay.
    unsafe { core::ptr::copy(original.as_ptr(), arguments[0] as *mut u8, original.len()) };
    result
}

/// Replaces the target of a link of `/proc` by what the program calls it.
fn smooth_link<const TEXT: usize, const ROOM: usize>(
    arguments: &[usize; 6],
    result: isize,
) -> isize {
    let place = replaced_path();
    let target = os_files::read_link(&place).filter(|target| overlay().holds(target));
    let Some(target) = target.filter(|_| beneath(&place, b"/proc")) else {
        return result;
    };
    let original = overlay().original_of(&target);
    let length = original.len().min(arguments[ROOM]);
    // SAFETY: the program has passed memory with so much room, and the call before has written to it.
    unsafe { core::ptr::copy(original.as_ptr(), arguments[TEXT] as *mut u8, length) };
    length as isize
}
