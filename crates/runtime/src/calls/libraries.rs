//! Libraries that a program opens while it runs. Those that are loaded already it may open and close as it likes: they were opened for it before the first
//! run, so that the loader has nothing to write down. Code that comes and goes is not under control.

use super::callers;
use crate::{hooks::Frame, real, sys, trampoline, world};
use alloc::{ffi::CString, vec::Vec};
use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
    ptr,
};

trampoline! {
    dlopen => open, "rdx";
    dlclose => close, "rsi";
}

/// What is loaded: files, and what the loader knows them by. The program itself has no name.
struct Loaded(UnsafeCell<Vec<(CString, usize)>>);
// SAFETY: one OS thread, and written once.
unsafe impl Sync for Loaded {}
static LOADED: Loaded = Loaded(UnsafeCell::new(Vec::new()));

fn loaded() -> &'static mut Vec<(CString, usize)> {
    // SAFETY: as above.
    unsafe { &mut *LOADED.0.get() }
}

/// Opens all that is loaded.
pub fn prepare() {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    for module in &world::get().modules {
        let Ok(path) = CString::new(module.path.as_bytes()) else {
            continue;
        };
        let name = match path.is_empty() {
            true => ptr::null(),
            false => path.as_ptr(),
        };
        // SAFETY: a valid name.
        let library = unsafe { real(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if !library.is_null() {
            loaded().push((path, library as usize));
        }
    }
}

/// Whether a library goes by a name: that of its file without a directory, or a path that leads there.
fn goes_by(path: &CStr, name: &CStr) -> bool {
    if path == name {
        return true;
    }
    if name.to_bytes().contains(&b'/') {
        return identity(name).is_some_and(|file| identity(path) == Some(file));
    }
    let file = path.to_bytes().rsplit(|byte| *byte == b'/').next();
    file == Some(name.to_bytes())
}

/// What tells files apart.
fn identity(path: &CStr) -> Option<(u64, u64)> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let arguments = [
        path.as_ptr() as usize,
        stat.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: writes a local.
    unsafe {
        let found = sys::call(libc::SYS_stat, arguments) == 0;
        let stat = stat.assume_init();
        found.then_some((stat.st_dev, stat.st_ino))
    }
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, frame: &Frame) -> *mut c_void {
    if !world::active() {
        let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
        // SAFETY: the program's own arguments.
        return unsafe { real(name, flags) };
    }
    let name = match name.is_null() {
        true => c"",
        // SAFETY: the program's own text.
        false => unsafe { CStr::from_ptr(name) },
    };
    let found = loaded().iter().find(|(path, _)| goes_by(path, name));
    match found {
        Some((_, library)) => *library as *mut c_void,
        None if flags & libc::RTLD_NOLOAD != 0 => ptr::null_mut(),
        None => {
            let site = callers::site(&frame.return_address);
            world::get().unsupported("dlopen", site)
        }
    }
}

unsafe extern "C" fn close(library: *mut c_void, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(dlclose: fn(*mut c_void) -> c_int)(library) };
    }
    let known = loaded().iter().any(|(_, other)| *other == library as usize);
    if !known {
        let site = callers::site(&frame.return_address);
        world::get().unsupported("dlclose", site);
    }
    0
}
