//! Cleanup handlers of C code (`pthread_cleanup_push`), which run when their thread leaves by `pthread_exit` or is cancelled.

use crate::{
    core::trampoline::Frame,
    real,
    run::{unwinding, world},
    trampoline,
};
use core::ffi::c_void;

trampoline! {
    __pthread_register_cancel => register, "rsi";
    __pthread_unregister_cancel => unregister, "rsi";
    __pthread_unwind_next => unwind_next, "rsi";
}

/// # Safety
///
/// As `__pthread_register_cancel`: `buffer` is a jump buffer of a function that does not return before it unregisters it.
unsafe extern "C" fn register(buffer: *mut c_void, _: &Frame) {
    if !world::active() {
        // SAFETY: this function's own argument, with the same contract.
        return unsafe { real!(__pthread_register_cancel: fn(*mut c_void))(buffer) };
    }
    unwinding::push_cleanup(buffer as usize);
}

/// # Safety
///
/// As `__pthread_unregister_cancel`: `buffer` was registered.
unsafe extern "C" fn unregister(buffer: *mut c_void, _: &Frame) {
    if !world::active() {
        // SAFETY: this function's own argument, with the same contract.
        return unsafe { real!(__pthread_unregister_cancel: fn(*mut c_void))(buffer) };
    }
    unwinding::pop_cleanup(buffer as usize);
}

/// A cleanup handler has run.
///
/// # Safety
///
/// As `__pthread_unwind_next`: called at the end of the handler that `buffer` belongs to.
unsafe extern "C" fn unwind_next(buffer: *mut c_void, _: &Frame) -> ! {
    if !world::active() {
        // SAFETY: this function's own argument, with the same contract.
        unsafe { real!(__pthread_unwind_next: fn(*mut c_void))(buffer) };
    }
    unwinding::unwind()
}
