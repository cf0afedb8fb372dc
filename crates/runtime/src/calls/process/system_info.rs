//! What programs ask of the machine and of themselves, with one answer in every process: ids, processors, what was used up.

use crate::{
    core::world,
    hooks::{Frame, accesses},
    real, trampoline,
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

/// Writes an answer to where the program wants it.
unsafe fn tell<T>(into: *mut T, answer: T, frame: &Frame) {
    accesses::range(into as usize, size_of::<T>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { into.write(answer) };
}

/// All that was used is time, which is virtual.
unsafe extern "C" fn usage(who: c_int, into: *mut libc::rusage, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(getrusage: fn(c_int, *mut libc::rusage) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(who, into) };
    }
    if !matches!(
        who,
        libc::RUSAGE_SELF | libc::RUSAGE_THREAD | libc::RUSAGE_CHILDREN
    ) {
        return crate::core::operations::failed(libc::EINVAL);
    }
    let microseconds = match who {
        libc::RUSAGE_CHILDREN => 0,
        _ => world::get().look_at_clock() / 1000,
    };
    // SAFETY: zeros are a value of it; the program's own variable.
    unsafe {
        let mut answer: libc::rusage = core::mem::zeroed();
        answer.ru_utime.tv_sec = (microseconds / 1_000_000) as libc::time_t;
        answer.ru_utime.tv_usec = (microseconds % 1_000_000) as libc::suseconds_t;
        tell(into, answer, frame);
    }
    0
}

/// In hundredths of a second.
unsafe extern "C" fn used_times(into: *mut libc::tms, frame: &Frame) -> libc::clock_t {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(times: fn(*mut libc::tms) -> libc::clock_t)(into) };
    }
    let ticks = (world::get().look_at_clock() / 10_000_000) as libc::clock_t;
    if !into.is_null() {
        let answer = libc::tms {
            tms_utime: ticks,
            tms_stime: 0,
            tms_cutime: 0,
            tms_cstime: 0,
        };
        // SAFETY: as above.
        unsafe { tell(into, answer, frame) };
    }
    ticks
}

/// The machine as it is, but for what differs from moment to moment.
unsafe extern "C" fn system_state(into: *mut libc::sysinfo, frame: &Frame) -> c_int {
    let real = real!(sysinfo: fn(*mut libc::sysinfo) -> c_int);
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real(into) };
    }
    // SAFETY: zeros are a value of it, which the call fills; the program's own variable.
    unsafe {
        let mut answer: libc::sysinfo = core::mem::zeroed();
        let result = real(&mut answer);
        answer.uptime = (world::get().look_at_clock() / 1_000_000_000) as c_long;
        answer.loads = [0; 3];
        (answer.freeram, answer.bufferram) = (answer.totalram / 2, 0);
        (answer.sharedram, answer.freeswap) = (0, answer.totalswap);
        answer.procs = 1;
        tell(into, answer, frame);
        result
    }
}
