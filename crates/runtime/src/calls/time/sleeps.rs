//! Sleeping and yielding, in virtual time. Which thread runs next is never a matter of these calls.

use crate::{
    core::trampoline::Frame,
    outside_run,
    run::{cancellation, operations::failed, world},
    shared::deadlines::{self, SECOND, beginning, to_ns},
    trampoline,
};
use core::ffi::{c_int, c_uint};
use libc::{clockid_t, timespec};

trampoline! {
    nanosleep => nano_sleep, "rdx";
    clock_nanosleep => clock_nano_sleep, "r8";
    usleep => micro_sleep, "rsi";
    sleep => second_sleep, "rsi";
    thrd_sleep => c11_sleep, "rdx";
    sched_yield => give_way, "rdi";
    pthread_yield => give_way, "rdi";
    thrd_yield => c11_give_way, "rdi";
}

/// Sleeps so long; an error number.
///
/// # Safety
///
/// `time` points to a time.
unsafe fn sleep_for(time: *const timespec, frame: &Frame) -> c_int {
    // SAFETY: `time` points to a time, by this function's contract.
    match to_ns(unsafe { deadlines::read(time, Some(frame)) }) {
        Some(ns) => {
            deadlines::sleep(ns, frame);
            0
        }
        None => libc::EINVAL,
    }
}

/// # Safety
///
/// As `nanosleep`: `time` points to a time, `left` is null or points to room for one.
unsafe extern "C" fn nano_sleep(
    time: *const timespec,
    left: *mut timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(nanosleep: fn(time: *const timespec, left: *mut timespec) -> c_int);
    cancellation::point(frame);
    // SAFETY: `time` points to a time, by this function's contract.
    match unsafe { sleep_for(time, frame) } {
        0 => 0,
        error => failed(error),
    }
}

/// # Safety
///
/// As `clock_nanosleep`: `time` points to a time, `left` is null or points to room for one.
unsafe extern "C" fn clock_nano_sleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(clock_nanosleep: fn(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int);
    let Some(beginning) = beginning(clock).filter(|_| clock != libc::CLOCK_THREAD_CPUTIME_ID)
    else {
        return libc::EINVAL;
    };
    cancellation::point(frame);
    if flags & libc::TIMER_ABSTIME == 0 {
        // SAFETY: `time` points to a time, by this function's contract.
        return unsafe { sleep_for(time, frame) };
    }
    // SAFETY: `time` points to a time, by this function's contract.
    match to_ns(unsafe { deadlines::read(time, Some(frame)) }) {
        Some(ns) => {
            let now = world::borrow().time_ns();
            deadlines::sleep(ns.saturating_sub(beginning).saturating_sub(now), frame);
            0
        }
        None => libc::EINVAL,
    }
}

extern "C" fn micro_sleep(microseconds: c_uint, frame: &Frame) -> c_int {
    outside_run!(usleep: fn(microseconds: c_uint) -> c_int);
    cancellation::point(frame);
    deadlines::sleep(u64::from(microseconds) * 1000, frame);
    0
}

extern "C" fn second_sleep(seconds: c_uint, frame: &Frame) -> c_uint {
    outside_run!(sleep: fn(seconds: c_uint) -> c_uint);
    cancellation::point(frame);
    deadlines::sleep(u64::from(seconds) * SECOND, frame);
    0
}

/// # Safety
///
/// As `thrd_sleep`: `time` points to a time, `left` is null or points to room for one.
unsafe extern "C" fn c11_sleep(time: *const timespec, left: *mut timespec, frame: &Frame) -> c_int {
    outside_run!(thrd_sleep: fn(time: *const timespec, left: *mut timespec) -> c_int);
    // SAFETY: `nanosleep` has this function's contract.
    match unsafe { nano_sleep(time, left, frame) } {
        0 => 0,
        _ => -2,
    }
}

extern "C" fn give_way(frame: &Frame) -> c_int {
    outside_run!(sched_yield: fn() -> c_int);
    deadlines::sleep(0, frame);
    0
}

extern "C" fn c11_give_way(frame: &Frame) {
    give_way(frame);
}
