//! What the program does about each signal (`sigaction`).
//!
//! The table is the runtime's: the kernel never learns of it, since its signals are for the runtime. A signal without an entry
//! has the action that it had before `main`. Set by the calls of `calls/process/signals.rs`, read by deliveries
//! (`kernel/signals.rs`) and by the handler of faults (`faults.rs`).

use crate::{
    core::per_process::{PerProcess, ProcessChange},
    real,
    run::faults,
};
use alloc::vec::Vec;
use core::{ffi::c_int, mem::MaybeUninit, ptr};
use libc::sigaction as Action;

/// The largest number of a signal.
pub const MOST: c_int = 64;

/// Actions of this run, by number of the signal.
static ACTIONS: PerProcess<Vec<Option<Action>>> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    ACTIONS.change(change);
}

/// A new run.
pub fn clear() {
    ACTIONS.borrow().clear();
}

/// The running process begins as another program: what it ignores stays ignored, and there are no handlers.
pub fn forget_handlers() {
    for action in ACTIONS.borrow().iter_mut().flatten() {
        if action.sa_sigaction != libc::SIG_IGN {
            *action = default_action();
        }
    }
}

/// The action of a signal that the program says nothing about.
pub fn default_action() -> Action {
    // SAFETY: an action is numbers, an optional function and a mask; all zeros mean SIG_DFL, no flags and an empty mask.
    unsafe { MaybeUninit::<Action>::zeroed().assume_init() }
}

/// What the program does about a signal.
pub fn action(signal: c_int) -> Action {
    let set = ACTIONS.borrow().get(signal as usize).copied().flatten();
    if let Some(action) = set {
        return action;
    }
    let mut before = default_action();
    if !faults::catches(signal) {
        let real = real!(sigaction: fn(c_int, *const Action, *mut Action) -> c_int);
        // SAFETY: a null action changes nothing; the answer goes to a local.
        unsafe { real(signal, ptr::null(), &mut before) };
    }
    before
}

/// Whether the program has a handler of its own for a signal.
pub fn handled(signal: c_int) -> bool {
    let handler = action(signal).sa_sigaction;
    handler != libc::SIG_DFL && handler != libc::SIG_IGN
}

/// Sets the action of a signal.
pub fn set(signal: c_int, action: Action) {
    let mut actions = ACTIONS.borrow();
    if actions.is_empty() {
        actions.resize(MOST as usize + 1, None);
    }
    actions[signal as usize] = Some(action);
}
