//! Calls that close descriptors, make numbers stand for something else, or ask about what is open: see
//! [`crate::kernel::descriptor_table`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        closing::{self, note_stream_of},
        descriptor_arguments::{self, is_runtimes},
        descriptor_table::{self, ask, change, found, look_up, opened_from, take_found},
        endpoints::{self, Counted},
        file_locks::{self, LockKind, LockRequest},
        file_names, file_objects,
        open_description::{self, Closing},
        ordering::{alone, alone_in_process},
        os_files,
        passed_calls::passes,
        start_state::{self, RUNTIME_DESCRIPTORS},
    },
    outside_run, real,
    run::{accesses, call_sites, cancellation, operations::failed, rules, spin, world},
    trampoline,
};
use alloc::{format, vec::Vec};
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
    flock => lock_file, "rdx";
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

/// `close`.
extern "C" fn close_one(descriptor: c_int, frame: &Frame) -> c_int {
    cancellation::point(frame);
    if is_runtimes(descriptor) {
        return failed(libc::EBADF);
    }
    outside_run!(close: fn(descriptor: c_int) -> c_int);
    closing::close(descriptor, site(frame))
}

/// `dup`.
extern "C" fn duplicate(from: c_int, frame: &Frame) -> c_int {
    if is_runtimes(from) {
        return failed(libc::EBADF);
    }
    outside_run!(dup: fn(from: c_int) -> c_int);
    let site = site(frame);
    let copied = look_up_to_copy(from, site);
    let (found, description) = take_found(from);
    // SAFETY: `dup` takes a number; one that is not open is an error of the call.
    let number = unsafe { real!(dup: fn(c_int) -> c_int)(found) };
    let number = opened_from(number, 0, Some(description), site);
    has_copied(copied, (from, number), site);
    number
}

/// Looks up a descriptor that is about to be copied. If it is an end of a pipe there is one more from now on.
fn look_up_to_copy(from: c_int, site: Site) -> Option<Counted> {
    look_up(from, site);
    let counted = open_description::counted_by(from)?;
    endpoints::hold(counted, from, false);
    counted.add_one(site);
    Some(counted)
}

/// The descriptor was copied to a number, or if that is negative it was not.
fn has_copied(copied: Option<Counted>, (from, to): (c_int, c_int), site: Site) {
    if let Some(counted) = copied {
        if to < 0 {
            counted.drop_one(site);
        }
        endpoints::let_go(from, site);
    }
}

/// `dup2`.
extern "C" fn duplicate_to(from: c_int, to: c_int, frame: &Frame) -> c_int {
    let real = real!(dup2: fn(c_int, c_int) -> c_int);
    // SAFETY: `dup2` takes numbers; `to` is no descriptor of the runtime, or the function does not get here.
    duplicated(from, to, frame, |from| unsafe { real(from, to) })
}

/// `dup3`.
extern "C" fn duplicate_with(from: c_int, to: c_int, flags: c_int, frame: &Frame) -> c_int {
    let real = real!(dup3: fn(c_int, c_int, c_int) -> c_int);
    // SAFETY: `dup3` takes numbers; `to` is no descriptor of the runtime, or the function does not get here.
    duplicated(from, to, frame, |from| unsafe { real(from, to, flags) })
}

fn duplicated(from: c_int, to: c_int, frame: &Frame, real: impl FnOnce(c_int) -> c_int) -> c_int {
    if is_runtimes(from) {
        return failed(libc::EBADF);
    }
    if is_runtimes(to) {
        refuse_beyond(to, frame);
        return failed(libc::EBADF);
    }
    if !world::active() || to < 0 {
        return real(from);
    }
    let site = site(frame);
    if from == to {
        look_up(from, site);
        return real(found(from));
    }
    let copied = look_up_to_copy(from, site);
    change(to, site);
    descriptor_table::note_stale(to);
    note_stream_of(to);
    let locks = file_locks::losing(to);
    let replaced = Closing::of(to);
    let (found, description) = take_found(from);
    let result = real(found);
    if result >= 0 {
        descriptor_table::note_open(to, Some(description));
    }
    file_locks::lost(locks, site);
    has_copied(copied, (from, result), site);
    if result >= 0 {
        replaced.done(site);
    }
    result
}

/// Stops the thread if the program may use a number that belongs to the runtime.
fn refuse_beyond(number: c_int, frame: &Frame) {
    if world::active() && descriptor_table::is_allowed(number) {
        let what = format!("more than {RUNTIME_DESCRIPTORS} descriptors");
        world::unsupported(&what, site(frame));
    }
}

/// `closefrom`.
extern "C" fn close_from(lowest: c_int, frame: &Frame) {
    close_several(lowest.max(0) as c_uint, c_uint::MAX, 0, frame);
}

/// `close_range`.
extern "C" fn close_several(first: c_uint, last: c_uint, flags: c_int, frame: &Frame) -> c_int {
    const PAST: c_uint = RUNTIME_DESCRIPTORS as c_uint;
    let last = match crate::core::program_start::driven() {
        true => last.min(PAST - 1),
        false => last,
    };
    if world::active() && !alone_in_process() {
        let numbers = first as c_int..=last as c_int;
        if rules::needs(Rule::Table) && rules::needs(Rule::Output) {
            file_objects::touch(file_objects::TABLE, site(frame));
        }
        numbers.for_each(|number| descriptor_table::keep_found(number, site(frame)));
    }
    if world::active() {
        let numbers = first.min(PAST) as c_int..=last.min(PAST - 1) as c_int;
        file_locks::refuse_held(numbers, site(frame));
        let standard = first.min(3)..=last.min(2);
        standard.for_each(|number| descriptor_table::note_replaced(number as c_int));
    }
    start_state::descriptors_change();
    let numbers = first.min(PAST) as c_int..=last.min(PAST - 1) as c_int;
    let ends: Vec<_> = match world::active() && flags as c_uint & libc::CLOSE_RANGE_CLOEXEC == 0 {
        true => numbers.map(Closing::of).collect(),
        false => Vec::new(),
    };
    // SAFETY: `close_range` takes numbers, and those of the runtime were taken out.
    let result =
        unsafe { real!(close_range: fn(c_uint, c_uint, c_int) -> c_int)(first, last, flags) };
    for closed in ends.into_iter().filter(|_| result == 0) {
        closed.done(site(frame));
    }
    result
}

/// `flock`.
extern "C" fn lock_file(descriptor: c_int, how: c_int, frame: &Frame) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(flock: fn(descriptor: c_int, how: c_int) -> c_int);
    let exclusive = match how & !libc::LOCK_NB {
        libc::LOCK_SH => Some(false),
        libc::LOCK_EX => Some(true),
        libc::LOCK_UN => None,
        _ => return failed(libc::EINVAL),
    };
    look_up(descriptor, site(frame));
    let request = LockRequest {
        kind: LockKind::Flock,
        exclusive,
        waits: how & libc::LOCK_NB == 0,
    };
    let error = file_locks::change(take_found(descriptor), request, frame);
    file_locks::answer(error)
}

/// `fcntl`.
///
/// # Safety
///
/// As POSIX demands of the caller: the argument is what the command takes.
unsafe extern "C" fn control(
    descriptor: c_int,
    command: c_int,
    argument: usize,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(fcntl: fn(descriptor: c_int, command: c_int, argument: usize) -> c_int);
    spin::disturbed();
    start_state::descriptors_change();
    let site = site(frame);
    let copied = look_up_for(descriptor, command, site);
    let (found, description) = take_found(descriptor);
    if locks(command) && argument != 0 {
        let asks = matches!(command, libc::F_GETLK | libc::F_OFD_GETLK);
        if asks {
            world::snapshot().touch_range(argument, size_of::<libc::flock>());
        }
        accesses::range(argument, size_of::<libc::flock>(), asks, frame);
        // SAFETY: a command that locks takes a pointer to a `flock`, as the caller promises, and it is not null.
        let asked = unsafe { *(argument as *const libc::flock) };
        let result = file_locks::control((found, description), command, &asked, frame);
        if let Some(result) = result {
            return result;
        }
    }
    let real = real!(fcntl: fn(c_int, c_int, usize) -> c_int);
    // SAFETY: the argument is what the command takes, as the caller promises; `without_waiting` takes the same.
    let result = unsafe { real(found, without_waiting(command), argument) };
    if result < 0 && command != without_waiting(command) && would_wait() {
        world::unsupported("fcntl that waits for a lock", site);
    }
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            let number = opened_from(result, argument as c_int, Some(description), site);
            has_copied(copied, (descriptor, number), site);
            number
        }
        _ => result,
    }
}

/// Performs the operations of an `fcntl` on the descriptor, and on the flags of what it is open on. The end of a pipe that it copies.
fn look_up_for(descriptor: c_int, command: c_int, site: Site) -> Option<Counted> {
    match command {
        libc::F_SETFD => descriptor_table::change_flags(descriptor, site),
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => return look_up_to_copy(descriptor, site),
        _ => look_up(descriptor, site),
    }
    if command == libc::F_SETPIPE_SZ {
        open_description::refuse_modelled(descriptor, "fcntl with F_SETPIPE_SZ", site);
    }
    if alone() {
        return None;
    }
    match command {
        libc::F_SETFL => file_objects::touch(flags_object(descriptor), site),
        libc::F_GETFL => file_objects::look_at(flags_object(descriptor), site),
        libc::F_SETLEASE | libc::F_GETLEASE => {
            world::unsupported("leases of files beside other threads", site)
        }
        _ => {}
    }
    None
}

/// The flags of an open file belong to the file's object; those of everything else are one object.
fn flags_object(descriptor: c_int) -> usize {
    match os_files::file_type_of_open(descriptor) {
        libc::S_IFREG if !start_state::is_output(descriptor) => {
            file_names::number_of_open(descriptor)
        }
        _ => file_objects::FLAGS,
    }
}

fn locks(command: c_int) -> bool {
    use libc::*;
    let asks = matches!(command, F_GETLK | F_OFD_GETLK);
    asks || matches!(command, F_SETLK | F_OFD_SETLK | F_SETLKW | F_OFD_SETLKW)
}

/// The same command without waiting: a thread that runs alone would wait for itself.
fn without_waiting(command: c_int) -> c_int {
    match command {
        libc::F_SETLKW => libc::F_SETLK,
        libc::F_OFD_SETLKW => libc::F_OFD_SETLK,
        _ => command,
    }
}

fn would_wait() -> bool {
    // SAFETY: `errno` of the running thread is always there.
    let error = unsafe { *libc::__errno_location() };
    matches!(error, libc::EAGAIN | libc::EACCES)
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
    ioctl => requests;
}

/// A call that asks about a descriptor, and does nothing to its file.
fn asks(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    ask(arguments[0] as c_int, call_sites::site(from));
}

/// A call that opens a descriptor which it does not return, or calls functions of the program.
fn refused(name: &'static CStr, _: &[usize; 6], from: &usize) {
    start_state::descriptors_change();
    start_state::offsets_change();
    if !alone() {
        let what = format!("{} beside other threads", name.to_str().unwrap_or("?"));
        world::unsupported(&what, call_sites::site(from));
    }
}

/// `ioctl`: files are only asked. What the operating system writes depends on the request; it is at most 256 bytes.
fn requests(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    const MOST: usize = 256;
    const ASKING: [libc::c_ulong; 6] = [
        libc::FIONREAD,
        libc::FIOCLEX,
        libc::FIONCLEX,
        libc::FIONBIO,
        libc::TCGETS,
        libc::TIOCGWINSZ,
    ];
    spin::disturbed();
    let (descriptor, site) = (arguments[0] as c_int, call_sites::site(from));
    ask(descriptor, site);
    if arguments[1] as libc::c_ulong == libc::FIONBIO {
        file_objects::touch(flags_object(descriptor), site);
    }
    if arguments[1] as libc::c_ulong == libc::FIONREAD {
        open_description::refuse_modelled(descriptor, "ioctl with FIONREAD", site);
    }
    let is_file = matches!(
        os_files::file_type_of_open(descriptor),
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK
    );
    if is_file && !ASKING.contains(&(arguments[1] as libc::c_ulong)) {
        world::unsupported("ioctl of a file", site);
    }
    if arguments[2] != 0 {
        world::snapshot().touch_range(arguments[2], MOST);
    }
}
