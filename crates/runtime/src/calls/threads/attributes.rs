//! Clocks of threads.

use crate::{
    core::trampoline::Frame,
    outside_run,
    run::{accesses, call_sites, world},
    trampoline,
};
use core::ffi::c_int;
use libc::{clockid_t as Clock, pthread_t as Handle};

trampoline! {
    pthread_getcpuclockid => clock_of, "rdx";
}

/// The time that a thread has used is its own virtual time, which no other thread can look at.
///
/// # Safety
///
/// As `pthread_getcpuclockid`: `clock` points to room for the id of a clock.
unsafe extern "C" fn clock_of(handle: Handle, clock: *mut Clock, frame: &Frame) -> c_int {
    outside_run!(pthread_getcpuclockid: fn(handle: Handle, clock: *mut Clock) -> c_int);
    let own_handle = world::borrow().me().handle;
    if own_handle != handle as usize {
        let site = call_sites::site(&frame.return_address);
        world::unsupported("pthread_getcpuclockid of another thread", site);
    }
    accesses::range(clock as usize, size_of::<Clock>(), true, frame);
    // SAFETY: `clock` points to room for the id of a clock, by this function's contract.
    unsafe { *clock = libc::CLOCK_THREAD_CPUTIME_ID };
    0
}
