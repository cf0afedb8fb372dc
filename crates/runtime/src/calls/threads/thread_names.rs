//! Names of threads. Each name is an object of the model: to ask for it is a load.

use crate::{
    core::{families::Birth, per_thread::PerThread, trampoline::Frame},
    kernel::{file_objects, passed_calls},
    outside_run, real,
    run::{accesses, call_sites, debugger, thread_end::find, world},
    shared::c_text::text,
    trampoline,
};
use alloc::vec::Vec;
use core::{
    ffi::{c_char, c_int},
    ptr,
};
use libc::pthread_t as Handle;
use reweave_model::ThreadId;

trampoline! {
    pthread_setname_np => set_name, "rdx";
    pthread_getname_np => get_name, "rcx";
    prctl => control_process, "r9";
}

/// Bytes of a name, with the nul.
const NAME: usize = 16;

static NAMES: PerThread<Vec<u8>> = PerThread::new();

/// A new run.
pub fn clear() {
    NAMES.clear();
}

pub fn thread_begins(birth: &Birth) {
    NAMES.take_over_or_copy(birth);
}

/// The number of the object that stands for a thread's name.
fn number(thread: ThreadId) -> usize {
    file_objects::THREADS + world::borrow().threads[thread.index()].slot
}

/// # Safety
///
/// As `pthread_setname_np`: `name` ends with a nul.
unsafe extern "C" fn set_name(handle: Handle, name: *const c_char, frame: &Frame) -> c_int {
    outside_run!(pthread_setname_np: fn(handle: Handle, name: *const c_char) -> c_int);
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    // SAFETY: `name` ends with a nul, by this function's contract.
    unsafe { accesses::text_argument(name, frame.return_address) };
    // SAFETY: `name` still ends with a nul, by this function's contract.
    let name = unsafe { text(name) };
    if name.len() >= NAME {
        return libc::ERANGE;
    }
    change(thread, &name, frame);
    0
}

/// The running thread gives a thread this name.
fn change(thread: ThreadId, name: &str, frame: &Frame) {
    file_objects::touch(number(thread), call_sites::site(&frame.return_address));
    NAMES.with(thread, |known| *known = name.as_bytes().into());
    let mut world = world::borrow();
    world.run.name(thread, name);
    if world.debugged {
        debugger::name(&world, thread);
    }
}

/// # Safety
///
/// As `pthread_getname_np`: `into` points to `bytes` bytes.
unsafe extern "C" fn get_name(
    handle: Handle,
    into: *mut c_char,
    bytes: usize,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_getname_np: fn(handle: Handle, into: *mut c_char, bytes: usize) -> c_int);
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    if bytes < NAME {
        return libc::ERANGE;
    }
    // SAFETY: `into` points to at least `NAME` bytes, by this function's contract.
    unsafe { write_name(thread, into, frame) };
    0
}

/// Writes the name of a thread to where the program wants it.
///
/// # Safety
///
/// `into` points to room for `NAME` bytes.
unsafe fn write_name(thread: ThreadId, into: *mut c_char, frame: &Frame) {
    file_objects::look_at(number(thread), call_sites::site(&frame.return_address));
    let name = NAMES.with(thread, |name| name.clone());
    accesses::range(into as usize, name.len() + 1, true, frame);
    // SAFETY: a name is shorter than `NAME`, and `into` has room for that and a nul, by this function's contract.
    unsafe {
        ptr::copy_nonoverlapping(name.as_ptr(), into.cast(), name.len());
        into.add(name.len()).write(0);
    }
}

/// A thread may set and ask for its own name; the rest changes the process.
///
/// # Safety
///
/// As `prctl`: the arguments are what the operation demands.
unsafe extern "C" fn control_process(
    what: c_int,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    frame: &Frame,
) -> c_int {
    if world::active() {
        let me = world::borrow().current;
        match what {
            libc::PR_SET_NAME => {
                // SAFETY: the first argument of this operation ends with a nul, by this function's contract.
                let name = unsafe { text(a as *const c_char) };
                change(me, name.get(..NAME - 1).unwrap_or(&name), frame);
                return 0;
            }
            libc::PR_GET_NAME => {
                // SAFETY: the first argument of this operation points to `NAME` bytes, by this function's contract.
                unsafe { write_name(me, a as *mut c_char, frame) };
                return 0;
            }
            _ => passed_calls::leaves(),
        }
    }
    let real = real!(prctl: fn(c_int, usize, usize, usize, usize) -> c_int);
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { real(what, a, b, c, d) }
}
