//! `pthread_cond_*`. A condition variable is its address: its waiters are in a queue of the rotation, and libc's own functions are not
//! called.

use super::{deadline, duration, field, mutexes};
use crate::{
    calls::threads,
    real,
    rotation::Woken,
    schedule::Op,
    turn::{Step, active, outside, synchronise},
};
use libc::{EBUSY, EINVAL, ETIMEDOUT, c_int, clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

/// Offset in `struct __pthread_cond_s`: the lowest bit says that processes share it, the next one which clock it uses.
const FLAGS: usize = 36;

/// # Safety
///
/// `condition` points to a condition variable.
unsafe fn shared(condition: *mut pthread_cond_t) -> bool {
    // SAFETY: a condition variable has 48 bytes, so the field is inside.
    unsafe { field(condition, FLAGS) & 1 != 0 }
}

/// Where a wait is.
enum Phase {
    Release,
    Wait,
    Acquire,
}

/// # Safety
///
/// As `pthread_cond_clockwait`; without a time it waits for ever.
unsafe fn wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: Option<(clockid_t, *const timespec)>,
) -> c_int {
    let op = if until.is_some() {
        Op::TimedWait
    } else {
        Op::Wait
    };
    let mut phase = Phase::Release;
    let mut result = 0;
    let mut cancelled = false;
    let result = synchronise(op, |turn| {
        // SAFETY: the caller passes a valid condition variable and a mutex that it holds.
        unsafe {
            match phase {
                Phase::Release if threads::cancelled(turn.me()) => {
                    cancelled = true;
                    return Step::Done(0);
                }
                Phase::Release => {
                    if until.is_some_and(|(_, until)| duration(until).is_none()) {
                        return Step::Done(EINVAL);
                    }
                    let released = mutexes::release(mutex);
                    if released != 0 {
                        return Step::Done(released);
                    }
                    turn.wake_one(mutex.addr());
                    phase = Phase::Wait;
                    let end = until.map(|(clock, until)| deadline(turn, clock, until));
                    return Step::Wait(condition.addr(), end);
                }
                Phase::Wait => {
                    match turn.woken() {
                        Some(Woken::TimedOut) => result = ETIMEDOUT,
                        Some(Woken::Cancelled) => cancelled = true,
                        _ => {}
                    }
                    phase = Phase::Acquire;
                }
                Phase::Acquire => {}
            }
            match mutexes::take(mutex) {
                EBUSY => Step::Wait(mutex.addr(), None),
                0 => Step::Done(result),
                error => Step::Done(error),
            }
        }
    });
    if cancelled {
        threads::test_cancel();
    }
    result
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    let real = real!(pthread_cond_wait: fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int);
    // SAFETY: the caller passes a valid condition variable and a mutex that it holds.
    unsafe {
        if !active() {
            return real(condition, mutex);
        }
        match shared(condition) {
            true => outside(|| real(condition, mutex)),
            false => wait(condition, mutex, None),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller's objects; a condition variable has 48 bytes.
    unsafe {
        let clock = match field(condition, FLAGS) & 2 {
            0 => libc::CLOCK_REALTIME,
            _ => libc::CLOCK_MONOTONIC,
        };
        pthread_cond_clockwait(condition, mutex, clock, until)
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let real = real!(pthread_cond_clockwait: fn(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec) -> c_int);
    // SAFETY: the caller passes a valid condition variable and a mutex that it holds.
    unsafe {
        if !active() {
            return real(condition, mutex, clock, until);
        }
        match shared(condition) {
            true => outside(|| real(condition, mutex, clock, until)),
            false => wait(condition, mutex, Some((clock, until))),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: the caller passes a valid condition variable, as libc's function requires.
    unsafe {
        if !active() || shared(condition) {
            return real!(pthread_cond_signal: fn(*mut pthread_cond_t) -> c_int)(condition);
        }
    }
    synchronise(Op::Signal, |turn| {
        turn.wake_one(condition.addr());
        Step::Done(0)
    })
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    // SAFETY: the caller passes a valid condition variable, as libc's function requires.
    unsafe {
        if !active() || shared(condition) {
            return real!(pthread_cond_broadcast: fn(*mut pthread_cond_t) -> c_int)(condition);
        }
    }
    synchronise(Op::Broadcast, |turn| {
        turn.wake_all(condition.addr());
        Step::Done(0)
    })
}
