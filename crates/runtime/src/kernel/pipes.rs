//! Pipes of bytes: what is in them, and how bytes are put and taken. How many a call moves, and whether it waits, is the model's
//! ([`Op::Put`], [`Op::Get`]); here are the bytes themselves. All that is done to one pipe is in order, so its contents follow from
//! the steps that were done.
//!
//! Pipes of messages keep the bounds of what was put into them: datagrams, and connections that wait to be accepted.
//!
//! A pipe is one direction: that of `pipe`, or one of the two of a stream socket. [`crate::kernel::endpoints`] has the ends. State
//! is plain data that goes by numbers, so that it can lie in memory of several processes.

use crate::{
    core::{cell::RunCell, objects::Sort, trampoline::Frame},
    kernel::{
        blocking::{self, Cancelled},
        epoll::{Role, WatchId},
        file_objects,
        native_room::NativeRoom,
    },
    run::{call_sites, world},
};
use alloc::{collections::VecDeque, format, string::String, vec::Vec};
use core::ffi::c_int;
use reweave_model::{GONE, Object, ObjectId, Op};

/// How many bytes Linux keeps for a pipe.
pub(crate) const PIPE_CAPACITY: u64 = 65_536;

/// How many bytes Linux keeps for a socket, by default.
pub(crate) const SOCKET_CAPACITY: u64 = 212_992;

/// How many small messages there is room for then.
pub(crate) const MESSAGES: u64 = 278;

/// Reported where Linux may find a pipe or socket full that is not full here: see [`native_room`](super::native_room).
pub(crate) const EARLIER: &str = "a pipe or socket that the kernel may find full earlier";

/// So many bytes, or fewer, are written in one piece.
const ATOMIC: u64 = libc::PIPE_BUF as u64;

/// A pipe of the run, in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PipeId(u32);

/// What a pipe is, by the descriptors that it was made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Called {
    Pipe {
        reader: c_int,
        writer: c_int,
    },
    /// One direction of a pair of sockets.
    Pair {
        reader: c_int,
        writer: c_int,
    },
    /// The connections that wait at a listening socket.
    Backlog(c_int),
    /// What the socket that was connected sends.
    ToServer(c_int),
    /// What it receives.
    ToClient(c_int),
    /// The datagrams that wait at a socket.
    Inbox(c_int),
}

impl Called {
    /// The address that its object goes by.
    fn address(self) -> usize {
        file_objects::address(self.number(0))
    }

    /// The number of its object; beyond that, the number of what watches it.
    fn number(self, beyond: usize) -> usize {
        let (kind, descriptor) = match self {
            Called::Pipe { reader, .. } | Called::Pair { reader, .. } => (0, reader),
            Called::Backlog(listening) => (1, listening),
            Called::ToServer(client) => (2, client),
            Called::ToClient(client) => (3, client),
            Called::Inbox(receiver) => (4, receiver),
        };
        file_objects::PIPES + (2 * kind + beyond) * file_objects::EACH + descriptor as usize
    }

    fn name(self) -> String {
        match self {
            Called::Pipe { reader, writer } => format!("the pipe from {writer} to {reader}"),
            Called::Pair { reader, writer } => format!("the socket from {writer} to {reader}"),
            Called::Backlog(listening) => format!("the backlog of socket {listening}"),
            Called::ToServer(client) => format!("the connection from socket {client}"),
            Called::ToClient(client) => format!("the connection to socket {client}"),
            Called::Inbox(receiver) => format!("the inbox of socket {receiver}"),
        }
    }
}

/// See the module.
struct PipeState {
    object: ObjectId,
    bytes: VecDeque<u8>,
    messages: VecDeque<Vec<u8>>,
    called: Called,
    /// What watches it, if anything may.
    watch: Option<WatchId>,
    /// Its writer is gone and has left something unread: the next that finds its end gets an error.
    reset: bool,
    /// How often something was put into it or its writers left, and how often something was taken or its readers left.
    changes: [u64; 2],
    native: NativeRoom,
}

static PIPES: RunCell<Vec<PipeState>> = RunCell::new(Vec::new());

/// Why bytes were not moved.
pub(crate) enum Failure {
    /// It would have to wait.
    Again,
    /// The other side is gone.
    Gone,
    /// It is gone, and has left something unread.
    Reset,
    Cancelled,
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Failure {
        Failure::Cancelled
    }
}

/// A new run.
pub(crate) fn begin_run() {
    PIPES.borrow().clear();
}

/// The name of the pipe that goes by this address.
pub(crate) fn named(place: usize) -> Option<String> {
    let pipes = PIPES.borrow();
    let mut latest = pipes.iter().rev();
    let pipe = latest.find(|pipe| pipe.called.address() == place)?;
    Some(pipe.called.name())
}

/// What was put would have had to wait in Linux, unless it `fits`.
fn note_room(fits: bool, frame: &Frame) {
    if !fits {
        let site = call_sites::site(&frame.return_address);
        world::borrow().note_unsupported(EARLIER, site);
    }
}

impl PipeId {
    /// A new one.
    pub(crate) fn new(called: Called, object: Object) -> PipeId {
        let native = match (called, &object) {
            (Called::Pipe { .. }, _) => NativeRoom::of_pipe(),
            (Called::Backlog(_), _) => NativeRoom::Any,
            (_, Object::Pipe(pipe)) if pipe.messages || pipe.capacity == SOCKET_CAPACITY => {
                NativeRoom::of_socket()
            }
            _ => NativeRoom::Any,
        };
        let object = world::borrow().make_beside(called.address(), Sort::Pipe, object);
        let watch = WatchId::new(called.number(1));
        let mut pipes = PIPES.borrow();
        pipes.push(PipeState {
            object,
            bytes: VecDeque::new(),
            messages: VecDeque::new(),
            called,
            watch,
            reset: false,
            changes: [0; 2],
            native,
        });
        PipeId(pipes.len() as u32 - 1)
    }

    fn with<R>(self, then: impl FnOnce(&mut PipeState) -> R) -> R {
        then(&mut PIPES.borrow()[self.0 as usize])
    }

    pub(crate) fn object(self) -> ObjectId {
        self.with(|pipe| pipe.object)
    }

    /// Takes at most so many bytes, at least one, or a whole message. If it `waits`, it blocks until there are some.
    pub(crate) fn get(self, most: usize, waits: bool, frame: &Frame) -> Result<Vec<u8>, Failure> {
        self.step_of_get(most, waits, frame)?;
        let (got, was_full) = self.with(|pipe| {
            pipe.changes[1] += 1;
            let was_full = pipe.bytes.len() as u64 + ATOMIC > PIPE_CAPACITY;
            match pipe.messages.pop_front() {
                Some(message) => {
                    pipe.native.take_message();
                    (message, true)
                }
                None => {
                    let taken = most.min(pipe.bytes.len());
                    pipe.native.take(taken);
                    (pipe.bytes.drain(..taken).collect(), was_full)
                }
            }
        });
        if was_full || !self.is_pipe() {
            self.notify(Role::Writer, frame);
        }
        Ok(got)
    }

    /// What watches it, if anything may.
    pub(crate) fn watch(self) -> Option<WatchId> {
        self.with(|pipe| pipe.watch)
    }

    /// Something was put or taken, in the step before.
    fn notify(self, role: Role, frame: &Frame) {
        if let Some(watch) = self.watch() {
            watch.moved(role, call_sites::site(&frame.return_address));
        }
    }

    /// As [`PipeId::get`], and leaves it there.
    pub(crate) fn peek(self, most: usize, waits: bool, frame: &Frame) -> Result<Vec<u8>, Failure> {
        self.step_of_get(0, waits, frame)?;
        self.with(|pipe| match pipe.messages.front() {
            Some(message) => Ok(message.clone()),
            None => Ok(pipe.bytes.iter().take(most).copied().collect()),
        })
    }

    fn step_of_get(self, most: usize, waits: bool, frame: &Frame) -> Result<(), Failure> {
        let object = self.object();
        let op = |tries| Op::Get {
            object,
            most: most as u64,
            tries,
        };
        let done = blocking::perform(object, op, waits, frame)?;
        match done.ok {
            true => Ok(()),
            false if done.result != GONE => Err(Failure::Again),
            false => {
                let reset = self.with(|pipe| core::mem::take(&mut pipe.reset));
                Err(if reset { Failure::Reset } else { Failure::Gone })
            }
        }
    }

    /// Puts a message into the pipe. If it `waits`, it blocks until there is room.
    pub(crate) fn put_message(
        self,
        message: Vec<u8>,
        waits: bool,
        frame: &Frame,
    ) -> Result<(), Failure> {
        let object = self.object();
        let op = |tries| Op::Put {
            object,
            count: 1,
            least: 1,
            tries,
        };
        let done = blocking::perform(object, op, waits, frame)?;
        if !done.ok {
            return Err(match done.result {
                GONE => Failure::Gone,
                _ => Failure::Again,
            });
        }
        let fits = self.with(|pipe| {
            let fits = pipe.native.put_message(message.len());
            pipe.changes[0] += 1;
            pipe.messages.push_back(message);
            fits
        });
        note_room(fits, frame);
        self.notify(Role::Reader, frame);
        Ok(())
    }

    /// Whether Linux would find it full, though there may be room.
    pub(crate) fn is_full_natively(self) -> bool {
        self.with(|pipe| pipe.native.is_full())
    }

    /// Whether it is a pipe, not a direction of a socket.
    fn is_pipe(self) -> bool {
        self.with(|pipe| matches!(pipe.called, Called::Pipe { .. }))
    }

    /// Whether something is in it.
    pub(crate) fn has_unread(self) -> bool {
        self.with(|pipe| !pipe.bytes.is_empty() || !pipe.messages.is_empty())
    }

    /// Whether anything was ever put into it.
    pub(crate) fn was_used(self) -> bool {
        self.with(|pipe| pipe.changes[0] > 0)
    }

    /// All messages that are in it, which no reader gets any more.
    pub(crate) fn messages(self) -> Vec<Vec<u8>> {
        self.with(|pipe| pipe.messages.iter().cloned().collect())
    }

    /// Its writers are gone; if one has left something unread, readers get an error that says so.
    pub(crate) fn writers_left(self, unread: bool) {
        self.with(|pipe| {
            pipe.changes[0] += 1;
            pipe.reset |= unread;
        });
    }

    /// Its readers are gone.
    pub(crate) fn readers_left(self) {
        self.with(|pipe| pipe.changes[1] += 1);
    }

    /// Puts bytes into the pipe; how many. If it `waits`, it blocks until all are in, or the readers are gone. `before` is called
    /// before each step.
    pub(crate) fn put(
        self,
        bytes: &[u8],
        waits: bool,
        frame: &Frame,
        before: impl Fn(),
    ) -> (usize, Option<Failure>) {
        let object = self.object();
        let mut put = 0;
        while put < bytes.len() {
            before();
            let count = (bytes.len() - put) as u64;
            let whole = bytes.len() as u64 <= ATOMIC && self.is_pipe();
            let op = |tries| Op::Put {
                object,
                count,
                least: if whole { count } else { 1 },
                tries,
            };
            let done = match blocking::perform(object, op, waits, frame) {
                Ok(done) => done,
                Err(cancelled) => return (put, Some(cancelled.into())),
            };
            if !done.ok {
                let failure = match done.result {
                    GONE => Failure::Gone,
                    _ => Failure::Again,
                };
                return (put, Some(failure));
            }
            let end = put + done.result as usize;
            let fits = self.with(|pipe| {
                pipe.changes[0] += 1;
                pipe.bytes.extend(&bytes[put..end]);
                pipe.native.put(end - put, put == 0)
            });
            note_room(fits, frame);
            self.notify(Role::Reader, frame);
            put = end;
        }
        (put, None)
    }
}
