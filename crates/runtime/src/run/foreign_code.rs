//! Code without hooks that the program reaches by a pointer: virtual functions of the C++ library, functions of libraries that the program has
//! opened, tables of functions that a library returns.
//!
//! Direct calls of such code are counted ([`unseen_calls`]), calls by a pointer are not. A loop that may be waiting is therefore watched in the
//! round that decides: from an operation that the thread was at before, to its next operation, such code cannot be run. If the processor traps
//! there, the call is counted, and the thread goes on. The C library itself is not watched, since the runtime uses it; a program has the addresses
//! of its functions from its own references, which lead to stubs.
//!
//! *Called by:* the spin detection, which says when; the fault handler.

use crate::{
    core::{
        cell::{RunCell, RunValue},
        sys,
        unseen_calls::{self, Foreign},
    },
    run::closed_code,
};
use alloc::vec::Vec;

static CODE: RunCell<Vec<Foreign>> = RunCell::new(Vec::new());
/// Whether there is any.
static SOME: RunValue<bool> = RunValue::new(false);
/// Whether a trap is set.
static ARMED: RunValue<bool> = RunValue::new(false);

/// Lists the code, once, when all libraries are loaded.
pub fn prepare() {
    let code = unseen_calls::foreign();
    SOME.set(!code.is_empty());
    *CODE.borrow() = code;
}

fn protect(access: i32) {
    for code in CODE.borrow().iter() {
        // What the program has opened may be closed, or trapped for another reason.
        if closed_code::runs_freely(code.start) {
            // SAFETY: code of a library that stays mapped, and no thread is within it: the runtime runs. A trap is understood by `ran`.
            unsafe { sys::protect(code.start, code.bytes, access) };
        }
    }
}

/// The running thread goes on in a round that may be equal to the one before.
#[inline]
pub fn arm() {
    if SOME.get() && !ARMED.get() {
        set();
    }
}

#[cold]
fn set() {
    ARMED.set(true);
    protect(libc::PROT_READ);
}

/// The running thread has come to an operation, or another thread goes on.
#[inline]
pub fn disarm() {
    if ARMED.get() {
        reset();
    }
}

#[cold]
fn reset() {
    ARMED.set(false);
    protect(libc::PROT_READ | libc::PROT_EXEC);
}

/// The running thread is about to run what lies there. Counts the call, if that is code without hooks and the call may change something.
pub fn runs(address: usize, first: usize) -> bool {
    let within = |code: &Foreign| address.wrapping_sub(code.start) < code.bytes;
    // The program was about to run the code, and nothing is borrowed while the program runs.
    let is_foreign = CODE.borrow().iter().any(within);
    if is_foreign && !unseen_calls::is_harmless_call(address, first) {
        unseen_calls::count_one();
    }
    is_foreign
}

/// The running thread trapped at code that it was about to run, with this first argument if it is a function. Whether it can go on.
pub fn ran(address: usize, first: usize) -> bool {
    if !ARMED.get() {
        return false;
    }
    if !runs(address, first) {
        return false;
    }
    reset();
    true
}
