//! Calls that list directories, and those about the current directory and the mask for new files.

use crate::{
    calls::files::file_status,
    kernel::{
        descriptor_table, file_locks,
        file_names::{HERE, enter, refuse},
        file_objects,
        open_checks::check_openable,
        ordering::alone,
        os_files,
        overlay::overlay,
        passed_calls::redirects,
        path_resolution::{PathUse, redirect},
        start_state,
    },
    run::{accesses, call_sites, spin, world},
};
use alloc::format;
use core::ffi::{CStr, c_int};
use reweave_memory::Kind;
use reweave_model::Site;

redirects! {
    opendir => lists, opened_directory;
    fdopendir => opens_listed;
    readdir => reads_entries;
    readdir64 => reads_entries;
    readdir_r => reads_entry;
    readdir64_r => reads_entry;
    rewinddir => rewinds;
    seekdir => uses_directory;
    telldir => uses_directory;
    closedir => closes_directory;
    scandirat => walks;
    scandirat64 => walks;
    nftw => walks;
    nftw64 => walks;
    ftw => walks;
    ftw64 => walks;
    fts_open => walks;
    fts64_open => walks;
    glob => walks;
    glob64 => walks;
    get_current_dir_name => asks_where, told_where;
    chdir => goes;
    fchdir => goes_to_open;
    umask => masks;
}

/// The beginning of a `DIR`, as the C library lays it out.
#[repr(C)]
struct Directory {
    descriptor: c_int,
    lock: c_int,
    room: usize,
    /// Bytes that the operating system has written, and bytes of these that were passed on.
    filled: usize,
    used: usize,
}

/// The descriptor of a directory that the program has opened.
///
/// # Safety
///
/// A `DIR` of the C library lies at the address.
unsafe fn descriptor_of(directory: usize) -> c_int {
    // SAFETY: the caller promises that a `DIR` of the C library lies there.
    unsafe { (*(directory as *const Directory)).descriptor }
}

pub(crate) fn lists(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    check_openable(arguments[0], name, from);
    redirect(HERE, &mut arguments[0], true, PathUse::List, from);
}

fn opened_directory(directory: isize, site: Site) -> isize {
    if directory != 0 {
        // SAFETY: `opendir` has just returned it, so a `DIR` lies there and no other thread knows of it.
        let descriptor = unsafe { descriptor_of(directory as usize) };
        let number = descriptor_table::opened(descriptor, site);
        // SAFETY: as before: the `DIR` is still known to this thread only.
        unsafe { (&raw mut (*(directory as *mut Directory)).descriptor).write(number) };
    }
    directory
}

fn opens_listed(_: &'static CStr, _: &mut [usize; 6], _: &usize) {
    spin::disturbed();
    start_state::descriptors_change();
}

/// Several threads may list one directory. Like a stream it is memory that is freed when it is closed.
fn uses_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        accesses::access(arguments[0], 8, Kind::Read, *from);
        file_objects::touch(arguments[0] / 8, call_sites::site(from));
    }
}

/// Lists from the beginning, with everything that was made since the directory was opened.
fn rewinds(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    uses_directory(name, arguments, from);
    enter(true, call_sites::site(from));
    let is_used = overlay().is_used();
    if arguments[0] == 0 || !is_used {
        return;
    }
    // SAFETY: the argument is a `DIR` that the program has opened, as the C library demands of its caller.
    let descriptor = unsafe { descriptor_of(arguments[0]) };
    let mut disk = overlay();
    if let Some(real) = disk.directory(descriptor) {
        disk.complete_listing(&real);
        os_files::reopen(descriptor, &disk.place(&real));
    }
}

/// An entry is read. The operating system is asked when all that it has returned was passed on.
fn reads_entries(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    uses_directory(name, arguments, from);
    // SAFETY: the argument is a `DIR` that the program has opened, as the C library demands of its caller.
    let used_up = unsafe {
        let directory = arguments[0] as *const Directory;
        (*directory).used >= (*directory).filled
    };
    if used_up {
        spin::disturbed();
        enter(true, call_sites::site(from));
        // Another thread may have gone on in the meantime.
        uses_directory(name, arguments, from);
    }
}

/// The same, into memory of the program.
fn reads_entry(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    world::snapshot().touch_range(arguments[1], size_of::<libc::dirent64>());
    world::snapshot().touch_range(arguments[2], size_of::<usize>());
    reads_entries(name, arguments, from);
}

fn closes_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        // SAFETY: the argument is a `DIR` that the program has opened, as the C library demands of its caller.
        let descriptor = unsafe { descriptor_of(arguments[0]) };
        file_locks::refuse_held([descriptor], call_sites::site(from));
        descriptor_table::closing(descriptor, call_sites::site(from));
    }
}

/// Calls that walk through directories by themselves.
fn walks(name: &'static CStr, _: &mut [usize; 6], from: &usize) {
    start_state::descriptors_change();
    let is_used = overlay().is_used();
    if is_used || !alone() {
        let name = name.to_str().unwrap_or("?");
        let what = format!("{name} beside other threads, or after files were changed");
        refuse(&what, call_sites::site(from));
    }
}

fn asks_where(_: &'static CStr, _: &mut [usize; 6], from: &usize) {
    enter(false, call_sites::site(from));
}

/// The result is the current directory: it becomes what the program calls it.
fn told_where(result: isize, _: Site) -> isize {
    file_status::smooth_directory(&[result as usize, 0, 0, 0, 0, 0], result)
}

/// The process goes to another directory, until the run is over.
fn goes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    spin::disturbed();
    start_state::directory_changes();
    redirect(HERE, &mut arguments[0], true, PathUse::Enter, from);
}

fn goes_to_open(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    spin::disturbed();
    start_state::directory_changes();
    let site = call_sites::site(from);
    enter(true, site);
    descriptor_table::look_up(arguments[0] as c_int, site);
    arguments[0] = descriptor_table::found(arguments[0] as c_int) as usize;
}

/// The mask for new files is the process's, like its directory.
fn masks(_: &'static CStr, _: &mut [usize; 6], from: &usize) {
    spin::disturbed();
    start_state::directory_changes();
    enter(true, call_sites::site(from));
}
