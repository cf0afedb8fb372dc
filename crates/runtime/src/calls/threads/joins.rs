//! Waiting for the end of threads, and letting go of them.

use crate::{
    calls::{
        threads::{cancellation, lifecycle::find},
        time::clocks::Deadline,
    },
    core::{call_sites, hidden_objects::Hidden, operations::visible, world},
    hooks::{Frame, accesses},
    kernel::waits::{self, Ended},
    real, trampoline,
};
use alloc::format;
use core::ffi::{c_int, c_void};
use libc::{pthread_t as Handle, timespec};
use reweave_model::{Kind, Op, Site, ThreadId};

trampoline! {
    pthread_join => join, "rdx";
    pthread_tryjoin_np => try_join, "rdx";
    pthread_timedjoin_np => timed_join, "rcx";
    pthread_clockjoin_np => clock_join, "r8";
    pthread_detach => detach, "rsi";
}

pub(crate) unsafe extern "C" fn join(
    handle: Handle,
    result: *mut *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_join: fn(Handle, *mut *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, result) };
    }
    // SAFETY: as the call itself.
    unsafe { join_by(handle, result, Patience::Endless, frame) }
}

unsafe extern "C" fn try_join(handle: Handle, result: *mut *mut c_void, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_tryjoin_np: fn(Handle, *mut *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, result) };
    }
    // SAFETY: as the call itself.
    unsafe { join_by(handle, result, Patience::None, frame) }
}

unsafe extern "C" fn timed_join(
    handle: Handle,
    result: *mut *mut c_void,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    // SAFETY: as the call itself.
    unsafe { clock_join(handle, result, libc::CLOCK_REALTIME, until, frame) }
}

unsafe extern "C" fn clock_join(
    handle: Handle,
    result: *mut *mut c_void,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_clockjoin_np: fn(Handle, *mut *mut c_void, libc::clockid_t, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, result, clock, until) };
    }
    let patience = match Deadline::new(clock, until) {
        _ if until.is_null() => Patience::Endless,
        Some(until) => Patience::Until(until),
        None => return libc::EINVAL,
    };
    // SAFETY: as the call itself.
    unsafe { join_by(handle, result, patience, frame) }
}

/// How long to wait for the end of a thread.
#[derive(Clone, Copy)]
enum Patience {
    None,
    Until(Deadline),
    Endless,
}

/// Waits for the end of a thread; an error number.
fn await_end(thread: ThreadId, patience: Patience, frame: &Frame) -> c_int {
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

unsafe fn join_by(
    handle: Handle,
    result: *mut *mut c_void,
    patience: Patience,
    frame: &Frame,
) -> c_int {
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let site = call_sites::site(&frame.return_address);
    let world = world::get();
    if thread == world.current {
        return libc::EDEADLK;
    }
    if world.threads[thread.index()].detached {
        again(thread, site);
        return libc::EINVAL;
    }
    match await_end(thread, patience, frame) {
        0 => {}
        error => return error,
    }
    let joined = &mut world::get().threads[thread.index()];
    if joined.joined || joined.detached {
        again(thread, site);
        return libc::EINVAL;
    }
    joined.joined = true;
    joined.own_calls.threads.settled = site.0;
    if !result.is_null() {
        accesses::range(result as usize, size_of::<usize>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { *result = world::get().threads[thread.index()].result };
    }
    0
}

/// A thread that was joined or detached is so again.
fn again(thread: ThreadId, site: Site) {
    let world = world::get();
    let record = &world.threads[thread.index()];
    let before = record.own_calls.threads.settled;
    let how = if record.joined { "joined" } else { "detached" };
    let message = format!("{} was {how} already", world.name_of(thread));
    let mut sites = [Site(before), site];
    sites.sort();
    let sites = if before == 0 { &sites[1..] } else { &sites };
    world.error(Kind::Misuse, Some("join-twice"), message, sites);
}

pub(crate) unsafe extern "C" fn detach(handle: Handle, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_detach: fn(Handle) -> c_int)(handle) };
    }
    let Some(thread) = find(handle) else {
        return libc::ESRCH;
    };
    let site = call_sites::site(&frame.return_address);
    let world = world::get();
    let record = &mut world.threads[thread.index()];
    if record.joined {
        again(thread, site);
        return libc::ESRCH;
    }
    if record.detached {
        return libc::EINVAL;
    }
    record.detached = true;
    record.own_calls.threads.settled = site.0;
    0
}
