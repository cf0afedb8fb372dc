//! `syscall`: programs and libraries that wait for memory by futexes (Rust's std, `std::atomic::wait`).
//!
//! Futexes that processes share, and operations other than plain waits and wakes, are left to the kernel, outside of the rotation.

use super::{duration, failed};
use crate::{
    real,
    rotation::Woken,
    schedule::Op,
    turn::{Step, active, outside, synchronise, time_of},
};
use libc::{EAGAIN, EINTR, EINVAL, ETIMEDOUT, c_int, c_long, timespec};

const CLOCK_REALTIME: usize = libc::FUTEX_CLOCK_REALTIME as usize;
const PRIVATE: usize = libc::FUTEX_PRIVATE_FLAG as usize;
const WAIT: usize = libc::FUTEX_WAIT as usize;
const WAKE: usize = libc::FUTEX_WAKE as usize;
const WAIT_BITSET: usize = libc::FUTEX_WAIT_BITSET as usize;
const WAKE_BITSET: usize = libc::FUTEX_WAKE_BITSET as usize;
const ALL_BITS: usize = u32::MAX as usize;

/// # Safety
///
/// As the system call.
unsafe fn wait(
    word: *const u32,
    value: u32,
    time: *const timespec,
    absolute: Option<libc::clockid_t>,
) -> c_int {
    let time = match time.is_null() {
        true => None,
        // SAFETY: the caller's time.
        false => match unsafe { duration(time) } {
            None => return EINVAL,
            Some(time) => Some(absolute.map_or(time, |clock| time.saturating_sub(time_of(clock)))),
        },
    };
    let mut waits = false;
    synchronise(Op::FutexWait, |turn| {
        if waits {
            return Step::Done(match turn.woken() {
                Some(Woken::TimedOut) => ETIMEDOUT,
                Some(Woken::Cancelled) => EINTR,
                _ => 0,
            });
        }
        // SAFETY: the caller's word.
        if unsafe { word.read_volatile() } != value {
            return Step::Done(EAGAIN);
        }
        waits = true;
        Step::Wait(word.addr(), time.map(|time| turn.deadline(time)))
    })
}

fn wake(word: *const u32, most: u32) -> u32 {
    synchronise(Op::FutexWake, |turn| {
        let mut woken = 0;
        while woken < most && turn.wake_one(word.addr()).is_some() {
            woken += 1;
        }
        Step::Done(woken)
    })
}

/// # Safety
///
/// As libc's function, which has any number of arguments: what was not passed is not used.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let real = real!(syscall: fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long);
    // SAFETY: the caller's arguments.
    unsafe {
        if number == libc::SYS_sched_yield && active() {
            return c_long::from(super::threads::sched_yield());
        }
        if number != libc::SYS_futex || !active() {
            return real(number, a, b, c, d, e, f);
        }
        let word = core::ptr::with_exposed_provenance(a);
        let time = core::ptr::with_exposed_provenance(d);
        let clock = match b & CLOCK_REALTIME {
            0 => libc::CLOCK_MONOTONIC,
            _ => libc::CLOCK_REALTIME,
        };
        let waited = match b & !CLOCK_REALTIME {
            operation if operation == WAIT | PRIVATE => wait(word, c as u32, time, None),
            operation if operation == WAIT_BITSET | PRIVATE && f == ALL_BITS => {
                wait(word, c as u32, time, Some(clock))
            }
            operation if operation == WAKE | PRIVATE => return c_long::from(wake(word, c as u32)),
            operation if operation == WAKE_BITSET | PRIVATE && f == ALL_BITS => {
                return c_long::from(wake(word, c as u32));
            }
            _ => return outside(|| real(number, a, b, c, d, e, f)),
        };
        match waited {
            0 => 0,
            error => c_long::from(failed(error)),
        }
    }
}
