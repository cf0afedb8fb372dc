//! Joining and detaching threads.

use crate::{
    core::{cell::ASIDE, families::Birth, per_thread::PerThread, trampoline::Frame},
    kernel::waits::{self, Ended},
    outside_run,
    run::{
        accesses, call_sites, cancellation, hidden_objects::Hidden, operations::visible,
        thread_end::find, thread_identities, world,
    },
    shared::deadlines::Deadline,
    trampoline,
};
use alloc::format;
use core::ffi::{c_int, c_void};
use libc::{clockid_t as Clock, pthread_t as Handle, timespec};
use reweave_model::{Kind, Op, Site, ThreadId};

trampoline! {
    pthread_join => join, "rdx";
    pthread_tryjoin_np => try_join, "rdx";
    pthread_timedjoin_np => timed_join, "rcx";
    pthread_clockjoin_np => clock_join, "r8";
    pthread_detach => detach, "rsi";
}

/// Where each thread was joined or detached, 0 if it was not.
static SETTLED: PerThread<u32, ASIDE> = PerThread::new();

/// A new run.
pub fn clear() {
    SETTLED.clear();
}

pub fn thread_begins(birth: &Birth) {
    SETTLED.take_over(birth);
}

fn settle(thread: ThreadId, site: Site) {
    SETTLED.with(thread, |settled| *settled = site.0);
}

/// # Safety
///
/// As `pthread_join`: `result` is null or points to room for a pointer.
pub(super) unsafe extern "C" fn join(
    handle: Handle,
    result: *mut *mut c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_join: fn(handle: Handle, result: *mut *mut c_void) -> c_int);
    // SAFETY: `result` is null or points to room for a pointer, by this function's contract.
    unsafe { join_by(handle, result, Patience::Endless, frame) }
}

/// # Safety
///
/// As `pthread_tryjoin_np`: `result` is null or points to room for a pointer.
unsafe extern "C" fn try_join(handle: Handle, result: *mut *mut c_void, frame: &Frame) -> c_int {
    outside_run!(pthread_tryjoin_np: fn(handle: Handle, result: *mut *mut c_void) -> c_int);
    // SAFETY: `result` is null or points to room for a pointer, by this function's contract.
    unsafe { join_by(handle, result, Patience::None, frame) }
}

/// # Safety
///
/// As `pthread_timedjoin_np`: `result` is null or points to room for a pointer, `until` is null or points to a time.
unsafe extern "C" fn timed_join(
    handle: Handle,
    result: *mut *mut c_void,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    // SAFETY: `pthread_clockjoin_np` gets these arguments, and demands the same of them.
    unsafe { clock_join(handle, result, libc::CLOCK_REALTIME, until, frame) }
}

/// # Safety
///
/// As `pthread_clockjoin_np`: `result` is null or points to room for a pointer, `until` is null or points to a time.
unsafe extern "C" fn clock_join(
    handle: Handle,
    result: *mut *mut c_void,
    clock: Clock,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_clockjoin_np: fn(handle: Handle, result: *mut *mut c_void, clock: Clock, until: *const timespec) -> c_int);
    let patience = match until.is_null() {
        true => Patience::Endless,
        // SAFETY: not null, so it points to a time, by this function's contract.
        false => match unsafe { Deadline::new(clock, until, Some(frame)) } {
            Some(until) => Patience::Until(until),
            None => return libc::EINVAL,
        },
    };
    // SAFETY: `result` is null or points to room for a pointer, by this function's contract.
    unsafe { join_by(handle, result, patience, frame) }
}

/// How long to wait for the end of a thread.
#[derive(Clone, Copy)]
enum Patience<'a> {
    None,
    Until(Deadline<'a>),
    Endless,
}

/// Waits for the end of a thread; an error number.
fn await_end(thread: ThreadId, patience: Patience<'_>, frame: &Frame) -> c_int {
    let site = call_sites::site(&frame.return_address);
    let ended = match patience {
        _ if !waits::used() => Ended::Woken,
        Patience::None if !waits::has_ended(thread, frame) => return libc::EBUSY,
        Patience::None => Ended::Woken,
        Patience::Until(until) => waits::end_of(thread, Some(until), site),
        Patience::Endless => waits::end_of(thread, None, site),
    };
    match ended {
        Ended::Late => return libc::ETIMEDOUT,
        Ended::Cancelled => cancellation::go(),
        Ended::Woken => {}
    }
    if thread == ThreadId::MAIN {
        let object = Hidden::MainExit.object();
        let timed = false;
        visible(Op::SemAcquire { object, timed }, site);
    } else {
        visible(Op::Join(thread), site);
    }
    0
}

/// Joins a thread; an error number.
///
/// # Safety
///
/// `result` is null or points to room for a pointer.
unsafe fn join_by(
    handle: Handle,
    result: *mut *mut c_void,
    patience: Patience<'_>,
    frame: &Frame,
) -> c_int {
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let site = call_sites::site(&frame.return_address);
    let (me, detached) = {
        let world = world::borrow();
        (world.current, world.threads[thread.index()].detached)
    };
    if thread == me {
        return libc::EDEADLK;
    }
    if detached {
        report_again(thread, site);
        return libc::EINVAL;
    }
    match await_end(thread, patience, frame) {
        0 => {}
        error => return error,
    }
    let value = {
        let joined = &mut world::borrow().threads[thread.index()];
        let first = !joined.joined && !joined.detached;
        joined.joined |= first;
        first.then_some(joined.result)
    };
    let Some(value) = value else {
        report_again(thread, site);
        return libc::EINVAL;
    };
    settle(thread, site);
    thread_identities::joined(thread, core::ptr::from_ref(frame) as usize);
    if !result.is_null() {
        accesses::range(result as usize, size_of::<usize>(), true, frame);
        // SAFETY: not null, so it points to room for a pointer, by this function's contract.
        unsafe { *result = value };
    }
    0
}

/// A thread that was joined or detached is joined or detached again: an error.
fn report_again(thread: ThreadId, site: Site) {
    let before = SETTLED.with(thread, |settled| *settled);
    let mut world = world::borrow();
    let joined = world.threads[thread.index()].joined;
    let how = if joined { "joined" } else { "detached" };
    let message = format!("{} was {how} already", world.name_of(thread));
    let mut sites = [Site(before), site];
    sites.sort();
    let sites = if before == 0 { &sites[1..] } else { &sites };
    world.error(Kind::Misuse, Some("join-twice"), message, sites);
}

/// # Safety
///
/// As `pthread_detach`: outside of runs, `handle` is that of a thread.
pub(super) unsafe extern "C" fn detach(handle: Handle, frame: &Frame) -> c_int {
    outside_run!(pthread_detach: fn(handle: Handle) -> c_int);
    thread_identities::passed_on(frame.return_address);
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let site = call_sites::site(&frame.return_address);
    let (joined, detached) = {
        let record = &mut world::borrow().threads[thread.index()];
        let before = (record.joined, record.detached);
        record.detached |= !record.joined;
        before
    };
    if joined {
        report_again(thread, site);
        return libc::ESRCH;
    }
    if detached {
        return libc::EINVAL;
    }
    settle(thread, site);
    0
}
