//! Addresses of sockets, and which socket is bound to which. The network is the run's own: nothing leaves the process, and no port
//! of the machine is taken.
//!
//! A port of TCP is one object, whatever the host: bind, the beginning of listening and the end of a socket change it, connect looks at
//! it. So is a name of a Unix socket that is no file; of one that is a file the object is the file's. Ports that the operating
//! system would choose are a function of the thread and of how many it has asked for, so they are the same in every order.

use crate::{
    core::{cell::RunCell, trampoline::Frame},
    kernel::{
        file_names::{self, HERE},
        file_objects, os_files,
        overlay::overlay,
        path_resolution::{PathUse, place_for, reach},
        paths::{hash, terminated},
        program_memory::ProgramMemory,
        sockets::SocketId,
    },
    run::{accesses, call_sites, world},
};
use alloc::{format, string::String, vec::Vec};
use core::{ffi::c_int, mem::offset_of};
use libc::{AF_INET, AF_UNIX, sockaddr, sockaddr_in, sockaddr_un, socklen_t};
use reweave_model::Site;

/// What a socket can be bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    /// Host and port, in the order of bytes of the machine.
    Inet(u32, u16),
    /// The same, of UDP, which has ports of its own.
    Udp(u32, u16),
    /// The name of a Unix socket that is no file, and the type of the socket: each has names of its own.
    Abstract(Vec<u8>, c_int),
    /// A file: its device and number, and the path that it was given.
    File([u64; 2], Vec<u8>),
    /// A Unix socket without a name.
    Unnamed,
}

/// A socket that is bound, or was and has left connections behind.
struct Bound {
    address: Address,
    /// `None`: it is gone.
    socket: Option<SocketId>,
}

static BOUND: RunCell<Vec<Bound>> = RunCell::new(Vec::new());

/// How many ports each thread was given, by slot.
static PORTS: RunCell<Vec<(usize, u16)>> = RunCell::new(Vec::new());

/// The first port that is given to those that want any, and how many each thread can have.
const FIRST_PORT: usize = 32_768;
const PORTS_EACH: u16 = 64;

const LOOPBACK: u32 = 0x7f00_0001;

/// A new run.
pub(crate) fn begin_run() {
    BOUND.borrow().clear();
    PORTS.borrow().clear();
}

/// Where the name of a Unix socket begins.
const NAME_AT: usize = offset_of!(sockaddr_un, sun_path);

impl Address {
    /// That of a socket of this type.
    fn inet(kind: c_int, host: u32, port: u16) -> Address {
        match kind {
            libc::SOCK_DGRAM => Address::Udp(host, port),
            _ => Address::Inet(host, port),
        }
    }

    /// How it is called in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Address::Inet(host, port) | Address::Udp(host, port) => {
                let [a, b, c, d] = host.to_be_bytes();
                format!("{a}.{b}.{c}.{d}:{port}")
            }
            Address::Abstract(name, _) => format!("@{}", String::from_utf8_lossy(name)),
            Address::File(_, path) => String::from_utf8_lossy(path).into(),
            Address::Unnamed => "no name".into(),
        }
    }

    /// As the operating system lays it out.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let unix = |name: &[u8]| [&(AF_UNIX as u16).to_ne_bytes(), name].concat();
        match self {
            Address::Inet(host, port) | Address::Udp(host, port) => {
                let mut bytes = (AF_INET as u16).to_ne_bytes().to_vec();
                bytes.extend(port.to_be_bytes());
                bytes.extend(host.to_be_bytes());
                bytes.resize(size_of::<sockaddr_in>(), 0);
                bytes
            }
            Address::Abstract(name, _) => unix(&[b"\0", &name[..]].concat()),
            Address::File(_, path) => unix(&terminated(path)),
            Address::Unnamed => unix(b""),
        }
    }

    /// As [`store`].
    ///
    /// # Safety
    ///
    /// As [`store`].
    pub(crate) unsafe fn store(
        &self,
        into: *mut sockaddr,
        length: *mut socklen_t,
        frame: &Frame,
    ) -> Result<(), c_int> {
        // SAFETY: this function's own arguments, with the same contract.
        unsafe { store(&self.bytes(), into, length, frame) }
    }

    fn is_loopback(&self) -> bool {
        !matches!(self, Address::Inet(host, _) | Address::Udp(host, _) if host >> 24 != 127)
    }

    /// The number of its object; files have their own.
    fn number(&self) -> Option<usize> {
        match self {
            Address::Inet(_, port) | Address::Udp(_, port) => {
                Some(file_objects::PORTS + usize::from(*port))
            }
            Address::Abstract(name, _) => {
                Some(file_objects::NAMES + hash(name) % file_objects::MOST_NAMES)
            }
            Address::File(..) | Address::Unnamed => None,
        }
    }

    /// What is bound to it is about to be changed.
    fn change(&self, site: Site) {
        if let Some(number) = self.number() {
            file_objects::touch(number, site);
        }
    }
}

/// Writes an address to where a call wants it. An error number if that fails.
///
/// # Safety
///
/// As POSIX demands of the caller: both are null, or `length` points to a length and `into` to so much room.
pub(crate) unsafe fn store(
    bytes: &[u8],
    into: *mut sockaddr,
    length: *mut socklen_t,
    frame: &Frame,
) -> Result<(), c_int> {
    if into.is_null() {
        return Ok(());
    }
    if length.is_null() {
        return Err(libc::EFAULT);
    }
    let place = ProgramMemory::block(length as usize, size_of::<socklen_t>());
    place.note_read(frame);
    // SAFETY: not null, so a length lies there, as the caller promises.
    let room = unsafe { length.read() } as usize;
    let stored = bytes.len().min(room);
    let memory = ProgramMemory::block(into as usize, stored);
    let whole = (bytes.len() as socklen_t).to_ne_bytes();
    match memory.store(&bytes[..stored], frame) && place.store(&whole, frame) {
        true => Ok(()),
        false => Err(libc::EFAULT),
    }
}

/// What a program calls an address.
pub(crate) enum Named {
    Inet(u32, u16),
    Abstract(Vec<u8>),
    Path(Vec<u8>),
    Unnamed,
}

/// Reads an address of this family, as a call was given it; an error number.
///
/// # Safety
///
/// As POSIX demands of the caller: `from` is null or points to `length` bytes.
pub(crate) unsafe fn read(
    family: c_int,
    from: *const sockaddr,
    length: socklen_t,
    call: &str,
    frame: &Frame,
) -> Result<Named, c_int> {
    let length = length as usize;
    if from.is_null() {
        return Err(libc::EFAULT);
    }
    if length < size_of::<u16>() || length > size_of::<libc::sockaddr_storage>() {
        return Err(libc::EINVAL);
    }
    accesses::range(from as usize, length, false, frame);
    // SAFETY: not null, so there are so many bytes, as the caller promises.
    let bytes = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), length) };
    let given = c_int::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    if given == libc::AF_UNSPEC {
        let site = call_sites::site(&frame.return_address);
        world::unsupported(&format!("{call} with AF_UNSPEC"), site);
    }
    match family {
        AF_INET if length < size_of::<sockaddr_in>() => Err(libc::EINVAL),
        _ if given != family => Err(match (family, call) {
            (AF_UNIX, _) => libc::EINVAL,
            _ => libc::EAFNOSUPPORT,
        }),
        AF_INET => {
            let port = u16::from_be_bytes([bytes[2], bytes[3]]);
            let host = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            Ok(Named::Inet(host, port))
        }
        _ => of_unix(&bytes[NAME_AT..]),
    }
}

/// What follows the family of a Unix socket's address.
fn of_unix(name: &[u8]) -> Result<Named, c_int> {
    if name.len() > size_of::<sockaddr_un>() - NAME_AT {
        return Err(libc::EINVAL);
    }
    Ok(match name.split_first() {
        None => Named::Unnamed,
        Some((0, rest)) => Named::Abstract(rest.to_vec()),
        Some(_) => {
            let end = name.iter().position(|byte| *byte == 0);
            Named::Path(name[..end.unwrap_or(name.len())].to_vec())
        }
    })
}

/// What a socket is to be bound to, and makes the file if it is one.
pub(crate) fn to_bind(named: Named, kind: c_int, site: Site) -> Result<Address, c_int> {
    match named {
        Named::Inet(host, port) => {
            let address = Address::inet(kind, host, port);
            if !address.is_loopback() {
                world::unsupported(
                    &format!("bind to {}, beyond loopback", address.name()),
                    site,
                );
            }
            Ok(address)
        }
        Named::Abstract(name) => Ok(Address::Abstract(name, kind)),
        Named::Path(path) => make_file(path, site),
        Named::Unnamed => {
            world::unsupported("bind of a Unix socket to a name that is chosen", site)
        }
    }
}

/// Makes the file of a Unix socket.
fn make_file(path: Vec<u8>, site: Site) -> Result<Address, c_int> {
    let text = terminated(&path);
    let how = PathUse::New;
    let made = reach(HERE, text.as_ptr() as usize, false, how, site).and_then(|real| {
        let place = place_for(&real, how, site)?;
        match os_files::make_socket(&place) {
            0 => overlay().stat(&real).ok_or(libc::ENOENT),
            error => Err(-error as c_int),
        }
    });
    file_names::leave(site);
    match made {
        Ok(stat) => Ok(Address::File([stat.st_dev, stat.st_ino], path)),
        Err(libc::EEXIST) => Err(libc::EADDRINUSE),
        Err(error) => Err(error),
    }
}

/// Whether a path leads to something.
pub(crate) fn exists(path: &[u8], site: Site) -> bool {
    let text = terminated(path);
    let found = reach(HERE, text.as_ptr() as usize, false, PathUse::Look, site);
    let there = found.is_ok_and(|real| overlay().stat(&real).is_some());
    file_names::leave(site);
    there
}

/// What a socket is to be connected to.
pub(crate) fn to_connect(named: Named, kind: c_int, site: Site) -> Result<Address, c_int> {
    match named {
        Named::Inet(host, port) => {
            // That host stands for the machine itself.
            let host = if host == 0 { LOOPBACK } else { host };
            let address = Address::inet(kind, host, port);
            if !address.is_loopback() {
                let what = format!("connect to {}, beyond loopback", address.name());
                world::unsupported(&what, site);
            }
            Ok(address)
        }
        Named::Abstract(name) => Ok(Address::Abstract(name, kind)),
        Named::Path(path) => {
            let text = terminated(&path);
            let found = reach(HERE, text.as_ptr() as usize, true, PathUse::Look, site);
            let stat = found.and_then(|real| overlay().stat(&real).ok_or(libc::ENOENT));
            file_names::leave(site);
            let stat = stat?;
            match os_files::file_type(&stat) {
                libc::S_IFSOCK => Ok(Address::File([stat.st_dev, stat.st_ino], path)),
                _ => Err(libc::ECONNREFUSED),
            }
        }
        Named::Unnamed => Err(libc::EINVAL),
    }
}

/// The socket that is bound to an address, by a step that looks.
pub(crate) fn find(address: &Address, site: Site) -> Option<SocketId> {
    if let Some(number) = address.number() {
        file_objects::look_at(number, site);
    }
    let all = BOUND.borrow();
    let same = |bound: &&Bound| match (&bound.address, address) {
        (Address::File(known, _), Address::File(wanted, _)) => known == wanted,
        (known, wanted) => known == wanted,
    };
    let bound: Vec<SocketId> = all
        .iter()
        .rev()
        .filter(same)
        .filter_map(|bound| bound.socket)
        .collect();
    drop(all);
    let listening = bound.iter().copied().find(|socket| socket.is_listening());
    listening.or(bound.first().copied())
}

/// Binds a socket. A port of 0 stands for one that is free. What it is bound to, or an error number.
pub(crate) fn bind(
    socket: SocketId,
    address: Address,
    reuses: bool,
    site: Site,
) -> Result<Address, c_int> {
    let address = match address {
        Address::Inet(host, 0) => free_port(libc::SOCK_STREAM, host, site),
        Address::Udp(host, 0) => free_port(libc::SOCK_DGRAM, host, site),
        address => {
            address.change(site);
            if is_taken(&address, reuses, site) {
                return Err(libc::EADDRINUSE);
            }
            address
        }
    };
    BOUND.borrow().push(Bound {
        address: address.clone(),
        socket: Some(socket),
    });
    Ok(address)
}

/// A port that no socket is bound to, for a socket that wants any.
pub(crate) fn any_port(socket: SocketId, kind: c_int, site: Site) -> Address {
    let address = free_port(kind, LOOPBACK, site);
    BOUND.borrow().push(Bound {
        address: address.clone(),
        socket: Some(socket),
    });
    address
}

fn free_port(kind: c_int, host: u32, site: Site) -> Address {
    loop {
        let slot = world::borrow().slot();
        let count = {
            let mut given = PORTS.borrow();
            let index = given.iter().position(|(known, _)| *known == slot);
            let index = index.unwrap_or_else(|| {
                given.push((slot, 0));
                given.len() - 1
            });
            given[index].1 += 1;
            given[index].1 - 1
        };
        let port = FIRST_PORT + slot * usize::from(PORTS_EACH) + usize::from(count);
        let Some(port) = u16::try_from(port).ok().filter(|_| count < PORTS_EACH) else {
            world::unsupported("more ports than are chosen for one thread", site);
        };
        let address = Address::inet(kind, host, port);
        address.change(site);
        let mut known = false;
        for bound in BOUND.borrow().iter() {
            known |= matches!(bound.address, Address::Inet(_, taken) | Address::Udp(_, taken) if taken == port);
        }
        if !known {
            return address;
        }
    }
}

/// Whether a socket cannot be bound to an address, because others are or were.
fn is_taken(address: &Address, reuses: bool, site: Site) -> bool {
    let sockets: Vec<Option<SocketId>> = {
        let all = BOUND.borrow();
        let same = all.iter().filter(|bound| bound.address == *address);
        same.map(|bound| bound.socket).collect()
    };
    let mut taken = false;
    for socket in sockets {
        match socket {
            // A new file.
            Some(_) if matches!(address, Address::File(..)) => {}
            Some(socket) if matches!(address, Address::Inet(..)) => {
                taken |= !reuses || !socket.lets_reuse(site);
            }
            Some(_) if reuses && matches!(address, Address::Udp(..)) => {
                world::unsupported("bind of several UDP sockets to one port", site)
            }
            Some(_) => taken = true,
            None if reuses => {}
            None => world::unsupported(
                "bind without SO_REUSEADDR to a port that had connections",
                site,
            ),
        }
    }
    taken
}

/// A bound socket begins to listen: others may be bound to the same port. Whether one of them listens already.
pub(crate) fn listens(socket: SocketId, address: &Address, site: Site) -> bool {
    address.change(site);
    let all = BOUND.borrow();
    let same = all.iter().filter(|bound| bound.address == *address);
    let others: Vec<SocketId> = same
        .filter_map(|bound| bound.socket)
        .filter(|other| *other != socket)
        .collect();
    drop(all);
    !matches!(address, Address::File(..)) && others.into_iter().any(SocketId::is_listening)
}

/// A bound socket is gone. Whether it has left connections that others cannot share their port with.
pub(crate) fn unbind(socket: SocketId, address: &Address, leaves: bool, site: Site) {
    address.change(site);
    let mut all = BOUND.borrow();
    let index = all.iter().position(|bound| bound.socket == Some(socket));
    if let Some(index) = index {
        match leaves {
            true => all[index].socket = None,
            false => _ = all.remove(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_laid_out_as_by_the_operating_system() {
        let inet = Address::Inet(LOOPBACK, 80).bytes();
        assert_eq!(inet, [2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            Address::Abstract(b"x".to_vec(), libc::SOCK_STREAM).bytes(),
            [1, 0, 0, b'x']
        );
        assert_eq!(
            Address::File([0; 2], b"x".to_vec()).bytes(),
            [1, 0, b'x', 0]
        );
        assert_eq!(Address::Unnamed.bytes(), [1, 0]);
    }

    #[test]
    fn names_of_unix_sockets_end_at_a_nul_unless_they_begin_with_one() {
        assert!(matches!(of_unix(b"a\0b"), Ok(Named::Path(path)) if path == b"a"));
        assert!(matches!(of_unix(b"\0a\0"), Ok(Named::Abstract(name)) if name == b"a\0"));
        assert!(matches!(of_unix(b""), Ok(Named::Unnamed)));
        assert!(matches!(of_unix(&[1; 109]), Err(libc::EINVAL)));
    }
}
