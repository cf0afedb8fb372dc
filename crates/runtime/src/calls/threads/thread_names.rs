//! What threads are called. Each name is an object: to ask for it is a load.

use crate::{
    calls::{process::process_end, threads::lifecycle::find},
    core::{call_sites, debugger, world},
    hooks::{Frame, accesses, passed_calls},
    kernel::file_objects,
    real, trampoline,
};
use core::ffi::{c_char, c_int};
use libc::pthread_t as Handle;
use reweave_model::ThreadId;

trampoline! {
    pthread_setname_np => set_name, "rdx";
    pthread_getname_np => get_name, "rcx";
    prctl => control_process, "r9";
}

/// Bytes of a name, with the nul.
const NAME: usize = 16;

unsafe extern "C" fn set_name(handle: Handle, name: *const c_char, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_setname_np: fn(Handle, *const c_char) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, name) };
    }
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    // SAFETY: the program's own text.
    let name = unsafe { process_end::text(name) };
    if name.len() >= NAME {
        return libc::ERANGE;
    }
    let slot = world::get().threads[thread.index()].slot;
    file_objects::touch(
        file_objects::THREADS + slot,
        call_sites::site(&frame.return_address),
    );
    call_it(thread, &name);
    0
}

fn call_it(thread: ThreadId, name: &str) {
    let world = world::get();
    world.threads[thread.index()].own_calls.threads.name = name.as_bytes().into();
    world.run.name(thread, name);
    if world.debugged {
        debugger::name(world, thread);
    }
}

unsafe extern "C" fn get_name(
    handle: Handle,
    into: *mut c_char,
    bytes: usize,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_getname_np: fn(Handle, *mut c_char, usize) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, into, bytes) };
    }
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    if bytes < NAME {
        return libc::ERANGE;
    }
    // SAFETY: the program's own memory, with room for that.
    unsafe { tell(thread, into, frame) };
    0
}

/// Writes down what a thread is called.
unsafe fn tell(thread: ThreadId, into: *mut c_char, frame: &Frame) {
    let slot = world::get().threads[thread.index()].slot;
    file_objects::look_at(
        file_objects::THREADS + slot,
        call_sites::site(&frame.return_address),
    );
    let name = &world::get().threads[thread.index()].own_calls.threads.name;
    accesses::range(into as usize, name.len() + 1, true, frame);
    // SAFETY: room for a name and its nul.
    unsafe {
        core::ptr::copy_nonoverlapping(name.as_ptr(), into.cast(), name.len());
        into.add(name.len()).write(0);
    }
}

/// A thread may name itself so, and ask; the rest changes the process.
unsafe extern "C" fn control_process(
    what: c_int,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    frame: &Frame,
) -> c_int {
    let me = || world::get().current;
    match what {
        libc::PR_SET_NAME if world::active() => {
            // SAFETY: the program's own text.
            let name = unsafe { process_end::text(a as *const c_char) };
            let name = name.get(..NAME - 1).unwrap_or(&name);
            let slot = world::get().slot();
            file_objects::touch(
                file_objects::THREADS + slot,
                call_sites::site(&frame.return_address),
            );
            call_it(me(), name);
            return 0;
        }
        libc::PR_GET_NAME if world::active() => {
            // SAFETY: the program's own memory, with room for that.
            unsafe { tell(me(), a as *mut c_char, frame) };
            return 0;
        }
        _ if world::active() => passed_calls::leaves(),
        _ => {}
    }
    let real = real!(prctl: fn(c_int, usize, usize, usize, usize) -> c_int);
    // SAFETY: the program's own arguments.
    unsafe { real(what, a, b, c, d) }
}
