//! Files and directories with a name that nobody has, the same in every run.

use crate::{
    calls::files::directory_entries::answer,
    core::{call_sites, cancellation, world},
    hooks::{Frame, accesses},
    kernel::{
        descriptor_table,
        file_names::{HERE, leave, next_temporary, state},
        file_objects, overlay,
        path_resolution::{Use, place_for, reach},
    },
    real, trampoline,
};
use core::ffi::{CStr, c_char, c_int};
use reweave_model::Site;

trampoline! {
    mkstemp => make_temporary, "rsi";
    mkstemp64 => make_temporary, "rsi";
    mkostemp => make_temporary_with, "rdx";
    mkostemp64 => make_temporary_with, "rdx";
    mkstemps => make_temporary_called, "rdx";
    mkstemps64 => make_temporary_called, "rdx";
    mkostemps => make_temporary_called_with, "rcx";
    mkostemps64 => make_temporary_called_with, "rcx";
    mkdtemp => make_temporary_directory, "rsi";
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

/// Fills in a name that nobody has, the same in every run, and makes it by `make`.
unsafe fn temporary(
    template: *mut c_char,
    suffix: c_int,
    frame: &Frame,
    how: Use,
    make: impl FnOnce(&[u8]) -> isize,
) -> c_int {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    // SAFETY: the program's own text.
    let length = unsafe { CStr::from_ptr(template) }.count_bytes();
    let end = length.checked_sub(suffix.max(0) as usize);
    let Some(start) = end.and_then(|end| end.checked_sub(6)) else {
        return crate::core::operations::failed(libc::EINVAL);
    };
    // SAFETY: within the text.
    let place = unsafe { core::slice::from_raw_parts_mut(template.add(start).cast::<u8>(), 6) };
    if place != b"XXXXXX" {
        return crate::core::operations::failed(libc::EINVAL);
    }
    if !matches!(how, Use::Entry) {
        cancellation::point(frame);
    }
    accesses::range(place.as_ptr() as usize, 6, true, frame);
    let site = site(frame);
    file_objects::changing();
    let slot = world::get().slot();
    loop {
        let mut bits = (slot as u64) << 15 | next_temporary();
        for letter in place.iter_mut() {
            *letter = LETTERS[bits as usize % 32];
            bits /= 32;
        }
        let real = match reach(HERE, template as usize, false, how, site) {
            Ok(real) => real,
            Err(error) => return answer(error, frame),
        };
        if state().disk.stat(&real).is_some() {
            leave(site);
            continue;
        }
        let made = match place_for(&real, how, site) {
            Ok(place) => make(&place),
            Err(error) => return answer(error, frame),
        };
        let made = match how {
            Use::Entry => made as c_int,
            _ => descriptor_table::opened(made as c_int, site),
        };
        return match made {
            ..0 => answer(-made, frame),
            _ => {
                leave(site);
                made
            }
        };
    }
}

fn make_file(path: &[u8], flags: c_int) -> isize {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | flags & !libc::O_ACCMODE;
    overlay::at(libc::SYS_openat, path, flags as usize, 0o600)
}

unsafe extern "C" fn make_temporary(template: *mut c_char, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(mkstemp: fn(*mut c_char) -> c_int)(template) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, 0, frame, Use::New, |path| make_file(path, 0)) }
}

unsafe extern "C" fn make_temporary_with(
    template: *mut c_char,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(mkostemp: fn(*mut c_char, c_int) -> c_int)(template, flags) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, 0, frame, Use::New, |path| make_file(path, flags)) }
}

unsafe extern "C" fn make_temporary_called(
    template: *mut c_char,
    suffix: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(mkstemps: fn(*mut c_char, c_int) -> c_int)(template, suffix) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, suffix, frame, Use::New, |path| make_file(path, 0)) }
}

unsafe extern "C" fn make_temporary_called_with(
    template: *mut c_char,
    suffix: c_int,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(mkostemps: fn(*mut c_char, c_int, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(template, suffix, flags) };
    }
    // SAFETY: as the call itself.
    unsafe {
        temporary(template, suffix, frame, Use::New, |path| {
            make_file(path, flags)
        })
    }
}

unsafe extern "C" fn make_temporary_directory(template: *mut c_char, frame: &Frame) -> *mut c_char {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(mkdtemp: fn(*mut c_char) -> *mut c_char)(template) };
    }
    let make = |path: &[u8]| overlay::at(libc::SYS_mkdirat, path, 0o700, 0);
    // SAFETY: as the call itself.
    match unsafe { temporary(template, 0, frame, Use::Entry, make) } {
        0 => template,
        _ => core::ptr::null_mut(),
    }
}
