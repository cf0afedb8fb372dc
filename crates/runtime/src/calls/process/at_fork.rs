//! Functions that the program has registered to be called at a fork: `pthread_atfork`.
//!
//! Before the fork the one registered last is called first; after it, in both processes, the one registered first.

use crate::{
    core::{
        per_process::{PerProcess, ProcessChange},
        program_start,
        trampoline::Frame,
    },
    real,
    run::world,
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

trampoline! {
    __register_atfork => register, "r8";
    pthread_atfork => register_of_program, "rcx";
}

type Handler = Option<unsafe extern "C" fn()>;

/// What was registered in one call: before the fork, after it in the parent, after it in the child.
type Handlers = [Handler; 3];

/// Those of this run, and those from before `main`.
static REGISTERED: PerProcess<Vec<Handlers>> = PerProcess::new(Vec::new());
static EARLY: PerProcess<Vec<Handlers>> = PerProcess::new(Vec::new());

/// A new run.
pub fn clear() {
    REGISTERED.borrow().clear();
}

/// A process forks, goes on or is gone.
pub fn process_changes(change: ProcessChange) {
    REGISTERED.change(change);
    EARLY.change(change);
}

/// # Safety
///
/// As `__register_atfork`: the handlers can be called until the module is unloaded.
unsafe extern "C" fn register(
    before: Handler,
    parent: Handler,
    child: Handler,
    module: *mut c_void,
    _: &Frame,
) -> c_int {
    if !program_start::driven() {
        let real = real!(__register_atfork: fn(Handler, Handler, Handler, *mut c_void) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(before, parent, child, module) };
    }
    let list = if world::active() { &REGISTERED } else { &EARLY };
    list.borrow().push([before, parent, child]);
    0
}

/// # Safety
///
/// As `pthread_atfork`: the handlers can be called from now on.
unsafe extern "C" fn register_of_program(
    before: Handler,
    parent: Handler,
    child: Handler,
    frame: &Frame,
) -> c_int {
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { register(before, parent, child, super::forks::NO_MODULE, frame) }
}

fn all() -> Vec<Handlers> {
    let mut all = EARLY.borrow().clone();
    all.extend(REGISTERED.borrow().iter());
    all
}

fn call(handler: Handler) {
    if let Some(handler) = handler {
        // SAFETY: the program registered it to be called here. No borrow is alive.
        unsafe { handler() }
    }
}

/// A process is about to be forked.
pub fn before() {
    all().iter().rev().for_each(|handlers| call(handlers[0]));
}

/// A process was forked, and this one is the child or the parent.
pub fn after(child: bool) {
    let which = 1 + usize::from(child);
    all().iter().for_each(|handlers| call(handlers[which]));
}
