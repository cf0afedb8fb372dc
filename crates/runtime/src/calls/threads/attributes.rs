//! Attributes of threads and objects. They are libc's own business, but for what no checker of one process can promise.

use crate::{
    core::{call_sites, world},
    hooks::{Frame, accesses, passed_calls::passes},
    real, trampoline,
};
use alloc::format;
use core::ffi::{CStr, c_int};
use libc::{clockid_t as Clock, pthread_t as Handle};
use reweave_model::Site;

passes! {
    pthread_mutexattr_setpshared => sharing;
    pthread_condattr_setpshared => sharing;
    pthread_rwlockattr_setpshared => sharing;
    pthread_barrierattr_setpshared => sharing;
}

trampoline! {
    pthread_getcpuclockid => clock_of, "rdx";
}

fn sharing(call: &'static CStr, arguments: &[usize; 6], from: &usize) {
    if arguments[1] as c_int == libc::PTHREAD_PROCESS_SHARED {
        shared(call, call_sites::site(from));
    }
}

/// An object is to be shared with other processes.
pub fn shared(call: &'static CStr, site: Site) -> ! {
    let call = call.to_str().unwrap_or("?");
    let call = format!("{call} for several processes");
    world::get().unsupported(&call, site)
}

/// The time that a thread has used is its own virtual time, which nobody else can look at.
unsafe extern "C" fn clock_of(handle: Handle, clock: *mut Clock, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_getcpuclockid: fn(Handle, *mut Clock) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, clock) };
    }
    let world = world::get();
    if world.me().handle != handle as usize {
        let site = call_sites::site(&frame.return_address);
        world.unsupported("pthread_getcpuclockid of another thread", site);
    }
    accesses::range(clock as usize, size_of::<Clock>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { *clock = libc::CLOCK_THREAD_CPUTIME_ID };
    0
}
