//! `sem_*`. A post is allowed in signal handlers, and may interrupt a step of its own thread.

use super::{deadline, duration, failed, field};
use crate::{
    calls::threads,
    real,
    rotation::Woken,
    schedule::Op,
    turn::{Step, active, outside, post_later, synchronise},
};
use libc::{EINVAL, ETIMEDOUT, c_int, clockid_t, sem_t, timespec};

/// Offset in `struct new_sem`: not 0 if processes share it.
const SHARED: usize = 8;

/// # Safety
///
/// `semaphore` points to a semaphore.
unsafe fn shared(semaphore: *mut sem_t) -> bool {
    // SAFETY: a semaphore has 32 bytes, so the field is inside.
    unsafe { field(semaphore, SHARED) != 0 }
}

/// # Safety
///
/// `semaphore` points to a semaphore, `until` to a time.
unsafe fn wait(semaphore: *mut sem_t, until: Option<(clockid_t, *const timespec)>) -> c_int {
    let op = if until.is_some() {
        Op::SemTimedWait
    } else {
        Op::SemWait
    };
    let take = real!(sem_trywait: fn(*mut sem_t) -> c_int);
    let mut end = None;
    loop {
        let result = synchronise(op, |turn| {
            if threads::cancelled(turn.me()) {
                return Step::Done(None);
            }
            // SAFETY: the caller keeps the conditions of this function.
            unsafe {
                if take(semaphore) == 0 {
                    return Step::Done(Some(0));
                }
                match turn.woken() {
                    Some(Woken::TimedOut) => return Step::Done(Some(ETIMEDOUT)),
                    Some(Woken::Cancelled) => return Step::Done(None),
                    _ => {}
                }
                if let (Some((clock, until)), None) = (until, end) {
                    if duration(until).is_none() {
                        return Step::Done(Some(EINVAL));
                    }
                    end = Some(deadline(turn, clock, until));
                }
            }
            Step::Wait(semaphore.addr(), end)
        });
        match result {
            Some(0) => return 0,
            Some(error) => return failed(error),
            None => threads::test_cancel(),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    let real = real!(sem_wait: fn(*mut sem_t) -> c_int);
    // SAFETY: the caller passes a valid semaphore, as libc's function requires.
    unsafe {
        if !active() {
            return real(semaphore);
        }
        match shared(semaphore) {
            true => outside(|| real(semaphore)),
            false => wait(semaphore, None),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_timedwait(
    semaphore: *mut sem_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller passes a valid semaphore and a valid time.
    unsafe { sem_clockwait(semaphore, libc::CLOCK_REALTIME, until) }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let real = real!(sem_clockwait: fn(*mut sem_t, clockid_t, *const timespec) -> c_int);
    // SAFETY: the caller passes a valid semaphore and a valid time.
    unsafe {
        if !active() {
            return real(semaphore, clock, until);
        }
        match shared(semaphore) {
            true => outside(|| real(semaphore, clock, until)),
            false => wait(semaphore, Some((clock, until))),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_trywait(semaphore: *mut sem_t) -> c_int {
    let real = real!(sem_trywait: fn(*mut sem_t) -> c_int);
    // SAFETY: the caller passes a valid semaphore, as libc's function requires.
    unsafe {
        match active() && !shared(semaphore) {
            true => synchronise(Op::SemTryWait, |_| Step::Done(real(semaphore))),
            false => real(semaphore),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_post(semaphore: *mut sem_t) -> c_int {
    let post = real!(sem_post: fn(*mut sem_t) -> c_int);
    // SAFETY: the caller passes a valid semaphore, as libc's function requires.
    unsafe {
        if shared(semaphore) {
            return post(semaphore);
        }
        if !active() {
            let posted = post(semaphore);
            post_later(semaphore.addr());
            return posted;
        }
        synchronise(Op::SemPost, |turn| {
            let posted = post(semaphore);
            if posted == 0 {
                turn.wake_one(semaphore.addr());
            }
            Step::Done(posted)
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int {
    let real = real!(sem_getvalue: fn(*mut sem_t, *mut c_int) -> c_int);
    // SAFETY: the caller passes a valid semaphore and a place for its value.
    unsafe {
        match active() && !shared(semaphore) {
            true => synchronise(Op::SemValue, |_| Step::Done(real(semaphore, value))),
            false => real(semaphore, value),
        }
    }
}
