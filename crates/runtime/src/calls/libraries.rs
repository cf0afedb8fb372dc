//! Libraries that a program opens while it runs. Those that are loaded already it may open and close again; code that comes and goes is not under control, since
//! a run must find the memory of the process as the one before did.

use super::callers;
use crate::{hooks::Frame, real, spin, trampoline, world};
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_void};

trampoline! {
    dlopen => open, "rdx";
    dlclose => close, "rsi";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// What was opened and not closed.
    opened: Vec<usize>,
}

impl State {
    pub fn clear(&mut self) {
        self.opened.clear();
    }
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, frame: &Frame) -> *mut c_void {
    let real = real!(dlopen: fn(*const c_char, c_int) -> *mut c_void);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(name, flags) };
    }
    spin::disturbed();
    // SAFETY: the program's own text.
    let library = unsafe { real(name, flags | libc::RTLD_NOLOAD) };
    if library.is_null() && flags & libc::RTLD_NOLOAD == 0 {
        let site = callers::site(&frame.return_address);
        world::get().unsupported("dlopen", site);
    }
    if !library.is_null() {
        world::get().calls.libraries.opened.push(library as usize);
    }
    library
}

unsafe extern "C" fn close(library: *mut c_void, frame: &Frame) -> c_int {
    if world::active() {
        spin::disturbed();
        let opened = &mut world::get().calls.libraries.opened;
        let known = opened.iter().position(|other| *other == library as usize);
        let Some(known) = known else {
            let site = callers::site(&frame.return_address);
            world::get().unsupported("dlclose", site);
        };
        opened.swap_remove(known);
    }
    // SAFETY: the program's own argument.
    unsafe { real!(dlclose: fn(*mut c_void) -> c_int)(library) }
}
