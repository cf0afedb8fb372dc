//! Calls that close descriptors, or have numbers stand for something else: see [`crate::kernel::descriptor_table`].

use crate::{
    calls::streams::stream_objects,
    core::{call_sites, cancellation, rules, world},
    hooks::{Frame, accesses, passed_calls::passes},
    kernel::{
        descriptor_arguments,
        descriptor_table::{
            self, change, closing, found, found_open, look_up, opened_from, replace,
        },
        file_locks, file_names,
        file_objects::{self, OURS},
    },
    real, trampoline,
};
use core::ffi::{CStr, c_int, c_uint};
use reweave_model::Site;
use reweave_wire::Rule;

trampoline! {
    close => close_one, "rsi";
    __close => close_one, "rsi";
    dup => duplicate, "rsi";
    dup2 => duplicate_to, "rdx";
    __dup2 => duplicate_to, "rdx";
    dup3 => duplicate_with, "rcx";
    closefrom => close_from, "rsi";
    close_range => close_several, "rcx";
    fcntl => control, "rcx";
    __fcntl => control, "rcx";
    fcntl64 => control, "rcx";
}

/// Whether a descriptor is the runtime's, of a driven program.
fn ours(descriptor: c_int) -> bool {
    descriptor >= OURS && crate::core::entry::driven()
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

/// Where a descriptor is closed behind a stream's back, streams look theirs up as well.
fn behind_streams(descriptor: c_int) {
    if world::active() && !file_names::alone() && stream_objects::goes_through(descriptor) {
        rules::needs(Rule::Table);
    }
}

unsafe extern "C" fn close_one(descriptor: c_int, frame: &Frame) -> c_int {
    cancellation::point(frame);
    if ours(descriptor) {
        return crate::core::operations::failed(libc::EBADF);
    }
    let real = real!(close: fn(c_int) -> c_int);
    if !world::active() {
        // SAFETY: the program's own descriptor.
        return unsafe { real(descriptor) };
    }
    closing(descriptor, site(frame));
    behind_streams(descriptor);
    let locks = file_locks::losing(descriptor);
    // SAFETY: as above.
    let result = unsafe { real(descriptor) };
    file_locks::lost(locks, site(frame));
    result
}

unsafe extern "C" fn duplicate(from: c_int, frame: &Frame) -> c_int {
    let real = real!(dup: fn(c_int) -> c_int);
    if ours(from) {
        return crate::core::operations::failed(libc::EBADF);
    }
    if !world::active() {
        // SAFETY: the program's own descriptor.
        return unsafe { real(from) };
    }
    let site = site(frame);
    look_up(from, site);
    let (found, open) = found_open(from);
    // SAFETY: as above.
    opened_from(unsafe { real(found) }, 0, Some(open), site)
}

unsafe extern "C" fn duplicate_to(from: c_int, to: c_int, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    unsafe {
        duplicated(from, to, frame, |from| {
            real!(dup2: fn(c_int, c_int) -> c_int)(from, to)
        })
    }
}

unsafe extern "C" fn duplicate_with(from: c_int, to: c_int, flags: c_int, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    unsafe {
        duplicated(from, to, frame, |from| {
            real!(dup3: fn(c_int, c_int, c_int) -> c_int)(from, to, flags)
        })
    }
}

unsafe fn duplicated(
    from: c_int,
    to: c_int,
    frame: &Frame,
    real: impl FnOnce(c_int) -> c_int,
) -> c_int {
    if ours(from) {
        return crate::core::operations::failed(libc::EBADF);
    }
    if ours(to) {
        refuse_beyond(to, frame);
        return crate::core::operations::failed(libc::EBADF);
    }
    if !world::active() || to < 0 {
        return real(from);
    }
    let site = site(frame);
    look_up(from, site);
    if from == to {
        return real(found(from));
    }
    change(to, site);
    descriptor_table::note_stale(to);
    behind_streams(to);
    let locks = file_locks::losing(to);
    let (found, open) = found_open(from);
    let result = real(found);
    if result >= 0 {
        descriptor_table::known(to, Some(open));
    }
    file_locks::lost(locks, site);
    result
}

/// A number that the program may have is the runtime's.
fn refuse_beyond(number: c_int, frame: &Frame) {
    if world::active() && (number as u64) < crate::core::resource_limits::descriptors() {
        let what = alloc::format!("more than {OURS} descriptors");
        world::get().unsupported(&what, site(frame));
    }
}

unsafe extern "C" fn close_from(lowest: c_int, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { close_several(lowest.max(0) as c_uint, c_uint::MAX, 0, frame) };
}

unsafe extern "C" fn close_several(
    first: c_uint,
    last: c_uint,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    let last = match crate::core::entry::driven() {
        true => last.min(OURS as c_uint - 1),
        false => last,
    };
    if world::active() && !file_names::alone() {
        let numbers = first as c_int..=last as c_int;
        if rules::needs(Rule::Table) && rules::needs(Rule::Output) {
            file_objects::touch(file_objects::TABLE, site(frame));
        }
        numbers.for_each(|number| replace(number, site(frame)));
    }
    if world::active() {
        let numbers = first.min(OURS as c_uint) as c_int..=last.min(OURS as c_uint - 1) as c_int;
        file_locks::refuse_held(numbers, site(frame));
        let standard = first.min(3)..=last.min(2);
        standard.for_each(|number| descriptor_table::put_elsewhere(number as c_int));
    }
    file_objects::changing();
    // SAFETY: the program's own descriptors.
    unsafe { real!(close_range: fn(c_uint, c_uint, c_int) -> c_int)(first, last, flags) }
}

unsafe extern "C" fn control(
    descriptor: c_int,
    what: c_int,
    argument: usize,
    frame: &Frame,
) -> c_int {
    let real = real!(fcntl: fn(c_int, c_int, usize) -> c_int);
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, what, argument) };
    }
    crate::core::spin::disturbed();
    file_objects::changing();
    let site = site(frame);
    match what {
        libc::F_SETFD => descriptor_table::mark(descriptor, site),
        _ => look_up(descriptor, site),
    }
    match what {
        libc::F_SETFL if !file_names::alone() => file_objects::touch(flags_of(descriptor), site),
        libc::F_GETFL if !file_names::alone() => file_objects::look_at(flags_of(descriptor), site),
        libc::F_SETLEASE | libc::F_GETLEASE if !file_names::alone() => {
            world::get().unsupported("leases of files beside other threads", site)
        }
        _ => {}
    }
    let (found, open) = found_open(descriptor);
    if locks(what) && argument != 0 {
        let asks = matches!(what, libc::F_GETLK | libc::F_OFD_GETLK);
        if asks {
            world::snapshot().touch_range(argument, size_of::<libc::flock>());
        }
        accesses::range(argument, size_of::<libc::flock>(), asks, frame);
        // SAFETY: as above.
        if let Some(result) =
            unsafe { file_locks::controlled((found, open), what, argument, frame) }
        {
            return result;
        }
    }
    // SAFETY: as above.
    let result = unsafe { real(found, at_once(what), argument) };
    if result < 0 && what != at_once(what) && would_wait() {
        world::get().unsupported("fcntl that waits for a lock", site);
    }
    match what {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            opened_from(result, argument as c_int, Some(open), site)
        }
        _ => result,
    }
}

/// The flags of what is open belong to its file; those of all that is none are one object.
fn flags_of(descriptor: c_int) -> usize {
    match file_objects::kind(descriptor) {
        libc::S_IFREG if !file_objects::is_output(descriptor) => {
            file_names::number_of_open(descriptor)
        }
        _ => file_objects::FLAGS,
    }
}

fn locks(what: c_int) -> bool {
    use libc::*;
    let asks = matches!(what, F_GETLK | F_OFD_GETLK);
    asks || matches!(what, F_SETLK | F_OFD_SETLK | F_SETLKW | F_OFD_SETLKW)
}

/// The same, without waiting: a thread that is alone would wait for itself.
fn at_once(what: c_int) -> c_int {
    match what {
        libc::F_SETLKW => libc::F_SETLK,
        libc::F_OFD_SETLKW => libc::F_OFD_SETLK,
        _ => what,
    }
}

fn would_wait() -> bool {
    // SAFETY: the running thread's own.
    matches!(
        unsafe { *libc::__errno_location() },
        libc::EAGAIN | libc::EACCES
    )
}

passes! {
    isatty => asks;
    fpathconf => asks;
    tcgetattr => asks;
    tcsetattr => asks;
    syncfs => asks;
    readahead => asks;
    posix_fadvise => asks;
    posix_fadvise64 => asks;
    posix_openpt => refused;
    openpty => refused;
    setmntent => refused;
    fopencookie => refused;
    lockf => asks;
    lockf64 => asks;
}

/// It asks about a descriptor, and does nothing to its file.
fn asks(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    asked(arguments[0] as c_int, call_sites::site(from));
}

pub(crate) fn asked(descriptor: c_int, site: Site) {
    look_up(descriptor, site);
    found(descriptor);
}

/// It opens a descriptor that it does not give away, or calls functions of the program's.
fn refused(name: &'static CStr, _: &[usize; 6], from: &usize) {
    file_objects::changing();
    file_objects::moving();
    if !file_names::alone() {
        let what = alloc::format!("{} beside other threads", name.to_str().unwrap_or("?"));
        world::get().unsupported(&what, call_sites::site(from));
    }
}
