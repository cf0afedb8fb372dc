//! Memory that has a name, and is a file below `/dev/shm`.

use crate::{
    calls::files::{
        directory_entries::{answer, take_away},
        named_files,
    },
    core::{call_sites, world},
    hooks::Frame,
    kernel::{
        file_names::{HERE, leave},
        overlay::terminated,
        path_resolution::make,
    },
    real, trampoline,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};

trampoline! {
    shm_open => open_shared, "rcx";
    shm_unlink => unlink_shared, "rsi";
}

/// Where it is; `None`: that is no name.
unsafe fn path_of(name: *const c_char) -> Option<Vec<u8>> {
    // SAFETY: the program's own text.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let first = name.iter().position(|byte| *byte != b'/')?;
    let name = &name[first..];
    let fits = name.len() < 255 && !name.contains(&b'/');
    fits.then(|| terminated(&[b"/dev/shm/", name].concat()))
}

unsafe extern "C" fn open_shared(
    name: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(shm_open: fn(*const c_char, c_int, libc::mode_t) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(name, flags, mode) };
    }
    // SAFETY: as above.
    let Some(path) = (unsafe { path_of(name) }) else {
        return crate::core::operations::failed(libc::EINVAL);
    };
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mut arguments = [path.as_ptr() as usize, flags as usize, 0, 0, 0, 0];
    named_files::opens(c"shm_open", &mut arguments, &frame.return_address);
    let real = real!(open: fn(usize, c_int, libc::mode_t) -> c_int);
    // SAFETY: a path that ends with a nul.
    let result = make(-1, || unsafe { real(arguments[0], flags, mode) });
    let site = call_sites::site(&frame.return_address);
    let result = named_files::opened(result as isize, site);
    leave(site);
    result as c_int
}

unsafe extern "C" fn unlink_shared(name: *const c_char, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(shm_unlink: fn(*const c_char) -> c_int)(name) };
    }
    // SAFETY: as above.
    let Some(path) = (unsafe { path_of(name) }) else {
        return crate::core::operations::failed(libc::ENOENT);
    };
    let site = call_sites::site(&frame.return_address);
    let error = take_away(HERE, path.as_ptr() as usize, Some(false), site);
    answer(error, frame)
}
