//! How library calls perform operations, report misuse and fail.

use crate::{
    core::modules,
    run::{
        call_sites,
        world::{self, perform},
    },
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
    let site = match modules::is_program(site) {
        true => site,
        false => call_sites::here(),
    };
    world::borrow().error_about(Kind::Misuse, Some(rule), message.into(), &[site], address);
    world::freeze(site)
}

/// What a call that sets `errno` returns when it fails.
pub(crate) fn failed(error: core::ffi::c_int) -> core::ffi::c_int {
    // SAFETY: libc returns the address of the running thread's own `errno`.
    unsafe { *libc::__errno_location() = error };
    -1
}
