//! The interface for test drivers: `reweave.h`, and the names of the software-verification competition.

use crate::{
    core::{modules, trampoline::Frame},
    hooks::atomic_sections,
    leave_outside_run,
    run::{operations::visible, process_end, world},
    shared::c_text,
    trampoline,
};
use core::ffi::{c_char, c_int, c_uint};
use reweave_model::{Kind, Op, Site};

trampoline! {
    reweave_assume => assume, "rsi";
    reweave_any => any, "rsi";
    reweave_check => check, "rdx";
    __VERIFIER_assume => assume_int, "rsi";
    __VERIFIER_nondet_bool => any_bool, "rdi";
    __VERIFIER_nondet__Bool => any_bool, "rdi";
    __VERIFIER_error => reached, "rdi";
    reach_error => reached, "rdi";
    __VERIFIER_atomic_begin => begin, "rdi";
    __VERIFIER_atomic_end => end, "rdi";
}

fn site(frame: &Frame) -> Site {
    modules::site(frame.return_address)
}

extern "C" fn assume(holds: bool, frame: &Frame) {
    if holds {
        return;
    }
    let status = 0;
    leave_outside_run!(_exit: fn(status: c_int));
    world::freeze(site(frame));
}

extern "C" fn assume_int(holds: c_int, frame: &Frame) {
    assume(holds != 0, frame)
}

/// The most values that a choice can be from.
const MOST: c_uint = u16::MAX as c_uint;

extern "C" fn any(n: c_uint, frame: &Frame) -> c_uint {
    if n == 0 {
        assume(false, frame);
    }
    if n <= 1 || !world::active() {
        return 0;
    }
    let site = site(frame);
    if n > MOST {
        world::unsupported("reweave_any with more than 65535 values", site);
    }
    visible(Op::Any(n), site).result as c_uint
}

extern "C" fn any_bool(frame: &Frame) -> bool {
    any(2, frame) != 0
}

/// # Safety
///
/// As `reweave_check`: `message` is null or a C string.
unsafe extern "C" fn check(holds: bool, message: *const c_char, frame: &Frame) {
    if holds {
        return;
    }
    leave_outside_run!(abort: fn());
    // SAFETY: `message` is null or a C string, by this function's contract.
    let message = unsafe { c_text::text(message) }.into_owned();
    process_end::fail(Kind::Assertion, message, site(frame))
}

extern "C" fn reached(frame: &Frame) {
    leave_outside_run!(abort: fn());
    process_end::fail(Kind::Assertion, "the error was reached".into(), site(frame))
}

extern "C" fn begin(frame: &Frame) {
    if world::active() {
        atomic_sections::enter(site(frame));
    }
}

extern "C" fn end(frame: &Frame) {
    if world::active() {
        atomic_sections::leave(site(frame));
    }
}
