//! Ends of pipes, as open descriptions: what is read from, what is written to, and when an end is gone.
//!
//! Each descriptor of an end is a reader of one pipe, a writer of another one, or both: `dup` adds them, `close` drops them. So the
//! model knows when the last one is gone, and each step has one object.
//!
//! *A call that is under way keeps its end*, as in the operating system, though another thread closes the descriptor. Such a call
//! holds the end ([`hold`]) from the lookup of the descriptor on, and a `close` meanwhile leaves the drop to the call. Whether the
//! call is over must be known from the order of steps: a `close` that nothing orders after the call first looks at the pipe that
//! the call uses, which is a step that does not commute with the call's own. And whether a call was there must follow from what the
//! `close` itself has read, so with [`Rule::Closing`] lookups change the descriptor; without it there is no such `close`.
//!
//! *Processes*: a fork adds an end for each descriptor that the child gets ([`inherit`]), and the end of a process drops its own
//! ([`drop_all`]). Pipes and open descriptions are the run's, tables of descriptors are each process's.

use crate::{
    core::{cell::RunCell, trampoline::Frame},
    kernel::{
        connections::TcpSide,
        datagrams, descriptor_table,
        epoll::Role,
        open_description,
        ordering::{Moment, alone_in_process},
        pipes::{Failure, PipeId, SOCKET_CAPACITY},
        program_memory::ProgramMemory,
        signals,
        sockets::SocketId,
        waits,
    },
    run::{call_sites, cancellation, operations::visible, rules, world},
    shared::injected_faults,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::{Object, ObjectId, Op, Site, ThreadId};
use reweave_wire::Rule;

/// The end that an open description is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint {
    /// What is read from it comes from here.
    pub(crate) input: Option<PipeId>,
    /// What is written to it goes there.
    pub(crate) output: Option<PipeId>,
    pub(crate) kind: EndKind,
}

/// What an end belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndKind {
    Pipe,
    /// A socket of bytes.
    Stream,
    /// A socket of messages that notices when the other side is gone.
    Packets,
    /// A socket of messages that does not.
    Datagrams,
    /// A socket of bytes of a connection of TCP; `None` where the side does not matter.
    Tcp(Option<TcpSide>),
    /// The reader of the datagrams that come to a socket that is no pair.
    Inbox,
    /// The reader of the connections that wait at a listening socket.
    Backlog,
}

/// What counts the descriptors of an open description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counted {
    End(Endpoint),
    Socket(SocketId),
}

/// How bytes are moved.
#[derive(Clone, Copy)]
pub(crate) struct Transfer {
    /// The descriptor that was looked up.
    pub(crate) number: c_int,
    pub(crate) waits: bool,
    /// What is read stays there.
    pub(crate) peeks: bool,
    /// A missing reader is no signal.
    pub(crate) no_signal: bool,
}

/// What a call has read.
#[derive(Default)]
pub(crate) struct Moved {
    /// How many bytes were moved.
    pub(crate) bytes: usize,
    /// How many there were of a message.
    pub(crate) whole: usize,
    /// The address of the sender of a datagram; empty: it has none, or is known.
    pub(crate) sender: Vec<u8>,
}

/// A thread uses an end, or has used it.
struct Hold {
    thread: ThreadId,
    /// The descriptor that it has looked up.
    number: c_int,
    used: Counted,
    /// The object of the pipe that it uses; `None`: what that is it did not know yet.
    object: Option<ObjectId>,
    /// Its latest step there.
    moment: Moment,
    /// It still does.
    active: bool,
    /// The descriptor was closed meanwhile.
    closed: bool,
}

impl Hold {
    /// Whether it is that of another thread of the running process: numbers mean something else in others.
    fn is_of_another(&self, me: ThreadId) -> bool {
        let world = world::borrow();
        let process = |thread: ThreadId| world.threads[thread.index()].process;
        self.thread != me && process(self.thread) == process(me)
    }
}

static HOLDS: RunCell<Vec<Hold>> = RunCell::new(Vec::new());

/// A new run.
pub(crate) fn begin_run() {
    HOLDS.borrow().clear();
}

/// The running thread has looked up a descriptor of this end, and is about to use one of its pipes.
pub(crate) fn hold(used: Counted, number: c_int, writes: bool) {
    if alone_in_process() {
        return;
    }
    let pipe = used.settled_end().map(|endpoint| match writes {
        true => endpoint.output.or(endpoint.input),
        false => endpoint.input.or(endpoint.output),
    });
    if pipe == Some(None) {
        return;
    }
    let thread = world::borrow().current;
    let hold = Hold {
        thread,
        number,
        used,
        object: pipe.flatten().map(PipeId::object),
        moment: Moment::now(),
        active: true,
        closed: false,
    };
    let mut holds = HOLDS.borrow();
    holds.retain(|known| known.active || (known.thread, known.number) != (thread, number));
    holds.push(hold);
}

/// What the running thread does from now on is not known to threads that know what it did before.
fn still_holding() {
    if alone_in_process() {
        return;
    }
    let moment = Moment::now();
    let me = world::borrow().current;
    let mut holds = HOLDS.borrow();
    let mine = holds
        .iter_mut()
        .filter(|hold| hold.thread == me && hold.active);
    mine.for_each(|hold| hold.moment = moment);
}

/// The running thread has done what it looked the descriptor up for. If that was closed meanwhile, the end is dropped now.
pub(crate) fn let_go(number: c_int, site: Site) {
    let left = {
        let me = world::borrow().current;
        let mut holds = HOLDS.borrow();
        let mine = |hold: &&mut Hold| hold.active && (hold.thread, hold.number) == (me, number);
        let Some(hold) = holds.iter_mut().find(mine) else {
            return;
        };
        hold.active = false;
        hold.closed.then_some(hold.used)
    };
    if let Some(used) = left {
        used.drop_one(site);
    }
}

/// The running process is about to fork: each of its descriptors will be in the child too. It keeps its own meanwhile, so no other
/// process can see that they are counted early.
pub(crate) fn inherit(site: Site) {
    for counted in all() {
        counted.add_one(site);
    }
}

/// The running process ends, and its descriptors with it. Others may still have the ends.
pub(crate) fn drop_all(site: Site) {
    let all = all();
    if !all.is_empty() && !world::borrow().is_alone_in_process() {
        world::unsupported(
            "the end of a process beside its other threads, with a pipe or socket open",
            site,
        );
    }
    for counted in all {
        counted.drop_one(site);
    }
}

/// What counts each open descriptor of the running process, by number.
fn all() -> Vec<Counted> {
    if !open_description::any_endpoint() {
        return Vec::new();
    }
    let open = descriptor_table::all_open().into_iter();
    open.filter_map(|(_, description)| description.counted())
        .collect()
}

impl Counted {
    /// The end that is used, if a call that begins now knows it.
    fn settled_end(self) -> Option<Endpoint> {
        match self {
            Counted::End(endpoint) => Some(endpoint),
            Counted::Socket(socket) => socket.settled_end(),
        }
    }

    /// A descriptor more.
    pub(crate) fn add_one(self, site: Site) {
        match self {
            Counted::End(endpoint) => endpoint.add_one(site),
            Counted::Socket(socket) => socket.add_one(site),
        }
    }

    /// A descriptor less.
    pub(crate) fn drop_one(self, site: Site) {
        match self {
            Counted::End(endpoint) => endpoint.drop_one(site),
            Counted::Socket(socket) => socket.drop_one(site),
        }
    }

    /// The descriptor of this number was closed.
    pub(crate) fn closed(self, number: c_int, site: Site) {
        let me = world::borrow().current;
        let unordered: Vec<Option<ObjectId>> = {
            let holds = HOLDS.borrow();
            let others = holds
                .iter()
                .filter(|hold| hold.number == number && hold.is_of_another(me));
            let unordered = others.filter(|hold| !hold.moment.is_before_now());
            unordered.map(|hold| hold.object).collect()
        };
        if !unordered.is_empty() && !rules::needs(Rule::Closing) {
            return self.drop_one(site);
        }
        for (index, object) in unordered.iter().enumerate() {
            if !unordered[..index].contains(object) {
                let Some(object) = object else {
                    let what = "close of a socket beside a call that does not know yet whether it is connected";
                    world::unsupported(what, site);
                };
                visible(Op::Load(*object), site);
            }
        }
        let holders = {
            let mut holds = HOLDS.borrow();
            let active = |hold: &&mut Hold| {
                let here = hold.active && hold.number == number;
                here && hold.used == self && hold.is_of_another(me)
            };
            let mut active: Vec<&mut Hold> = holds.iter_mut().filter(active).collect();
            if let [only] = &mut active[..] {
                only.closed = true;
            }
            active.len()
        };
        match holders {
            0 => self.drop_one(site),
            1 => {}
            _ => world::unsupported("close of a pipe or socket that several threads use", site),
        }
    }
}

impl Endpoint {
    /// Whether it is a socket, not an end of a pipe.
    pub(crate) fn is_socket(self) -> bool {
        self.kind != EndKind::Pipe
    }

    /// Whether it is a socket of bytes.
    fn is_stream(self) -> bool {
        matches!(self.kind, EndKind::Stream | EndKind::Tcp(_))
    }

    /// A descriptor more.
    pub(crate) fn add_one(self, site: Site) {
        if let Some(input) = self.input {
            visible(Op::ReaderAdd(input.object()), site);
        }
        if let Some(output) = self.output {
            visible(Op::WriterAdd(output.object()), site);
        }
    }

    /// A descriptor less.
    pub(crate) fn drop_one(self, site: Site) {
        let mut unread = false;
        if let Some(input) = self.input {
            visible(Op::ReaderDrop(input.object(), false), site);
            unread = self.is_stream() && input.has_unread();
            if let (EndKind::Tcp(Some(side)), true) = (self.kind, unread && readers_of(input) == 0)
            {
                side.leaves_unread(self.output.is_some_and(|output| writers_of(output) == 0));
            }
            notify(input, site);
            input.readers_left();
            if self.kind == EndKind::Pipe {
                has_left(input, Role::Writer, site);
            }
        }
        if let Some(output) = self.output {
            change(Op::WriterDrop(output.object(), false), site);
            let resets = unread && self.kind == EndKind::Stream;
            output.writers_left(resets && writers_of(output) == 0);
            has_left(output, Role::Reader, site);
        }
    }

    /// The side of a connection that is never accepted is gone.
    pub(crate) fn abandon(self, site: Site) {
        if let Some(input) = self.input {
            change(Op::ReaderDrop(input.object(), false), site);
            input.readers_left();
        }
        if let Some(output) = self.output {
            change(Op::WriterDrop(output.object(), false), site);
            output.writers_left(!matches!(self.kind, EndKind::Tcp(_)));
            has_left(output, Role::Reader, site);
        }
    }

    /// Nothing is read from it any more, or written to it; an error number.
    pub(crate) fn shut_down(self, [reads, writes]: [bool; 2], site: Site) -> Result<(), c_int> {
        if let EndKind::Tcp(Some(side)) = self.kind {
            if reads && !writes {
                world::unsupported("shutdown of a TCP socket for reading alone", site);
            }
            if self.is_over(side, site) {
                return Err(libc::ENOTCONN);
            }
        }
        if let (Some(input), true) = (self.input, reads) {
            change(Op::ReaderDrop(input.object(), true), site);
            input.readers_left();
            has_left(input, Role::Reader, site);
            has_left(input, Role::Writer, site);
        }
        if let (Some(output), true) = (self.output, writes) {
            change(Op::WriterDrop(output.object(), true), site);
            output.writers_left(false);
            has_left(output, Role::Writer, site);
            has_left(output, Role::Reader, site);
        }
        Ok(())
    }

    /// Whether both sides of a connection of TCP have ended it, or it was reset.
    fn is_over(self, side: TcpSide, site: Site) -> bool {
        let (Some(input), Some(output)) = (self.input, self.output) else {
            return false;
        };
        visible(Op::Load(output.object()), site);
        if writers_of(output) > 0 && readers_of(output) > 0 {
            return false;
        }
        let ended = writers_of(output) == 0;
        visible(Op::Load(input.object()), site);
        let [_, dead] = side.look(site);
        dead || ended && writers_of(input) == 0
    }

    /// The error that is pending, which is none any more; 0: there is none.
    pub(crate) fn take_error(self, site: Site) -> c_int {
        match self.kind {
            EndKind::Tcp(Some(side)) => {
                for pipe in [self.input, self.output].into_iter().flatten() {
                    visible(Op::Load(pipe.object()), site);
                }
                side.take_error(site).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Reads bytes. An error number if that fails.
    pub(crate) fn read(
        self,
        how: Transfer,
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<Moved, c_int> {
        let input = self.input.ok_or(libc::EBADF)?;
        let mut length = memory.length();
        let bytes = self.is_stream() || self.kind == EndKind::Pipe;
        if length == 0 && bytes {
            return Ok(Moved::default());
        }
        let site = call_sites::site(&frame.return_address);
        if how.waits && injected_faults::interrupts(site) {
            return Err(libc::EINTR);
        }
        if bytes {
            length = injected_faults::most(length, site);
        }
        still_holding();
        let got = match how.peeks {
            true => input.peek(length, how.waits, frame),
            // A message is taken whole.
            false => input.get(length.max(1), how.waits, frame),
        };
        match got {
            Ok(bytes) => {
                let (sender, bytes) = match self.kind {
                    EndKind::Inbox => datagrams::parts(bytes),
                    _ => (Vec::new(), bytes),
                };
                let moved = bytes.len().min(length);
                match memory.store(&bytes[..moved], frame) {
                    true => Ok(Moved {
                        bytes: moved,
                        whole: bytes.len(),
                        sender,
                    }),
                    false => Err(libc::EFAULT),
                }
            }
            Err(Failure::Gone) => match self.kind {
                EndKind::Tcp(Some(side)) => {
                    let site = call_sites::site(&frame.return_address);
                    side.at_end(site).map(|()| Moved::default())
                }
                _ => Ok(Moved::default()),
            },
            Err(Failure::Reset) => Err(libc::ECONNRESET),
            Err(Failure::Again) => Err(libc::EAGAIN),
            Err(Failure::Cancelled) => cancelled(how.number, frame),
        }
    }

    /// Writes bytes. An error number if that fails.
    pub(crate) fn write(
        self,
        how: Transfer,
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<usize, c_int> {
        let output = self.output.ok_or(libc::EBADF)?;
        let mut bytes = memory.bytes().ok_or(libc::EFAULT)?;
        let site = call_sites::site(&frame.return_address);
        if how.waits && injected_faults::interrupts(site) {
            return Err(libc::EINTR);
        }
        // What fits into a pipe at once is never written in part.
        if self.is_stream() || self.kind == EndKind::Pipe && bytes.len() > libc::PIPE_BUF {
            bytes.truncate(injected_faults::most(bytes.len(), site));
        }
        let length = bytes.len();
        let (put, failure) = match self.kind {
            EndKind::Pipe | EndKind::Stream | EndKind::Tcp(_) => {
                output.put(&bytes, how.waits, frame, still_holding)
            }
            EndKind::Backlog | EndKind::Inbox => return Err(libc::EBADF),
            EndKind::Packets | EndKind::Datagrams => {
                still_holding();
                if length as u64 > SOCKET_CAPACITY {
                    return Err(libc::EMSGSIZE);
                }
                match output.put_message(bytes, how.waits, frame) {
                    Ok(()) => (length, None),
                    Err(Failure::Gone) if self.kind == EndKind::Datagrams => {
                        return Err(libc::ECONNREFUSED);
                    }
                    Err(failure) => (0, Some(failure)),
                }
            }
        };
        match failure {
            Some(Failure::Gone | Failure::Reset) => {
                if let EndKind::Tcp(Some(side)) = self.kind {
                    match side.without_reader(writers_of(output) == 0, site) {
                        // What is still to be sent gets lost.
                        Ok(()) => return Ok(length),
                        _ if put > 0 => return Ok(put),
                        Err(libc::EPIPE) => {}
                        Err(error) => return Err(error),
                    }
                }
                if !how.no_signal && self.kind != EndKind::Packets {
                    let_go(how.number, site);
                    signals::send(libc::SIGPIPE, site);
                }
                if put > 0 { Ok(put) } else { Err(libc::EPIPE) }
            }
            Some(Failure::Again) if put == 0 => Err(libc::EAGAIN),
            Some(Failure::Cancelled) if put == 0 => cancelled(how.number, frame),
            _ => Ok(put),
        }
    }
}

/// One of those that write to a pipe or read from it is gone; if it was the last, the others are notified.
fn has_left(pipe: PipeId, others: Role, site: Site) {
    if let Some(watch) = pipe.watch() {
        watch.orders_ends(site);
        if sides_of(pipe).contains(&0) {
            watch.ended(others, site);
        }
    }
}

/// How many writers a pipe has, after a step on it.
fn writers_of(pipe: PipeId) -> u32 {
    sides_of(pipe)[0]
}

/// How many readers a pipe has, after a step on it.
fn readers_of(pipe: PipeId) -> u32 {
    sides_of(pipe)[1]
}

fn sides_of(pipe: PipeId) -> [u32; 2] {
    let object = pipe.object();
    let world = world::borrow();
    match world.run.state().object(object) {
        Object::Pipe(pipe) => [pipe.writers, pipe.readers],
        other => unreachable!("{} used as a pipe", other.kind_name()),
    }
}

/// Performs an operation that may end waits of other threads.
fn change(op: Op, site: Site) {
    visible(op, site);
    if let Some(object) = op.object().filter(|_| waits::used()) {
        waits::post(object, || {}, site);
    }
}

/// The same for what was done to a pipe just now.
fn notify(pipe: PipeId, site: Site) {
    if waits::used() {
        waits::post(pipe.object(), || {}, site);
    }
}

/// The running thread was cancelled in a call.
pub(crate) fn cancelled(number: c_int, frame: &Frame) -> ! {
    let_go(number, call_sites::site(&frame.return_address));
    cancellation::go()
}
