//! `shm_open`: memory that has a name, and is a file below `/dev/shm`.

use crate::{
    calls::files::{
        directory_entries::{Removes, answer, remove_entry},
        named_files,
    },
    core::trampoline::Frame,
    kernel::{
        file_names::{HERE, leave},
        path_resolution::make,
        paths::terminated,
    },
    outside_run, real,
    run::{call_sites, operations::failed},
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use libc::mode_t;

trampoline! {
    shm_open => open_shared, "rcx";
    shm_unlink => unlink_shared, "rsi";
}

/// The path of the file, with a nul behind it; `None`: that is no name.
fn path_of(name: &[u8]) -> Option<Vec<u8>> {
    const LONGEST: usize = 254;
    let first = name.iter().position(|byte| *byte != b'/')?;
    let name = &name[first..];
    let fits = name.len() <= LONGEST && !name.contains(&b'/');
    fits.then(|| terminated(&[b"/dev/shm/", name].concat()))
}

/// `shm_open`.
///
/// # Safety
///
/// As POSIX demands of the caller: `name` points to a text that ends with a nul.
unsafe extern "C" fn open_shared(
    name: *const c_char,
    flags: c_int,
    mode: mode_t,
    frame: &Frame,
) -> c_int {
    outside_run!(shm_open: fn(name: *const c_char, flags: c_int, mode: mode_t) -> c_int);
    // SAFETY: the name is as the caller promises. A bad pointer faults here, as it does in libc.
    let path = path_of(unsafe { CStr::from_ptr(name) }.to_bytes());
    let Some(path) = path else {
        return failed(libc::EINVAL);
    };
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mut arguments = [path.as_ptr() as usize, flags as usize, 0, 0, 0, 0];
    named_files::opens(c"shm_open", &mut arguments, &frame.return_address);
    let real = real!(open: fn(usize, c_int, mode_t) -> c_int);
    // SAFETY: the path is ours or the one that replaces it; both end with a nul.
    let result = make(-1, || unsafe { real(arguments[0], flags, mode) });
    let site = call_sites::site(&frame.return_address);
    let result = named_files::opened(result as isize, site);
    leave(site);
    result as c_int
}

/// `shm_unlink`.
///
/// # Safety
///
/// As POSIX demands of the caller: `name` points to a text that ends with a nul.
unsafe extern "C" fn unlink_shared(name: *const c_char, frame: &Frame) -> c_int {
    outside_run!(shm_unlink: fn(name: *const c_char) -> c_int);
    // SAFETY: the name is as the caller promises. A bad pointer faults here, as it does in libc.
    let path = path_of(unsafe { CStr::from_ptr(name) }.to_bytes());
    let Some(path) = path else {
        return failed(libc::ENOENT);
    };
    let site = call_sites::site(&frame.return_address);
    // SAFETY: the path is ours, and ends with a nul.
    let error = unsafe { remove_entry(HERE, path.as_ptr() as usize, Removes::Files, site) };
    answer(error, frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_files_below_dev_shm() {
        assert_eq!(path_of(b"/x").as_deref(), Some(&b"/dev/shm/x\0"[..]));
        assert_eq!(path_of(b"x").as_deref(), Some(&b"/dev/shm/x\0"[..]));
        assert_eq!(path_of(b"/x/y"), None);
        assert_eq!(path_of(b"/"), None);
        assert!(path_of(&[b'x'; 254]).is_some());
        assert!(path_of(&[b'x'; 255]).is_none());
    }
}
