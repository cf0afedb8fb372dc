//! C++ objects that belong to one thread (`thread_local`): they are destroyed when their thread ends, latest first.

use crate::{
    core::{
        cell::{RunCell, RunValue},
        families::{self, Birth},
        per_thread::PerThread,
        program_start,
        trampoline::Frame,
    },
    real,
    run::{call_sites, world},
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use reweave_model::{Site, ThreadId};

trampoline! {
    __cxa_thread_atexit_impl => at_thread_exit, "rcx";
}

type Destructor = unsafe extern "C" fn(*mut c_void);

/// An object that is to be destroyed.
#[derive(Clone, Copy)]
struct Local {
    destroy: Destructor,
    object: *mut c_void,
    /// Somewhere in the module that it belongs to.
    module: usize,
}

/// Objects of the threads of this run.
static LOCALS: PerThread<Vec<Local>> = PerThread::new();
/// Objects of the first thread from before `main`.
static EARLY: RunCell<Vec<Local>> = RunCell::new(Vec::new());
/// How many of those were destroyed in this run.
static EARLY_DONE: RunValue<usize> = RunValue::new(0);

/// A new run.
pub fn clear() {
    LOCALS.clear();
    EARLY_DONE.set(0);
}

pub fn thread_begins(birth: &Birth) {
    LOCALS.take_over_or_copy(birth);
}

/// Destroys the running thread's objects.
pub fn destroy_all() {
    while let Some(local) = next() {
        // SAFETY: the program registered the destructor for this object, and its module is still loaded. No borrow is alive.
        unsafe { (local.destroy)(local.object) };
        let created = Site(world::borrow().me().created);
        families::module_released(local.module, created);
    }
}

/// The running thread's latest object that is not destroyed.
fn next() -> Option<Local> {
    let me = world::borrow().current;
    let local = LOCALS.with(me, Vec::pop);
    match me {
        ThreadId::MAIN => local.or_else(next_early),
        _ => local,
    }
}

fn next_early() -> Option<Local> {
    let locals = EARLY.borrow();
    let done = EARLY_DONE.get();
    let local = *locals[..locals.len() - done].last()?;
    EARLY_DONE.set(done + 1);
    Some(local)
}

/// # Safety
///
/// As `__cxa_thread_atexit_impl`: `destroy` can be called with `object` while the module at `module` is loaded.
unsafe extern "C" fn at_thread_exit(
    destroy: Destructor,
    object: *mut c_void,
    module: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !program_start::driven() {
        let real =
            real!(__cxa_thread_atexit_impl: fn(Destructor, *mut c_void, *mut c_void) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(destroy, object, module) };
    }
    let local = Local {
        destroy,
        object,
        module: module as usize,
    };
    if !world::active() {
        EARLY.borrow().push(local);
        return 0;
    }
    families::module_retained(local.module, call_sites::site(&frame.return_address));
    let me = world::borrow().current;
    LOCALS.with(me, |locals| locals.push(local));
    0
}
