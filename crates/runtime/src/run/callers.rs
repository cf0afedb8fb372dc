//! The functions that the running thread is in, as the compiler's hooks report them.

use crate::core::cell::RunValue;
use core::ptr;

/// Where the running thread's list of callers ends; null when there is no run. The list has the functions that the thread is
/// in, by their return addresses, outermost first. It lies in memory of its own, with room for as many calls as the thread's
/// stack can hold.
static CALLS: RunValue<*mut usize> = RunValue::new(ptr::null_mut());

/// Stands behind the last entry of every list.
pub const FULL: usize = usize::MAX;

/// Goes over to another thread's list; where the present one ends.
#[inline]
pub fn swap_calls(end: *mut usize) -> *mut usize {
    let before = CALLS.get();
    CALLS.set(end);
    before
}

/// Where the running thread's list ends.
pub fn calls_end() -> *mut usize {
    CALLS.get()
}

/// The running thread enters a function. Whether that was noted: there is a run, and room in the list.
#[inline]
pub fn push(caller: usize) -> bool {
    let end = CALLS.get();
    // SAFETY: `end` points into the running thread's list, whose last entry is FULL: a list that is full (long jumps leave
    // entries behind) grows no further, so there is room for one more.
    unsafe {
        if end.is_null() || end.read() == FULL {
            return false;
        }
        end.write(caller);
        CALLS.set(end.add(1));
    }
    true
}

/// Whether there is no run, or the thread has left all functions that were noted.
#[inline]
pub fn is_empty() -> bool {
    let end = CALLS.get();
    // SAFETY: `end` points into the running thread's list, and before each list lies an entry that is 0.
    end.is_null() || unsafe { end.sub(1).read() } == 0
}

/// The running thread leaves a function. The list must not be empty.
#[inline]
pub fn pop() {
    // SAFETY: the list has an entry before its end, as the caller has asked with [`is_empty`].
    CALLS.set(unsafe { CALLS.get().sub(1) });
}
