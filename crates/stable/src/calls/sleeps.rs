//! Sleeps: waits that only time ends. They last as long as natively, and end after a number of turns that does not depend on the clock.

use super::{duration, failed};
use crate::{
    calls::threads,
    real,
    schedule::Op,
    turn::{self, Step, active, synchronise},
};
use core::time::Duration;
use libc::{EINVAL, c_int, c_uint, clockid_t, timespec};

/// What sleeping threads wait for; nothing wakes it.
static SLEEP: u64 = 0;

fn sleep_for(time: Duration) {
    let mut began = false;
    synchronise(Op::Sleep, |turn| {
        if began || time.is_zero() || threads::cancelled(turn.me()) {
            return Step::Done(());
        }
        began = true;
        Step::Wait(
            core::ptr::from_ref(&SLEEP).addr(),
            Some(turn.deadline(time)),
        )
    });
    if threads::cancelled(crate::rotation::Member::of(turn::number())) {
        threads::test_cancel();
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller passes valid times, as libc's function requires.
    unsafe {
        if !active() {
            return real!(nanosleep: fn(*const timespec, *mut timespec) -> c_int)(time, left);
        }
        match duration(time) {
            Some(time) => sleep_for(time),
            None => return failed(EINVAL),
        }
    }
    0
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    // SAFETY: the caller passes valid times, as libc's function requires.
    unsafe {
        if !active() {
            return real!(clock_nanosleep: fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int)(
                clock, flags, time, left,
            );
        }
        let Some(time) = duration(time) else {
            return EINVAL;
        };
        match flags & libc::TIMER_ABSTIME {
            0 => sleep_for(time),
            _ => sleep_for(time.saturating_sub(crate::clock::time_of(clock))),
        }
    }
    0
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn usleep(time_us: c_uint) -> c_int {
    match active() {
        true => sleep_for(Duration::from_micros(u64::from(time_us))),
        // SAFETY: the call takes no pointers and has no conditions.
        false => return unsafe { real!(usleep: fn(c_uint) -> c_int)(time_us) },
    }
    0
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sleep(time_s: c_uint) -> c_uint {
    match active() {
        true => sleep_for(Duration::from_secs(u64::from(time_s))),
        // SAFETY: the call takes no pointers and has no conditions.
        false => return unsafe { real!(sleep: fn(c_uint) -> c_uint)(time_s) },
    }
    0
}
