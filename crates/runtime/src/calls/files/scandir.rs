//! `scandir`: a directory is listed at once, and then functions of the program choose and sort.

use crate::{
    calls::files::directories,
    core::trampoline::Frame,
    kernel::{file_names::leave, path_resolution::make},
    outside_run, real,
    run::{accesses, call_sites, spin},
    trampoline,
};
use core::ffi::{c_int, c_void};
use libc::dirent64;

trampoline! {
    scandir => scan, "r8";
    scandir64 => scan, "r8";
}

type Entry = *mut dirent64;
type Filter = unsafe extern "C" fn(Entry) -> c_int;
type Compare = unsafe extern "C" fn(*mut Entry, *mut Entry) -> c_int;

/// `scandir`.
///
/// # Safety
///
/// As POSIX demands of the caller: `path` points to a text that ends with a nul, `into` to a variable, and the functions are such.
unsafe extern "C" fn scan(
    path: usize,
    into: *mut *mut Entry,
    filter: Option<Filter>,
    compare: Option<Compare>,
    frame: &Frame,
) -> c_int {
    outside_run!(scandir64: fn(
        path: usize,
        into: *mut *mut Entry,
        filter: Option<Filter>,
        compare: Option<Compare>
    ) -> c_int);
    spin::disturbed();
    let mut arguments = [path, 0, 0, 0, 0, 0];
    directories::lists(c"scandir", &mut arguments, &frame.return_address);
    let mut list: *mut Entry = core::ptr::null_mut();
    let real =
        real!(scandir64: fn(usize, *mut *mut Entry, Option<Filter>, Option<Compare>) -> c_int);
    // SAFETY: the path is the program's or the one that replaces it, the variable a local. No function of the program is called
    // while other threads cannot name files.
    let count = make(-1, || unsafe { real(arguments[0], &mut list, None, None) });
    leave(call_sites::site(&frame.return_address));
    if count < 0 || list.is_null() {
        return count;
    }
    accesses::range(into as usize, size_of::<usize>(), true, frame);
    // SAFETY: the C library has made a list of so many entries; the functions and the variable are as the caller promises.
    unsafe {
        let entries = core::slice::from_raw_parts_mut(list, count as usize);
        let count = choose(entries, filter);
        if let Some(compare) = compare {
            let sort = real!(qsort: fn(*mut c_void, usize, usize, Compare));
            sort(list.cast(), count, size_of::<Entry>(), compare);
        }
        *into = list;
        count as c_int
    }
}

/// Moves the entries that the program wants to the front, and frees the others; how many it wants.
///
/// # Safety
///
/// The entries were allocated by the C library, and the function takes such.
unsafe fn choose(entries: &mut [Entry], filter: Option<Filter>) -> usize {
    let Some(filter) = filter else {
        return entries.len();
    };
    let mut count = 0;
    for index in 0..entries.len() {
        // SAFETY: the caller promises that the C library has allocated the entries, and that the function takes them; one that is
        // freed is not used again.
        unsafe {
            if filter(entries[index]) != 0 {
                entries.swap(count, index);
                count += 1;
            } else {
                libc::free(entries[index].cast());
            }
        }
    }
    count
}
