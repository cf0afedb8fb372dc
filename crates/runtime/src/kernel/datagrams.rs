//! Sockets of datagrams that are not pairs: Unix and UDP.
//!
//! Each has a pipe of messages of its own, its inbox, which nothing ever hangs up. A message is the address of its sender and what was
//! sent. To send is to look up which socket is bound to an address, to look whether that one takes messages from the sender, and to
//! put one into its inbox. A Unix socket waits while an inbox is full; UDP loses the message then, and where no socket is
//! bound. That messages get lost without a reason is not explored.

use crate::{
    core::trampoline::Frame,
    kernel::{
        addresses::{self, Address, Named},
        endpoints::{EndKind, Endpoint},
        pipes::{Called, Failure, MESSAGES, PipeId, SOCKET_CAPACITY},
        sockets::{Failed, SocketId},
    },
    run::world,
    shared::injected_faults,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::{Object, Site};

/// So many messages of Unix sockets wait at most.
const UNIX_MESSAGES: u64 = 11;
/// The longest message of UDP.
const LONGEST: usize = 65_507;

/// The end of a new socket, which was made with this descriptor.
pub(crate) fn inbox(number: c_int, family: c_int) -> Endpoint {
    let room = match family {
        libc::AF_UNIX => UNIX_MESSAGES,
        _ => MESSAGES,
    };
    Endpoint {
        input: Some(PipeId::new(
            Called::Inbox(number),
            Object::message_pipe(room),
        )),
        output: None,
        kind: EndKind::Inbox,
    }
}

/// A message, with the address of its sender in front.
fn message(from: &Address, bytes: &[u8]) -> Vec<u8> {
    let from = match from {
        Address::Unnamed => Vec::new(),
        from => from.bytes(),
    };
    let mut message = (from.len() as u16).to_ne_bytes().to_vec();
    message.extend(from);
    message.extend(bytes);
    message
}

/// The address of the sender of a message, and what was sent.
pub(crate) fn parts(mut message: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let length = u16::from_ne_bytes([message[0], message[1]]) as usize;
    let bytes = message.split_off(2 + length);
    (message.split_off(2), bytes)
}

/// Sends a message, to this address or to the one that the socket is connected to.
pub(crate) fn send(
    socket: SocketId,
    to: Option<Named>,
    bytes: &[u8],
    waits: bool,
    frame: &Frame,
    site: Site,
) -> Result<usize, Failed> {
    let unix = socket.family() == libc::AF_UNIX;
    let longest = if unix {
        SOCKET_CAPACITY as usize
    } else {
        LONGEST
    };
    if bytes.len() > longest {
        return Err(libc::EMSGSIZE.into());
    }
    let connected = to.is_none();
    let to = match to {
        Some(named) => addresses::to_connect(named, libc::SOCK_DGRAM, site)?,
        None => match socket.peer_of_datagrams(site) {
            Address::Unnamed if unix => return Err(libc::ENOTCONN.into()),
            Address::Unnamed => return Err(libc::EDESTADDRREQ.into()),
            peer => peer,
        },
    };
    let from = socket.own_address(site);
    let lost = |error: c_int| match unix {
        true => Err(error.into()),
        // The sender would learn of it by an error of a later call.
        false if connected => world::unsupported("UDP to a port that no socket is bound to", site),
        false => Ok(bytes.len()),
    };
    let Some(target) = addresses::find(&to, site) else {
        return lost(libc::ECONNREFUSED);
    };
    let Some(inbox) = target.inbox() else {
        return Err(libc::EPROTOTYPE.into());
    };
    let only = target.peer_of_datagrams(site);
    if only != Address::Unnamed && only != from {
        return match unix {
            true => Err(libc::EPERM.into()),
            false => Ok(bytes.len()),
        };
    }
    if !unix && injected_faults::loses(site) {
        return Ok(bytes.len());
    }
    match inbox.put_message(message(&from, bytes), waits && unix, frame) {
        Ok(()) => Ok(bytes.len()),
        Err(Failure::Again) if unix => Err(libc::EAGAIN.into()),
        Err(Failure::Again) => Ok(bytes.len()),
        Err(Failure::Gone | Failure::Reset) => lost(libc::ECONNREFUSED),
        Err(Failure::Cancelled) => Err(Failed::Cancelled),
    }
}

/// `connect`: messages go to this address and come from it alone. An error number.
pub(crate) fn connect(socket: SocketId, named: Named, site: Site) -> Result<(), c_int> {
    let to = addresses::to_connect(named, libc::SOCK_DGRAM, site)?;
    let own = socket.own_address(site);
    if socket.family() == libc::AF_UNIX {
        let target = addresses::find(&to, site).ok_or(libc::ECONNREFUSED)?;
        target.inbox().ok_or(libc::EPROTOTYPE)?;
        let only = target.peer_of_datagrams(site);
        if only != Address::Unnamed && only != own {
            return Err(libc::EPERM);
        }
    }
    socket.set_peer_of_datagrams(to, site);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_sender_in_front() {
        let sender = Address::Abstract(b"x".to_vec(), libc::SOCK_DGRAM);
        let (from, bytes) = parts(message(&sender, b"abc"));
        assert_eq!((from, bytes), (sender.bytes(), b"abc".to_vec()));
        let (from, bytes) = parts(message(&Address::Unnamed, b""));
        assert_eq!((from.len(), bytes.len()), (0, 0));
    }
}
