//! Processes that the program forks, and waiting for them.
//!
//! A fork is no operation: like the creation of a thread it only orders. The end of a process is the end of its last thread,
//! and a wait for one process waits for the thread that this one began with ([`crate::run::processes`]).
//!
//! `vfork` is `fork`: a program that follows its rules cannot tell the difference.

use crate::{
    calls::process::at_fork,
    core::{per_process::ProcessId, sys, trampoline::Frame},
    kernel::endpoints,
    outside_run,
    run::{
        accesses, call_sites, leftovers,
        operations::{failed, visible},
        processes::{self, Forked, Process},
        rules, signal_actions, world,
    },
    shared::{injected_faults, process_numbers},
    trampoline,
};
use core::ffi::{c_int, c_void};
use libc::pid_t;
use reweave_model::{Op, Site};
use reweave_wire::Rule;

trampoline! {
    fork => fork_process, "rdi";
    vfork => fork_process, "rdi";
    _Fork => fork_without_handlers, "rdi";
    wait => wait_for_any, "rsi";
    waitpid => wait_for, "rcx";
    wait3 => wait_for_any_with_usage, "rcx";
    wait4 => wait_for_with_usage, "r8";
    waitid => wait_for_one, "r8";
}

extern "C" fn fork_process(frame: &Frame) -> pid_t {
    outside_run!(fork: fn() -> pid_t);
    let site = call_sites::site(&frame.return_address);
    check(site);
    at_fork::before();
    let forked = fork_here(site);
    at_fork::after(forked == Forked::Child);
    result(forked)
}

/// Forks the running process, after [`check`].
pub(super) fn fork_here(site: Site) -> Forked {
    endpoints::inherit(site);
    processes::fork(site, process_numbers::by_path)
}

extern "C" fn fork_without_handlers(frame: &Frame) -> pid_t {
    outside_run!(_Fork: fn() -> pid_t);
    let site = call_sites::site(&frame.return_address);
    check(site);
    result(fork_here(site))
}

fn result(forked: Forked) -> pid_t {
    match forked {
        Forked::Parent(child) => child,
        Forked::Child => 0,
    }
}

/// Whether the running thread can fork: else it goes no further.
pub(super) fn check(site: Site) {
    if !rules::needs(Rule::Processes) {
        // The search restarts.
        world::freeze(site);
    }
    let alone = world::borrow().forks_alone();
    if processes::all().len() >= processes::MOST {
        world::unsupported("more than 64 processes", site);
    }
    if signal_actions::action(libc::SIGCHLD).sa_sigaction != libc::SIG_DFL {
        // Its end would interrupt a thread, or reap itself.
        world::borrow().note_unsupported("a handler for SIGCHLD", site);
    }
    if !alone {
        // The copy of the memory depends on what the others have done by now, which no operation says.
        world::borrow().note_unsupported("fork beside other threads", site);
    }
    // Libraries may keep what says whose process it is.
    leftovers::suspect();
}

/// # Safety
///
/// As `wait`: `status` is null or points to room for a number.
unsafe extern "C" fn wait_for_any(status: *mut c_int, frame: &Frame) -> pid_t {
    outside_run!(wait: fn(status: *mut c_int) -> pid_t);
    // SAFETY: `status` is null or points to room for a number, by this function's contract.
    unsafe { reap(-1, status, 0, frame) }
}

/// # Safety
///
/// As `waitpid`: `status` is null or points to room for a number.
unsafe extern "C" fn wait_for(
    number: pid_t,
    status: *mut c_int,
    options: c_int,
    frame: &Frame,
) -> pid_t {
    outside_run!(waitpid: fn(number: pid_t, status: *mut c_int, options: c_int) -> pid_t);
    // SAFETY: `status` is null or points to room for a number, by this function's contract.
    unsafe { reap(number, status, options, frame) }
}

/// # Safety
///
/// As `wait3`: `status` and `usage` are null or point to room for a number and for what was used.
unsafe extern "C" fn wait_for_any_with_usage(
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
    frame: &Frame,
) -> pid_t {
    outside_run!(wait3: fn(status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> pid_t);
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { reap_with_usage(-1, status, options, usage, frame) }
}

/// # Safety
///
/// As `wait4`: `status` and `usage` are null or point to room for a number and for what was used.
unsafe extern "C" fn wait_for_with_usage(
    number: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
    frame: &Frame,
) -> pid_t {
    outside_run!(wait4: fn(number: pid_t, status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> pid_t);
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { reap_with_usage(number, status, options, usage, frame) }
}

/// # Safety
///
/// `status` and `usage` are null or point to room for a number and for what was used.
unsafe fn reap_with_usage(
    number: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut libc::rusage,
    frame: &Frame,
) -> pid_t {
    // SAFETY: `status` is null or points to room for a number, by this function's contract.
    let reaped = unsafe { reap(number, status, options, frame) };
    if reaped > 0 && !usage.is_null() {
        let bytes = size_of::<libc::rusage>();
        accesses::range(usage as usize, bytes, true, frame);
        // SAFETY: not null, so it points to room for what was used, of which zeros are a value.
        unsafe { usage.write_bytes(0, 1) };
    }
    reaped
}

/// Children of the running process that no wait has returned, and that a number stands for.
fn children(number: pid_t) -> impl Iterator<Item = (ProcessId, Process)> {
    let me = processes::current();
    let all = processes::all().into_iter().enumerate().skip(1);
    all.map(|(index, process)| (ProcessId(index as u32), process))
        .filter(move |(_, process)| process.parent == me && !process.reaped)
        .filter(move |(_, process)| number == -1 || number == 0 || process.number == number)
}

/// Waits for a child and forgets it.
///
/// # Safety
///
/// `status` is null or points to room for a number.
unsafe fn reap(number: pid_t, status: *mut c_int, options: c_int, frame: &Frame) -> pid_t {
    const KNOWN: c_int = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED;
    let site = call_sites::site(&frame.return_address);
    if options & !KNOWN != 0 || number < -1 {
        world::unsupported("waitpid for a process group", site);
    }
    let asks = options & libc::WNOHANG != 0;
    if !asks && children(number).count() > 0 && injected_faults::interrupts(site) {
        return failed(libc::EINTR);
    }
    let (child, ended) = match take_ended(number, options & libc::WNOHANG, site) {
        Ok(Some(reaped)) => reaped,
        Ok(None) => return 0,
        Err(error) => return failed(error),
    };
    if !status.is_null() {
        accesses::range(status as usize, size_of::<c_int>(), true, frame);
        // SAFETY: not null, so it points to room for a number, by this function's contract.
        unsafe { *status = ended };
    }
    child
}

/// Takes a child that has ended: its id and its status; nothing: none has ended yet; an error number.
fn take_ended(number: pid_t, options: c_int, site: Site) -> Result<Option<(pid_t, c_int)>, c_int> {
    let asks = options & libc::WNOHANG != 0;
    let reaped = match children(number).count() {
        0 => return Err(libc::ECHILD),
        1 if !asks && number > 0 => await_child(number, site),
        1 if !asks && !rules::holds(Rule::Children) => await_child(number, site),
        _ if !rules::needs(Rule::Children) => world::freeze(site),
        _ if number > 0 => ask_child(number, site),
        _ => await_any(asks, site),
    }?;
    let Some((child, status)) = reaped else {
        return Ok(None);
    };
    let child = processes::now(child);
    processes::change(child, |child| child.reaped = true);
    let number = processes::of(child).map_or(0, |child| child.number);
    Ok(Some((number, status)))
}

/// `waitid`.
///
/// # Safety
///
/// As POSIX demands of the caller: `info` is null or points to room for a `siginfo_t`.
unsafe extern "C" fn wait_for_one(
    kind: libc::idtype_t,
    number: libc::id_t,
    info: *mut libc::siginfo_t,
    options: c_int,
    frame: &Frame,
) -> c_int {
    outside_run!(waitid: fn(kind: libc::idtype_t, number: libc::id_t, info: *mut libc::siginfo_t, options: c_int) -> c_int);
    const EVENTS: c_int = libc::WEXITED | libc::WSTOPPED | libc::WCONTINUED;
    let site = call_sites::site(&frame.return_address);
    if options & EVENTS == 0 || options & !(EVENTS | libc::WNOHANG | libc::WNOWAIT) != 0 {
        return failed(libc::EINVAL);
    }
    if options & libc::WNOWAIT != 0 || options & libc::WEXITED == 0 {
        world::unsupported("waitid with WNOWAIT, or without WEXITED", site);
    }
    let number = match kind {
        libc::P_ALL => -1,
        libc::P_PID => number as pid_t,
        _ => world::unsupported("waitid for a process group or a descriptor", site),
    };
    let (reaped, status) = match take_ended(number, options & libc::WNOHANG, site) {
        Ok(reaped) => reaped.unwrap_or_default(),
        Err(error) => return failed(error),
    };
    if !info.is_null() {
        let bytes = size_of::<libc::siginfo_t>();
        accesses::range(info as usize, bytes, true, frame);
        let ended = Ended::of(reaped, status);
        // SAFETY: not null, so there is room for a `siginfo_t`, as the caller promises; `Ended` has no more bytes.
        unsafe {
            info.write_bytes(0, 1);
            info.cast::<Ended>().write(ended);
        }
    }
    0
}

/// The beginning of a `siginfo_t` about a child, as the operating system lays it out.
#[repr(C)]
#[derive(Default)]
struct Ended {
    signal: c_int,
    error: c_int,
    code: c_int,
    room: c_int,
    number: pid_t,
    user: u32,
    status: c_int,
}

/// The user that all processes of the run belong to.
fn own_user() -> u32 {
    // SAFETY: `getuid` takes nothing and only answers.
    unsafe { sys::call(libc::SYS_getuid, [0; 6]) as u32 }
}

impl Ended {
    /// What a `siginfo_t` says of this child, with its status as `wait` has it; 0: none has ended.
    fn of(number: pid_t, status: c_int) -> Ended {
        if number == 0 {
            return Ended::default();
        }
        let exited = libc::WIFEXITED(status);
        Ended {
            signal: libc::SIGCHLD,
            code: match (exited, libc::WCOREDUMP(status)) {
                (true, _) => libc::CLD_EXITED,
                (false, true) => libc::CLD_DUMPED,
                (false, false) => libc::CLD_KILLED,
            },
            number,
            user: own_user(),
            status: match exited {
                true => libc::WEXITSTATUS(status),
                false => libc::WTERMSIG(status),
            },
            ..Ended::default()
        }
    }
}

/// A child that was taken, and its status; nothing: none has ended; an error number: there is none to wait for.
type Reaped = Result<Option<(ProcessId, c_int)>, c_int>;

/// Waits for the one child that this number stands for.
fn await_child(number: pid_t, site: Site) -> Reaped {
    let Some((child, process)) = children(number).next() else {
        return Err(libc::ECHILD);
    };
    let ended = ended(child, process, site);
    let objects = rules::holds(Rule::Children);
    let taken = match objects {
        true => take(process.number, site),
        false => processes::of(processes::now(child)).is_some_and(|child| !child.reaped),
    };
    // Another thread may have been first.
    if taken {
        Ok(Some((child, ended)))
    } else {
        Err(libc::ECHILD)
    }
}

/// The status of a child, after its end.
fn ended(child: ProcessId, process: Process, site: Site) -> c_int {
    visible(Op::Join(process.main), site);
    let status = processes::of(processes::now(child)).and_then(|child| child.status);
    status.unwrap_or_else(|| world::unsupported("a process that did not end by itself", site))
}

/// Takes a child out of those that have ended; whether it was there.
fn take(number: pid_t, site: Site) -> bool {
    let pool = processes::ended_children(processes::current());
    visible(Op::Reuse(pool, number as u64), site).ok
}

/// Asks whether a child has ended.
fn ask_child(number: pid_t, site: Site) -> Reaped {
    let Some((child, process)) = children(number).next() else {
        return Err(libc::ECHILD);
    };
    if !take(number, site) {
        return Ok(None);
    }
    Ok(Some((child, ended(child, process, site))))
}

/// Waits for any child, or asks whether one has ended. Which of them is an outcome.
fn await_any(asks: bool, site: Site) -> Reaped {
    let object = processes::ended_children(processes::current());
    loop {
        if children(-1).next().is_none() {
            return Err(libc::ECHILD);
        }
        let number = visible(
            Op::Reap {
                object,
                tries: asks,
            },
            site,
        )
        .result as pid_t;
        if number == 0 {
            return Ok(None);
        }
        if !take(number, site) {
            continue;
        }
        let Some((child, process)) = children(number).next() else {
            return Err(libc::ECHILD);
        };
        return Ok(Some((child, ended(child, process, site))));
    }
}

/// A handle that stands for nothing; `fork` handlers belong to it when no module is given.
pub(super) const NO_MODULE: *mut c_void = core::ptr::null_mut();
