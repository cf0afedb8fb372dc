//! Calls that cancel threads, test for cancellation, and enable or disable it. What cancellation means is in
//! [`crate::run::cancellation`].

use crate::{
    core::trampoline::Frame,
    kernel::waits,
    outside_run,
    run::{
        accesses, call_sites,
        cancellation::{Cancelability, point, used, with_own},
        spin, thread_end, world,
    },
    trampoline,
};
use core::{ffi::c_int, mem};
use libc::pthread_t as Handle;

trampoline! {
    pthread_cancel => cancel, "rsi";
    pthread_testcancel => test, "rdi";
    pthread_setcancelstate => set_state, "rdx";
    pthread_setcanceltype => set_type, "rdx";
}

const DISABLE: c_int = 1;
const ASYNCHRONOUS: c_int = 1;

/// # Safety
///
/// As `pthread_cancel`: outside of runs, `handle` is that of a thread.
unsafe extern "C" fn cancel(handle: Handle, frame: &Frame) -> c_int {
    outside_run!(pthread_cancel: fn(handle: Handle) -> c_int);
    let Some(thread) = thread_end::find(handle) else {
        return libc::ESRCH;
    };
    let site = call_sites::site(&frame.return_address);
    if !used() {
        // The program found the function by another way than by its name.
        world::unsupported("pthread_cancel", site);
    }
    waits::cancel(thread, site);
    0
}

extern "C" fn test(frame: &Frame) {
    outside_run!(pthread_testcancel: fn());
    point(frame);
}

/// # Safety
///
/// As `pthread_setcancelstate`: `old` is null or points to room for a number.
unsafe extern "C" fn set_state(state: c_int, old: *mut c_int, frame: &Frame) -> c_int {
    outside_run!(pthread_setcancelstate: fn(state: c_int, old: *mut c_int) -> c_int);
    // SAFETY: `old` is null or points to room for a number, by this function's contract.
    unsafe { set(state, DISABLE, |own| &mut own.disabled, old, frame) }
}

/// # Safety
///
/// As `pthread_setcanceltype`: `old` is null or points to room for a number.
unsafe extern "C" fn set_type(kind: c_int, old: *mut c_int, frame: &Frame) -> c_int {
    outside_run!(pthread_setcanceltype: fn(kind: c_int, old: *mut c_int) -> c_int);
    if kind == ASYNCHRONOUS && used() {
        let site = call_sites::site(&frame.return_address);
        world::unsupported("pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS)", site);
    }
    // SAFETY: `old` is null or points to room for a number, by this function's contract.
    unsafe { set(kind, ASYNCHRONOUS, |own| &mut own.asynchronous, old, frame) }
}

/// Sets one of the running thread's settings to 0 or to `yes`; an error number.
///
/// # Safety
///
/// `old` is null or points to room for a number.
unsafe fn set(
    new: c_int,
    yes: c_int,
    setting: fn(&mut Cancelability) -> &mut bool,
    old: *mut c_int,
    frame: &Frame,
) -> c_int {
    if new != 0 && new != yes {
        return libc::EINVAL;
    }
    spin::disturbed();
    let before = with_own(|own| mem::replace(setting(own), new == yes));
    if !old.is_null() {
        accesses::range(old as usize, size_of::<c_int>(), true, frame);
        // SAFETY: not null, so it points to room for a number, by this function's contract.
        unsafe { *old = c_int::from(before) };
    }
    0
}
