//! Threads: creation and the end of them.

use crate::{
    hooks::Frame,
    real, trampoline,
    world::{self, perform},
};
use core::ffi::{c_int, c_void};
use reweave_model::{Gate, Op, Order, ThreadId};

trampoline! {
    pthread_create => create, "r8";
    pthread_join => join, "rdx";
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" fn create(
    handle: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_create: fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, attributes, start, argument) };
    }
    let world = world::get();
    let site = world.site(frame.return_address);
    let id = world.spawn(start, argument, site);
    // SAFETY: the program's own variable.
    unsafe { *handle = world::get().threads[id.index()].handle as libc::pthread_t };
    0
}

/// The latest thread with this handle.
fn find(handle: libc::pthread_t) -> Option<ThreadId> {
    let threads = &world::get().threads;
    let index = threads
        .iter()
        .rposition(|thread| thread.handle == handle as usize)?;
    Some(ThreadId(index as u32))
}

unsafe extern "C" fn join(
    handle: libc::pthread_t,
    result: *mut *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_join: fn(libc::pthread_t, *mut *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, result) };
    }
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let site = world::get().site(frame.return_address);
    perform(Op::Join(thread), Gate::Open, site, Order::SeqCst, None);
    let joined = &mut world::get().threads[thread.index()];
    joined.joined = true;
    if !result.is_null() {
        // SAFETY: the program's own variable.
        unsafe { *result = joined.result };
    }
    0
}
