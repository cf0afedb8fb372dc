//! Calls that wait for signals: `sigwait` and its family, `sigsuspend`, `pause`. The waits are in [`crate::kernel::signals`].

use crate::{
    core::trampoline::Frame,
    kernel::signals::{self, take, take_any},
    outside_run,
    run::{accesses, call_sites, operations::failed},
    shared::deadlines::Deadline,
    trampoline,
};
use core::{ffi::c_int, mem::MaybeUninit};
use libc::{siginfo_t as Info, sigset_t as Set, timespec};

trampoline! {
    sigwait => wait, "rdx";
    sigwaitinfo => wait_informed, "rdx";
    sigtimedwait => wait_limited, "rcx";
    sigsuspend => suspend, "rsi";
    pause => pause_until_handled, "rdi";
}

/// The bits of a set of signals.
///
/// # Safety
///
/// `set` points to a `sigset_t`.
pub(super) unsafe fn bits(set: *const Set) -> u64 {
    // SAFETY: a set has at least eight bytes, which hold the 64 signals that the kernel has.
    unsafe { set.cast::<u64>().read() }
}

/// Writes which signal it is to where the program wants that, if it does.
///
/// # Safety
///
/// `info` is null or points to memory for a `siginfo_t`.
unsafe fn write_info(signal: c_int, info: *mut Info, frame: &Frame) {
    if info.is_null() {
        return;
    }
    accesses::range(info as usize, size_of::<Info>(), true, frame);
    // SAFETY: all zeros are a value of `siginfo_t`, which is made of numbers and pointers; `info` has room for one, by this
    // function's contract.
    unsafe {
        let mut written = MaybeUninit::<Info>::zeroed().assume_init();
        written.si_signo = signal;
        written.si_code = libc::SI_TKILL;
        info.write(written);
    }
}

/// # Safety
///
/// As `sigwait`: `set` and `signal` point to a set and to room for a number.
unsafe extern "C" fn wait(set: *const Set, signal: *mut c_int, frame: &Frame) -> c_int {
    outside_run!(sigwait: fn(set: *const Set, signal: *mut c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    // SAFETY: `set` points to a set, by this function's contract.
    let taken = take_any(unsafe { bits(set) }, site);
    accesses::range(signal as usize, size_of::<c_int>(), true, frame);
    // SAFETY: `signal` points to room for a number, by this function's contract.
    unsafe { *signal = taken };
    0
}

/// # Safety
///
/// As `sigwaitinfo`: `set` points to a set, `info` is null or points to room for the answer.
unsafe extern "C" fn wait_informed(set: *const Set, info: *mut Info, frame: &Frame) -> c_int {
    outside_run!(sigwaitinfo: fn(set: *const Set, info: *mut Info) -> c_int);
    let site = call_sites::site(&frame.return_address);
    // SAFETY: `set` and `info` are what `bits` and `write_info` ask for, by this function's contract.
    unsafe {
        let taken = take_any(bits(set), site);
        write_info(taken, info, frame);
        taken
    }
}

/// # Safety
///
/// As `sigtimedwait`: `set` points to a set, `info` and `limit` are null or point to room for the answer and to a time.
unsafe extern "C" fn wait_limited(
    set: *const Set,
    info: *mut Info,
    limit: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(sigtimedwait: fn(set: *const Set, info: *mut Info, limit: *const timespec) -> c_int);
    if limit.is_null() {
        // SAFETY: `set` and `info` are what `sigwaitinfo` asks for too.
        return unsafe { wait_informed(set, info, frame) };
    }
    let site = call_sites::site(&frame.return_address);
    // SAFETY: `limit` is not null, so it points to a time, by this function's contract.
    let Some(until) = (unsafe { Deadline::after(limit) }) else {
        return failed(libc::EINVAL);
    };
    // SAFETY: `set` and `info` are what `bits` and `write_info` ask for, by this function's contract.
    unsafe {
        let Some(taken) = take(bits(set), Some(until), site) else {
            return failed(libc::EAGAIN);
        };
        write_info(taken, info, frame);
        taken
    }
}

/// # Safety
///
/// As `sigsuspend`: `mask` points to a set.
unsafe extern "C" fn suspend(mask: *const Set, frame: &Frame) -> c_int {
    outside_run!(sigsuspend: fn(mask: *const Set) -> c_int);
    let site = call_sites::site(&frame.return_address);
    // SAFETY: `mask` points to a set, by this function's contract.
    let mask = unsafe { bits(mask) };
    signals::suspend(mask, site);
    failed(libc::EINTR)
}

/// What is blocked stays blocked. A signal that another thread sends without that is refused where it is sent.
extern "C" fn pause_until_handled(frame: &Frame) -> c_int {
    outside_run!(pause: fn() -> c_int);
    let site = call_sites::site(&frame.return_address);
    signals::suspend(signals::blocked(), site);
    failed(libc::EINTR)
}
