//! `scandir`: a directory is listed at once, and then the program chooses and sorts.

use crate::{
    calls::files::named_files,
    core::{call_sites, world},
    hooks::{Frame, accesses},
    kernel::{file_names::leave, path_resolution::make},
    real, trampoline,
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

unsafe extern "C" fn scan(
    path: usize,
    into: *mut *mut Entry,
    filter: Option<Filter>,
    compare: Option<Compare>,
    frame: &Frame,
) -> c_int {
    let real =
        real!(scandir64: fn(usize, *mut *mut Entry, Option<Filter>, Option<Compare>) -> c_int);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(path, into, filter, compare) };
    }
    crate::core::spin::disturbed();
    let mut arguments = [path, 0, 0, 0, 0, 0];
    named_files::lists(c"scandir", &mut arguments, &frame.return_address);
    let mut list: *mut Entry = core::ptr::null_mut();
    // SAFETY: as above; no function of the program's is called while nobody else can name files.
    let count = make(-1, || unsafe { real(arguments[0], &mut list, None, None) });
    leave(call_sites::site(&frame.return_address));
    if count < 0 || list.is_null() {
        return count;
    }
    accesses::range(into as usize, size_of::<usize>(), true, frame);
    // SAFETY: what libc has made; the program's own functions and variable.
    unsafe {
        let entries = core::slice::from_raw_parts_mut(list, count as usize);
        let count = chosen(entries, filter);
        if let Some(compare) = compare {
            let sort = real!(qsort: fn(*mut c_void, usize, usize, Compare));
            sort(list.cast(), count, size_of::<Entry>(), compare);
        }
        *into = list;
        count as c_int
    }
}

/// Has those that the program wants in front, and gives the others back; how many those are.
unsafe fn chosen(entries: &mut [Entry], filter: Option<Filter>) -> usize {
    let Some(filter) = filter else {
        return entries.len();
    };
    let mut count = 0;
    for index in 0..entries.len() {
        // SAFETY: the program's own function; what libc has made for it.
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
