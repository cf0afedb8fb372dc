//! Calls that end the process or fail: `exit` and its family, `abort`, failed assertions and checks. What the end of the process
//! means is in [`crate::run::process_end`].

use crate::{
    calls::process::exit_handlers,
    core::{modules, trampoline::Frame},
    kernel::signals,
    leave_outside_run,
    run::{
        call_sites,
        process_end::{self, claim, fail, stay},
    },
    shared::{c_text::text, exceptions},
    trampoline,
};
use alloc::format;
use core::{
    ffi::{c_char, c_int},
    ptr,
};
use reweave_model::Kind;

trampoline! {
    exit => ordinary_exit, "rsi";
    _exit => exit_at_once, "rsi";
    _Exit => exit_at_once, "rsi";
    quick_exit => exit_quickly, "rsi";
    abort => aborted, "rdi";
    __assert_fail => assert_fail, "r8";
    __assert_perror_fail => assert_perror_fail, "r8";
    __assert => assert, "rcx";
    __stack_chk_fail => stack_smashed, "rdi";
    __chk_fail => overflow, "rdi";
}

type Text = *const c_char;

extern "C" fn ordinary_exit(status: c_int, frame: &Frame) -> ! {
    process_end::exit(status, frame)
}

extern "C" fn exit_at_once(status: c_int, frame: &Frame) -> ! {
    leave_outside_run!(_exit: fn(status: c_int));
    let site = modules::site(frame.return_address);
    claim(status, site, Some(frame));
    stay(site)
}

extern "C" fn exit_quickly(status: c_int, frame: &Frame) -> ! {
    leave_outside_run!(quick_exit: fn(status: c_int));
    let site = modules::site(frame.return_address);
    claim(status, site, Some(frame));
    exit_handlers::run_quick(status, site);
    stay(site)
}

extern "C" fn aborted(frame: &Frame) -> ! {
    leave_outside_run!(abort: fn());
    let site = call_sites::site(&frame.return_address);
    let by_library = modules::is_library(frame.return_address);
    if by_library {
        exceptions::terminate(site);
    }
    signals::before_abort(site);
    fail(Kind::Assertion, "abort was called".into(), site)
}

/// # Safety
///
/// As `__assert_fail`: `claim`, `file` and `function` are null or end with a nul.
unsafe extern "C" fn assert_fail(
    claim: Text,
    file: Text,
    line: u32,
    function: Text,
    frame: &Frame,
) -> ! {
    leave_outside_run!(__assert_fail: fn(claim: Text, file: Text, line: u32, function: Text));
    // SAFETY: `claim` is null or ends with a nul, by this function's contract.
    let claim = unsafe { text(claim) };
    let site = call_sites::site(&frame.return_address);
    fail(Kind::Assertion, format!("assertion `{claim}` failed"), site)
}

/// # Safety
///
/// As `__assert_perror_fail`: `file` and `function` are null or end with a nul.
unsafe extern "C" fn assert_perror_fail(
    number: c_int,
    file: Text,
    line: u32,
    function: Text,
    frame: &Frame,
) -> ! {
    leave_outside_run!(__assert_perror_fail: fn(number: c_int, file: Text, line: u32, function: Text));
    let site = call_sites::site(&frame.return_address);
    let message = format!("assertion failed: error number {number}");
    fail(Kind::Assertion, message, site)
}

/// # Safety
///
/// As `__assert`: `claim` and `file` are null or end with a nul.
unsafe extern "C" fn assert(claim: Text, file: Text, line: c_int, frame: &Frame) -> ! {
    // SAFETY: the same texts, under the same contract, and no name of a function.
    unsafe { assert_fail(claim, file, line as u32, ptr::null(), frame) }
}

extern "C" fn stack_smashed(frame: &Frame) -> ! {
    leave_outside_run!(__stack_chk_fail: fn());
    let site = call_sites::site(&frame.return_address);
    let message = "a function wrote past its variables on the stack";
    fail(Kind::Assertion, message.into(), site)
}

extern "C" fn overflow(frame: &Frame) -> ! {
    leave_outside_run!(__chk_fail: fn());
    let site = call_sites::site(&frame.return_address);
    fail(Kind::Assertion, "buffer overflow".into(), site)
}
