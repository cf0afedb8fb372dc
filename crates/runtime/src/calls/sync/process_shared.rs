//! Synchronisation objects that are to be shared with other processes, which is not supported.

use crate::{
    kernel::passed_calls::passes,
    run::{call_sites, world},
};
use alloc::format;
use core::ffi::{CStr, c_int};
use reweave_model::Site;

passes! {
    pthread_mutexattr_setpshared => set_sharing;
    pthread_condattr_setpshared => set_sharing;
    pthread_rwlockattr_setpshared => set_sharing;
    pthread_barrierattr_setpshared => set_sharing;
}

fn set_sharing(call: &'static CStr, arguments: &[usize; 6], from: &usize) {
    if arguments[1] as c_int == libc::PTHREAD_PROCESS_SHARED {
        unsupported(call, call_sites::site(from));
    }
}

/// A call makes an object that is to be shared with other processes.
pub fn unsupported(call: &'static CStr, site: Site) -> ! {
    let call = call.to_str().unwrap_or("?");
    let call = format!("{call} for several processes");
    world::unsupported(&call, site)
}
