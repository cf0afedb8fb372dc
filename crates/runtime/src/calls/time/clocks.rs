//! What clocks show, in virtual time: see [`crate::run::times`].

use crate::{
    core::trampoline::Frame,
    outside_run, real,
    run::{accesses, operations::failed, world},
    shared::{
        deadlines::{CALENDAR, MICROSECOND, SECOND, beginning, look, to_timespec, unit_ns},
        process_identity::process as own_process,
    },
    trampoline,
};
use core::ffi::{c_int, c_long, c_void};
use libc::{clockid_t, time_t, timespec, timeval};

trampoline! {
    clock_gettime => clock_get_time, "rdx";
    clock_getres => clock_get_resolution, "rdx";
    gettimeofday => get_time_of_day, "rdx";
    time => seconds, "rsi";
    clock => processor_time, "rdi";
    clock_getcpuclockid => process_clock, "rdx";
    timespec_get => timespec_of, "rdx";
}

/// # Safety
///
/// As `clock_gettime`: `into` points to room for a time.
unsafe extern "C" fn clock_get_time(clock: clockid_t, into: *mut timespec, frame: &Frame) -> c_int {
    outside_run!(clock_gettime: fn(clock: clockid_t, into: *mut timespec) -> c_int);
    let Some(beginning) = beginning(clock) else {
        return failed(libc::EINVAL);
    };
    accesses::range(into as usize, size_of::<timespec>(), true, frame);
    let passed = match clock {
        libc::CLOCK_THREAD_CPUTIME_ID => world::borrow().look_at_own_clock(),
        _ => look(unit_ns(clock), frame),
    };
    let now = to_timespec(beginning + passed);
    // SAFETY: `into` points to room for the answer, by this function's contract.
    unsafe { *into = now };
    0
}

/// # Safety
///
/// As `clock_getres`: `into` is null or points to room for a time.
unsafe extern "C" fn clock_get_resolution(
    clock: clockid_t,
    into: *mut timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(clock_getres: fn(clock: clockid_t, into: *mut timespec) -> c_int);
    if beginning(clock).is_none() {
        return failed(libc::EINVAL);
    }
    if !into.is_null() {
        accesses::range(into as usize, size_of::<timespec>(), true, frame);
        // SAFETY: `into` points to room for the answer, by this function's contract.
        unsafe { *into = to_timespec(1) };
    }
    0
}

/// # Safety
///
/// As `gettimeofday`: `into` and `zone` are null or point to room for a time and for a zone.
unsafe extern "C" fn get_time_of_day(
    into: *mut timeval,
    zone: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() || into.is_null() {
        let real = real!(gettimeofday: fn(*mut timeval, *mut c_void) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(into, zone) };
    }
    let now = to_timespec(CALENDAR + look(MICROSECOND, frame));
    accesses::range(into as usize, size_of::<timeval>(), true, frame);
    // SAFETY: `into` points to room for the answer, by this function's contract.
    unsafe {
        *into = timeval {
            tv_sec: now.tv_sec,
            tv_usec: now.tv_nsec / 1000,
        };
    }
    0
}

/// # Safety
///
/// As `time`: `into` is null or points to room for a time.
unsafe extern "C" fn seconds(into: *mut time_t, frame: &Frame) -> time_t {
    outside_run!(time: fn(into: *mut time_t) -> time_t);
    let now = to_timespec(CALENDAR + look(SECOND, frame)).tv_sec;
    if !into.is_null() {
        accesses::range(into as usize, size_of::<time_t>(), true, frame);
        // SAFETY: `into` points to room for the answer, by this function's contract.
        unsafe { *into = now };
    }
    now
}

extern "C" fn processor_time(frame: &Frame) -> c_long {
    outside_run!(clock: fn() -> c_long);
    (look(MICROSECOND, frame) / MICROSECOND) as c_long
}

/// # Safety
///
/// As `clock_getcpuclockid`: `into` points to room for the id of a clock.
unsafe extern "C" fn process_clock(process: c_int, into: *mut clockid_t, frame: &Frame) -> c_int {
    outside_run!(clock_getcpuclockid: fn(process: c_int, into: *mut clockid_t) -> c_int);
    if process != 0 && process != own_process() {
        return libc::ESRCH;
    }
    accesses::range(into as usize, size_of::<clockid_t>(), true, frame);
    // SAFETY: `into` points to room for the answer, by this function's contract.
    unsafe { *into = libc::CLOCK_PROCESS_CPUTIME_ID };
    0
}

/// # Safety
///
/// As `timespec_get`: `into` points to room for a time.
unsafe extern "C" fn timespec_of(into: *mut timespec, base: c_int, frame: &Frame) -> c_int {
    const UTC: c_int = 1;
    if !world::active() || base != UTC {
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real!(timespec_get: fn(*mut timespec, c_int) -> c_int)(into, base) };
    }
    accesses::range(into as usize, size_of::<timespec>(), true, frame);
    let now = to_timespec(CALENDAR + look(1, frame));
    // SAFETY: `into` points to room for the answer, by this function's contract.
    unsafe { *into = now };
    base
}
