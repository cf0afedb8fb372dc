//! What programs ask about the machine and about themselves, with the same answer in every run: ids, processors, time and memory
//! that were used.

use crate::{
    core::trampoline::Frame,
    outside_run, real,
    run::{accesses, operations::failed, world},
    shared::{
        deadlines::{MICROSECOND, SECOND, look},
        process_identity::{PROCESSORS, current_thread, parent, process},
    },
    trampoline,
};
use core::ffi::{c_int, c_long, c_uint};

trampoline! {
    getpid => process_id, "rdi";
    getppid => parent_id, "rdi";
    gettid => thread_id, "rdi";
    get_nprocs => processors, "rdi";
    get_nprocs_conf => processors_configured, "rdi";
    sysconf => system_limit, "rsi";
    sched_getcpu => processor, "rdi";
    getcpu => processor_and_node, "rdx";
    getrusage => usage, "rdx";
    times => used_times, "rsi";
    sysinfo => system_state, "rsi";
}

extern "C" fn process_id(_: &Frame) -> c_int {
    outside_run!(getpid: fn() -> c_int);
    process()
}

extern "C" fn parent_id(_: &Frame) -> c_int {
    outside_run!(getppid: fn() -> c_int);
    parent()
}

extern "C" fn thread_id(_: &Frame) -> c_int {
    outside_run!(gettid: fn() -> c_int);
    current_thread()
}

extern "C" fn processors(_: &Frame) -> c_int {
    outside_run!(get_nprocs: fn() -> c_int);
    PROCESSORS as c_int
}

extern "C" fn processors_configured(_: &Frame) -> c_int {
    outside_run!(get_nprocs_conf: fn() -> c_int);
    PROCESSORS as c_int
}

extern "C" fn system_limit(name: c_int, _: &Frame) -> c_long {
    let processors = matches!(
        name,
        libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF
    );
    if processors && world::active() {
        return PROCESSORS as c_long;
    }
    // SAFETY: `sysconf` takes any number, and touches no memory of the program.
    unsafe { real!(sysconf: fn(c_int) -> c_long)(name) }
}

extern "C" fn processor(_: &Frame) -> c_int {
    outside_run!(sched_getcpu: fn() -> c_int);
    0
}

/// # Safety
///
/// As `getcpu`: `processor` and `node` are null or point to room for a number.
unsafe extern "C" fn processor_and_node(
    processor: *mut c_uint,
    node: *mut c_uint,
    frame: &Frame,
) -> c_int {
    outside_run!(getcpu: fn(processor: *mut c_uint, node: *mut c_uint) -> c_int);
    for place in [processor, node] {
        if !place.is_null() {
            // SAFETY: not null, so it points to room for a number, by this function's contract.
            unsafe { answer(place, 0, frame) };
        }
    }
    0
}

/// Writes an answer to where the program wants it.
///
/// # Safety
///
/// `into` points to room for a `T`.
unsafe fn answer<T>(into: *mut T, answer: T, frame: &Frame) {
    accesses::range(into as usize, size_of::<T>(), true, frame);
    // SAFETY: `into` points to room for a `T`, by this function's contract.
    unsafe { into.write(answer) };
}

/// All that was used is time, which is virtual.
///
/// # Safety
///
/// As `getrusage`: `into` points to room for the answer.
unsafe extern "C" fn usage(who: c_int, into: *mut libc::rusage, frame: &Frame) -> c_int {
    outside_run!(getrusage: fn(who: c_int, into: *mut libc::rusage) -> c_int);
    if !matches!(
        who,
        libc::RUSAGE_SELF | libc::RUSAGE_THREAD | libc::RUSAGE_CHILDREN
    ) {
        return failed(libc::EINVAL);
    }
    let microseconds = match who {
        libc::RUSAGE_CHILDREN => 0,
        _ => look(MICROSECOND, frame) / MICROSECOND,
    };
    // SAFETY: `rusage` is made of numbers, so all zeros are a value of it.
    let mut used: libc::rusage = unsafe { core::mem::zeroed() };
    used.ru_utime.tv_sec = (microseconds / 1_000_000) as libc::time_t;
    used.ru_utime.tv_usec = (microseconds % 1_000_000) as libc::suseconds_t;
    // SAFETY: `into` points to room for the answer, by this function's contract.
    unsafe { answer(into, used, frame) };
    0
}

/// In hundredths of a second.
///
/// # Safety
///
/// As `times`: `into` is null or points to room for the answer.
unsafe extern "C" fn used_times(into: *mut libc::tms, frame: &Frame) -> libc::clock_t {
    outside_run!(times: fn(into: *mut libc::tms) -> libc::clock_t);
    /// A hundredth of a second, in nanoseconds.
    const TICK: u64 = 10_000_000;
    let ticks = (look(TICK, frame) / TICK) as libc::clock_t;
    if !into.is_null() {
        let used = libc::tms {
            tms_utime: ticks,
            tms_stime: 0,
            tms_cutime: 0,
            tms_cstime: 0,
        };
        // SAFETY: not null, so it points to room for the answer, by this function's contract.
        unsafe { answer(into, used, frame) };
    }
    ticks
}

/// The machine as it is, except for what differs from moment to moment.
///
/// # Safety
///
/// As `sysinfo`: `into` points to room for the answer.
unsafe extern "C" fn system_state(into: *mut libc::sysinfo, frame: &Frame) -> c_int {
    outside_run!(sysinfo: fn(into: *mut libc::sysinfo) -> c_int);
    // SAFETY: `sysinfo` is made of numbers, so all zeros are a value of it.
    let mut state: libc::sysinfo = unsafe { core::mem::zeroed() };
    // SAFETY: the answer goes to a local.
    let result = unsafe { real!(sysinfo: fn(*mut libc::sysinfo) -> c_int)(&mut state) };
    state.uptime = (look(SECOND, frame) / SECOND) as c_long;
    state.loads = [0; 3];
    (state.freeram, state.bufferram) = (state.totalram / 2, 0);
    (state.sharedram, state.freeswap) = (0, state.totalswap);
    state.procs = 1;
    // SAFETY: `into` points to room for the answer, by this function's contract.
    unsafe { answer(into, state, frame) };
    result
}
