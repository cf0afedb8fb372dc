//! Connections: what `connect` makes and `accept` takes, two pipes between a client and a server.
//!
//! *TCP* tells less than a Unix socket: that the other side is gone is an end for those that read, but the first that writes succeeds.
//! The answer to it is a reset, and then writes fail. A socket that is closed with something unread resets the connection at once. So
//! each connection of TCP has an object for what each side knows of that. It is used only where a call finds no reader or an
//! end; steps on the pipes order these calls after what they find.

use crate::{
    core::cell::RunCell,
    kernel::{
        addresses::Address,
        endpoints::{EndKind, Endpoint},
        file_objects,
        ordering::alone,
        pipes::{Called, MESSAGES, PipeId, SOCKET_CAPACITY},
    },
    run::{operations::visible, world},
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, Site};

/// A connection of the run, in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionId(u32);

/// One side of a connection of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpSide {
    connection: ConnectionId,
    server: bool,
}

/// See the module.
struct Connection {
    /// Those of the client, those of the server.
    ends: [Endpoint; 2],
    addresses: [Address; 2],
    /// The object of what the sides know.
    faults: ObjectId,
    known: [Known; 2],
    /// The listening socket was gone before it was accepted.
    aborted: bool,
}

/// What a side of a connection of TCP knows.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The error that it gets next.
    error: Option<c_int>,
    /// It was reset.
    dead: bool,
}

static CONNECTIONS: RunCell<Vec<Connection>> = RunCell::new(Vec::new());

/// A new run.
pub(crate) fn begin_run() {
    CONNECTIONS.borrow().clear();
}

/// A connection that is to be made: the descriptor of the client's socket and how many descriptors that has.
pub(crate) struct Client {
    pub(crate) number: c_int,
    pub(crate) descriptors: u32,
    /// What kind of end it will have; of TCP the side does not matter.
    pub(crate) kind: EndKind,
    pub(crate) address: Address,
}

impl ConnectionId {
    /// A new one, to a server at this address.
    pub(crate) fn new(client: Client, server: Address) -> ConnectionId {
        let connection = ConnectionId(CONNECTIONS.borrow().len() as u32);
        let there = direction(client.kind, [client.descriptors, 1]);
        let back = direction(client.kind, [1, client.descriptors]);
        let there = PipeId::new(Called::ToServer(client.number), there);
        let back = PipeId::new(Called::ToClient(client.number), back);
        let place = file_objects::address(file_objects::FAULTS + client.number as usize);
        let faults = world::borrow().make_quiet(place, Object::Atomic(0));
        let end = |input, output, server| Endpoint {
            input: Some(input),
            output: Some(output),
            kind: match client.kind {
                EndKind::Tcp(_) => EndKind::Tcp(Some(TcpSide { connection, server })),
                kind => kind,
            },
        };
        CONNECTIONS.borrow().push(Connection {
            ends: [end(back, there, false), end(there, back, true)],
            addresses: [client.address, server],
            faults,
            known: [Known::default(); 2],
            aborted: false,
        });
        connection
    }

    fn with<R>(self, then: impl FnOnce(&mut Connection) -> R) -> R {
        then(&mut CONNECTIONS.borrow()[self.0 as usize])
    }

    /// As it is sent to the listening socket.
    pub(crate) fn message(self) -> Vec<u8> {
        self.0.to_ne_bytes().to_vec()
    }

    /// The connection that was sent so.
    pub(crate) fn of_message(message: &[u8]) -> ConnectionId {
        let bytes = message
            .try_into()
            .expect("a connection is sent as its number");
        ConnectionId(u32::from_ne_bytes(bytes))
    }

    pub(crate) fn client(self) -> Endpoint {
        self.with(|connection| connection.ends[0])
    }

    pub(crate) fn server(self) -> Endpoint {
        self.with(|connection| connection.ends[1])
    }

    /// The addresses of client and server.
    pub(crate) fn addresses(self) -> [Address; 2] {
        self.with(|connection| connection.addresses.clone())
    }

    /// Whether the listening socket was gone first.
    pub(crate) fn is_aborted(self) -> bool {
        self.with(|connection| connection.aborted)
    }

    /// The listening socket is gone, and the connection is not accepted: the client gets an error.
    pub(crate) fn abort(self, site: Site) {
        let end = self.with(|connection| {
            connection.aborted = true;
            connection.known[0] = Known {
                error: Some(libc::ECONNRESET),
                dead: true,
            };
            connection.ends[1]
        });
        end.abandon(site);
    }
}

/// One direction, with so many writers and readers.
fn direction(kind: EndKind, [writers, readers]: [u32; 2]) -> Object {
    let mut object = match kind {
        EndKind::Packets | EndKind::Datagrams => Object::message_pipe(MESSAGES),
        _ => Object::pipe(SOCKET_CAPACITY),
    };
    if let Object::Pipe(pipe) = &mut object {
        (pipe.writers, pipe.readers) = (writers, readers);
    }
    object
}

impl TcpSide {
    fn index(self) -> usize {
        usize::from(self.server)
    }

    /// Performs a step on what the sides know: those that come to it are in order.
    fn step(self, site: Site) {
        if alone() {
            return;
        }
        let rmw = Rmw {
            kind: RmwKind::Add,
            operand: 1,
            bits: 64,
        };
        let object = self.connection.with(|connection| connection.faults);
        visible(Op::Rmw(object, rmw), site);
    }

    fn known<R>(self, then: impl FnOnce(&mut Known) -> R) -> R {
        let index = self.index();
        self.connection
            .with(|connection| then(&mut connection.known[index]))
    }

    fn other(self) -> TcpSide {
        TcpSide {
            server: !self.server,
            ..self
        }
    }

    /// A read has found the end: what it returns.
    pub(crate) fn at_end(self, site: Site) -> Result<(), c_int> {
        self.step(site);
        self.known(|known| match known.error {
            Some(libc::ECONNRESET) => {
                known.error = None;
                Err(libc::ECONNRESET)
            }
            _ => Ok(()),
        })
    }

    /// A write has found that there is no reader: whether it succeeds all the same; an error number.
    pub(crate) fn without_reader(self, shut: bool, site: Site) -> Result<(), c_int> {
        self.step(site);
        let result = self.known(|known| match known.error.take() {
            Some(error) => Err(error),
            None if known.dead || shut => Err(libc::EPIPE),
            None => {
                // The answer is a reset, which comes after the end.
                *known = Known {
                    error: Some(libc::EPIPE),
                    dead: true,
                };
                Ok(())
            }
        });
        if result.is_ok() {
            // Where the other side is only shut down, the reset is its own.
            self.other().known(|known| {
                *known = Known {
                    error: Some(libc::ECONNRESET),
                    dead: true,
                }
            });
        }
        result
    }

    /// The last descriptor of this side was closed with something unread, in the step that was just done; whether it had ended what it
    /// sends before.
    pub(crate) fn leaves_unread(self, had_ended: bool) {
        self.other().known(|known| {
            *known = Known {
                error: Some(match had_ended {
                    true => libc::EPIPE,
                    false => libc::ECONNRESET,
                }),
                dead: true,
            }
        });
    }

    /// Whether an error is pending, and whether the connection was reset: for `poll`, which has found that a pipe is broken.
    pub(crate) fn look(self, site: Site) -> [bool; 2] {
        self.step(site);
        self.known(|known| [known.error.is_some(), known.dead])
    }

    /// The error that is pending, which is none any more.
    pub(crate) fn take_error(self, site: Site) -> Option<c_int> {
        self.step(site);
        self.known(|known| known.error.take())
    }
}
