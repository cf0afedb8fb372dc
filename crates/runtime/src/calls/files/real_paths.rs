//! `realpath`: where a path leads, as the program calls it.

use crate::{
    core::trampoline::Frame,
    kernel::{
        file_names::{HERE, leave},
        ordering::alone,
        overlay::overlay,
        path_resolution::{PathUse, reach},
        paths::terminated,
    },
    real,
    run::{accesses, call_sites, heap, operations::failed, world},
    trampoline,
};
use core::ffi::c_char;

trampoline! {
    realpath => real_path, "rdx";
    __realpath_chk => real_path_checked, "rcx";
    canonicalize_file_name => real_path_new, "rsi";
}

/// `__realpath_chk`.
///
/// # Safety
///
/// As [`real_path`].
unsafe extern "C" fn real_path_checked(
    path: usize,
    into: *mut c_char,
    _room: usize,
    frame: &Frame,
) -> *mut c_char {
    // SAFETY: passed on as the caller promises.
    unsafe { real_path(path, into, frame) }
}

/// `canonicalize_file_name`.
///
/// # Safety
///
/// As [`real_path`], with memory that is allocated.
unsafe extern "C" fn real_path_new(path: usize, frame: &Frame) -> *mut c_char {
    // SAFETY: passed on as the caller promises; null has memory allocated.
    unsafe { real_path(path, core::ptr::null_mut(), frame) }
}

/// `realpath`.
///
/// # Safety
///
/// As POSIX demands of the caller: `path` points to a text that ends with a nul, `into` is null or has room for `PATH_MAX` bytes.
unsafe extern "C" fn real_path(path: usize, into: *mut c_char, frame: &Frame) -> *mut c_char {
    let unchanged = !world::active() || !overlay().is_used() && alone();
    if unchanged {
        let real = real!(realpath: fn(usize, *mut c_char) -> *mut c_char);
        // SAFETY: passed on as the caller promises.
        return unsafe { real(path, into) };
    }
    let site = call_sites::site(&frame.return_address);
    let mut real = reach(HERE, path, true, PathUse::Look, site);
    if real
        .as_ref()
        .is_ok_and(|real| overlay().stat(real).is_none())
    {
        real = Err(libc::ENOENT);
    }
    leave(site);
    let text = match real {
        Ok(real) => terminated(&real),
        Err(error) => {
            failed(error);
            return core::ptr::null_mut();
        }
    };
    let into = match into.is_null() {
        false => into,
        true => heap::allocate(text.len(), 16, site.0).cast::<c_char>(),
    };
    if !into.is_null() {
        accesses::range(into as usize, text.len(), true, frame);
        // SAFETY: `into` has room for `PATH_MAX` bytes, as the caller promises, and no path is longer; or it was just allocated
        // for this text.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr().cast(), into, text.len()) };
    }
    into
}
