//! Futexes, as C++'s library uses them. They come in by `syscall`: see [`crate::calls::process::syscalls`].
//!
//! A wait compares the word and joins those who wait, in one step, and is left when somebody wakes it. Who waits for a word is an object of its
//! own in the model, apart from the word. To wake those who wait for memory that was given back is harmless, and done: so it is no
//! use of the memory.

use crate::{
    calls::time::clocks::{self, Deadline, fail},
    core::{objects::Sort, operations::visible, world},
};
use alloc::format;
use core::ffi::{c_int, c_long};
use libc::timespec;
use reweave_model::{Object, ObjectId, Op, Site};

/// The system call of this name.
pub fn call(arguments: &[usize; 6], site: Site) -> c_long {
    const ANYBODY: u32 = u32::MAX;
    let [word, operation, value, time, _, mask] = *arguments;
    let word = word as *const u32;
    let operation = operation as c_int;
    let clock = match operation & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    };
    let time = time as *const timespec;
    let result = match operation & libc::FUTEX_CMD_MASK {
        libc::FUTEX_WAIT => wait(word, value, time, Deadline::after, site),
        libc::FUTEX_WAIT_BITSET if mask as u32 == ANYBODY => {
            wait(word, value, time, |time| Deadline::new(clock, time), site)
        }
        libc::FUTEX_WAKE => Ok(wake(word, value as c_int, site)),
        libc::FUTEX_WAKE_BITSET if mask as u32 == ANYBODY => Ok(wake(word, value as c_int, site)),
        _ => world::get().unsupported(&format!("futex {operation}"), site),
    };
    result.unwrap_or_else(|error| fail(error).into())
}

/// Those who wait for a word.
fn queue(word: *const u32) -> ObjectId {
    /// No address is like that.
    const APART: usize = 1 << 63;
    let world = world::get();
    let queue = world.object(word as usize | APART, 4, Sort::Futex, Object::condvar);
    world.about(queue).address = word as usize;
    queue
}

fn wait(
    word: *const u32,
    expected: usize,
    time: *const timespec,
    deadline: impl FnOnce(*const timespec) -> Option<Deadline>,
    site: Site,
) -> Result<c_long, c_int> {
    let until = match time.is_null() {
        true => None,
        false => Some(deadline(time).ok_or(libc::EINVAL)?),
    };
    // SAFETY: the program's own variable.
    let value = unsafe { word.read_volatile() };
    let atomic = world::get().atomic(word as usize, 4, value.into(), site);
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
        Some(until) => clocks::perform_until(wake, until, site),
        None => visible(wake, site),
    };
    if woken.ok {
        Ok(0)
    } else {
        Err(libc::ETIMEDOUT)
    }
}

/// Wakes so many; how many there were.
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
