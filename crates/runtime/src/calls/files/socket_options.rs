//! `getsockopt` and `setsockopt`. Options that nothing of the model depends on are kept by the operating system's socket; those that the
//! model has are asked there; others are refused by name.

use crate::{
    core::trampoline::Frame,
    kernel::{
        descriptor_arguments, descriptor_table,
        endpoints::EndKind,
        file_objects,
        open_description::{self, Modelled},
        program_memory::ProgramMemory,
    },
    outside_run, real,
    run::{call_sites, operations::failed, world},
    trampoline,
};
use alloc::format;
use core::ffi::{c_int, c_void};
use libc::{IPPROTO_TCP, SOL_SOCKET, socklen_t};
use reweave_model::Site;

trampoline! {
    getsockopt => get_option, "r9";
    setsockopt => set_option, "r9";
}

/// How an option is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treated {
    /// The operating system keeps it, and nothing else depends on it.
    Kept,
    /// Only asked; the operating system knows the answer.
    Asked,
    /// The operating system keeps it as long as it is off.
    KeptOff,
    Reuse,
    Error,
    Listens,
    Refused,
}

fn treated(level: c_int, option: c_int) -> Treated {
    match (level, option) {
        (SOL_SOCKET, libc::SO_REUSEADDR) => Treated::Reuse,
        (SOL_SOCKET, libc::SO_ERROR) => Treated::Error,
        (SOL_SOCKET, libc::SO_ACCEPTCONN) => Treated::Listens,
        (SOL_SOCKET, libc::SO_TYPE | libc::SO_DOMAIN | libc::SO_PROTOCOL) => Treated::Asked,
        (SOL_SOCKET, libc::SO_KEEPALIVE | libc::SO_PRIORITY | libc::SO_BROADCAST) => Treated::Kept,
        (SOL_SOCKET, libc::SO_REUSEPORT | libc::SO_LINGER | libc::SO_OOBINLINE) => Treated::KeptOff,
        (
            IPPROTO_TCP,
            libc::TCP_NODELAY
            | libc::TCP_KEEPIDLE
            | libc::TCP_KEEPINTVL
            | libc::TCP_KEEPCNT
            | libc::TCP_QUICKACK
            | libc::TCP_USER_TIMEOUT,
        ) => Treated::Kept,
        (IPPROTO_TCP, libc::TCP_CORK) => Treated::KeptOff,
        _ => Treated::Refused,
    }
}

fn name(level: c_int, option: c_int) -> &'static str {
    match (level, option) {
        (SOL_SOCKET, libc::SO_RCVTIMEO) => "SO_RCVTIMEO",
        (SOL_SOCKET, libc::SO_SNDTIMEO) => "SO_SNDTIMEO",
        (SOL_SOCKET, libc::SO_SNDBUF) => "SO_SNDBUF",
        (SOL_SOCKET, libc::SO_RCVBUF) => "SO_RCVBUF",
        (SOL_SOCKET, libc::SO_REUSEPORT) => "SO_REUSEPORT",
        (SOL_SOCKET, libc::SO_LINGER) => "SO_LINGER",
        (SOL_SOCKET, libc::SO_PEERCRED) => "SO_PEERCRED",
        (SOL_SOCKET, libc::SO_PASSCRED) => "SO_PASSCRED",
        (SOL_SOCKET, _) => "another option of sockets",
        (IPPROTO_TCP, _) => "another option of TCP",
        _ => "an option of another level",
    }
}

fn refuse(call: &str, level: c_int, option: c_int, site: Site) -> ! {
    let what = format!("{call} with {}", name(level, option));
    world::unsupported(&what, site)
}

/// `getsockopt`.
///
/// # Safety
///
/// As POSIX demands of the caller: `length` points to a length, `into` to so much room.
unsafe extern "C" fn get_option(
    descriptor: c_int,
    level: c_int,
    option: c_int,
    into: *mut c_void,
    length: *mut socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(getsockopt: fn(descriptor: c_int, level: c_int, option: c_int, into: *mut c_void, length: *mut socklen_t) -> c_int);
    let site = call_sites::site(&frame.return_address);
    descriptor_table::look_up(descriptor, site);
    let modelled = open_description::modelled(descriptor);
    let found = descriptor_table::found(descriptor);
    let treated = treated(level, option);
    let value = match (modelled.filter(|modelled| modelled.is_socket()), treated) {
        (None, _) | (_, Treated::Kept | Treated::Asked | Treated::KeptOff | Treated::Reuse) => {
            file_objects::look_at(file_objects::FLAGS, site);
            None
        }
        (Some(_), Treated::Refused) => refuse("getsockopt", level, option, site),
        (Some(Modelled::Socket(socket)), Treated::Error) => Some(socket.take_error(site)),
        (Some(Modelled::Socket(socket)), Treated::Listens) => {
            Some(c_int::from(socket.listens(site)))
        }
        (Some(Modelled::Endpoint(end)), Treated::Error) if end.kind == EndKind::Datagrams => {
            refuse("getsockopt", level, option, site)
        }
        (Some(_), Treated::Error | Treated::Listens) => Some(0),
    };
    let room = ProgramMemory::block(length as usize, size_of::<socklen_t>());
    let Some(given) = room.load::<4>() else {
        return failed(libc::EFAULT);
    };
    room.note_read(frame);
    room.prepare_for_writes();
    let given = socklen_t::from_ne_bytes(given) as usize;
    let memory = ProgramMemory::block(into as usize, given.min(size_of::<c_int>()));
    memory.prepare_for_writes();
    let Some(value) = value else {
        let real = real!(getsockopt: fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        let result = unsafe { real(found, level, option, into, length) };
        if result == 0 {
            memory.note_written(memory.length(), frame);
            room.note_written(room.length(), frame);
        }
        return result;
    };
    let bytes = value.to_ne_bytes();
    let stored = memory.store(&bytes[..memory.length()], frame);
    let whole = (memory.length() as socklen_t).to_ne_bytes();
    match stored && room.store(&whole, frame) {
        true => 0,
        false => failed(libc::EFAULT),
    }
}

/// `setsockopt`.
///
/// # Safety
///
/// As POSIX demands of the caller: `from` points to `length` bytes.
unsafe extern "C" fn set_option(
    descriptor: c_int,
    level: c_int,
    option: c_int,
    from: *const c_void,
    length: socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(setsockopt: fn(descriptor: c_int, level: c_int, option: c_int, from: *const c_void, length: socklen_t) -> c_int);
    let site = call_sites::site(&frame.return_address);
    descriptor_table::look_up(descriptor, site);
    let modelled = open_description::modelled(descriptor);
    let found = descriptor_table::found(descriptor);
    let memory = ProgramMemory::block(from as usize, length as usize);
    memory.note_read(frame);
    // Whether it is switched on: the first number of what there is.
    let on = memory.load::<4>().is_some_and(|bytes| bytes != [0; 4]);
    if modelled.is_some_and(Modelled::is_socket) {
        match treated(level, option) {
            Treated::Refused => refuse("setsockopt", level, option, site),
            Treated::KeptOff if on => refuse("setsockopt", level, option, site),
            _ => {}
        }
    }
    file_objects::touch(file_objects::FLAGS, site);
    let real = real!(setsockopt: fn(c_int, c_int, c_int, *const c_void, socklen_t) -> c_int);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(found, level, option, from, length) };
    if let (0, Some(Modelled::Socket(socket)), Some(value)) = (result, modelled, memory.load::<4>())
    {
        socket.note_option([level, option, c_int::from_ne_bytes(value)]);
        if treated(level, option) == Treated::Reuse {
            socket.set_reuses(on);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_behaviour_of_the_model_is_refused_by_name() {
        for option in [libc::SO_RCVTIMEO, libc::SO_SNDBUF, libc::SO_PASSCRED] {
            assert!(treated(SOL_SOCKET, option) == Treated::Refused);
            assert!(name(SOL_SOCKET, option).starts_with("SO_"));
        }
        assert!(treated(SOL_SOCKET, libc::SO_LINGER) == Treated::KeptOff);
    }
}
