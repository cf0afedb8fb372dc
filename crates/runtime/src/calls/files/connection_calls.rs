//! Calls that make sockets, bind and connect them: see [`crate::kernel::sockets`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        addresses::{self, Address},
        descriptor_arguments, descriptor_table,
        endpoints::EndKind,
        open_description::{self, Access, Kind, Modelled, READ, WRITE},
        os_files,
        sockets::{Failed, SocketId},
        start_state,
    },
    outside_run, real,
    run::{call_sites, cancellation, operations::failed, world},
    trampoline,
};
use alloc::format;
use core::ffi::c_int;
use libc::{AF_INET, AF_UNIX, SOCK_CLOEXEC, SOCK_NONBLOCK, sockaddr, socklen_t};
use reweave_model::Site;

trampoline! {
    socket => make, "rcx";
    bind => bind_to, "rcx";
    listen => begin_to_listen, "rdx";
    connect => connect_to, "rcx";
    accept => accept_one, "rcx";
    accept4 => accept_with, "r8";
    getsockname => own_name, "rcx";
    getpeername => name_of_peer, "rcx";
}

/// A descriptor of the operating system that has the number and the flags of a modelled socket.
fn real_socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    start_state::descriptors_change();
    // SAFETY: `socket` takes numbers; those that it does not know are an error of the call.
    unsafe { real!(socket: fn(c_int, c_int, c_int) -> c_int)(family, kind, protocol) }
}

/// `socket`.
extern "C" fn make(family: c_int, kind: c_int, protocol: c_int, frame: &Frame) -> c_int {
    outside_run!(socket: fn(family: c_int, kind: c_int, protocol: c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    let end = match (family, kind & !(SOCK_NONBLOCK | SOCK_CLOEXEC)) {
        (AF_UNIX, libc::SOCK_STREAM) => EndKind::Stream,
        (AF_UNIX, libc::SOCK_SEQPACKET) => EndKind::Packets,
        (AF_UNIX, libc::SOCK_DGRAM) => EndKind::Inbox,
        (AF_INET, libc::SOCK_DGRAM) if matches!(protocol, 0 | libc::IPPROTO_UDP) => EndKind::Inbox,
        (AF_INET, libc::SOCK_STREAM) if matches!(protocol, 0 | libc::IPPROTO_TCP) => {
            EndKind::Tcp(None)
        }
        _ => world::unsupported(&format!("socket of {}", kind_name(family, kind)), site),
    };
    let given = real_socket(family, kind, protocol);
    let number = descriptor_table::opened(given, site);
    if number >= 0 {
        let socket = Modelled::Socket(SocketId::new(number, family, end));
        descriptor_table::note_open(number, Some(open_description::create(Some(socket))));
    }
    number
}

/// Sockets that are not modelled, for messages.
fn kind_name(family: c_int, kind: c_int) -> &'static str {
    match (family, kind & !(SOCK_NONBLOCK | SOCK_CLOEXEC)) {
        (libc::AF_INET6, _) => "IPv6",
        (libc::AF_NETLINK, _) => "netlink",
        (libc::AF_PACKET, _) | (_, libc::SOCK_RAW) => "raw packets",
        _ => "another family or kind",
    }
}

/// Looks up the descriptor of a socket, for a call that does not wait; an error number.
fn look_up(descriptor: c_int, call: &str, site: Site) -> Result<Modelled, c_int> {
    descriptor_table::look_up(descriptor, site);
    let modelled = open_description::modelled(descriptor);
    let found = descriptor_table::found(descriptor);
    match modelled {
        Some(modelled) if modelled.is_socket() => Ok(modelled),
        None if Kind::of(found) == Kind::Socket => {
            world::unsupported(&format!("{call} of a socket from before main"), site)
        }
        _ => Err(match os_files::is_open(found) {
            true => libc::ENOTSOCK,
            false => libc::EBADF,
        }),
    }
}

/// A socket that was made by `socket` or `accept`.
fn single(modelled: Modelled, call: &str, site: Site) -> SocketId {
    match modelled {
        Modelled::Socket(socket) => socket,
        _ => world::unsupported(&format!("{call} of a socket of a pair"), site),
    }
}

/// What a call returns that gives nothing back.
fn answer(result: Result<(), c_int>) -> c_int {
    result.map_or_else(failed, |()| 0)
}

/// `bind`.
///
/// # Safety
///
/// As POSIX demands of the caller: `address` points to an address of `length` bytes.
unsafe extern "C" fn bind_to(
    descriptor: c_int,
    address: *const sockaddr,
    length: socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(bind: fn(descriptor: c_int, address: *const sockaddr, length: socklen_t) -> c_int);
    let site = call_sites::site(&frame.return_address);
    answer(look_up(descriptor, "bind", site).and_then(|modelled| {
        let socket = single(modelled, "bind", site);
        // SAFETY: the address is as the caller promises.
        let named = unsafe { addresses::read(socket.family(), address, length, "bind", frame) }?;
        socket.bind(named, site)
    }))
}

/// `listen`.
extern "C" fn begin_to_listen(descriptor: c_int, backlog: c_int, frame: &Frame) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(listen: fn(descriptor: c_int, backlog: c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    answer(look_up(descriptor, "listen", site).and_then(|modelled| {
        let socket = single(modelled, "listen", site);
        socket.listen(backlog, site)
    }))
}

/// `connect`.
///
/// # Safety
///
/// As POSIX demands of the caller: `address` points to an address of `length` bytes.
unsafe extern "C" fn connect_to(
    descriptor: c_int,
    address: *const sockaddr,
    length: socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(connect: fn(descriptor: c_int, address: *const sockaddr, length: socklen_t) -> c_int);
    let site = call_sites::site(&frame.return_address);
    let call = "connect";
    let found = open_description::look_up(descriptor, Access { call, ..WRITE }, frame);
    let mut cancelled = false;
    let result = found.use_socket(call, |modelled, waits| {
        let socket = single(modelled, call, site);
        // SAFETY: the address is as the caller promises.
        let named = unsafe { addresses::read(socket.family(), address, length, call, frame) }?;
        match socket.connect(named, waits, frame, site) {
            Ok(()) => Ok(0),
            Err(Failed::With(error)) => Err(error),
            Err(Failed::Cancelled) => {
                cancelled = true;
                Err(libc::EINTR)
            }
        }
    });
    if cancelled {
        cancellation::go();
    }
    result as c_int
}

/// `accept`.
///
/// # Safety
///
/// As POSIX demands of the caller: `address` and `length` are null, or point to room for an address and to its length.
unsafe extern "C" fn accept_one(
    descriptor: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(accept: fn(descriptor: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int);
    // SAFETY: the address is as the caller promises.
    unsafe { accepted(descriptor, (address, length), 0, "accept", frame) }
}

/// `accept4`.
///
/// # Safety
///
/// As [`accept_one`].
unsafe extern "C" fn accept_with(
    descriptor: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(accept4: fn(descriptor: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int);
    if flags & !(SOCK_NONBLOCK | SOCK_CLOEXEC) != 0 {
        return failed(libc::EINVAL);
    }
    // SAFETY: the address is as the caller promises.
    unsafe { accepted(descriptor, (address, length), flags, "accept4", frame) }
}

/// What both calls do.
///
/// # Safety
///
/// As [`accept_one`].
unsafe fn accepted(
    descriptor: c_int,
    (address, length): (*mut sockaddr, *mut socklen_t),
    flags: c_int,
    call: &'static str,
    frame: &Frame,
) -> c_int {
    let site = call_sites::site(&frame.return_address);
    let found = open_description::look_up(descriptor, Access { call, ..READ }, frame);
    let mut taken = None;
    let mut cancelled = false;
    let result = found.use_socket(call, |modelled, waits| {
        let listening = single(modelled, call, site);
        match listening.accept(waits, frame, site) {
            Ok(connection) => taken = Some((listening, connection)),
            Err(Failed::With(error)) => return Err(error),
            Err(Failed::Cancelled) => cancelled = true,
        }
        Ok(0)
    });
    if cancelled {
        cancellation::go();
    }
    let Some((listening, connection)) = taken else {
        return result as c_int;
    };
    let family = listening.family();
    let given = real_socket(family, listening.kind() | flags, 0);
    if given < 0 {
        world::unsupported(&format!("{call} with no descriptor left"), site);
    }
    listening.hand_on_options(given);
    let number = descriptor_table::opened(given, site);
    let socket = listening.accepted(number, connection);
    let description = open_description::create(Some(Modelled::Socket(socket)));
    descriptor_table::note_open(number, Some(description));
    let [client, _] = connection.addresses();
    // SAFETY: the address is as the caller promises.
    match unsafe { client.store(address, length, frame) } {
        Ok(()) => number,
        Err(_) => world::unsupported(&format!("{call} with a bad address"), site),
    }
}

/// Stores the name of a socket.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` and `length` point to room for an address and to its length.
unsafe fn named(
    descriptor: c_int,
    (into, length): (*mut sockaddr, *mut socklen_t),
    call: &str,
    frame: &Frame,
    name: impl FnOnce(SocketId, Site) -> Option<Address>,
) -> c_int {
    let site = call_sites::site(&frame.return_address);
    answer(look_up(descriptor, call, site).and_then(|modelled| {
        let address = match modelled {
            Modelled::Socket(socket) => name(socket, site).ok_or(libc::ENOTCONN)?,
            _ => Address::Unnamed,
        };
        // SAFETY: there is room, as the caller promises.
        unsafe { address.store(into, length, frame) }
    }))
}

/// `getsockname`.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` and `length` point to room for an address and to its length.
unsafe extern "C" fn own_name(
    descriptor: c_int,
    into: *mut sockaddr,
    length: *mut socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(getsockname: fn(descriptor: c_int, into: *mut sockaddr, length: *mut socklen_t) -> c_int);
    let name = |socket: SocketId, site| Some(socket.address(site));
    // SAFETY: there is room, as the caller promises.
    unsafe { named(descriptor, (into, length), "getsockname", frame, name) }
}

/// `getpeername`.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` and `length` point to room for an address and to its length.
unsafe extern "C" fn name_of_peer(
    descriptor: c_int,
    into: *mut sockaddr,
    length: *mut socklen_t,
    frame: &Frame,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(getpeername: fn(descriptor: c_int, into: *mut sockaddr, length: *mut socklen_t) -> c_int);
    // SAFETY: there is room, as the caller promises.
    unsafe {
        named(
            descriptor,
            (into, length),
            "getpeername",
            frame,
            SocketId::peer,
        )
    }
}
