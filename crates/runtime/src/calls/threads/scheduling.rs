//! How threads are to be scheduled: processors, policies, priorities. What a program sets is remembered for each thread and answered
//! when it asks; it has no effect. The settings of a thread are an object of the model: to ask for them is a load.

use crate::{
    core::{
        cell::{ASIDE, RunValue},
        families::Birth,
        per_thread::PerThread,
        trampoline::Frame,
    },
    kernel::file_objects,
    outside_run,
    run::{accesses, call_sites, operations::failed, spin, thread_end::find, world},
    shared::process_identity::{PROCESSORS, process as own_process},
    trampoline,
};
use core::{
    ffi::{c_int, c_uint, c_void},
    ops::RangeInclusive,
    ptr,
};
use libc::{pthread_t as Handle, sched_param as Parameters};
use reweave_model::{Identity, ThreadId};

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

/// How a thread is to be scheduled.
#[derive(Clone, Copy)]
pub struct Scheduling {
    processors: u64,
    pub policy: c_int,
    pub priority: c_int,
    nice: c_int,
}

impl Default for Scheduling {
    fn default() -> Scheduling {
        Scheduling {
            processors: ALL,
            policy: libc::SCHED_OTHER,
            priority: 0,
            nice: 0,
        }
    }
}

static SCHEDULING: PerThread<Scheduling, ASIDE> = PerThread::new();

/// What a new thread is to have, where it differs from its creator.
#[derive(Clone, Copy, Default)]
pub struct Settings {
    pub policy: Option<c_int>,
    pub priority: Option<c_int>,
    pub processors: Option<u64>,
}

/// Of the next thread that begins.
static NEXT: RunValue<Settings> = RunValue::new(Settings {
    policy: None,
    priority: None,
    processors: None,
});

impl Settings {
    /// With the creator's for what is not set.
    fn over(self, creator: Scheduling) -> Scheduling {
        Scheduling {
            processors: self.processors.map_or(creator.processors, |set| set & ALL),
            policy: self.policy.unwrap_or(creator.policy),
            priority: self.priority.unwrap_or(creator.priority),
            nice: creator.nice,
        }
    }
}

/// Whether the running thread can create one with such settings; an error number if not.
pub fn check(settings: Settings) -> Result<(), c_int> {
    let me = world::borrow().current;
    let wanted = settings.over(known(me));
    let fits = priorities(wanted.policy).is_some_and(|range| range.contains(&wanted.priority));
    match fits && wanted.processors != 0 {
        true => Ok(()),
        false => Err(libc::EINVAL),
    }
}

/// The next thread that begins has these settings.
pub fn prepare(settings: Settings) {
    NEXT.set(settings);
}

/// The priorities that a policy has; `None`: there is no such policy.
fn priorities(policy: c_int) -> Option<RangeInclusive<c_int>> {
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => Some(0..=0),
        libc::SCHED_FIFO | libc::SCHED_RR => Some(1..=99),
        _ => None,
    }
}

/// All processors there are.
const ALL: u64 = (1 << PROCESSORS) - 1;

/// A new run.
pub fn clear() {
    SCHEDULING.clear();
}

/// A thread has its creator's settings, but for those that it was created with.
pub fn identify(out: &mut Identity) {
    SCHEDULING.identify(out);
}

pub fn thread_begins(birth: &Birth) {
    let settings = NEXT.get();
    NEXT.set(Settings::default());
    if birth.again {
        // `exec` keeps them.
        return;
    }
    if SCHEDULING.take_over_or_copy(birth) {
        return;
    }
    if let Some(parent) = birth.parent {
        let begins = settings.over(known(parent));
        SCHEDULING.with(birth.child, |own| *own = begins);
    }
}

/// The settings of a thread, without a look at the object.
fn known(thread: ThreadId) -> Scheduling {
    SCHEDULING.with(thread, |settings| *settings)
}

/// The number of the object that stands for a thread's settings.
fn number(thread: ThreadId) -> usize {
    file_objects::SCHEDULING + world::borrow().threads[thread.index()].slot
}

/// The running thread asks for the settings of a thread.
pub fn look_at(thread: ThreadId, frame: &Frame) -> Scheduling {
    file_objects::look_at(number(thread), call_sites::site(&frame.return_address));
    known(thread)
}

/// The running thread changes the settings of a thread.
fn change(thread: ThreadId, frame: &Frame, change: impl FnOnce(&mut Scheduling)) {
    file_objects::touch(number(thread), call_sites::site(&frame.return_address));
    spin::disturbed();
    SCHEDULING.with(thread, change);
}

/// The thread with this id; zero is the running one.
fn by_id(id: c_int) -> Option<ThreadId> {
    let world = world::borrow();
    let slot = match id {
        0 => world.slot(),
        _ => usize::try_from(id - own_process()).ok()?,
    };
    let place = world.threads.iter().position(|thread| thread.slot == slot);
    place.map(|index| ThreadId(index as u32))
}

/// Processors in a set of this size, of those there are.
///
/// # Safety
///
/// `set` points to `bytes` bytes.
unsafe fn read_set(bytes: usize, set: *const c_void, frame: &Frame) -> u64 {
    let bytes = bytes.min(8);
    accesses::range(set as usize, bytes, false, frame);
    let mut word = [0; 8];
    // SAFETY: `set` points to at least as many bytes, by this function's contract, and `word` has eight.
    unsafe { ptr::copy_nonoverlapping(set.cast::<u8>(), word.as_mut_ptr(), bytes) };
    u64::from_le_bytes(word) & ALL
}

/// Writes processors into a set of this size; an error number.
///
/// # Safety
///
/// `set` points to `bytes` bytes.
unsafe fn write_set(processors: u64, bytes: usize, set: *mut c_void, frame: &Frame) -> c_int {
    if bytes < 8 || !bytes.is_multiple_of(8) {
        return libc::EINVAL;
    }
    accesses::range(set as usize, bytes, true, frame);
    // SAFETY: `set` points to `bytes` bytes, by this function's contract, which are at least eight.
    unsafe {
        ptr::write_bytes(set.cast::<u8>(), 0, bytes);
        set.cast::<u64>().write_unaligned(processors);
    }
    0
}

/// An error number as a result with `errno`.
fn with_errno(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => failed(error),
    }
}

/// # Safety
///
/// As `sched_getaffinity`: `set` points to `bytes` bytes.
unsafe extern "C" fn affinity(
    process: c_int,
    bytes: usize,
    set: *mut c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(sched_getaffinity: fn(process: c_int, bytes: usize, set: *mut c_void) -> c_int);
    let Some(thread) = by_id(process) else {
        return failed(libc::ESRCH);
    };
    // SAFETY: `set` points to `bytes` bytes, by this function's contract.
    with_errno(unsafe { write_set(look_at(thread, frame).processors, bytes, set, frame) })
}

/// # Safety
///
/// As `pthread_getaffinity_np`: `set` points to `bytes` bytes.
unsafe extern "C" fn thread_affinity(
    handle: Handle,
    bytes: usize,
    set: *mut c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_getaffinity_np: fn(handle: Handle, bytes: usize, set: *mut c_void) -> c_int);
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    // SAFETY: `set` points to `bytes` bytes, by this function's contract.
    unsafe { write_set(look_at(thread, frame).processors, bytes, set, frame) }
}

/// Sets the processors of a thread; an error number.
///
/// # Safety
///
/// `set` points to `bytes` bytes.
unsafe fn bind(thread: Option<ThreadId>, bytes: usize, set: *const c_void, frame: &Frame) -> c_int {
    let Some(thread) = thread else {
        return libc::ESRCH;
    };
    // SAFETY: `set` points to `bytes` bytes, by this function's contract.
    match unsafe { read_set(bytes, set, frame) } {
        0 => libc::EINVAL,
        processors => {
            change(thread, frame, |settings| settings.processors = processors);
            0
        }
    }
}

/// # Safety
///
/// As `sched_setaffinity`: `set` points to `bytes` bytes.
unsafe extern "C" fn set_affinity(
    process: c_int,
    bytes: usize,
    set: *const c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(sched_setaffinity: fn(process: c_int, bytes: usize, set: *const c_void) -> c_int);
    // SAFETY: `set` points to `bytes` bytes, by this function's contract.
    with_errno(unsafe { bind(by_id(process), bytes, set, frame) })
}

/// # Safety
///
/// As `pthread_setaffinity_np`: `set` points to `bytes` bytes.
unsafe extern "C" fn set_thread_affinity(
    handle: Handle,
    bytes: usize,
    set: *const c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_setaffinity_np: fn(handle: Handle, bytes: usize, set: *const c_void) -> c_int);
    // SAFETY: `set` points to `bytes` bytes, by this function's contract.
    unsafe { bind(find(handle), bytes, set, frame) }
}

/// The priority in these parameters.
///
/// # Safety
///
/// `parameters` points to parameters.
unsafe fn priority_of(parameters: *const Parameters, frame: &Frame) -> c_int {
    accesses::range(parameters as usize, size_of::<Parameters>(), false, frame);
    // SAFETY: `parameters` points to parameters, by this function's contract.
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
    let policy = policy.unwrap_or_else(|| known(thread).policy);
    if !priorities(policy).is_some_and(|allowed| allowed.contains(&priority)) {
        return libc::EINVAL;
    }
    change(thread, frame, |settings| {
        (settings.policy, settings.priority) = (policy, priority);
    });
    0
}

/// # Safety
///
/// As `pthread_getschedparam`: `policy` and `parameters` point to room for the answers.
unsafe extern "C" fn scheduling(
    handle: Handle,
    policy: *mut c_int,
    parameters: *mut Parameters,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_getschedparam: fn(handle: Handle, policy: *mut c_int, parameters: *mut Parameters) -> c_int);
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let own = look_at(thread, frame);
    accesses::range(policy as usize, size_of::<c_int>(), true, frame);
    accesses::range(parameters as usize, size_of::<Parameters>(), true, frame);
    // SAFETY: `policy` and `parameters` point to room for a number and for parameters, by this function's contract.
    unsafe {
        *policy = own.policy;
        (*parameters).sched_priority = own.priority;
    }
    0
}

/// # Safety
///
/// As `pthread_setschedparam`: `parameters` points to parameters.
unsafe extern "C" fn set_scheduling(
    handle: Handle,
    policy: c_int,
    parameters: *const Parameters,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_setschedparam: fn(handle: Handle, policy: c_int, parameters: *const Parameters) -> c_int);
    // SAFETY: `parameters` points to parameters, by this function's contract.
    let priority = unsafe { priority_of(parameters, frame) };
    schedule(find(handle), Some(policy), priority, frame)
}

extern "C" fn set_priority(handle: Handle, priority: c_int, frame: &Frame) -> c_int {
    outside_run!(pthread_setschedprio: fn(handle: Handle, priority: c_int) -> c_int);
    schedule(find(handle), None, priority, frame)
}

extern "C" fn scheduler(process: c_int, frame: &Frame) -> c_int {
    outside_run!(sched_getscheduler: fn(process: c_int) -> c_int);
    match by_id(process) {
        Some(thread) => look_at(thread, frame).policy,
        None => failed(libc::ESRCH),
    }
}

/// # Safety
///
/// As `sched_setscheduler`: `parameters` points to parameters.
unsafe extern "C" fn set_scheduler(
    process: c_int,
    policy: c_int,
    parameters: *const Parameters,
    frame: &Frame,
) -> c_int {
    outside_run!(sched_setscheduler: fn(process: c_int, policy: c_int, parameters: *const Parameters) -> c_int);
    // SAFETY: `parameters` points to parameters, by this function's contract.
    let priority = unsafe { priority_of(parameters, frame) };
    with_errno(schedule(by_id(process), Some(policy), priority, frame))
}

/// # Safety
///
/// As `sched_getparam`: `parameters` points to room for parameters.
unsafe extern "C" fn parameters(
    process: c_int,
    parameters: *mut Parameters,
    frame: &Frame,
) -> c_int {
    outside_run!(sched_getparam: fn(process: c_int, parameters: *mut Parameters) -> c_int);
    let Some(thread) = by_id(process) else {
        return failed(libc::ESRCH);
    };
    let own = look_at(thread, frame);
    accesses::range(parameters as usize, size_of::<Parameters>(), true, frame);
    // SAFETY: `parameters` points to room for parameters, by this function's contract.
    unsafe { (*parameters).sched_priority = own.priority };
    0
}

/// # Safety
///
/// As `sched_setparam`: `parameters` points to parameters.
unsafe extern "C" fn set_parameters(
    process: c_int,
    parameters: *const Parameters,
    frame: &Frame,
) -> c_int {
    outside_run!(sched_setparam: fn(process: c_int, parameters: *const Parameters) -> c_int);
    // SAFETY: `parameters` points to parameters, by this function's contract.
    let priority = unsafe { priority_of(parameters, frame) };
    with_errno(schedule(by_id(process), None, priority, frame))
}

/// Sets how nice a thread is. Without privileges it can only become nicer. An error number.
fn make_nice(thread: ThreadId, to: c_int, frame: &Frame) -> c_int {
    let to = to.clamp(-20, 19);
    if to < known(thread).nice {
        return libc::EACCES;
    }
    change(thread, frame, |settings| settings.nice = to);
    0
}

/// On Linux each thread has its own.
extern "C" fn be_nice(by: c_int, frame: &Frame) -> c_int {
    outside_run!(nice: fn(by: c_int) -> c_int);
    let me = world::borrow().current;
    let to = look_at(me, frame).nice.saturating_add(by);
    match make_nice(me, to, frame) {
        0 => look_at(me, frame).nice,
        _ => failed(libc::EPERM),
    }
}

extern "C" fn niceness(which: c_uint, who: c_uint, frame: &Frame) -> c_int {
    outside_run!(getpriority: fn(which: c_uint, who: c_uint) -> c_int);
    match (which, by_id(who as c_int)) {
        (libc::PRIO_PROCESS, Some(thread)) => look_at(thread, frame).nice,
        (libc::PRIO_PROCESS, None) => failed(libc::ESRCH),
        (libc::PRIO_PGRP | libc::PRIO_USER, _) => 0,
        _ => failed(libc::EINVAL),
    }
}

extern "C" fn set_niceness(which: c_uint, who: c_uint, priority: c_int, frame: &Frame) -> c_int {
    outside_run!(setpriority: fn(which: c_uint, who: c_uint, priority: c_int) -> c_int);
    with_errno(match (which, by_id(who as c_int)) {
        (libc::PRIO_PROCESS, Some(thread)) => make_nice(thread, priority, frame),
        (libc::PRIO_PROCESS, None) => libc::ESRCH,
        (libc::PRIO_PGRP | libc::PRIO_USER, _) => 0,
        _ => libc::EINVAL,
    })
}
