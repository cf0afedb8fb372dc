//! How library calls perform operations, report misuse and fail.

use crate::core::{
    call_sites,
    world::{self, perform},
};
use reweave_model::{Gate, Kind, Op, Order, Site};

/// An operation of a library call.
pub(crate) fn visible(op: Op, site: Site) -> world::Done {
    perform(op, Gate::Open, site, Order::SeqCst, None)
}

/// Wrong use of the object at an address: an error. What happens next is anybody's guess, so the thread goes no further.
#[cold]
pub(crate) fn misuse(rule: &str, message: &str, address: usize, site: Site) -> ! {
    // C++'s library calls for the program.
    let site = match world::get().is_program(site) {
        true => site,
        false => call_sites::here(),
    };
    let world = world::get();
    world.error_about(Kind::Misuse, Some(rule), message.into(), &[site], address);
    world.freeze(site)
}

/// What a call that sets `errno` returns when it fails.
pub(crate) fn failed(error: core::ffi::c_int) -> core::ffi::c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}
