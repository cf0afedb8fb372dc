//! The calls that are scheduled, a family a file. Each is libc's function of the same name with a turn around it; what it does to the
//! object is done by libc, with the variant that does not wait.
//!
//! Objects that several processes share are left to libc, outside of the rotation.

mod barriers;
mod c11;
mod conditions;
mod futexes;
mod hints;
mod mutexes;
mod once;
mod openmp;
mod outside;
mod rwlocks;
mod semaphores;
mod sleeps;
mod threads;

use crate::turn::{Deadline, Turn};
use core::time::Duration;

/// The end of a wait until a time on a clock.
///
/// # Safety
///
/// `until` points to a time.
unsafe fn deadline(
    turn: &Turn<'_>,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> Deadline {
    // SAFETY: the caller keeps the condition of this function.
    let until = unsafe { duration(until) }.unwrap_or_default();
    turn.deadline(until.saturating_sub(crate::clock::time_of(clock)))
}

/// A time as a length; `None` if it is none.
///
/// # Safety
///
/// `time` points to a time.
unsafe fn duration(time: *const libc::timespec) -> Option<Duration> {
    // SAFETY: the caller keeps the condition of this function.
    let libc::timespec { tv_sec, tv_nsec } = unsafe { *time };
    (0..1_000_000_000).contains(&tv_nsec).then(|| match tv_sec {
        ..0 => Duration::ZERO,
        _ => Duration::new(tv_sec as u64, tv_nsec as u32),
    })
}

/// A field of an object of glibc, whose layout is part of its binary interface.
///
/// # Safety
///
/// The object has at least `offset + 4` bytes and is aligned to 4.
unsafe fn field<T>(object: *const T, offset: usize) -> u32 {
    // SAFETY: by the condition above; other threads change the field with atomic operations only.
    unsafe {
        object
            .cast::<u8>()
            .add(offset)
            .cast::<u32>()
            .read_volatile()
    }
}

/// Sets errno and returns -1.
fn failed(errno: libc::c_int) -> libc::c_int {
    // SAFETY: errno is a variable of this thread, which is always there.
    unsafe { *libc::__errno_location() = errno };
    -1
}
