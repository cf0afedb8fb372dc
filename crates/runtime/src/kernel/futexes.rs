//! Futexes, as C++'s library uses them. They come in by `syscall` (`calls/process/syscalls.rs`).
//!
//! A wait compares the word and joins the waiters, in one step, and ends when it is woken. The waiters of a word are an object of
//! their own in the model, apart from the word. C++'s library wakes waiters of memory that was freed, which is harmless: so a wake
//! is no use of the memory.

use crate::{
    core::objects::Sort,
    run::{
        atomic_objects,
        operations::{failed, visible},
        world,
    },
    shared::deadlines::{self, Deadline},
};
use alloc::format;
use core::ffi::{c_int, c_long};
use libc::timespec;
use reweave_model::{Object, ObjectId, Op, Site};

/// The system call of this name.
///
/// # Safety
///
/// The arguments are what the system call demands: for a wait, `word` points to a number, and the time is null or points to one.
pub unsafe fn call(arguments: &[usize; 6], site: Site) -> c_long {
    const ALL_BITS: u32 = u32::MAX;
    let [word, operation, value, time, _, mask] = *arguments;
    let word = word as *const u32;
    let operation = operation as c_int;
    let clock = match operation & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    };
    let time = time as *const timespec;
    let result = match operation & libc::FUTEX_CMD_MASK {
        // SAFETY: `word` and `time` are what a wait demands, by this function's contract.
        libc::FUTEX_WAIT => unsafe {
            wait(word, value, time, |time| Deadline::after(time, None), site)
        },
        libc::FUTEX_WAIT_BITSET if mask as u32 == ALL_BITS => {
            // SAFETY: `word` and `time` are what a wait demands, by this function's contract.
            unsafe {
                wait(
                    word,
                    value,
                    time,
                    |time| Deadline::new(clock, time, None),
                    site,
                )
            }
        }
        libc::FUTEX_WAKE => Ok(wake(word, value as c_int, site)),
        libc::FUTEX_WAKE_BITSET if mask as u32 == ALL_BITS => Ok(wake(word, value as c_int, site)),
        _ => world::unsupported(&format!("futex {operation}"), site),
    };
    result.unwrap_or_else(|error| failed(error).into())
}

/// The waiters of a word.
fn queue(word: *const u32) -> ObjectId {
    /// No address of a program has this bit.
    const APART: usize = 1 << 63;
    let mut world = world::borrow();
    let queue = world.object(word as usize | APART, 4, Sort::Futex, Object::condvar);
    world.about(queue).address = word as usize;
    queue
}

/// Waits if the word has the expected value; an error number if it does not, or after the deadline.
///
/// # Safety
///
/// `word` points to a number, `time` is null or can be passed to `deadline`.
unsafe fn wait(
    word: *const u32,
    expected: usize,
    time: *const timespec,
    deadline: impl FnOnce(*const timespec) -> Option<Deadline<'static>>,
    site: Site,
) -> Result<c_long, c_int> {
    let until = match time.is_null() {
        true => None,
        false => Some(deadline(time).ok_or(libc::EINVAL)?),
    };
    // SAFETY: `word` points to a number, by this function's contract.
    let value = unsafe { word.read_volatile() };
    let atomic = atomic_objects::atomic(word as usize, 4, value.into(), site);
    let condvar = queue(word);
    let enqueue = Op::EnqueueIf {
        condvar,
        atomic,
        expected: (expected as u32).into(),
    };
    if !visible(enqueue, site).ok {
        return Err(libc::EAGAIN);
    }
    let timed = until.is_some();
    let wake = Op::Wake { condvar, timed };
    let woken = match until {
        Some(until) => deadlines::perform_until(wake, until, site),
        None => visible(wake, site),
    };
    if woken.ok {
        Ok(0)
    } else {
        Err(libc::ETIMEDOUT)
    }
}

/// Wakes at most so many waiters; how many it woke.
fn wake(word: *const u32, most: c_int, site: Site) -> c_long {
    let condvar = queue(word);
    if most == c_int::MAX {
        return visible(Op::NotifyAll(condvar), site).result as c_long;
    }
    let mut woken = 0;
    while woken < c_long::from(most) && visible(Op::NotifyOne(condvar), site).result > 0 {
        woken += 1;
    }
    woken
}
