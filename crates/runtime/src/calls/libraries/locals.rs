//! Variables of threads' own in libraries: those of a library that is closed and opened again are as they were at first.

use crate::{calls::libraries::Late, core::world, real};
use core::{
    ffi::{c_int, c_void},
    ptr,
};

/// Where a thread's memory has its list of what modules have there, and what that says of what is not yet made.
const LIST: usize = 8;
const NOTHING: [usize; 2] = [0, usize::MAX];

/// Puts back those of all threads.
pub fn reset(library: &Late) {
    let Some(locals) = &library.locals else {
        return;
    };
    const NUMBER: c_int = 9;
    let about = real!(dlinfo: fn(*mut c_void, c_int, *mut usize) -> c_int);
    let mut number = 0;
    // SAFETY: a library that is loaded; writes a local.
    if unsafe { about(library.handle(), NUMBER, &mut number) } != 0 {
        return;
    }
    for thread in &world::get().threads {
        // SAFETY: the C library's own memory of a thread: before the list is how long it is, each entry has an address first. What the address leads to has
        // room for all of them.
        unsafe {
            let list = *((thread.handle + LIST) as *const *const [usize; 2]);
            if list.is_null() || (*list.sub(1))[0] < number {
                continue;
            }
            let place = (*list.add(number))[0];
            if NOTHING.contains(&place) {
                continue;
            }
            let place = place as *mut u8;
            ptr::copy_nonoverlapping(locals.image as *const u8, place, locals.set);
            ptr::write_bytes(place.add(locals.set), 0, locals.bytes - locals.set);
        }
    }
}
