//! Code without hooks that the program reaches: libraries that were not built with `reweave cc`, virtual functions of the C++ library, tables of
//! functions that a library returns. It is noticed in two ways, both by taking away the right to run it, so that the processor traps there.
//!
//! *A loop that may be waiting.* Direct calls of such code are counted ([`unseen_calls`]), calls by a pointer are not. A loop is therefore watched in
//! the round that decides: from an operation that the thread was at before, to its next operation, such code cannot be run. If the processor traps
//! there, the call is counted, and the thread goes on. The C library itself is not watched, since the runtime uses it; a program has the addresses
//! of its functions from its own references, which lead to stubs.
//!
//! *Other threads.* What such code synchronises and accesses is not seen, so beside other threads any order of it may matter. Where something stands
//! for a library (the C and C++ libraries and those of compilers), that is taken care of. Of any other library, running its code beside other threads
//! makes the search incomplete: it traps, is noted by its place, and runs freely for the rest of the run.
//!
//! *Called by:* the spin detection, which says when; every operation, after which the thread may have other threads beside it; the fault handler.

use crate::{
    core::{
        cell::{ASIDE, RunCell, RunValue},
        sys,
        unseen_calls::{self, Foreign},
    },
    run::{closed_code, world},
};
use alloc::vec::Vec;
use reweave_model::Site;
use reweave_wire::Note;

static CODE: RunCell<Vec<Foreign>, ASIDE> = RunCell::new(Vec::new());
/// Whether there is any.
static SOME: RunValue<bool> = RunValue::new(false);
/// Whether traps are set for a loop.
static ARMED: RunValue<bool> = RunValue::new(false);
/// Whether there is code of unknown libraries.
static UNKNOWN: RunValue<bool> = RunValue::new(false);
/// Such code that was noted in this run, by where it begins.
static NOTED: RunCell<Vec<usize>, ASIDE> = RunCell::new(Vec::new());
/// Whether traps are set for that, since there are other threads.
static BESIDE: RunValue<bool> = RunValue::new(false);

/// Lists the code, once, when all libraries are loaded.
pub fn prepare() {
    let code = unseen_calls::foreign();
    SOME.set(!code.is_empty());
    UNKNOWN.set(code.iter().any(|code| code.is_unknown));
    *CODE.borrow() = code;
}

/// Sets the traps that are to be set now.
fn protect() {
    for code in CODE.borrow().iter() {
        // What the program has opened may be closed, or trapped for another reason.
        if closed_code::runs_freely(code.start) {
            let unknown = code.is_unknown && !NOTED.borrow().contains(&code.start);
            let access = match ARMED.get() || BESIDE.get() && unknown {
                true => libc::PROT_READ,
                false => libc::PROT_READ | libc::PROT_EXEC,
            };
            // SAFETY: code of a library that stays mapped. A thread within it, which has called the runtime, traps when it returns there.
            // A trap is understood by `ran`.
            unsafe { sys::protect(code.start, code.bytes, access) };
        }
    }
}

/// Whether there are other threads beside the running one.
#[inline]
pub fn beside(others: bool) {
    if UNKNOWN.get() && BESIDE.get() != others {
        set_beside(others);
    }
}

/// A run is over.
pub fn end_run() {
    disarm();
    beside(false);
    NOTED.borrow().clear();
}

#[cold]
fn set_beside(others: bool) {
    BESIDE.set(others);
    protect();
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
    protect();
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
    protect();
}

fn is_foreign(address: usize) -> bool {
    let within = |code: &Foreign| address.wrapping_sub(code.start) < code.bytes;
    // The program was about to run the code, and nothing is borrowed while the program runs.
    CODE.borrow().iter().any(within)
}

/// The running thread is about to run what lies there. Counts the call, if that is code without hooks and the call may change something.
pub fn runs(address: usize, first: usize) -> bool {
    let is_foreign = is_foreign(address);
    if is_foreign && !unseen_calls::is_harmless_call(address, first) {
        unseen_calls::count_one();
    }
    is_foreign
}

/// The running thread trapped at code that it was about to run, with this first argument if it is a function. Whether it can go on: else the trap is
/// also another one's.
pub fn ran(address: usize, first: usize, site: Site) -> bool {
    let watched = ARMED.get();
    let known = match watched {
        true => runs(address, first),
        // No loop is watched, and other runs do not trap here.
        false => BESIDE.get() && is_foreign(address),
    };
    if !known {
        return false;
    }
    if BESIDE.get() {
        note_unknown(address, site);
    }
    reset();
    watched || closed_code::runs_freely(address)
}

/// Notes the code at this address if it is that of an unknown library. It runs freely for the rest of the run.
fn note_unknown(address: usize, site: Site) {
    let code = CODE.borrow();
    let within = |code: &&Foreign| address.wrapping_sub(code.start) < code.bytes;
    let found = code.iter().find(within).filter(|code| code.is_unknown);
    let Some(found) = found.filter(|code| !NOTED.borrow().contains(&code.start)) else {
        return;
    };
    NOTED.borrow().push(found.start);
    world::borrow().note(Note::Unseen(site));
}
