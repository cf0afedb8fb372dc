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
        descriptor_table, open_description,
        ordering::{Moment, alone_in_process},
        pipes::{Failure, PipeId, SOCKET_CAPACITY},
        program_memory::ProgramMemory,
        signals, waits,
    },
    run::{call_sites, cancellation, operations::visible, rules, world},
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

/// A thread uses an end, or has used it.
struct Hold {
    thread: ThreadId,
    /// The descriptor that it has looked up.
    number: c_int,
    endpoint: Endpoint,
    /// The object of the pipe that it uses.
    object: ObjectId,
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
pub(crate) fn hold(endpoint: Endpoint, number: c_int, writes: bool) {
    if alone_in_process() {
        return;
    }
    let pipe = match writes {
        true => endpoint.output.or(endpoint.input),
        false => endpoint.input.or(endpoint.output),
    };
    let Some(pipe) = pipe else {
        return;
    };
    let thread = world::borrow().current;
    let hold = Hold {
        thread,
        number,
        endpoint,
        object: pipe.object(),
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
        hold.closed.then_some(hold.endpoint)
    };
    if let Some(endpoint) = left {
        endpoint.drop_one(site);
    }
}

/// The running process is about to fork: each of its descriptors will be in the child too. It keeps its own meanwhile, so no other
/// process can see that they are counted early.
pub(crate) fn inherit(site: Site) {
    for endpoint in all() {
        endpoint.add_one(site);
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
    for endpoint in all {
        endpoint.drop_one(site);
    }
}

/// The end of each open descriptor of the running process that is one, by number.
fn all() -> Vec<Endpoint> {
    if !open_description::any_endpoint() {
        return Vec::new();
    }
    let open = descriptor_table::all_open().into_iter();
    open.filter_map(|(_, description)| description.endpoint())
        .collect()
}

impl Endpoint {
    /// Whether it is a socket, not an end of a pipe.
    pub(crate) fn is_socket(self) -> bool {
        self.kind != EndKind::Pipe
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
            change(Op::ReaderDrop(input.object(), false), site);
            unread = self.kind == EndKind::Stream && input.has_unread();
            input.readers_left();
        }
        if let Some(output) = self.output {
            change(Op::WriterDrop(output.object(), false), site);
            output.writers_left(unread && writers_of(output) == 0);
        }
    }

    /// Nothing is read from it any more, or written to it.
    pub(crate) fn shut_down(self, [reads, writes]: [bool; 2], site: Site) {
        if let (Some(input), true) = (self.input, reads) {
            change(Op::ReaderDrop(input.object(), true), site);
            input.readers_left();
        }
        if let (Some(output), true) = (self.output, writes) {
            change(Op::WriterDrop(output.object(), true), site);
            output.writers_left(false);
        }
    }

    /// The descriptor of this number was closed.
    pub(crate) fn closed(self, number: c_int, site: Site) {
        let me = world::borrow().current;
        let unordered: Vec<ObjectId> = {
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
                visible(Op::Load(*object), site);
            }
        }
        let holders = {
            let mut holds = HOLDS.borrow();
            let active = |hold: &&mut Hold| {
                let here = hold.active && hold.number == number;
                here && hold.endpoint == self && hold.is_of_another(me)
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

    /// Reads bytes: how many were moved, and how many there were of a message. An error number if that fails.
    pub(crate) fn read(
        self,
        how: Transfer,
        memory: &ProgramMemory,
        frame: &Frame,
    ) -> Result<[usize; 2], c_int> {
        let input = self.input.ok_or(libc::EBADF)?;
        let length = memory.length();
        if length == 0 && matches!(self.kind, EndKind::Pipe | EndKind::Stream) {
            return Ok([0, 0]);
        }
        still_holding();
        let got = match how.peeks {
            true => input.peek(length, how.waits, frame),
            // A message is taken whole.
            false => input.get(length.max(1), how.waits, frame),
        };
        match got {
            Ok(bytes) => match memory.store(&bytes[..bytes.len().min(length)], frame) {
                true => Ok([bytes.len().min(length), bytes.len()]),
                false => Err(libc::EFAULT),
            },
            Err(Failure::Gone) => Ok([0, 0]),
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
        let bytes = memory.bytes().ok_or(libc::EFAULT)?;
        let site = call_sites::site(&frame.return_address);
        let (put, failure) = match self.kind {
            EndKind::Pipe | EndKind::Stream => output.put(&bytes, how.waits, frame, still_holding),
            EndKind::Packets | EndKind::Datagrams => {
                still_holding();
                let length = bytes.len();
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

/// How many writers a pipe has, after a step on it.
fn writers_of(pipe: PipeId) -> u32 {
    let object = pipe.object();
    let world = world::borrow();
    match world.run.state().object(object) {
        Object::Pipe(pipe) => pipe.writers,
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

/// The running thread was cancelled in a call.
fn cancelled(number: c_int, frame: &Frame) -> ! {
    let_go(number, call_sites::site(&frame.return_address));
    cancellation::go()
}
