//! `mkstemp` and its like: files and directories with names that are free, the same in every run.

use crate::{
    calls::files::directory_entries::answer,
    core::trampoline::Frame,
    kernel::{
        descriptor_table,
        file_names::{HERE, leave, next_temporary},
        os_files,
        overlay::overlay,
        path_resolution::{PathUse, place_for, reach},
        start_state,
    },
    outside_run,
    run::{accesses, call_sites, cancellation, operations::failed, world},
    trampoline,
};
use core::ffi::{CStr, c_char, c_int};

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

/// What stands in a template for the letters that differ.
const PLACEHOLDER: &[u8; 6] = b"XXXXXX";

/// Writes the letters of a number.
fn write_letters(number: u64, into: &mut [u8]) {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bits = number;
    for letter in into {
        *letter = LETTERS[bits as usize % 32];
        bits /= 32;
    }
}

/// Writes a free name to a template, the same in every run, and has `make` make it.
///
/// # Safety
///
/// `template` points to a text that ends with a nul, and can be written to.
unsafe fn temporary(
    template: *mut c_char,
    suffix: c_int,
    frame: &Frame,
    how: PathUse,
    make: impl Fn(&[u8]) -> c_int,
) -> c_int {
    // SAFETY: the caller promises that `template` points to a text that ends with a nul.
    let length = unsafe { CStr::from_ptr(template) }.count_bytes();
    let end = length.checked_sub(suffix.max(0) as usize);
    let Some(start) = end.and_then(|end| end.checked_sub(PLACEHOLDER.len())) else {
        return failed(libc::EINVAL);
    };
    // SAFETY: these six bytes lie within the text.
    let place = unsafe { template.add(start).cast::<[u8; 6]>() };
    // SAFETY: these six bytes lie within the text, which the caller promises to be readable.
    if unsafe { *place } != *PLACEHOLDER {
        return failed(libc::EINVAL);
    }
    if how != PathUse::Entry {
        cancellation::point(frame);
    }
    accesses::range(place as usize, PLACEHOLDER.len(), true, frame);
    let site = call_sites::site(&frame.return_address);
    start_state::descriptors_change();
    let slot = world::borrow().slot() as u64;
    loop {
        let mut letters = *PLACEHOLDER;
        write_letters(slot << 15 | next_temporary(), &mut letters);
        // SAFETY: these six bytes lie within the text, which can be written to, as promised by the caller.
        unsafe { *place = letters };
        let real = match reach(HERE, template as usize, false, how, site) {
            Ok(real) => real,
            Err(error) => return answer(error, frame),
        };
        let taken = overlay().stat(&real).is_some();
        if taken {
            leave(site);
            continue;
        }
        let made = match place_for(&real, how, site) {
            Ok(place) => make(&place),
            Err(error) => return answer(error, frame),
        };
        let made = match how {
            PathUse::Entry => made,
            _ => descriptor_table::opened(made, site),
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

fn make_file(path: &[u8], flags: c_int) -> c_int {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | flags & !libc::O_ACCMODE;
    os_files::open(path, flags, 0o600)
}

/// Defines calls that make a file: which arguments are the length of a suffix and flags.
macro_rules! temporary_files {
    ($($name:ident => $call:ident($($argument:ident),*), $suffix:expr, $flags:expr;)*) => {$(
        #[doc = concat!("`", stringify!($call), "`.")]
        ///
        /// # Safety
        ///
        /// As POSIX demands of the caller: `template` points to a text that ends with a nul and can be written to.
        unsafe extern "C" fn $name(template: *mut c_char, $($argument: c_int,)* frame: &Frame) -> c_int {
            outside_run!($call: fn(template: *mut c_char $(, $argument: c_int)*) -> c_int);
            // SAFETY: the template is as the caller promises.
            unsafe { temporary(template, $suffix, frame, PathUse::New, |path| make_file(path, $flags)) }
        }
    )*};
}

temporary_files! {
    make_temporary => mkstemp(), 0, 0;
    make_temporary_with => mkostemp(flags), 0, flags;
    make_temporary_called => mkstemps(suffix), suffix, 0;
    make_temporary_called_with => mkostemps(suffix, flags), suffix, flags;
}

/// `mkdtemp`.
///
/// # Safety
///
/// As POSIX demands of the caller: `template` points to a text that ends with a nul and can be written to.
unsafe extern "C" fn make_temporary_directory(template: *mut c_char, frame: &Frame) -> *mut c_char {
    outside_run!(mkdtemp: fn(template: *mut c_char) -> *mut c_char);
    let make = |path: &[u8]| os_files::make_directory(path, 0o700) as c_int;
    // SAFETY: the template is as the caller promises.
    match unsafe { temporary(template, 0, frame, PathUse::Entry, make) } {
        0 => template,
        _ => core::ptr::null_mut(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_differ_for_slots_and_counts() {
        let letters = |number| {
            let mut letters = *PLACEHOLDER;
            write_letters(number, &mut letters);
            letters
        };
        assert_eq!(&letters(0), b"aaaaaa");
        assert_eq!(&letters(1), b"baaaaa");
        assert_eq!(&letters(33), b"bbaaaa");
        // The first slot's second name, the second slot's first.
        assert_ne!(letters(2), letters(1 << 15 | 1));
    }
}
