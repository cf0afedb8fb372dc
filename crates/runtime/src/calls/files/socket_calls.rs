//! Sockets: pairs of them, and the calls that move bytes. See [`crate::kernel::endpoints`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        addresses, datagrams, descriptor_arguments, descriptor_table,
        endpoints::{self, EndKind, Endpoint, Moved, Transfer},
        open_description::{self, Access, Kind, Modelled, READ, WRITE},
        pipes::{Called, MESSAGES, PipeId, SOCKET_CAPACITY},
        program_memory::ProgramMemory,
        sockets::{Failed, Way},
        start_state,
    },
    outside_run, real,
    run::{accesses, call_sites, operations::failed, world},
    trampoline,
};
use alloc::{format, vec::Vec};
use core::ffi::{c_int, c_void};
use libc::{
    MSG_DONTWAIT, MSG_NOSIGNAL, MSG_PEEK, MSG_TRUNC, MSG_WAITALL, SHUT_RD, SHUT_RDWR, SHUT_WR,
    sockaddr, socklen_t,
};
use reweave_model::{Object, Site};

trampoline! {
    socketpair => make_pair, "r8";
    shutdown => shut_down, "rdx";
    send => send_bytes, "r8";
    sendto => send_to, "r10";
    recv => receive_bytes, "r8";
    __recv_chk => receive_checked, "r9";
    recvfrom => receive_from, "r10";
    __recvfrom_chk => receive_from_checked, "r10";
}

/// `socketpair`.
///
/// # Safety
///
/// As POSIX demands of the caller: `ends` points to room for two descriptors.
unsafe extern "C" fn make_pair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
    frame: &Frame,
) -> c_int {
    let real = real!(socketpair: fn(c_int, c_int, c_int, *mut c_int) -> c_int);
    let bytes = size_of::<[c_int; 2]>();
    start_state::descriptors_change();
    if world::active() {
        world::snapshot().touch_range(ends as usize, bytes);
    }
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(domain, kind, protocol, ends) };
    if !world::active() || result != 0 {
        return result;
    }
    accesses::range(ends as usize, bytes, true, frame);
    let site = call_sites::site(&frame.return_address);
    let kind = match kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
        libc::SOCK_STREAM => EndKind::Stream,
        libc::SOCK_SEQPACKET => EndKind::Packets,
        libc::SOCK_DGRAM => EndKind::Datagrams,
        _ => world::unsupported("socketpair of another kind", site),
    };
    // SAFETY: the call went well, so two descriptors lie there.
    let mut both: [c_int; 2] = unsafe { ends.cast::<[c_int; 2]>().read() };
    descriptor_table::opened_both(&mut both, site);
    // SAFETY: there is room for two descriptors, as the caller promises.
    unsafe { ends.cast::<[c_int; 2]>().write(both) };
    let [first, second] = both;
    let there = direction([second, first], kind);
    let back = direction([first, second], kind);
    for (number, input, output) in [(first, back, there), (second, there, back)] {
        let endpoint = Modelled::Endpoint(Endpoint {
            input: Some(input),
            output: Some(output),
            kind,
        });
        descriptor_table::note_open(number, Some(open_description::create(Some(endpoint))));
    }
    0
}

/// One direction of a socket, with the descriptors of its reader and its writer.
fn direction([reader, writer]: [c_int; 2], kind: EndKind) -> PipeId {
    let mut object = match kind {
        EndKind::Packets | EndKind::Datagrams => Object::message_pipe(MESSAGES),
        _ => Object::pipe(SOCKET_CAPACITY),
    };
    if let (Object::Pipe(pipe), EndKind::Datagrams) = (&mut object, kind) {
        // That its writer is gone is not noticed.
        pipe.writers += 1;
    }
    PipeId::new(Called::Pair { reader, writer }, object)
}

/// `shutdown`.
extern "C" fn shut_down(descriptor: c_int, how: c_int, frame: &Frame) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(shutdown: fn(descriptor: c_int, how: c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    descriptor_table::look_up(descriptor, site);
    let modelled = open_description::modelled(descriptor);
    let found = descriptor_table::found(descriptor);
    let Some(modelled) = modelled.filter(|modelled| modelled.is_socket()) else {
        refuse_early(found, "shutdown", site);
        // SAFETY: `shutdown` takes numbers; what is no socket is an error of the call.
        return unsafe { real!(shutdown: fn(c_int, c_int) -> c_int)(found, how) };
    };
    let sides = match how {
        SHUT_RD => [true, false],
        SHUT_WR => [false, true],
        SHUT_RDWR => [true, true],
        _ => return failed(libc::EINVAL),
    };
    let result = match modelled {
        Modelled::Endpoint(endpoint) if endpoint.kind == EndKind::Datagrams => {
            world::unsupported("shutdown of a datagram socket", site)
        }
        Modelled::Socket(socket) => socket.shut_down(sides, site),
        modelled => modelled
            .end(Way::Out, true, site)
            .and_then(|end| end.shut_down(sides, site)),
    };
    result.map_or_else(failed, |()| 0)
}

/// Stops the thread at a socket that the operating system has.
fn refuse_early(descriptor: c_int, call: &str, site: Site) {
    if Kind::of(descriptor) == Kind::Socket {
        world::unsupported(&format!("{call} of a socket from before main"), site);
    }
}

/// Stops the thread at flags that are not supported.
fn allow(flags: c_int, known: c_int, call: &str, frame: &Frame) {
    if flags & !known != 0 {
        let site = call_sites::site(&frame.return_address);
        world::unsupported(&format!("{call} with flags {:#x}", flags & !known), site);
    }
}

/// `send`.
///
/// # Safety
///
/// As POSIX demands of the caller: `from` points to `bytes` bytes.
unsafe extern "C" fn send_bytes(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    flags: c_int,
    frame: &Frame,
) -> isize {
    outside_run!(send: fn(descriptor: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize);
    let memory = ProgramMemory::block(from as usize, bytes);
    // SAFETY: the address is null, so no bytes need to lie there.
    unsafe { sent((descriptor, flags), "send", &memory, NOWHERE, frame) }
}

/// `sendto`.
///
/// # Safety
///
/// As POSIX demands of the caller: `from` points to `bytes` bytes, `address` is null or points to an address of so many bytes.
unsafe extern "C" fn send_to(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    flags: c_int,
    address: *const sockaddr,
    length: socklen_t,
    frame: &Frame,
) -> isize {
    outside_run!(sendto: fn(descriptor: c_int, from: *const c_void, bytes: usize, flags: c_int, address: *const sockaddr, length: socklen_t) -> isize);
    let memory = ProgramMemory::block(from as usize, bytes);
    // SAFETY: the address is as the caller promises.
    unsafe {
        sent(
            (descriptor, flags),
            "sendto",
            &memory,
            (address, length),
            frame,
        )
    }
}

/// No address.
const NOWHERE: (*const sockaddr, socklen_t) = (core::ptr::null(), 0);

/// Sends what lies in memory, to an address or to the other side.
///
/// # Safety
///
/// The address is null, or so many bytes lie there.
pub(super) unsafe fn sent(
    (descriptor, flags): (c_int, c_int),
    call: &'static str,
    memory: &ProgramMemory,
    (address, length): (*const sockaddr, socklen_t),
    frame: &Frame,
) -> isize {
    let descriptor = descriptor_arguments::own(descriptor);
    allow(flags, MSG_DONTWAIT | MSG_NOSIGNAL, call, frame);
    memory.note_read(frame);
    let found = open_description::look_up(descriptor, Access { call, ..WRITE }, frame);
    let site = call_sites::site(&frame.return_address);
    found.use_socket(call, |socket, waits| {
        let waits = waits && flags & MSG_DONTWAIT == 0;
        if let Modelled::Socket(socket) = socket
            && socket.is_of_datagrams()
        {
            let mut to = None;
            if !address.is_null() {
                let family = socket.family();
                // SAFETY: not null, so so many bytes lie there, as the caller promises.
                to = Some(unsafe { addresses::read(family, address, length, call, frame) }?);
            }
            let bytes = memory.bytes().ok_or(libc::EFAULT)?;
            return match datagrams::send(socket, to, &bytes, waits, frame, site) {
                Ok(sent) => Ok(sent),
                Err(Failed::With(error)) => Err(error),
                Err(Failed::Cancelled) => endpoints::cancelled(descriptor, frame),
            };
        }
        if !address.is_null() {
            world::unsupported(&format!("{call} with an address"), site);
        }
        let quiet = flags & MSG_NOSIGNAL != 0;
        let endpoint = socket.end(Way::Out, quiet, site)?;
        let how = Transfer {
            number: descriptor,
            waits,
            peeks: false,
            no_signal: quiet,
        };
        endpoint.write(how, memory, frame)
    })
}

/// `recv`.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` has room for `bytes` bytes.
unsafe extern "C" fn receive_bytes(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    flags: c_int,
    frame: &Frame,
) -> isize {
    outside_run!(recv: fn(descriptor: c_int, into: *mut c_void, bytes: usize, flags: c_int) -> isize);
    let memory = ProgramMemory::block(into as usize, bytes);
    received((descriptor, flags), "recv", &memory, frame).result
}

/// `__recv_chk`: the C library ends the program if more is asked for than there is room.
///
/// # Safety
///
/// As `recv`, or `room` is less than `bytes`.
unsafe extern "C" fn receive_checked(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    room: usize,
    flags: c_int,
    frame: &Frame,
) -> isize {
    let real = real!(__recv_chk: fn(c_int, *mut c_void, usize, usize, c_int) -> isize);
    // SAFETY: passed on unchanged; if `bytes` fit, the caller's promise is the one that `recv` needs.
    unsafe {
        match bytes > room {
            true => real(descriptor, into, bytes, room, flags),
            false => receive_bytes(descriptor, into, bytes, flags, frame),
        }
    }
}

/// `__recvfrom_chk`: as [`receive_checked`]. The last argument, `length`, is above the frame.
///
/// # Safety
///
/// As `recvfrom`, or `room` is less than `bytes`.
unsafe extern "C" fn receive_from_checked(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    room: usize,
    flags: c_int,
    address: *mut sockaddr,
    frame: &Frame,
) -> isize {
    // SAFETY: by the calling convention the seventh argument lies above the return address, which ends the frame. The others are passed on
    // unchanged; if `bytes` fit, the caller's promise is the one that `recvfrom` needs.
    unsafe {
        let length = *core::ptr::from_ref(frame).add(1).cast::<*mut socklen_t>();
        if bytes > room {
            let real = real!(__recvfrom_chk: fn(c_int, *mut c_void, usize, usize, c_int, *mut sockaddr, *mut socklen_t) -> isize);
            return real(descriptor, into, bytes, room, flags, address, length);
        }
        receive_from(descriptor, into, bytes, flags, address, length, frame)
    }
}

/// `recvfrom`.
///
/// # Safety
///
/// As POSIX demands of the caller: `into` has room for `bytes` bytes; `address` and `length` are null, or point to room for an address
/// and to its length.
unsafe extern "C" fn receive_from(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    frame: &Frame,
) -> isize {
    outside_run!(recvfrom: fn(descriptor: c_int, into: *mut c_void, bytes: usize, flags: c_int, address: *mut sockaddr, length: *mut socklen_t) -> isize);
    let memory = ProgramMemory::block(into as usize, bytes);
    let got = received((descriptor, flags), "recvfrom", &memory, frame);
    if got.result >= 0 && !address.is_null() && !length.is_null() {
        // SAFETY: there is room for an address, as the caller promises.
        if let Err(error) = unsafe { addresses::store(&got.sender, address, length, frame) } {
            return failed(error) as isize;
        }
    }
    got.result
}

/// What a call has received.
pub(super) struct Received {
    /// As the call returns it.
    pub(super) result: isize,
    /// How long the message was.
    pub(super) whole: usize,
    /// The address of its sender; empty: it has none, or is known.
    pub(super) sender: Vec<u8>,
}

/// Receives into memory.
pub(super) fn received(
    (descriptor, flags): (c_int, c_int),
    call: &'static str,
    memory: &ProgramMemory,
    frame: &Frame,
) -> Received {
    let descriptor = descriptor_arguments::own(descriptor);
    let known = MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC | MSG_NOSIGNAL | MSG_WAITALL;
    allow(flags, known, call, frame);
    let found = open_description::look_up(descriptor, Access { call, ..READ }, frame);
    let site = call_sites::site(&frame.return_address);
    let mut moved = Moved::default();
    let result = found.use_socket(call, |socket, waits| {
        let endpoint = socket.end(Way::In, true, site)?;
        let stream = matches!(endpoint.kind, EndKind::Stream | EndKind::Tcp(_));
        if stream && flags & (MSG_WAITALL | MSG_TRUNC) != 0 {
            world::unsupported(&format!("{call} with MSG_WAITALL or MSG_TRUNC"), site);
        }
        let how = Transfer {
            number: descriptor,
            waits: waits && flags & MSG_DONTWAIT == 0,
            peeks: flags & MSG_PEEK != 0,
            no_signal: true,
        };
        moved = endpoint.read(how, memory, frame)?;
        Ok(if flags & MSG_TRUNC != 0 {
            moved.whole
        } else {
            moved.bytes
        })
    });
    Received {
        result,
        whole: moved.whole,
        sender: moved.sender,
    }
}
