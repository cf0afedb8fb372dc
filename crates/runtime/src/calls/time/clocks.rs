//! Clocks, sleeps and everything with a time limit, in virtual time: see [`crate::core::times`].

use crate::{
    calls::{process::system_info, threads::cancellation},
    core::{
        hidden_objects::Hidden,
        world::{self, Done, perform, poll},
    },
    hooks::{Frame, accesses},
    real, trampoline,
};
use core::ffi::{c_int, c_long, c_uint, c_void};
use libc::{clockid_t, time_t, timespec, timeval};
use reweave_model::{Gate, Op, Order, Site};

trampoline! {
    clock_gettime => clock_get_time, "rdx";
    clock_getres => clock_get_resolution, "rdx";
    gettimeofday => get_time_of_day, "rdx";
    time => seconds, "rsi";
    clock => processor_time, "rdi";
    clock_getcpuclockid => process_clock, "rdx";
    timespec_get => timespec_of, "rdx";
    nanosleep => nano_sleep, "rdx";
    clock_nanosleep => clock_nano_sleep, "r8";
    usleep => micro_sleep, "rsi";
    sleep => second_sleep, "rsi";
    sched_yield => give_way, "rdi";
    pthread_yield => give_way, "rdi";
}

const SECOND: u64 = 1_000_000_000;

/// Where the clocks are when a run begins: 2026 began, and the machine had run for a while.
const CALENDAR: u64 = 1_767_225_600 * SECOND;
const MONOTONIC: u64 = 1000 * SECOND;

/// What a clock shows at the beginning of a run; `None`: there is no such clock.
fn beginning(clock: clockid_t) -> Option<u64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(CALENDAR),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => Some(MONOTONIC),
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(0),
        _ => None,
    }
}

fn split(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / SECOND) as time_t,
        tv_nsec: (ns % SECOND) as c_long,
    }
}

/// Nanoseconds; those before 1970 are 0. `None`: it is no time.
fn join(time: &timespec) -> Option<u64> {
    if !(0..SECOND as c_long).contains(&time.tv_nsec) {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Some(
        seconds
            .saturating_mul(SECOND)
            .saturating_add(time.tv_nsec as u64),
    )
}

/// When something times out, in nanoseconds since the beginning of the run.
#[derive(Clone, Copy)]
pub struct Deadline(u64);

impl Deadline {
    /// By a clock that one can wait for. `None`: there is no such clock, or it is no time.
    pub fn new(clock: clockid_t, time: *const timespec) -> Option<Deadline> {
        if !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) {
            return None;
        }
        // SAFETY: the program's own variable.
        let time = join(unsafe { &*time })?;
        Some(Deadline(time.saturating_sub(beginning(clock)?)))
    }

    /// So long from now.
    pub fn after(time: *const timespec) -> Option<Deadline> {
        // SAFETY: the program's own variable.
        let time = join(unsafe { &*time })?;
        Some(Deadline(world::get().time_ns().saturating_add(time)))
    }

    /// The running thread has waited until then.
    pub fn reached(self) {
        world::get().advance_to(self.0);
    }
}

/// An operation that may time out: it does when it goes before what it waits for.
pub fn perform_until(op: Op, until: Deadline, site: Site) -> Done {
    let gate = world::get().timed_gate(op);
    perform_gated(op, gate, until, site)
}

/// The same, when [`World::timed_gate`](crate::core::world::World::timed_gate) was asked already.
pub fn perform_gated(op: Op, gate: Gate, until: Deadline, site: Site) -> Done {
    let done = perform(op, gate, site, Order::SeqCst, None);
    world::get().timed(op, done.ok);
    if !done.ok {
        until.reached();
    }
    done
}

/// Returns an error as most functions of the library do.
pub fn fail(error: c_int) -> c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

unsafe extern "C" fn clock_get_time(clock: clockid_t, into: *mut timespec, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(clock_gettime: fn(clockid_t, *mut timespec) -> c_int)(clock, into) };
    }
    let Some(beginning) = beginning(clock) else {
        return fail(libc::EINVAL);
    };
    accesses::range(into as usize, size_of::<timespec>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { *into = split(beginning + world::get().look_at_clock()) };
    0
}

unsafe extern "C" fn clock_get_resolution(
    clock: clockid_t,
    into: *mut timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(clock_getres: fn(clockid_t, *mut timespec) -> c_int)(clock, into) };
    }
    if beginning(clock).is_none() {
        return fail(libc::EINVAL);
    }
    if !into.is_null() {
        accesses::range(into as usize, size_of::<timespec>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { *into = split(1) };
    }
    0
}

unsafe extern "C" fn get_time_of_day(
    into: *mut timeval,
    zone: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() || into.is_null() {
        let real = real!(gettimeofday: fn(*mut timeval, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(into, zone) };
    }
    let now = split(CALENDAR + world::get().look_at_clock());
    accesses::range(into as usize, size_of::<timeval>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe {
        *into = timeval {
            tv_sec: now.tv_sec,
            tv_usec: now.tv_nsec / 1000,
        };
    }
    0
}

unsafe extern "C" fn seconds(into: *mut time_t, frame: &Frame) -> time_t {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(time: fn(*mut time_t) -> time_t)(into) };
    }
    let now = split(CALENDAR + world::get().look_at_clock()).tv_sec;
    if !into.is_null() {
        accesses::range(into as usize, size_of::<time_t>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { *into = now };
    }
    now
}

unsafe extern "C" fn processor_time(_: &Frame) -> c_long {
    if !world::active() {
        // SAFETY: it takes nothing.
        return unsafe { real!(clock: fn() -> c_long)() };
    }
    (world::get().look_at_clock() / 1000) as c_long
}

unsafe extern "C" fn process_clock(process: c_int, into: *mut clockid_t, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(clock_getcpuclockid: fn(c_int, *mut clockid_t) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, into) };
    }
    if process != 0 && process != system_info::PROCESS {
        return libc::ESRCH;
    }
    accesses::range(into as usize, size_of::<clockid_t>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { *into = libc::CLOCK_PROCESS_CPUTIME_ID };
    0
}

unsafe extern "C" fn timespec_of(into: *mut timespec, base: c_int, frame: &Frame) -> c_int {
    const UTC: c_int = 1;
    if !world::active() || base != UTC {
        // SAFETY: the program's own arguments.
        return unsafe { real!(timespec_get: fn(*mut timespec, c_int) -> c_int)(into, base) };
    }
    accesses::range(into as usize, size_of::<timespec>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { *into = split(CALENDAR + world::get().look_at_clock()) };
    base
}

/// Sleeps in a row after which the others get their turn.
const DOZES: u32 = 1000;

/// The running thread sleeps so long. Nobody waits for that. One that does nothing else looks, from some time on, at something that never
/// changes: if it does so for ever it is found to be a loop that waits ([`crate::core::spin`]), and the others go on.
pub fn doze(ns: u64, frame: &Frame) {
    let world = world::get();
    world.advance(ns);
    if world.run.pause(world.current) < DOZES {
        return;
    }
    let site = crate::core::call_sites::site(&frame.return_address);
    // That is nothing that it does.
    let acted = world.me().acted;
    let nothing = Op::Load(Hidden::Nothing.object());
    poll(nothing, frame, site, Order::SeqCst, None);
    let world = world::get();
    world.me().acted = acted;
    world.run.keep_pausing(world.current);
}

/// As [`doze`]; an error number.
fn rest(time: *const timespec, frame: &Frame) -> c_int {
    // SAFETY: the program's own variable.
    match join(unsafe { &*time }) {
        Some(ns) => {
            doze(ns, frame);
            0
        }
        None => libc::EINVAL,
    }
}

pub(crate) unsafe extern "C" fn nano_sleep(
    time: *const timespec,
    left: *mut timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(nanosleep: fn(*const timespec, *mut timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(time, left) };
    }
    cancellation::point(frame);
    match rest(time, frame) {
        0 => 0,
        error => fail(error),
    }
}

unsafe extern "C" fn clock_nano_sleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real =
            real!(clock_nanosleep: fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(clock, flags, time, left) };
    }
    let Some(beginning) = beginning(clock).filter(|_| clock != libc::CLOCK_THREAD_CPUTIME_ID)
    else {
        return libc::EINVAL;
    };
    cancellation::point(frame);
    if flags & libc::TIMER_ABSTIME == 0 {
        return rest(time, frame);
    }
    // SAFETY: the program's own variable.
    match join(unsafe { &*time }) {
        Some(ns) => {
            let now = world::get().time_ns();
            doze(ns.saturating_sub(beginning).saturating_sub(now), frame);
            0
        }
        None => libc::EINVAL,
    }
}

unsafe extern "C" fn micro_sleep(microseconds: c_uint, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: a number.
        return unsafe { real!(usleep: fn(c_uint) -> c_int)(microseconds) };
    }
    cancellation::point(frame);
    doze(u64::from(microseconds) * 1000, frame);
    0
}

unsafe extern "C" fn second_sleep(seconds: c_uint, frame: &Frame) -> c_uint {
    if !world::active() {
        // SAFETY: a number.
        return unsafe { real!(sleep: fn(c_uint) -> c_uint)(seconds) };
    }
    cancellation::point(frame);
    doze(u64::from(seconds) * SECOND, frame);
    0
}

/// Who goes next is never this call's business.
pub(crate) unsafe extern "C" fn give_way(frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: it takes nothing.
        return unsafe { real!(sched_yield: fn() -> c_int)() };
    }
    doze(0, frame);
    0
}
