//! `pthread_mutex_*` and spin locks.

use super::{deadline, field};
use crate::{
    real,
    schedule::Op,
    turn::{Step, active, outside, synchronise},
};
use libc::{
    EBUSY, EDEADLK, EINVAL, ETIMEDOUT, c_int, clockid_t, pthread_mutex_t, pthread_spinlock_t,
    timespec,
};

/// Offsets in `struct __pthread_mutex_s`.
const OWNER: usize = 8;
const KIND: usize = 16;
const SHARED: u32 = 128;
const ERROR_CHECKING: u32 = 2;

/// Whether other processes may use the mutex.
///
/// # Safety
///
/// `mutex` points to a mutex.
unsafe fn shared(mutex: *mut pthread_mutex_t) -> bool {
    // SAFETY: a mutex has 40 bytes, so the field is inside.
    unsafe { field(mutex, KIND) & SHARED != 0 }
}

/// Takes a mutex if it is free. `EBUSY`: it is not, and waiting for it makes sense.
///
/// # Safety
///
/// `mutex` points to a mutex.
pub(super) unsafe fn take(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: by the condition above; a mutex has 40 bytes.
    unsafe {
        let taken = real!(pthread_mutex_trylock: fn(*mut pthread_mutex_t) -> c_int)(mutex);
        let own = || field(mutex, OWNER) == libc::gettid() as u32;
        match taken {
            EBUSY if field(mutex, KIND) & 3 == ERROR_CHECKING && own() => EDEADLK,
            taken => taken,
        }
    }
}

/// Releases a mutex.
///
/// # Safety
///
/// `mutex` points to a mutex.
pub(super) unsafe fn release(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller keeps the condition of this function.
    unsafe { real!(pthread_mutex_unlock: fn(*mut pthread_mutex_t) -> c_int)(mutex) }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    let lock = real!(pthread_mutex_lock: fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: the caller passes a valid mutex, as libc's function requires.
    unsafe {
        if !active() {
            return lock(mutex);
        }
        if shared(mutex) {
            return outside(|| lock(mutex));
        }
        synchronise(Op::Lock, |_| match take(mutex) {
            EBUSY => Step::Wait(mutex.addr(), None),
            taken => Step::Done(taken),
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    let lock = real!(pthread_mutex_trylock: fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: the caller passes a valid mutex, as libc's function requires.
    unsafe {
        match active() && !shared(mutex) {
            true => synchronise(Op::TryLock, |_| Step::Done(lock(mutex))),
            false => lock(mutex),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller passes a valid mutex and a valid time.
    unsafe { pthread_mutex_clocklock(mutex, libc::CLOCK_REALTIME, until) }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    let lock = real!(pthread_mutex_clocklock: fn(*mut pthread_mutex_t, clockid_t, *const timespec) -> c_int);
    // SAFETY: the caller passes a valid mutex and a valid time.
    unsafe {
        if !active() {
            return lock(mutex, clock, until);
        }
        if shared(mutex) {
            return outside(|| lock(mutex, clock, until));
        }
        let mut end = None;
        synchronise(Op::TimedLock, |turn| match take(mutex) {
            EBUSY if super::duration(until).is_none() => Step::Done(EINVAL),
            EBUSY if turn.woken() == Some(crate::rotation::Woken::TimedOut) => {
                Step::Done(ETIMEDOUT)
            }
            EBUSY => Step::Wait(
                mutex.addr(),
                Some(*end.get_or_insert_with(|| deadline(turn, clock, until))),
            ),
            taken => Step::Done(taken),
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller passes a valid mutex, as libc's function requires.
    unsafe {
        if !active() || shared(mutex) {
            return release(mutex);
        }
        synchronise(Op::Unlock, |turn| {
            let released = release(mutex);
            if released == 0 {
                turn.wake_one(mutex.addr());
            }
            Step::Done(released)
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    // SAFETY: the caller passes a valid lock, as the library's function requires.
    unsafe {
        if !active() {
            return real!(pthread_spin_lock: fn(*mut pthread_spinlock_t) -> c_int)(lock);
        }
        synchronise(Op::Lock, |_| {
            match real!(pthread_spin_trylock: fn(*mut pthread_spinlock_t) -> c_int)(lock) {
                EBUSY => Step::Wait(lock.addr(), None),
                taken => Step::Done(taken),
            }
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int {
    let take = real!(pthread_spin_trylock: fn(*mut pthread_spinlock_t) -> c_int);
    // SAFETY: the caller passes a valid lock, as the library's function requires.
    unsafe {
        match active() {
            true => synchronise(Op::TryLock, |_| Step::Done(take(lock))),
            false => take(lock),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_spin_unlock(lock: *mut pthread_spinlock_t) -> c_int {
    let release = real!(pthread_spin_unlock: fn(*mut pthread_spinlock_t) -> c_int);
    // SAFETY: the caller passes a valid lock, as the library's function requires.
    unsafe {
        if !active() {
            return release(lock);
        }
        synchronise(Op::Unlock, |turn| {
            let released = release(lock);
            turn.wake_one(lock.addr());
            Step::Done(released)
        })
    }
}
