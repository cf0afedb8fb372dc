//! Thread-local variables of libraries: when a library is closed and opened again, they have their first values.

use crate::{core::loader::Late, real, run::world};
use alloc::vec::Vec;
use core::{
    ffi::{c_int, c_void},
    ptr,
};

/// Offset of the dynamic thread vector in a thread's control block, and its entries for blocks that are not allocated yet.
const VECTOR: usize = 8;
const UNALLOCATED: [usize; 2] = [0, usize::MAX];

/// Restores a library's variables in all threads.
pub fn reset(library: &Late) {
    let Some(locals) = &library.locals else {
        return;
    };
    const NUMBER: c_int = 9;
    let about = real!(dlinfo: fn(*mut c_void, c_int, *mut usize) -> c_int);
    let mut number = 0;
    // SAFETY: the handle is that of a loaded library, and the answer, a number, goes to a local. No borrow is alive.
    if unsafe { about(library.handle(), NUMBER, &mut number) } != 0 {
        return;
    }
    let threads = world::borrow();
    let handles: Vec<usize> = threads.threads.iter().map(|thread| thread.handle).collect();
    drop(threads);
    for handle in handles {
        // SAFETY: a thread's handle is the address of its control block, which stays as long as the process. glibc's layout: the
        // vector's length stands before it, and each entry begins with the address of a module's block, which has `locals.bytes`
        // bytes. No code of the library runs, since it is closed.
        unsafe {
            let list = *((handle + VECTOR) as *const *const [usize; 2]);
            if list.is_null() || (*list.sub(1))[0] < number {
                continue;
            }
            let place = (*list.add(number))[0];
            if UNALLOCATED.contains(&place) {
                continue;
            }
            let place = place as *mut u8;
            ptr::copy_nonoverlapping(locals.image as *const u8, place, locals.set);
            ptr::write_bytes(place.add(locals.set), 0, locals.bytes - locals.set);
        }
    }
}
