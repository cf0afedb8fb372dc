//! What programs ask of the machine and of themselves, with one answer in every process: ids, processors, priorities.

use crate::{accesses, hooks::Frame, real, trampoline, world};
use core::{
    ffi::{c_int, c_long, c_uint, c_void},
    ptr,
};

trampoline! {
    getpid => process_id, "rdi";
    getppid => parent_id, "rdi";
    gettid => thread_id, "rdi";
    get_nprocs => processors, "rdi";
    get_nprocs_conf => processors_configured, "rdi";
    sysconf => system_limit, "rsi";
    sched_getcpu => processor, "rdi";
    getcpu => processor_and_node, "rdx";
    sched_getaffinity => affinity, "rcx";
    pthread_getaffinity_np => thread_affinity, "rcx";
    sched_setaffinity => set_affinity, "rcx";
    pthread_setaffinity_np => set_thread_affinity, "rcx";
    pthread_setschedparam => set_scheduling, "rcx";
    pthread_setschedprio => set_priority, "rdx";
    sched_setscheduler => set_scheduler, "rcx";
    sched_setparam => set_parameters, "rdx";
    nice => be_nice, "rsi";
    setpriority => set_nice, "rcx";
}

/// Ids as a program sees them: the process's, its parent's. A thread's is that of the process plus its slot.
pub const PROCESS: c_int = 1000;
const PARENT: c_int = 999;
/// Few, for programs that start a thread on each.
pub const PROCESSORS: usize = 2;

unsafe extern "C" fn process_id(_: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: no arguments.
        return unsafe { real!(getpid: fn() -> c_int)() };
    }
    PROCESS
}

unsafe extern "C" fn parent_id(_: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: no arguments.
        return unsafe { real!(getppid: fn() -> c_int)() };
    }
    PARENT
}

/// The running thread's id.
pub fn current_thread() -> c_int {
    PROCESS + world::get().slot() as c_int
}

unsafe extern "C" fn thread_id(_: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: no arguments.
        return unsafe { real!(gettid: fn() -> c_int)() };
    }
    current_thread()
}

unsafe extern "C" fn processors(_: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: no arguments.
        return unsafe { real!(get_nprocs: fn() -> c_int)() };
    }
    PROCESSORS as c_int
}

unsafe extern "C" fn processors_configured(_: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: no arguments.
        return unsafe { real!(get_nprocs_conf: fn() -> c_int)() };
    }
    PROCESSORS as c_int
}

unsafe extern "C" fn system_limit(name: c_int, _: &Frame) -> c_long {
    let processors = matches!(
        name,
        libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF
    );
    if processors && world::active() {
        return PROCESSORS as c_long;
    }
    // SAFETY: a number.
    unsafe { real!(sysconf: fn(c_int) -> c_long)(name) }
}

unsafe extern "C" fn processor(_: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: no arguments.
        return unsafe { real!(sched_getcpu: fn() -> c_int)() };
    }
    0
}

unsafe extern "C" fn processor_and_node(
    processor: *mut c_uint,
    node: *mut c_uint,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(getcpu: fn(*mut c_uint, *mut c_uint) -> c_int)(processor, node) };
    }
    for place in [processor, node] {
        if !place.is_null() {
            accesses::range(place as usize, size_of::<c_uint>(), true, frame);
            // SAFETY: the program's own variable.
            unsafe { *place = 0 };
        }
    }
    0
}

/// Writes which processors there are into a set of this size; an error number.
unsafe fn all(bytes: usize, set: *mut c_void, frame: &Frame) -> c_int {
    if bytes < 8 || !bytes.is_multiple_of(8) {
        return libc::EINVAL;
    }
    accesses::range(set as usize, bytes, true, frame);
    // SAFETY: the program's own memory, as large as it says.
    unsafe {
        ptr::write_bytes(set.cast::<u8>(), 0, bytes);
        *set.cast::<u64>() = (1 << PROCESSORS) - 1;
    }
    0
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
    // SAFETY: as the call itself.
    match unsafe { all(bytes, set, frame) } {
        0 => 0,
        error => super::failed(error),
    }
}

unsafe extern "C" fn thread_affinity(
    handle: libc::pthread_t,
    bytes: usize,
    set: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_getaffinity_np: fn(libc::pthread_t, usize, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, bytes, set) };
    }
    // SAFETY: as the call itself.
    unsafe { all(bytes, set, frame) }
}

unsafe extern "C" fn set_affinity(
    process: c_int,
    bytes: usize,
    set: *const c_void,
    _: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_setaffinity: fn(c_int, usize, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, bytes, set) };
    }
    0
}

unsafe extern "C" fn set_thread_affinity(
    handle: libc::pthread_t,
    bytes: usize,
    set: *const c_void,
    _: &Frame,
) -> c_int {
    if !world::active() {
        let real =
            real!(pthread_setaffinity_np: fn(libc::pthread_t, usize, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, bytes, set) };
    }
    0
}

unsafe extern "C" fn set_scheduling(
    handle: libc::pthread_t,
    policy: c_int,
    parameters: *const c_void,
    _: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_setschedparam: fn(libc::pthread_t, c_int, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, policy, parameters) };
    }
    0
}

unsafe extern "C" fn set_priority(handle: libc::pthread_t, priority: c_int, _: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_setschedprio: fn(libc::pthread_t, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, priority) };
    }
    0
}

unsafe extern "C" fn set_scheduler(
    process: c_int,
    policy: c_int,
    parameters: *const c_void,
    _: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sched_setscheduler: fn(c_int, c_int, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, policy, parameters) };
    }
    0
}

unsafe extern "C" fn set_parameters(process: c_int, parameters: *const c_void, _: &Frame) -> c_int {
    if !world::active() {
        let real = real!(sched_setparam: fn(c_int, *const c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, parameters) };
    }
    0
}

unsafe extern "C" fn be_nice(by: c_int, _: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: a number.
        return unsafe { real!(nice: fn(c_int) -> c_int)(by) };
    }
    0
}

unsafe extern "C" fn set_nice(which: c_int, who: c_uint, priority: c_int, _: &Frame) -> c_int {
    if !world::active() {
        let real = real!(setpriority: fn(c_int, c_uint, c_int) -> c_int);
        // SAFETY: numbers.
        return unsafe { real(which, who, priority) };
    }
    0
}
