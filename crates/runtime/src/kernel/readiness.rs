//! What `poll` and its like see of a descriptor, and waiting for one of several.
//!
//! A call looks at its descriptors one after the other, as the operating system does; each look is a step. If it finds nothing and
//! waits, it guesses which object will change first, by an unordered choice, and waits for that one ([`Op::Await`]). A wrong guess is
//! released when nothing else can run. Then it looks again. That way an operation waits for one object, and no order is lost:
//! that it looks at a time at which nothing has changed is no different from not looking.
//!
//! *A time limit* runs out if the call has found nothing: a look later is another execution. Where the program is in a loop that
//! would come back in the same state, the call waits as if there was no limit, and times out only when nothing else can run.

use crate::{
    core::{
        objects::Sort,
        per_process::{PerProcess, ProcessChange},
        trampoline::Frame,
    },
    kernel::{
        connections::TcpSide,
        descriptor_arguments, descriptor_table,
        endpoints::{EndKind, Endpoint},
        eventfd::Eventfd,
        file_objects, open_description,
        open_description::Kind,
        os_files, pipes,
        sockets::{SocketId, Stage},
        waits,
    },
    run::{
        call_sites, cancellation,
        operations::visible,
        perform::perform_timed,
        spin,
        world::{self, perform, poll},
    },
    shared::deadlines::{self, Deadline},
};
use alloc::{format, vec::Vec};
use core::ffi::{c_int, c_short};
use libc::{POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM};
use reweave_model::{Gate, MOST_COUNTED, Object, ObjectId, Op, Order, Pipe, Site, ThreadId};

const READS: c_short = POLLIN | POLLRDNORM;
const WRITES: c_short = POLLOUT | POLLWRNORM;

/// What a descriptor is open on, as far as it can be waited for.
#[derive(Clone, Copy)]
pub(crate) enum Pollable {
    /// Nothing.
    Closed,
    /// A file, or output: never waits.
    Ready,
    Counter(Eventfd),
    Endpoint(Endpoint),
    Socket(SocketId),
}

/// Looks a descriptor up for a call.
pub(crate) fn look_up(number: c_int, call: &str, site: Site) -> Pollable {
    let number = descriptor_arguments::own(number);
    descriptor_table::look_up(number, site);
    let modelled = open_description::modelled(number);
    let kind = Kind::of(number);
    let found = descriptor_table::found(number);
    match (modelled, kind) {
        (Some(modelled), _) => modelled.pollable().unwrap_or_else(|| {
            let what = format!("{call} of {}", modelled.name());
            world::unsupported(&what, site)
        }),
        (None, _) if !os_files::is_open(found) => Pollable::Closed,
        (None, Kind::Output | Kind::RegularFile | Kind::Directory) => Pollable::Ready,
        (None, _) => world::unsupported(&format!("{call} of what the run does not model"), site),
    }
}

/// A look at several descriptors.
pub(crate) struct Looks<'a> {
    frame: &'a Frame,
    site: Site,
    /// The call does not wait: a loop around it may.
    once: bool,
    /// What was seen of each object.
    seen: Vec<(ObjectId, u64)>,
    /// The one that was seen tells of the others.
    alone: bool,
}

impl Looks<'_> {
    pub(crate) fn new(frame: &Frame, once: bool) -> Looks<'_> {
        Looks {
            frame,
            site: call_sites::site(&frame.return_address),
            once,
            seen: Vec::new(),
            alone: false,
        }
    }

    /// Looks at an object.
    fn at(&mut self, object: ObjectId) {
        let look = Op::Load(object);
        let done = match self.once {
            true => poll(look, self.frame, self.site, Order::SeqCst, None),
            false => visible(look, self.site),
        };
        if !self.alone && !self.seen.iter().any(|(known, _)| *known == object) {
            self.seen.push((object, done.result));
        }
    }

    /// Looks at an object that tells of all others that are looked at from now on.
    pub(crate) fn only_at(&mut self, object: ObjectId) {
        self.seen.clear();
        self.alone = false;
        self.at(object);
        self.alone = true;
    }

    /// Which of these events there are for a descriptor, and those that are always reported.
    pub(crate) fn events(&mut self, pollable: Pollable, wanted: c_short) -> c_short {
        let always = wanted | POLLERR | POLLHUP | POLLNVAL;
        always
            & match pollable {
                Pollable::Closed => POLLNVAL,
                Pollable::Ready => READS | WRITES,
                Pollable::Counter(eventfd) => self.of_counter(eventfd.counter()),
                Pollable::Endpoint(endpoint) => self.of_endpoint(endpoint, wanted),
                Pollable::Socket(socket) => self.of_socket(socket, wanted),
            }
    }

    fn of_socket(&mut self, socket: SocketId, wanted: c_short) -> c_short {
        match socket.stage(self.site) {
            Stage::New => WRITES | POLLHUP,
            Stage::Refused(known) => {
                let error = if known { 0 } else { POLLERR };
                READS | WRITES | POLLRDHUP | POLLHUP | error
            }
            Stage::Connecting => {
                world::unsupported("poll of a socket that another thread connects", self.site)
            }
            Stage::Open(end) => self.of_inbox(socket, end, wanted),
            Stage::Listening(end) | Stage::Connected(end) | Stage::Begun(end) => match end.kind {
                EndKind::Backlog => self.of_backlog(end),
                EndKind::Tcp(Some(side)) => self.of_tcp(end, side, wanted),
                _ => self.of_endpoint(end, wanted),
            },
        }
    }

    fn of_inbox(&mut self, socket: SocketId, end: Endpoint, wanted: c_short) -> c_short {
        let unix = socket.family() == libc::AF_UNIX;
        if unix && wanted & WRITES != 0 && socket.peer(self.site).is_some() {
            let what = "waiting for room in the inbox of another socket";
            world::unsupported(what, self.site);
        }
        let object = end.input.expect("an inbox is read from").object();
        let held = self.pipe(object, |pipe| pipe.held() > 0);
        WRITES | if held { READS } else { 0 }
    }

    fn of_backlog(&mut self, end: Endpoint) -> c_short {
        let object = end.input.expect("a backlog is read from").object();
        let (held, shut) = self.pipe(object, |pipe| (pipe.held() > 0, pipe.readers == 0));
        match (held, shut) {
            (_, true) => {
                world::unsupported("poll of a listening socket that was shut down", self.site)
            }
            (true, _) => READS,
            _ => 0,
        }
    }

    /// As of other sockets, but that the other side does not read any more is not noticed before something is sent to it.
    fn of_tcp(&mut self, end: Endpoint, side: TcpSide, wanted: c_short) -> c_short {
        let (Some(input), Some(output)) = (end.input, end.output) else {
            return 0;
        };
        let (held, ended) = self.pipe(input.object(), |pipe| {
            (pipe.held() > 0, pipe.writers == 0 || pipe.readers == 0)
        });
        let mut events = if held || ended { READS } else { 0 };
        if ended {
            events |= POLLRDHUP;
        }
        if ended || wanted & WRITES != 0 {
            let (room, shut, gone) = self.pipe(output.object(), |pipe| {
                let room = 3 * pipe.held() <= 2 * pipe.capacity;
                (room, pipe.writers == 0, pipe.readers == 0)
            });
            if room || shut || gone {
                events |= WRITES;
            }
            if ended && shut {
                events |= POLLHUP;
            }
            if ended || gone {
                let [error, dead] = side.look(self.site);
                events |= if error { POLLERR } else { 0 };
                events |= if dead {
                    READS | WRITES | POLLRDHUP | POLLHUP
                } else {
                    0
                };
            }
        }
        events
    }

    fn of_counter(&mut self, object: ObjectId) -> c_short {
        self.at(object);
        let world = world::borrow();
        let Object::Semaphore(count) = *world.run.state().object(object) else {
            return 0;
        };
        let reads = if count > 0 { READS } else { 0 };
        let writes = if count < MOST_COUNTED { WRITES } else { 0 };
        reads | writes
    }

    fn pipe<R>(&mut self, object: ObjectId, then: impl FnOnce(&Pipe) -> R) -> R {
        self.at(object);
        let world = world::borrow();
        match world.run.state().object(object) {
            Object::Pipe(pipe) => then(pipe),
            other => unreachable!("{} used as a pipe", other.kind_name()),
        }
    }

    fn of_endpoint(&mut self, endpoint: Endpoint, wanted: c_short) -> c_short {
        let socket = endpoint.is_socket();
        let mut events = 0;
        let mut hung_up = false;
        if let Some(input) = endpoint.input {
            let (held, broken) = self.pipe(input.object(), |pipe| {
                (pipe.held() > 0, pipe.writers == 0 || pipe.readers == 0)
            });
            hung_up = broken;
            if held || broken && socket {
                events |= READS;
            }
            match (broken, socket) {
                (true, true) => events |= POLLRDHUP,
                (true, false) => events |= POLLHUP,
                _ => {}
            }
        }
        let both = socket && hung_up;
        if let Some(output) = endpoint
            .output
            .filter(|_| both || !socket || wanted & WRITES != 0)
        {
            let (room, gone) = self.pipe(output.object(), |pipe| {
                let room = match socket {
                    true => 4 * pipe.held() <= pipe.capacity,
                    false => pipe.room() >= libc::PIPE_BUF as u64,
                };
                (room, pipe.readers == 0 || socket && pipe.writers == 0)
            });
            if room && !gone && wanted & WRITES != 0 && output.is_full_natively() {
                world::borrow().note_unsupported(pipes::EARLIER, self.site);
            }
            events |= if room { WRITES } else { 0 };
            match (gone, socket) {
                (true, false) => events |= POLLERR,
                (true, true) if both => events |= POLLHUP,
                _ => {}
            }
        }
        events
    }
}

/// How long a call waits.
#[derive(Clone, Copy)]
pub(crate) enum Patience<'a> {
    /// Not at all.
    None,
    Until(Deadline<'a>),
    Endless,
}

/// The calls of this process that wait, or look, with their threads and descriptors.
static AWAITED: PerProcess<Vec<(ThreadId, Vec<c_int>)>> = PerProcess::new(Vec::new());

pub(crate) fn begin_run() {
    AWAITED.borrow().clear();
}

pub(crate) fn process_changes(change: ProcessChange) {
    AWAITED.change(change);
}

/// A call about some descriptors, from before it looks them up until it returns.
pub(crate) struct Awaiting(ThreadId);

impl Awaiting {
    pub(crate) fn new(numbers: impl Iterator<Item = c_int>) -> Awaiting {
        let me = world::borrow().current;
        let own = numbers.map(descriptor_arguments::own);
        AWAITED
            .borrow()
            .push((me, own.filter(|number| *number >= 0).collect()));
        Awaiting(me)
    }
}

impl Drop for Awaiting {
    fn drop(&mut self) {
        AWAITED.borrow().retain(|(thread, _)| *thread != self.0);
    }
}

/// A descriptor is about to be closed. A call that has looked it up goes on with what it was open on, which the model has forgotten.
pub(crate) fn closes(number: c_int, site: Site) {
    let awaited = AWAITED
        .borrow()
        .iter()
        .any(|(_, numbers)| numbers.contains(&number));
    if awaited {
        let what = "close of a descriptor that another thread waits for by poll, select or epoll";
        world::borrow().note_unsupported(what, site);
    }
}

/// Lets a call look until it has found something; `look` says whether it has. A cancellation point. `false`: the time is over.
pub(crate) fn wait_for<'a>(
    patience: Patience<'_>,
    call: &str,
    frame: &'a Frame,
    mut look: impl FnMut(&mut Looks<'a>) -> bool,
) -> bool {
    cancellation::point(frame);
    let site = call_sites::site(&frame.return_address);
    loop {
        let mut looks = Looks::new(frame, matches!(patience, Patience::None));
        if look(&mut looks) {
            if let Patience::Until(_) = patience {
                let key = time_limit();
                world::borrow().timed(key, site, true);
            }
            return true;
        }
        if !matches!(patience, Patience::None) && waits::used() {
            world::unsupported(&format!("{call} that waits, beside cancellation"), site);
        }
        let changed = match patience {
            Patience::None => return false,
            Patience::Endless => change(looks.seen, Gate::Open, site),
            Patience::Until(until) => match deadlines::gate(time_limit(), until, site) {
                Gate::Late => change(looks.seen, Gate::Late, site),
                _ => false,
            },
        };
        if let (Patience::Until(until), false) = (patience, changed) {
            let key = time_limit();
            spin::repeats(key, site, Some(frame));
            perform_timed(key, key, Gate::Open, site);
            world::borrow().timed(key, site, false);
            until.reached();
            return false;
        }
    }
}

/// Waits until one of these objects is not as it was seen; whether one is.
fn change(mut seen: Vec<(ObjectId, u64)>, gate: Gate, site: Site) -> bool {
    if seen.is_empty() {
        if gate == Gate::Late {
            return false;
        }
        seen.push((never(), 0));
    }
    let guess = match seen.len() {
        1 => 0,
        several => visible(Op::Any(several as u32), site).result as usize,
    };
    let (object, word) = seen.remove(guess);
    if !seen.is_empty() {
        let mut world = world::borrow();
        let me = world.current;
        world.run.watch(me, seen);
    }
    let done = perform(Op::Await(object, word), gate, site, Order::SeqCst, None);
    gate == Gate::Open || done.result != word
}

/// A semaphore that is never released.
fn never() -> ObjectId {
    let address = file_objects::address(file_objects::NEVER);
    world::borrow().object(address, 8, Sort::Quiet, || Object::Semaphore(0))
}

/// The operation that stands for the end of a time limit.
fn time_limit() -> Op {
    Op::SemAcquire {
        object: never(),
        timed: true,
    }
}
