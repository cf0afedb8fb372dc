//! How threads are to be scheduled: processors, policies, priorities. What a program sets is remembered, thread by thread, and handed back when it asks; it has no
//! effect. What is known of a thread is an object: to ask for it is a load.

use crate::{
    calls::{process::system_info, threads::lifecycle::find},
    core::{call_sites, operations::failed, world},
    hooks::{Frame, accesses},
    kernel::file_objects,
    real, trampoline,
};
use core::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};
use libc::{pthread_t as Handle, sched_param as Parameters};
use reweave_model::ThreadId;

trampoline! {
    sched_getaffinity => affinity, "rcx";
    pthread_getaffinity_np => thread_affinity, "rcx";
    sched_setaffinity => set_affinity, "rcx";
    pthread_setaffinity_np => set_thread_affinity, "rcx";
    pthread_getschedparam => scheduling, "rcx";
    pthread_setschedparam => set_scheduling, "rcx";
    pthread_setschedprio => set_priority, "rdx";
    sched_getscheduler => scheduler, "rsi";
    sched_setscheduler => set_scheduler, "rcx";
    sched_getparam => parameters, "rdx";
    sched_setparam => set_parameters, "rdx";
    nice => be_nice, "rsi";
    getpriority => niceness, "rdx";
    setpriority => set_niceness, "rcx";
}

/// Of a thread.
#[derive(Clone, Copy)]
pub struct Own {
    processors: u64,
    policy: c_int,
    priority: c_int,
    nice: c_int,
}

impl Default for Own {
    fn default() -> Own {
        Own {
            processors: ALL,
            policy: libc::SCHED_OTHER,
            priority: 0,
            nice: 0,
        }
    }
}

/// All processors there are.
const ALL: u64 = (1 << system_info::PROCESSORS) - 1;

fn number(thread: ThreadId) -> usize {
    file_objects::SCHEDULING + world::get().threads[thread.index()].slot
}

/// What is known of a thread.
fn of(thread: ThreadId, frame: &Frame) -> Own {
    file_objects::look_at(number(thread), call_sites::site(&frame.return_address));
    world::get().threads[thread.index()].own_calls.scheduling
}

/// What is known of a thread, for somebody who changes it.
fn change(thread: ThreadId, frame: &Frame) -> &'static mut Own {
    file_objects::touch(number(thread), call_sites::site(&frame.return_address));
    crate::core::spin::disturbed();
    &mut world::get().threads[thread.index()].own_calls.scheduling
}

/// The thread with an id of the kernel's; zero is the one that asks.
fn by_id(id: c_int) -> Option<ThreadId> {
    let world = world::get();
    let slot = match id {
        0 => world.slot(),
        _ => usize::try_from(id - system_info::PROCESS).ok()?,
    };
    let place = world.threads.iter().position(|thread| thread.slot == slot);
    place.map(|index| ThreadId(index as u32))
}

/// Which processors a program names in a set of this size, of those there are.
unsafe fn named(bytes: usize, set: *const c_void, frame: &Frame) -> u64 {
    let bytes = bytes.min(8);
    accesses::range(set as usize, bytes, false, frame);
    let mut word = [0; 8];
    // SAFETY: the program's own memory, as large as it says.
    unsafe { ptr::copy_nonoverlapping(set.cast::<u8>(), word.as_mut_ptr(), bytes) };
    u64::from_le_bytes(word) & ALL
}

/// Writes them into a set of this size; an error number.
unsafe fn tell(processors: u64, bytes: usize, set: *mut c_void, frame: &Frame) -> c_int {
    if bytes < 8 || !bytes.is_multiple_of(8) {
        return libc::EINVAL;
    }
    accesses::range(set as usize, bytes, true, frame);
    // SAFETY: the program's own memory, as large as it says.
    unsafe {
        ptr::write_bytes(set.cast::<u8>(), 0, bytes);
        *set.cast::<u64>() = processors;
    }
    0
}

/// An error number as a result with `errno`.
fn answered(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => failed(error),
    }
}

unsafe extern "C" fn affinity(
    process: c_int,
    bytes: usize,
    set: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_getaffinity: fn(c_int, usize, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, bytes, set) };
    }
    let Some(thread) = by_id(process) else {
        return failed(libc::ESRCH);
    };
    // SAFETY: as the call itself.
    answered(unsafe { tell(of(thread, frame).processors, bytes, set, frame) })
}

unsafe extern "C" fn thread_affinity(
    handle: Handle,
    bytes: usize,
    set: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_getaffinity_np: fn(Handle, usize, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, bytes, set) };
    }
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    // SAFETY: as the call itself.
    unsafe { tell(of(thread, frame).processors, bytes, set, frame) }
}

/// Sets them; an error number.
unsafe fn bind(thread: Option<ThreadId>, bytes: usize, set: *const c_void, frame: &Frame) -> c_int {
    let Some(thread) = thread else {
        return libc::ESRCH;
    };
    // SAFETY: as the call itself.
    match unsafe { named(bytes, set, frame) } {
        0 => libc::EINVAL,
        processors => {
            change(thread, frame).processors = processors;
            0
        }
    }
}

unsafe extern "C" fn set_affinity(
    process: c_int,
    bytes: usize,
    set: *const c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_setaffinity: fn(c_int, usize, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, bytes, set) };
    }
    // SAFETY: as the call itself.
    answered(unsafe { bind(by_id(process), bytes, set, frame) })
}

unsafe extern "C" fn set_thread_affinity(
    handle: Handle,
    bytes: usize,
    set: *const c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_setaffinity_np: fn(Handle, usize, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, bytes, set) };
    }
    // SAFETY: as the call itself.
    unsafe { bind(find(handle), bytes, set, frame) }
}

/// The priority that parameters say.
unsafe fn said(parameters: *const Parameters, frame: &Frame) -> c_int {
    accesses::range(parameters as usize, size_of::<Parameters>(), false, frame);
    // SAFETY: the program's own variable.
    unsafe { (*parameters).sched_priority }
}

/// Sets policy and priority, of which one may stay; an error number.
fn schedule(
    thread: Option<ThreadId>,
    policy: Option<c_int>,
    priority: c_int,
    frame: &Frame,
) -> c_int {
    let Some(thread) = thread else {
        return libc::ESRCH;
    };
    let world = world::get();
    let known = world.threads[thread.index()].own_calls.scheduling;
    let policy = policy.unwrap_or(known.policy);
    let allowed = match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => 0..=0,
        libc::SCHED_FIFO | libc::SCHED_RR => 1..=99,
        _ => return libc::EINVAL,
    };
    if !allowed.contains(&priority) {
        return libc::EINVAL;
    }
    let own = change(thread, frame);
    (own.policy, own.priority) = (policy, priority);
    0
}

unsafe extern "C" fn scheduling(
    handle: Handle,
    policy: *mut c_int,
    parameters: *mut Parameters,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_getschedparam: fn(Handle, *mut c_int, *mut Parameters) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, policy, parameters) };
    }
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let own = of(thread, frame);
    accesses::range(policy as usize, size_of::<c_int>(), true, frame);
    accesses::range(parameters as usize, size_of::<Parameters>(), true, frame);
    // SAFETY: the program's own variables.
    unsafe {
        *policy = own.policy;
        (*parameters).sched_priority = own.priority;
    }
    0
}

unsafe extern "C" fn set_scheduling(
    handle: Handle,
    policy: c_int,
    parameters: *const Parameters,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_setschedparam: fn(Handle, c_int, *const Parameters) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, policy, parameters) };
    }
    // SAFETY: as the call itself.
    let priority = unsafe { said(parameters, frame) };
    schedule(find(handle), Some(policy), priority, frame)
}

unsafe extern "C" fn set_priority(handle: Handle, priority: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_setschedprio: fn(Handle, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, priority) };
    }
    schedule(find(handle), None, priority, frame)
}

unsafe extern "C" fn scheduler(process: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: a number.
        return unsafe { real!(sched_getscheduler: fn(c_int) -> c_int)(process) };
    }
    match by_id(process) {
        Some(thread) => of(thread, frame).policy,
        None => failed(libc::ESRCH),
    }
}

unsafe extern "C" fn set_scheduler(
    process: c_int,
    policy: c_int,
    parameters: *const Parameters,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_setscheduler: fn(c_int, c_int, *const Parameters) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, policy, parameters) };
    }
    // SAFETY: as the call itself.
    let priority = unsafe { said(parameters, frame) };
    answered(schedule(by_id(process), Some(policy), priority, frame))
}

unsafe extern "C" fn parameters(
    process: c_int,
    parameters: *mut Parameters,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_getparam: fn(c_int, *mut Parameters) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, parameters) };
    }
    let Some(thread) = by_id(process) else {
        return failed(libc::ESRCH);
    };
    let own = of(thread, frame);
    accesses::range(parameters as usize, size_of::<Parameters>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { (*parameters).sched_priority = own.priority };
    0
}

unsafe extern "C" fn set_parameters(
    process: c_int,
    parameters: *const Parameters,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_setparam: fn(c_int, *const Parameters) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, parameters) };
    }
    // SAFETY: as the call itself.
    let priority = unsafe { said(parameters, frame) };
    answered(schedule(by_id(process), None, priority, frame))
}

/// As who has no privileges: it can only become larger. An error number.
fn make_nice(thread: ThreadId, to: c_int, frame: &Frame) -> c_int {
    let to = to.clamp(-20, 19);
    if to
        < world::get().threads[thread.index()]
            .own_calls
            .scheduling
            .nice
    {
        return libc::EACCES;
    }
    change(thread, frame).nice = to;
    0
}

/// On Linux each thread has its own.
unsafe extern "C" fn be_nice(by: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: a number.
        return unsafe { real!(nice: fn(c_int) -> c_int)(by) };
    }
    let me = world::get().current;
    let to = of(me, frame).nice.saturating_add(by);
    match make_nice(me, to, frame) {
        0 => of(me, frame).nice,
        _ => failed(libc::EPERM),
    }
}

unsafe extern "C" fn niceness(which: c_uint, who: c_uint, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: numbers.
        return unsafe { real!(getpriority: fn(c_uint, c_uint) -> c_int)(which, who) };
    }
    match (which, by_id(who as c_int)) {
        (libc::PRIO_PROCESS, Some(thread)) => of(thread, frame).nice,
        (libc::PRIO_PROCESS, None) => failed(libc::ESRCH),
        (libc::PRIO_PGRP | libc::PRIO_USER, _) => 0,
        _ => failed(libc::EINVAL),
    }
}

unsafe extern "C" fn set_niceness(
    which: c_uint,
    who: c_uint,
    priority: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(setpriority: fn(c_uint, c_uint, c_int) -> c_int);
        // SAFETY: numbers.
        return unsafe { real(which, who, priority) };
    }
    answered(match (which, by_id(who as c_int)) {
        (libc::PRIO_PROCESS, Some(thread)) => make_nice(thread, priority, frame),
        (libc::PRIO_PROCESS, None) => libc::ESRCH,
        (libc::PRIO_PGRP | libc::PRIO_USER, _) => 0,
        _ => libc::EINVAL,
    })
}
