//! Calls on epolls: see [`crate::kernel::epoll`].

use crate::{
    calls::files::polls::{milliseconds, patience},
    core::trampoline::Frame,
    kernel::{
        descriptor_arguments, descriptor_table,
        epoll::{self, Control, EpollId, Watched},
        open_description::{self, Kind, Modelled},
        os_files,
        program_memory::ProgramMemory,
        readiness::{self, Awaiting, Looks, Pollable, wait_for},
        start_state,
    },
    outside_run, real,
    run::{call_sites, operations::failed, processes, world},
    shared::{deadlines, injected_faults},
    trampoline,
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use libc::{epoll_event, sigset_t, timespec};
use reweave_model::Site;

trampoline! {
    epoll_create => make, "rsi";
    epoll_create1 => make_with, "rsi";
    epoll_ctl => control, "r8";
    epoll_wait => wait, "r8";
    epoll_pwait => wait_masked, "r9";
    epoll_pwait2 => wait_exactly, "r9";
}

/// `epoll_create`.
extern "C" fn make(size: c_int, frame: &Frame) -> c_int {
    outside_run!(epoll_create: fn(size: c_int) -> c_int);
    match size > 0 {
        true => make_with(0, frame),
        false => failed(libc::EINVAL),
    }
}

/// `epoll_create1`.
extern "C" fn make_with(flags: c_int, frame: &Frame) -> c_int {
    outside_run!(epoll_create1: fn(flags: c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    if !epoll::used() {
        world::unsupported(
            "epoll in a program that does not name epoll_ctl for the loader",
            site,
        );
    }
    if processes::used() {
        world::unsupported("epoll in a program that forks", site);
    }
    start_state::descriptors_change();
    // SAFETY: `epoll_create1` takes a number; flags that it does not know are an error of the call.
    let given = unsafe { real!(epoll_create1: fn(c_int) -> c_int)(flags) };
    let number = descriptor_table::opened(given, site);
    if number >= 0 {
        let epoll = Modelled::Epoll(EpollId::new(number));
        descriptor_table::note_open(number, Some(open_description::create(Some(epoll))));
    }
    number
}

/// The epoll that a descriptor is open on; an error number.
fn look_up(descriptor: c_int, call: &str, site: Site) -> Result<EpollId, c_int> {
    descriptor_table::look_up(descriptor, site);
    let modelled = open_description::modelled(descriptor);
    let found = descriptor_table::found(descriptor);
    match modelled {
        Some(Modelled::Epoll(epoll)) => Ok(epoll),
        None if Kind::of(found) == Kind::Untyped => {
            world::unsupported(&format!("{call} of an epoll from before main"), site)
        }
        _ => Err(match os_files::is_open(found) {
            true => libc::EINVAL,
            false => libc::EBADF,
        }),
    }
}

/// `epoll_ctl`.
///
/// # Safety
///
/// As Linux demands of the caller: `event` is null or points to an event.
unsafe extern "C" fn control(
    descriptor: c_int,
    operation: c_int,
    number: c_int,
    event: *const epoll_event,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    let number = descriptor_arguments::own(number);
    outside_run!(epoll_ctl: fn(descriptor: c_int, operation: c_int, number: c_int, event: *const epoll_event) -> c_int);
    // SAFETY: the event is as the caller promises.
    let result = unsafe { controlled(descriptor, operation, (number, event), frame) };
    result.map_or_else(failed, |()| 0)
}

/// # Safety
///
/// As [`control`].
unsafe fn controlled(
    descriptor: c_int,
    operation: c_int,
    (number, event): (c_int, *const epoll_event),
    frame: &Frame,
) -> Result<(), c_int> {
    let site = call_sites::site(&frame.return_address);
    let control = match operation {
        libc::EPOLL_CTL_ADD => Some(Control::Add),
        libc::EPOLL_CTL_MOD => Some(Control::Modify),
        libc::EPOLL_CTL_DEL => Some(Control::Delete),
        _ => None,
    };
    let mut wanted = (0, 0);
    if control != Some(Control::Delete) {
        let memory = ProgramMemory::block(event as usize, size_of::<epoll_event>());
        let bytes = memory.load::<12>().ok_or(libc::EFAULT)?;
        memory.note_read(frame);
        let (events, data) = bytes.split_at(4);
        wanted.0 = u32::from_ne_bytes(events.try_into().expect("four bytes"));
        wanted.1 = u64::from_ne_bytes(data.try_into().expect("eight bytes"));
    }
    if wanted.0 & libc::EPOLLEXCLUSIVE as u32 != 0 {
        world::unsupported("epoll_ctl with EPOLLEXCLUSIVE", site);
    }
    let epoll = look_up(descriptor, "epoll_ctl", site);
    let description = descriptor_table::description(number);
    let pollable = readiness::look_up(number, "epoll_ctl", site);
    if matches!(pollable, Pollable::Closed) || epoll == Err(libc::EBADF) {
        return Err(libc::EBADF);
    }
    if matches!(pollable, Pollable::Ready) {
        return match Kind::of(number) {
            Kind::RegularFile | Kind::Directory => Err(libc::EPERM),
            _ => world::unsupported("epoll_ctl of standard output or error", site),
        };
    }
    let (epoll, control) = (epoll?, control.ok_or(libc::EINVAL)?);
    if let Pollable::Socket(socket) = pollable
        && socket.stage(site).end().is_none()
    {
        world::unsupported(
            "epoll_ctl of a socket that neither listens nor is connected",
            site,
        );
    }
    let watched = Watched {
        number,
        description,
        pollable,
    };
    let mut looks = Looks::new(frame, false);
    epoll.control(control, watched, wanted, &mut looks, site)
}

/// `epoll_wait`.
///
/// # Safety
///
/// As Linux demands of the caller: `into` points to room for `most` events.
unsafe extern "C" fn wait(
    descriptor: c_int,
    into: *mut epoll_event,
    most: c_int,
    limit: c_int,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(epoll_wait: fn(descriptor: c_int, into: *mut epoll_event, most: c_int, limit: c_int) -> c_int);
    waited(
        descriptor,
        (into, most),
        milliseconds(limit),
        "epoll_wait",
        frame,
    )
}

/// `epoll_pwait`.
///
/// # Safety
///
/// As [`wait`], and `mask` is null or points to a set of signals.
unsafe extern "C" fn wait_masked(
    descriptor: c_int,
    into: *mut epoll_event,
    most: c_int,
    limit: c_int,
    mask: *const sigset_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(epoll_pwait: fn(descriptor: c_int, into: *mut epoll_event, most: c_int, limit: c_int, mask: *const sigset_t) -> c_int);
    refuse_mask(mask, "epoll_pwait", frame);
    waited(
        descriptor,
        (into, most),
        milliseconds(limit),
        "epoll_pwait",
        frame,
    )
}

fn refuse_mask(mask: *const sigset_t, call: &str, frame: &Frame) {
    if !mask.is_null() {
        let site = call_sites::site(&frame.return_address);
        world::unsupported(&format!("{call} with a mask"), site);
    }
}

/// `epoll_pwait2`.
///
/// # Safety
///
/// As [`wait`], and `time` and `mask` are null or point to a time and to a set of signals.
unsafe extern "C" fn wait_exactly(
    descriptor: c_int,
    into: *mut epoll_event,
    most: c_int,
    time: *const timespec,
    mask: *const sigset_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(epoll_pwait2: fn(descriptor: c_int, into: *mut epoll_event, most: c_int, time: *const timespec, mask: *const sigset_t) -> c_int);
    refuse_mask(mask, "epoll_pwait2", frame);
    let mut limit = None;
    if !time.is_null() {
        // SAFETY: not null, so it points to a time, as the caller promises.
        limit = deadlines::to_ns(unsafe { deadlines::read(time, Some(frame)) });
        if limit.is_none() {
            return failed(libc::EINVAL);
        }
    }
    waited(descriptor, (into, most), limit, "epoll_pwait2", frame)
}

/// What these calls do, with the address of room for so many events.
fn waited(
    descriptor: c_int,
    (into, most): (*mut epoll_event, c_int),
    limit: Option<u64>,
    call: &str,
    frame: &Frame,
) -> c_int {
    let site = call_sites::site(&frame.return_address);
    let _awaiting = Awaiting::new([descriptor].into_iter());
    let epoll = match look_up(descriptor, call, site) {
        Ok(epoll) if most > 0 => epoll,
        Ok(_) => return failed(libc::EINVAL),
        Err(error) => return failed(error),
    };
    if limit != Some(0) && injected_faults::interrupts(site) {
        return failed(libc::EINTR);
    }
    let mut found = Vec::new();
    wait_for(patience(limit, frame), call, frame, |looks| {
        found = epoll.look(most as usize, looks, site);
        !found.is_empty()
    });
    let mut bytes = Vec::new();
    for (events, data) in &found {
        bytes.extend(events.to_ne_bytes());
        bytes.extend(data.to_ne_bytes());
    }
    match ProgramMemory::block(into as usize, bytes.len()).store(&bytes, frame) {
        true => found.len() as c_int,
        false => failed(libc::EFAULT),
    }
}
