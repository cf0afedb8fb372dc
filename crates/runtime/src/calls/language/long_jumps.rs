//! Long jumps, which are libc's own. Only the mask of signals that goes with them is not the kernel's but ours, and comes back by this.

use crate::{
    core::{call_sites, world},
    hooks::passed_calls::passes,
    kernel::signals,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int};

passes! {
    __sigsetjmp => set;
    longjmp => jump;
    _longjmp => jump;
    siglongjmp => jump;
    __longjmp_chk => jump;
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// The masks that go with buffers, by their addresses.
    masks: Vec<(usize, u64)>,
}

/// Where in a buffer it stands whether the mask was kept.
const KEPT_AT: usize = 64;

fn masks() -> &'static mut Vec<(usize, u64)> {
    &mut world::get().me().own_calls.jumps.masks
}

fn set(_: &'static CStr, arguments: &[usize; 6], _: &usize) {
    let [buffer, keeps, ..] = *arguments;
    masks().retain(|(known, _)| *known != buffer);
    if keeps as c_int != 0 {
        masks().push((buffer, signals::blocked()));
    }
}

fn jump(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    let buffer = arguments[0];
    // SAFETY: the program's own buffer, which a call of `sigsetjmp` has filled.
    let kept = unsafe { *((buffer + KEPT_AT) as *const c_int) } != 0;
    let found = masks().iter().find(|(known, _)| *known == buffer);
    if let (true, Some(&(_, mask))) = (kept, found) {
        signals::block(mask, call_sites::site(from));
    }
}
