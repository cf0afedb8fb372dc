//! C11's calls about threads: those of POSIX, under other names and with other answers. C11's locks are in the family of
//! synchronisation objects, its sleeps in that of time.

use crate::{
    calls::threads::{
        joins, lifecycle,
        thread_keys::{self, Destructor},
    },
    core::trampoline::Frame,
    leave_outside_run, outside_run,
    shared::c11_answers::answer,
    trampoline,
};
use core::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};
use libc::pthread_t as Handle;

trampoline! {
    thrd_create => create, "rcx";
    thrd_join => join, "rdx";
    thrd_detach => detach, "rsi";
    thrd_exit => exit, "rsi";
    tss_create => create_key, "rdx";
    tss_delete => delete_key, "rsi";
}

/// Its result is the lower half of what functions of POSIX return.
type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// # Safety
///
/// As `thrd_create`: `handle` points to room for a handle, `start` can be called with `argument`.
unsafe extern "C" fn create(
    handle: *mut Handle,
    start: Start,
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(thrd_create: fn(handle: *mut Handle, start: Start, argument: *mut c_void) -> c_int);
    // SAFETY: `pthread_create` demands the same of these arguments, and takes null for attributes.
    answer(unsafe { lifecycle::create(handle, ptr::null(), start, argument, frame) })
}

/// # Safety
///
/// As `thrd_join`: `result` is null or points to room for a number.
unsafe extern "C" fn join(handle: Handle, result: *mut c_int, frame: &Frame) -> c_int {
    outside_run!(thrd_join: fn(handle: Handle, result: *mut c_int) -> c_int);
    let mut value = ptr::null_mut();
    // SAFETY: `value` is a local, with room for a pointer.
    let error = unsafe { joins::join(handle, &mut value, frame) };
    if error == 0 && !result.is_null() {
        // SAFETY: not null, so it points to room for a number, by this function's contract.
        unsafe { *result = value as c_int };
    }
    answer(error)
}

/// # Safety
///
/// As `thrd_detach`: outside of runs, `handle` is that of a thread.
unsafe extern "C" fn detach(handle: Handle, frame: &Frame) -> c_int {
    outside_run!(thrd_detach: fn(handle: Handle) -> c_int);
    // SAFETY: `pthread_detach` gets these arguments, and demands the same of them.
    answer(unsafe { joins::detach(handle, frame) })
}

extern "C" fn exit(result: c_int, frame: &Frame) -> ! {
    leave_outside_run!(thrd_exit: fn(result: c_int));
    lifecycle::exit(result as usize as *mut c_void, frame)
}

/// # Safety
///
/// As `tss_create`: `key` points to room for a key, `destroy` can be called with what is stored under it.
unsafe extern "C" fn create_key(
    key: *mut c_uint,
    destroy: Option<Destructor>,
    frame: &Frame,
) -> c_int {
    // SAFETY: `pthread_key_create` gets these arguments, and demands the same of them.
    answer(unsafe { thread_keys::create(key, destroy, frame) })
}

extern "C" fn delete_key(key: c_uint, frame: &Frame) {
    thread_keys::delete(key, frame);
}
