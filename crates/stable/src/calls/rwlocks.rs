//! `pthread_rwlock_*`.

use super::{deadline, duration, field};
use crate::{
    real,
    rotation::Woken,
    schedule::Op,
    turn::{Step, active, outside, synchronise},
};
use libc::{EBUSY, EDEADLK, EINVAL, ETIMEDOUT, c_int, clockid_t, pthread_rwlock_t, timespec};

/// Offsets in `struct __pthread_rwlock_arch_t`.
const WRITER: usize = 24;
const SHARED: usize = 28;

/// # Safety
///
/// `lock` points to a read-write lock.
unsafe fn scheduled(lock: *mut pthread_rwlock_t) -> bool {
    // SAFETY: a read-write lock has 56 bytes, so the field is inside.
    active() && unsafe { field(lock, SHARED) == 0 }
}

/// # Safety
///
/// `lock` points to a read-write lock.
unsafe fn take(lock: *mut pthread_rwlock_t, write: bool) -> c_int {
    // SAFETY: the caller keeps the condition of this function.
    unsafe {
        let taken = match write {
            true => real!(pthread_rwlock_trywrlock: fn(*mut pthread_rwlock_t) -> c_int)(lock),
            false => real!(pthread_rwlock_tryrdlock: fn(*mut pthread_rwlock_t) -> c_int)(lock),
        };
        match taken {
            EBUSY if field(lock, WRITER) == libc::gettid() as u32 => EDEADLK,
            taken => taken,
        }
    }
}

/// # Safety
///
/// `lock` points to a read-write lock, `until` to a time.
unsafe fn acquire(
    lock: *mut pthread_rwlock_t,
    write: bool,
    until: Option<(clockid_t, *const timespec)>,
) -> c_int {
    let op = if write { Op::WriteLock } else { Op::ReadLock };
    let mut end = None;
    synchronise(op, |turn| {
        // SAFETY: the caller keeps the conditions of this function.
        unsafe {
            match take(lock, write) {
                EBUSY if turn.woken() == Some(Woken::TimedOut) => Step::Done(ETIMEDOUT),
                EBUSY => {
                    if let (Some((clock, until)), None) = (until, end) {
                        if duration(until).is_none() {
                            return Step::Done(EINVAL);
                        }
                        end = Some(deadline(turn, clock, until));
                    }
                    Step::Wait(lock.addr(), end)
                }
                taken => Step::Done(taken),
            }
        }
    })
}

macro_rules! locks {
    ($($name:ident $clock:ident $timed:ident $try_name:ident $try_op:ident $write:literal),*) => { $(
        /// # Safety
        ///
        /// As libc's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name(lock: *mut pthread_rwlock_t) -> c_int {
            let real = real!($name: fn(*mut pthread_rwlock_t) -> c_int);
            // SAFETY: the caller passes a valid lock, as the library's function requires.
            unsafe {
                match (scheduled(lock), active()) {
                    (true, _) => acquire(lock, $write, None),
                    (false, true) => outside(|| real(lock)),
                    (false, false) => real(lock),
                }
            }
        }

        /// # Safety
        ///
        /// As libc's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $clock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int {
            let real = real!($clock: fn(*mut pthread_rwlock_t, clockid_t, *const timespec) -> c_int);
            // SAFETY: the caller passes a valid lock and a valid time.
            unsafe {
                match (scheduled(lock), active()) {
                    (true, _) => acquire(lock, $write, Some((clock, until))),
                    (false, true) => outside(|| real(lock, clock, until)),
                    (false, false) => real(lock, clock, until),
                }
            }
        }

        /// # Safety
        ///
        /// As libc's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $timed(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int {
            // SAFETY: the caller passes a valid lock and a valid time.
            unsafe { $clock(lock, libc::CLOCK_REALTIME, until) }
        }

        /// # Safety
        ///
        /// As libc's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $try_name(lock: *mut pthread_rwlock_t) -> c_int {
            let real = real!($try_name: fn(*mut pthread_rwlock_t) -> c_int);
            // SAFETY: the caller passes a valid lock, as the library's function requires.
            unsafe {
                match scheduled(lock) {
                    true => synchronise(Op::$try_op, |_| Step::Done(real(lock))),
                    false => real(lock),
                }
            }
        }
    )* };
}

locks! {
    pthread_rwlock_rdlock pthread_rwlock_clockrdlock pthread_rwlock_timedrdlock pthread_rwlock_tryrdlock TryReadLock false,
    pthread_rwlock_wrlock pthread_rwlock_clockwrlock pthread_rwlock_timedwrlock pthread_rwlock_trywrlock TryWriteLock true
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    let release = real!(pthread_rwlock_unlock: fn(*mut pthread_rwlock_t) -> c_int);
    // SAFETY: the caller passes a valid lock, as the library's function requires.
    unsafe {
        if !scheduled(lock) {
            return release(lock);
        }
        synchronise(Op::RwUnlock, |turn| {
            let released = release(lock);
            turn.wake_all(lock.addr());
            Step::Done(released)
        })
    }
}
