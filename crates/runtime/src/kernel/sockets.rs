//! Sockets that are bound, listen and connect: open descriptions that become an end of a connection, or a backlog.
//!
//! *A listening socket* is the reader of a pipe of messages, its backlog: `connect` puts a [connection](ConnectionId) there, and waits
//! while it is full; `accept` takes one. Nothing ever hangs up a backlog, and when its last reader is gone a `connect` is refused.
//!
//! *What a socket is* changes a few times at most: each change is a step on the socket's object, and calls look at that object before
//! they use the socket. Nothing changes any more once it listens or is connected. So a call that comes after that by happens-before
//! does not look: in every equivalent order it comes after it.
//!
//! *Descriptors* are counted here until the socket has pipes, which count their readers and writers. Each step that adds or drops a
//! descriptor of a socket that is bound is in order, since the last one frees the address.

use crate::{
    core::{cell::RunCell, sys, trampoline::Frame},
    kernel::{
        addresses::{self, Address, Named},
        connections::{Client, ConnectionId},
        datagrams,
        endpoints::{EndKind, Endpoint},
        file_objects,
        ordering::{Moment, alone},
        pipes::{Called, Failure, PipeId},
        signals,
    },
    run::{operations::visible, world},
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, Site};

/// A socket of the run, in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SocketId(u32);

/// See the module.
struct Socket {
    object: ObjectId,
    /// The descriptor that it was made with.
    number: c_int,
    family: c_int,
    /// Of what kind its connections are.
    kind: EndKind,
    /// How many stand for it, in all processes.
    descriptors: u32,
    stage: Stage,
    /// When it came to that; `None`: it was made so.
    since: Option<Moment>,
    /// The program has chosen its address.
    is_bound: bool,
    address: Address,
    peer: Address,
    /// Others may be bound to its port.
    reuses: bool,
    backlog: u64,
    /// Options that the program has set: level, number and value. The operating system keeps them for the descriptor.
    options: Vec<[c_int; 3]>,
}

/// What a socket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    New,
    /// A thread is in `connect`.
    Connecting,
    /// What it reads are connections.
    Listening(Endpoint),
    Connected(Endpoint),
    /// As before, and the `connect` that did not wait was not called again.
    Begun(Endpoint),
    /// It sends and receives datagrams: this is its inbox.
    Open(Endpoint),
    /// A `connect` that did not wait was refused; whether the program knows.
    Refused(bool),
}

impl Stage {
    /// The end that calls use.
    pub(crate) fn end(self) -> Option<Endpoint> {
        match self {
            Stage::Listening(end)
            | Stage::Connected(end)
            | Stage::Begun(end)
            | Stage::Open(end) => Some(end),
            Stage::New | Stage::Connecting | Stage::Refused(_) => None,
        }
    }
}

static SOCKETS: RunCell<Vec<Socket>> = RunCell::new(Vec::new());

/// A new run.
pub(crate) fn begin_run() {
    SOCKETS.borrow().clear();
}

/// The operating system lets no backlog be longer.
const LONGEST_BACKLOG: u64 = 4096;

/// Reading from a socket, or writing to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

impl SocketId {
    /// A new one, made with this descriptor.
    pub(crate) fn new(number: c_int, family: c_int, kind: EndKind) -> SocketId {
        let place = file_objects::address(file_objects::SOCKETS + number as usize);
        let object = world::borrow().make_quiet(place, Object::Atomic(0));
        let stage = match kind {
            EndKind::Inbox => Stage::Open(datagrams::inbox(number, family)),
            _ => Stage::New,
        };
        let mut all = SOCKETS.borrow();
        all.push(Socket {
            object,
            number,
            family,
            kind,
            descriptors: 1,
            stage,
            since: None,
            is_bound: false,
            address: Address::Unnamed,
            peer: Address::Unnamed,
            reuses: false,
            backlog: 0,
            options: Vec::new(),
        });
        SocketId(all.len() as u32 - 1)
    }

    /// The socket that `accept` returns, with this descriptor.
    pub(crate) fn accepted(self, number: c_int, connection: ConnectionId) -> SocketId {
        let (family, kind, reuses) =
            self.with(|listening| (listening.family, listening.kind, listening.reuses));
        let new = SocketId::new(number, family, kind);
        let [client, server] = connection.addresses();
        new.with(|socket| {
            socket.stage = Stage::Connected(connection.server());
            socket.address = server;
            socket.peer = client;
            socket.reuses = reuses;
        });
        new
    }

    fn with<R>(self, then: impl FnOnce(&mut Socket) -> R) -> R {
        then(&mut SOCKETS.borrow()[self.0 as usize])
    }

    pub(crate) fn family(self) -> c_int {
        self.with(|socket| socket.family)
    }

    fn is_tcp(self) -> bool {
        self.with(|socket| matches!(socket.kind, EndKind::Tcp(_)))
    }

    /// Whether it sends and receives datagrams.
    pub(crate) fn is_of_datagrams(self) -> bool {
        self.with(|socket| socket.kind == EndKind::Inbox)
    }

    /// Its type, as `socket` takes it.
    pub(crate) fn kind(self) -> c_int {
        match self.with(|socket| socket.kind) {
            EndKind::Packets => libc::SOCK_SEQPACKET,
            EndKind::Inbox => libc::SOCK_DGRAM,
            _ => libc::SOCK_STREAM,
        }
    }

    /// Where datagrams for it wait.
    pub(crate) fn inbox(self) -> Option<PipeId> {
        match self.stage_now() {
            Stage::Open(end) => end.input,
            _ => None,
        }
    }

    /// A step that looks at what can change about a socket of datagrams.
    fn look(self, site: Site) {
        if !alone() {
            visible(Op::Load(self.with(|socket| socket.object)), site);
        }
    }

    /// The only address that it sends datagrams to and takes them from, if there is one.
    pub(crate) fn peer_of_datagrams(self, site: Site) -> Address {
        self.look(site);
        self.with(|socket| socket.peer.clone())
    }

    pub(crate) fn set_peer_of_datagrams(self, peer: Address, site: Site) {
        self.touch(site);
        self.with(|socket| socket.peer = peer);
    }

    /// The address that its datagrams come from: UDP gets a port when it needs one.
    pub(crate) fn own_address(self, site: Site) -> Address {
        self.look(site);
        let known = |socket: &mut Socket| socket.address.clone();
        if self.with(known) == Address::Unnamed && self.family() == libc::AF_INET {
            self.touch(site);
            if self.with(known) == Address::Unnamed {
                let address = addresses::any_port(self, libc::SOCK_DGRAM, site);
                self.with(|socket| socket.address = address);
            }
        }
        self.with(known)
    }

    /// Whether it listens, by a step that looks.
    pub(crate) fn listens(self, site: Site) -> bool {
        matches!(self.stage(site), Stage::Listening(_))
    }

    /// Whether it listens, as far as steps on its address tell.
    pub(crate) fn is_listening(self) -> bool {
        self.with(|socket| matches!(socket.stage, Stage::Listening(_)))
    }

    /// Whether nothing about it changes any more, and the running thread knows.
    fn is_settled(self) -> bool {
        let (end, since, new) = self.with(|socket| {
            let new = matches!(socket.stage, Stage::Begun(_));
            (socket.stage.end(), socket.since, new)
        });
        end.is_some() && !new && since.is_none_or(Moment::is_before_now)
    }

    /// The end that calls use, if it is settled.
    pub(crate) fn settled_end(self) -> Option<Endpoint> {
        self.is_settled().then(|| self.stage_now().end()).flatten()
    }

    /// The end that calls use, as of the latest step.
    pub(crate) fn end_now(self) -> Option<Endpoint> {
        self.stage_now().end()
    }

    fn stage_now(self) -> Stage {
        self.with(|socket| socket.stage)
    }

    /// A step that looks what the socket is.
    pub(crate) fn stage(self, site: Site) -> Stage {
        if !self.is_settled() && !alone() {
            visible(Op::Load(self.with(|socket| socket.object)), site);
        }
        self.stage_now()
    }

    /// A step that changes something about the socket.
    fn touch(self, site: Site) {
        if alone() {
            return;
        }
        let rmw = Rmw {
            kind: RmwKind::Add,
            operand: 1,
            bits: 64,
        };
        visible(Op::Rmw(self.with(|socket| socket.object), rmw), site);
    }

    /// It is something else now, by the step that was just done.
    fn becomes(self, stage: Stage) {
        let now = Moment::now();
        self.with(|socket| {
            socket.stage = stage;
            socket.since = Some(now);
        });
    }

    /// The end to read from or to write to; an error number.
    pub(crate) fn end(self, way: Way, quiet: bool, site: Site) -> Result<Endpoint, c_int> {
        match self.stage(site) {
            Stage::Connected(end) | Stage::Begun(end) | Stage::Open(end) => Ok(end),
            Stage::Connecting => {
                world::unsupported("use of a socket that another thread connects", site)
            }
            Stage::Refused(_) => {
                world::unsupported("use of a socket whose connection was refused", site)
            }
            Stage::New | Stage::Listening(_) => Err(match (self.is_tcp(), way) {
                (true, Way::In) | (false, Way::Out) => libc::ENOTCONN,
                (false, Way::In) => libc::EINVAL,
                (true, Way::Out) => {
                    if !quiet {
                        signals::send(libc::SIGPIPE, site);
                    }
                    libc::EPIPE
                }
            }),
        }
    }

    /// A descriptor more.
    pub(crate) fn add_one(self, site: Site) {
        let stage = self.stage_for_count(site);
        if let Some(end) = stage.end() {
            end.add_one(site);
        }
        self.with(|socket| socket.descriptors += 1);
    }

    /// What the socket is, by a step that the count of its descriptors may depend on.
    fn stage_for_count(self, site: Site) -> Stage {
        if !self.is_settled() || self.with(|socket| socket.is_bound) {
            self.touch(site);
        }
        let stage = self.stage_now();
        if stage == Stage::Connecting {
            world::unsupported(
                "dup or close of a socket that another thread connects",
                site,
            );
        }
        stage
    }

    /// A descriptor less.
    pub(crate) fn drop_one(self, site: Site) {
        let stage = self.stage_for_count(site);
        let (last, bound) = self.with(|socket| {
            socket.descriptors -= 1;
            let address = socket.is_bound.then(|| socket.address.clone());
            (socket.descriptors == 0, address)
        });
        if let Some(end) = stage.end() {
            end.drop_one(site);
        }
        let Some(address) = bound.filter(|_| last) else {
            return;
        };
        let mut left = matches!(stage, Stage::Connected(_) | Stage::Begun(_));
        if let Stage::Listening(Endpoint {
            input: Some(backlog),
            ..
        }) = stage
        {
            left = backlog.was_used();
            abort_all(backlog, site);
        }
        addresses::unbind(self, &address, left && self.is_tcp(), site);
    }

    /// `bind`; an error number.
    pub(crate) fn bind(self, named: Named, site: Site) -> Result<(), c_int> {
        self.touch(site);
        let (stage, free) = self.with(|socket| (socket.stage, socket.address == Address::Unnamed));
        if !matches!(stage, Stage::New | Stage::Open(_)) || !free {
            if let Named::Path(path) = named {
                // The file is made first.
                if addresses::exists(&path, site) {
                    return Err(libc::EADDRINUSE);
                }
                world::unsupported("bind of a socket that is bound already, to a file", site);
            }
            return Err(libc::EINVAL);
        }
        let address = addresses::to_bind(named, self.kind(), site)?;
        let reuses = self.with(|socket| socket.reuses);
        let address = addresses::bind(self, address, reuses, site)?;
        self.with(|socket| {
            socket.is_bound = true;
            socket.address = address;
        });
        Ok(())
    }

    /// `listen`; an error number.
    pub(crate) fn listen(self, backlog: c_int, site: Site) -> Result<(), c_int> {
        let length = u64::from(backlog as u32).min(LONGEST_BACKLOG);
        self.touch(site);
        let (stage, is_bound, known) =
            self.with(|socket| (socket.stage, socket.is_bound, socket.backlog));
        match stage {
            Stage::New if is_bound => {}
            Stage::New if self.is_tcp() => {
                world::unsupported("listen on all addresses, beyond loopback", site)
            }
            Stage::Listening(_) if known == length => return Ok(()),
            Stage::Listening(_) => {
                world::unsupported("listen with another backlog than before", site)
            }
            Stage::Open(_) => return Err(libc::EOPNOTSUPP),
            _ => return Err(libc::EINVAL),
        }
        let address = self.with(|socket| socket.address.clone());
        if addresses::listens(self, &address, site) {
            return Err(libc::EADDRINUSE);
        }
        let (number, descriptors) = self.with(|socket| (socket.number, socket.descriptors));
        let mut object = Object::message_pipe(length + 1);
        if let Object::Pipe(pipe) = &mut object {
            pipe.readers = descriptors;
        }
        self.with(|socket| socket.backlog = length);
        self.becomes(Stage::Listening(Endpoint {
            input: Some(PipeId::new(Called::Backlog(number), object)),
            output: None,
            kind: EndKind::Backlog,
        }));
        Ok(())
    }

    /// `connect`, which `waits` or not; an error number.
    pub(crate) fn connect(
        self,
        named: Named,
        waits: bool,
        frame: &Frame,
        site: Site,
    ) -> Result<(), Failed> {
        if self.is_of_datagrams() {
            return datagrams::connect(self, named, site).map_err(Failed::With);
        }
        self.touch(site);
        match self.stage_now() {
            Stage::New => {}
            Stage::Open(_) => unreachable!("only sockets of datagrams are so"),
            Stage::Connected(_) => return Err(libc::EISCONN.into()),
            Stage::Begun(end) => {
                self.becomes(Stage::Connected(end));
                return Ok(());
            }
            Stage::Listening(_) if self.is_tcp() => return Err(libc::EISCONN.into()),
            Stage::Listening(_) => return Err(libc::EINVAL.into()),
            Stage::Connecting => {
                world::unsupported("connect of a socket that another thread connects", site)
            }
            Stage::Refused(known) => {
                self.becomes(Stage::New);
                return Err(Failed::from(match known {
                    true => libc::ECONNABORTED,
                    false => libc::ECONNREFUSED,
                }));
            }
        }
        self.becomes(Stage::Connecting);
        let result = self.reach(named, waits, frame, site);
        self.touch(site);
        let (stage, result) = match result {
            Ok(connection) => {
                let end = connection.client();
                let [address, peer] = connection.addresses();
                self.with(|socket| (socket.address, socket.peer) = (address, peer));
                match waits || !self.is_tcp() {
                    true => (Stage::Connected(end), Ok(())),
                    false => (Stage::Begun(end), Err(libc::EINPROGRESS.into())),
                }
            }
            Err(Failed::With(libc::ECONNREFUSED)) if self.is_tcp() && !waits => {
                (Stage::Refused(false), Err(libc::EINPROGRESS.into()))
            }
            Err(failed) => (Stage::New, Err(failed)),
        };
        self.becomes(stage);
        result
    }

    /// Puts a connection into the backlog of a listening socket.
    fn reach(
        self,
        named: Named,
        waits: bool,
        frame: &Frame,
        site: Site,
    ) -> Result<ConnectionId, Failed> {
        let address = addresses::to_connect(named, self.kind(), site)?;
        let listening = addresses::find(&address, site).ok_or(libc::ECONNREFUSED)?;
        let Stage::Listening(Endpoint {
            input: Some(backlog),
            ..
        }) = listening.stage(site)
        else {
            return Err(libc::ECONNREFUSED.into());
        };
        let (kind, known) = self.with(|socket| (socket.kind, listening_kind(socket.kind)));
        if listening.with(|socket| listening_kind(socket.kind)) != known {
            return Err(libc::EPROTOTYPE.into());
        }
        let own = match self.with(|socket| socket.is_bound) {
            false if self.is_tcp() => addresses::any_port(self, libc::SOCK_STREAM, site),
            _ => self.with(|socket| socket.address.clone()),
        };
        let (number, descriptors) = self.with(|socket| (socket.number, socket.descriptors));
        let client = Client {
            number,
            descriptors,
            kind,
            address: own,
        };
        let connection = ConnectionId::new(client, address);
        match backlog.put_message(connection.message(), waits, frame) {
            Ok(()) => Ok(connection),
            Err(Failure::Again) if self.is_tcp() => {
                world::unsupported("connect that does not wait, to a full backlog", site)
            }
            Err(Failure::Again) => Err(libc::EAGAIN.into()),
            Err(Failure::Cancelled) => Err(Failed::Cancelled),
            Err(Failure::Gone | Failure::Reset) => Err(libc::ECONNREFUSED.into()),
        }
    }

    /// The next connection of a listening socket.
    pub(crate) fn accept(
        self,
        waits: bool,
        frame: &Frame,
        site: Site,
    ) -> Result<ConnectionId, Failed> {
        let Stage::Listening(Endpoint {
            input: Some(backlog),
            ..
        }) = self.stage(site)
        else {
            let kind = if self.is_of_datagrams() {
                libc::EOPNOTSUPP
            } else {
                libc::EINVAL
            };
            return Err(kind.into());
        };
        match backlog.get(1, waits, frame) {
            Ok(message) => {
                let connection = ConnectionId::of_message(&message);
                match connection.is_aborted() {
                    true => Err(libc::EINVAL.into()),
                    false => Ok(connection),
                }
            }
            Err(Failure::Again) => Err(libc::EAGAIN.into()),
            Err(Failure::Cancelled) => Err(Failed::Cancelled),
            // It was shut down.
            Err(Failure::Gone | Failure::Reset) => Err(libc::EINVAL.into()),
        }
    }

    /// `shutdown`; an error number.
    pub(crate) fn shut_down(self, sides: [bool; 2], site: Site) -> Result<(), c_int> {
        match self.stage(site) {
            Stage::Connected(end) | Stage::Begun(end) => end.shut_down(sides, site),
            Stage::Listening(end) => {
                end.shut_down([sides[0], false], site)?;
                if let (Some(backlog), true) = (end.input, sides[0] && self.is_tcp()) {
                    abort_all(backlog, site);
                }
                Ok(())
            }
            Stage::Open(_) => world::unsupported("shutdown of a datagram socket", site),
            _ if self.is_tcp() => Err(libc::ENOTCONN),
            _ => world::unsupported("shutdown of a socket that is not connected", site),
        }
    }

    /// An option was set.
    pub(crate) fn note_option(self, option: [c_int; 3]) {
        self.with(|socket| socket.options.push(option));
    }

    /// The socket of this descriptor was accepted: it has the options of the one that listens, as TCP has it.
    pub(crate) fn hand_on_options(self, number: c_int) {
        if !self.is_tcp() {
            return;
        }
        for [level, option, value] in self.with(|socket| socket.options.clone()) {
            let place = &raw const value as usize;
            let [number, level, option] = [number, level, option].map(|word| word as usize);
            // SAFETY: `setsockopt` reads four bytes of the local.
            unsafe { sys::call(libc::SYS_setsockopt, [number, level, option, place, 4, 0]) };
        }
    }

    /// Others may be bound to its port, or not, by the step on flags that was just done.
    pub(crate) fn set_reuses(self, reuses: bool) {
        self.with(|socket| socket.reuses = reuses);
    }

    /// Whether another socket that wants the same can have the same port.
    pub(crate) fn lets_reuse(self, site: Site) -> bool {
        file_objects::look_at(file_objects::FLAGS, site);
        self.with(|socket| socket.reuses) && !self.is_listening()
    }

    /// The address that it is bound to.
    pub(crate) fn address(self, site: Site) -> Address {
        match self.is_of_datagrams() {
            true => self.look(site),
            false => _ = self.stage(site),
        }
        self.with(|socket| match (&socket.address, socket.family) {
            (Address::Unnamed, libc::AF_INET) => Address::Inet(0, 0),
            // It was given a port, and sends to any address.
            (Address::Udp(_, port), _) if !socket.is_bound && socket.peer == Address::Unnamed => {
                Address::Udp(0, *port)
            }
            (address, _) => address.clone(),
        })
    }

    /// The address that it is connected to.
    pub(crate) fn peer(self, site: Site) -> Option<Address> {
        if self.is_of_datagrams() {
            return Some(self.peer_of_datagrams(site)).filter(|peer| *peer != Address::Unnamed);
        }
        let stage = self.stage(site);
        let connected = matches!(stage, Stage::Connected(_) | Stage::Begun(_));
        connected.then(|| self.with(|socket| socket.peer.clone()))
    }

    /// The error that is pending, which is none any more; 0: there is none.
    pub(crate) fn take_error(self, site: Site) -> c_int {
        match self.stage(site) {
            Stage::Refused(false) => {
                self.touch(site);
                match self.stage_now() {
                    Stage::Refused(false) => {
                        self.becomes(Stage::Refused(true));
                        libc::ECONNREFUSED
                    }
                    _ => 0,
                }
            }
            Stage::Connected(end) | Stage::Begun(end) => end.take_error(site),
            _ => 0,
        }
    }
}

/// What must be the same for sockets to be connected.
fn listening_kind(kind: EndKind) -> EndKind {
    match kind {
        EndKind::Tcp(_) => EndKind::Tcp(None),
        kind => kind,
    }
}

/// All connections that wait in a backlog are reset.
fn abort_all(backlog: PipeId, site: Site) {
    for message in backlog.messages() {
        ConnectionId::of_message(&message).abort(site);
    }
}

/// Why `connect` or `accept` has failed.
pub(crate) enum Failed {
    With(c_int),
    Cancelled,
}

impl From<c_int> for Failed {
    fn from(error: c_int) -> Failed {
        Failed::With(error)
    }
}
