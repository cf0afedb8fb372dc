//! Messages between two ranks: sending, receiving, and what both wait for.

use super::{
    call::{Answer, Call, Wrong, invalid, mpi},
    communicators::{self, Member},
    datatypes::{self, Signature, Type},
    matching::{Envelope, Wanted},
    requests::{self, Request, Work},
    state::{Guess, Guessed, Message, Ranks, object, sends, state},
    waiting::{self, Waited},
};
use crate::{kernel::rank_channels::RankObject, run::operations::visible};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use reweave_model::Op;
use reweave_wire::Sends;

pub(super) const ANY_SOURCE: c_int = -2;
pub(super) const ANY_TAG: c_int = -1;
pub(super) const PROC_NULL: c_int = -1;
/// The largest tag.
pub(super) const MOST_TAG: c_int = 0x3fff_ffff;
const ERR_TAG: c_int = 4;
pub(super) const ERR_RANK: c_int = 6;
const ERR_TRUNCATE: c_int = 14;
const ERR_OTHER: c_int = 15;
/// What MPI demands of a buffer beside the message.
const OVERHEAD: usize = 96;

mpi! {
    MPI_Send => send;
    MPI_Ssend => send_synchronously;
    MPI_Bsend => send_buffered;
    MPI_Rsend => send_ready;
    MPI_Isend => begin_send;
    MPI_Issend => begin_send_synchronously;
    MPI_Ibsend => begin_send_buffered;
    MPI_Irsend => begin_send_ready;
    MPI_Recv => receive;
    MPI_Irecv => begin_receive;
    MPI_Sendrecv => send_and_receive;
    MPI_Sendrecv_replace => exchange;
    MPI_Send_init => keep_send;
    MPI_Ssend_init => keep_send_synchronously;
    MPI_Bsend_init => keep_send_buffered;
    MPI_Rsend_init => keep_send_ready;
    MPI_Recv_init => keep_receive;
    MPI_Buffer_attach => attach;
    MPI_Buffer_detach => detach;
}

/// What a receive or probe says of its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub(super) source: c_int,
    pub(super) tag: c_int,
    pub(super) bytes: usize,
    pub(super) error: c_int,
}

impl Status {
    /// Of a request that is no receive.
    pub(super) const EMPTY: Status = Status {
        source: ANY_SOURCE,
        tag: ANY_TAG,
        bytes: 0,
        error: 0,
    };
    const OF_NOBODY: Status = Status {
        source: PROC_NULL,
        ..Status::EMPTY
    };

    /// Writes it where an argument points, unless that says that it is not wanted. The error is only written by calls on several requests.
    pub(super) fn put(self, address: usize, call: &Call) {
        const IGNORE: usize = 1;
        if address == 0 || address == IGNORE {
            return;
        }
        let low = self.bytes as u32 as c_int;
        let high = (self.bytes >> 32 << 1) as c_int;
        call.put_at(address, [low, high, self.source, self.tag]);
    }
}

/// How a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Standard,
    Synchronous,
    Buffered,
    Ready,
}

/// The arguments of a send or receive.
#[derive(Clone)]
pub(super) struct Arguments {
    pub(super) buffer: usize,
    pub(super) count: usize,
    pub(super) of: Type,
    pub(super) other: c_int,
    pub(super) tag: c_int,
    pub(super) member: Member,
}

impl Arguments {
    /// Those that begin at an argument: buffer, count, type, rank, tag; and the communicator.
    fn read(call: &Call, at: usize, comm: usize) -> Answer<Arguments> {
        Ok(Arguments {
            member: communicators::find(call, call.int(comm))?,
            buffer: call.word(at),
            count: datatypes::count(call, at + 1)?,
            of: datatypes::committed(call.rank(), call.int(at + 2))?,
            other: call.int(at + 3),
            tag: call.int(at + 4),
        })
    }

    fn check_send(&self) -> Answer {
        if !(0..=MOST_TAG).contains(&self.tag) {
            return invalid(
                ERR_TAG,
                format!("a message cannot have the tag {}", self.tag),
            );
        }
        if self.other == PROC_NULL {
            return Ok(());
        }
        self.member.world(self.other).map(|_| ())
    }

    fn check_receive(&self) -> Answer {
        check_wanted(&self.member, self.other, self.tag)
    }
}

/// Whether a receive or probe may want this source and tag.
pub(super) fn check_wanted(member: &Member, source: c_int, tag: c_int) -> Answer {
    if tag != ANY_TAG && !(0..=MOST_TAG).contains(&tag) {
        return invalid(ERR_TAG, format!("no message has the tag {tag}"));
    }
    match source {
        ANY_SOURCE | PROC_NULL => Ok(()),
        source => member.world(source).map(|_| ()),
    }
}

/// A message that was sent, and whether its sender has to wait for it.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) to: usize,
    number: usize,
    mode: Mode,
}

/// Sends a message; nothing: there is no receiver.
pub(super) fn begin(arguments: &Arguments, mode: Mode, call: &Call) -> Answer<Option<Sent>> {
    arguments.check_send()?;
    if arguments.other == PROC_NULL {
        return Ok(None);
    }
    let (from, to) = (call.rank(), arguments.member.world(arguments.other)?);
    let bytes = arguments.of.pack(arguments.buffer, arguments.count, call);
    if mode == Mode::Buffered {
        check_buffer(from, bytes.len())?;
    }
    let signature = arguments.of.signature(arguments.count);
    let message = Message {
        bytes,
        signature,
        clock: Vec::new(),
    };
    let number = put(from, to, arguments.envelope(), message, call);
    if mode == Mode::Ready {
        check_ready(from, to, number, call)?;
    }
    Ok(Some(Sent { to, number, mode }))
}

impl Arguments {
    fn envelope(&self) -> Envelope {
        Envelope {
            context: self.member.comm as u32,
            tag: self.tag,
        }
    }
}

/// A message goes on its way; its number.
fn put(from: usize, to: usize, envelope: Envelope, mut message: Message, call: &Call) -> usize {
    message.clock = state().tick(from);
    let channel = object(RankObject::Messages { from, to });
    visible(Op::Send(channel), call.site);
    let mut state = state();
    let pair = state.pair(from, to);
    pair.messages.push(message);
    pair.all.add_send(envelope);
    pair.at_sender.add_send(envelope)
}

/// Whether a receive from any source took a message that was sent because a later receive of the same rank released a sender,
/// whose message the first one would have taken: MPI does not allow that.
pub(super) fn took_too_late(
    state: &mut Ranks,
    me: usize,
    at: usize,
    wanted: Wanted,
    taken: (usize, usize),
) -> bool {
    let clock = core::mem::take(&mut state.pair(taken.0, me).messages[taken.1].clock);
    let late = (0..state.size())
        .filter(|other| *other != taken.0)
        .any(|other| {
            let pair = state.pair(other, me);
            pair.released.iter().any(|(number, epoch)| {
                let post = pair.all.post_of(*number);
                wanted.accepts(pair.all.envelope(*number))
                    && post.is_some_and(|post| pair.posts[post].0 > at)
                    && clock[other] >= *epoch
            })
        });
    state.pair(taken.0, me).messages[taken.1].clock = clock;
    late
}

fn check_buffer(rank: usize, bytes: usize) -> Answer {
    let room = state().ranks[rank].buffer.map_or(0, |(_, bytes)| bytes);
    if room < bytes + OVERHEAD {
        let message = format!(
            "a message of {bytes} bytes needs {} bytes, and the attached buffer has {room}",
            bytes + OVERHEAD
        );
        return invalid(1, message);
    }
    Ok(())
}

/// The sender sees one more receive.
fn see_receive(from: usize, to: usize) {
    let mut state = state();
    let pair = state.pair(from, to);
    let (_, wanted) = pair.posts[pair.at_sender.posts()];
    pair.at_sender.add_post(wanted);
}

fn received(from: usize, to: usize, number: usize) -> bool {
    state().pair(from, to).at_sender.post_of(number).is_some()
}

/// A ready send may only begin when its receive was posted.
fn check_ready(from: usize, to: usize, number: usize, call: &Call) -> Answer {
    let channel = object(RankObject::Receives { from, to });
    while !received(from, to, number) {
        if !waiting::ask(channel, call) {
            let message = format!("rank {to} has not posted a receive for the message");
            return invalid(ERR_OTHER, message);
        }
        see_receive(from, to);
    }
    Ok(())
}

impl Sent {
    /// Whether the sender need not wait for it.
    pub(super) fn is_buffered(self) -> bool {
        match self.mode {
            Mode::Buffered | Mode::Ready => true,
            Mode::Standard => sends() == Sends::Eager,
            Mode::Synchronous => false,
        }
    }

    /// The sender waits until it may go on.
    pub(super) fn complete(self, call: &Call) {
        if self.is_buffered() {
            return;
        }
        let from = call.rank();
        let to = self.to;
        let undecided = self.mode == Mode::Standard && sends() == Sends::Both;
        let mut may_buffer = undecided;
        while !received(from, to, self.number) {
            let channel = object(RankObject::Receives { from, to });
            match waiting::wait(channel, &mut may_buffer, call) {
                Waited::Buffered => return,
                Waited::Met => see_receive(from, to),
            }
        }
        if undecided && !may_buffer {
            // It was to wait for ever.
            waiting::discard(call.site);
        }
        self.note_release(from);
    }

    /// The sender goes on because its receive was posted: if it had to wait for that, it knows of it.
    fn note_release(self, from: usize) {
        if self.mode == Mode::Standard && sends() == Sends::Both {
            return;
        }
        let mut state = state();
        let pair = state.pair(from, self.to);
        let post = pair.at_sender.post_of(self.number);
        let known = post.map(|post| pair.post_clocks[post].clone());
        state.learn(from, &known.unwrap_or_default());
        let epoch = state.tick(from)[from];
        let released = &mut state.pair(from, self.to).released;
        released.push((self.number, epoch));
    }

    /// Whether the sender could go on.
    pub(super) fn is_complete(self, call: &Call) -> bool {
        // A standard send whose completion is asked for counts as buffered, where messages may be.
        if self.is_buffered() || self.mode == Mode::Standard && sends() == Sends::Both {
            return true;
        }
        let (from, to) = (call.rank(), self.to);
        let channel = object(RankObject::Receives { from, to });
        while !received(from, to, self.number) {
            if !waiting::ask(channel, call) {
                return false;
            }
            see_receive(from, to);
        }
        self.note_release(from);
        true
    }

    /// Whether it could be complete by all that was done.
    pub(super) fn could_complete(self, state: &mut Ranks, from: usize) -> bool {
        self.is_buffered() || state.pair(from, self.to).all.post_of(self.number).is_some()
    }
}

/// A receive that was posted.
#[derive(Clone)]
pub(super) struct Posted {
    pub(super) from: usize,
    post: usize,
    /// Its number among all that the rank has posted.
    at: usize,
    buffer: usize,
    count: usize,
    of: Type,
    member: Member,
}

/// Which source a wildcard takes its next message from: its outcome, and all that were possible.
pub(super) fn guess_source(
    member: &Member,
    wanted: Wanted,
    blocks: bool,
    call: &Call,
) -> (usize, Vec<usize>) {
    let me = call.rank();
    // What a rank that waits sends to itself it has sent already.
    let own = !blocks || state().pair(me, me).all.first_open(wanted).is_some();
    let candidates: Vec<usize> = member
        .members
        .iter()
        .copied()
        .filter(|rank| *rank != me || own)
        .collect();
    let outcome = match candidates.len() {
        0 => return (0, alloc::vec![me]),
        1 => 0,
        many => visible(Op::Any(many as u32), call.site).result as usize,
    };
    (outcome, candidates)
}

/// A receive was posted at its source: its number among all of the rank, and there.
fn note_post(
    from: usize,
    wanted: Wanted,
    guessed: Option<(usize, Vec<usize>)>,
    call: &Call,
) -> (usize, usize) {
    let me = call.rank();
    visible(
        Op::Send(object(RankObject::Receives { from, to: me })),
        call.site,
    );
    let mut state = state();
    let clock = state.tick(me);
    let at = state.ranks[me].posted;
    state.ranks[me].posted += 1;
    let pair = state.pair(from, me);
    pair.posts.push((at, wanted));
    pair.post_clocks.push(clock);
    pair.all.add_post(wanted);
    let post = pair.at_receiver.add_post(wanted);
    if let Some((outcome, candidates)) = guessed {
        let of = Guessed::Source {
            wanted,
            source: from,
            candidates,
            post: Some(post),
        };
        state.ranks[me].guesses.push(Guess { at, outcome, of });
    }
    (at, post)
}

/// Posts a receive; nothing: there is no sender.
pub(super) fn post(arguments: &Arguments, blocks: bool, call: &Call) -> Answer<Option<Posted>> {
    arguments.check_receive()?;
    if arguments.other == PROC_NULL {
        return Ok(None);
    }
    let wanted = Wanted {
        context: arguments.member.comm as u32,
        tag: (arguments.tag != ANY_TAG).then_some(arguments.tag),
    };
    let guessed = match arguments.other {
        ANY_SOURCE => Some(guess_source(&arguments.member, wanted, blocks, call)),
        _ => None,
    };
    let from = match &guessed {
        Some((outcome, candidates)) => candidates[*outcome],
        None => arguments.member.world(arguments.other)?,
    };
    let (at, post) = note_post(from, wanted, guessed, call);
    Ok(Some(Posted {
        from,
        post,
        at,
        buffer: arguments.buffer,
        count: arguments.count,
        of: arguments.of.clone(),
        member: arguments.member.clone(),
    }))
}

/// The receiver sees one more message.
pub(super) fn see_message(from: usize, to: usize) {
    let mut state = state();
    let pair = state.pair(from, to);
    let number = pair.at_receiver.sends();
    let envelope = pair.all.envelope(number);
    pair.at_receiver.add_send(envelope);
    let known = pair.messages[number].clock.clone();
    state.learn(to, &known);
}

/// The message of a receive, as far as the receiver has seen.
fn message_of(from: usize, to: usize, post: usize) -> Option<usize> {
    state().pair(from, to).at_receiver.send_of(post)
}

/// Wildcards that were posted before a receive or probe, have no message yet, and would take this one from another source:
/// they come first.
pub(super) fn earlier_wildcards(
    me: usize,
    at: usize,
    from: usize,
    envelope: Envelope,
) -> Vec<(usize, usize)> {
    let state = state();
    let guesses = state.ranks[me].guesses.iter().filter(|guess| guess.at < at);
    let earlier = guesses.filter_map(|guess| match &guess.of {
        Guessed::Source {
            wanted,
            source,
            post: Some(post),
            ..
        } if *source != from && wanted.accepts(envelope) => Some((*source, *post)),
        _ => None,
    });
    earlier.collect()
}

impl Posted {
    /// Waits for the message and takes it.
    pub(super) fn complete(&self, call: &Call) -> Answer<Status> {
        let me = call.rank();
        self.await_message(self.from, self.post, call);
        for (source, post) in self.earlier(me) {
            self.await_message(source, post, call);
        }
        self.take(call)
    }

    fn await_message(&self, from: usize, post: usize, call: &Call) {
        let me = call.rank();
        while message_of(from, me, post).is_none() {
            let channel = object(RankObject::Messages { from, to: me });
            waiting::wait(channel, &mut false, call);
            see_message(from, me);
        }
    }

    fn earlier(&self, me: usize) -> Vec<(usize, usize)> {
        let Some(number) = message_of(self.from, me, self.post) else {
            return Vec::new();
        };
        let envelope = state().pair(self.from, me).all.envelope(number);
        earlier_wildcards(me, self.at, self.from, envelope)
    }

    /// Whether the message is there.
    pub(super) fn is_complete(&self, call: &Call) -> bool {
        let me = call.rank();
        let there = |from: usize, post: usize| {
            let channel = object(RankObject::Messages { from, to: me });
            while message_of(from, me, post).is_none() {
                if !waiting::ask(channel, call) {
                    return false;
                }
                see_message(from, me);
            }
            true
        };
        there(self.from, self.post)
            && self
                .earlier(me)
                .into_iter()
                .all(|(source, post)| there(source, post))
    }

    /// Whether it could be complete by all that was done.
    pub(super) fn could_complete(&self, state: &mut Ranks, me: usize) -> bool {
        state.pair(self.from, me).all.send_of(self.post).is_some()
    }

    fn comes_too_late(&self, me: usize, number: usize) -> bool {
        let mut state = state();
        let guessed = state.ranks[me]
            .guesses
            .iter()
            .find(|guess| guess.at == self.at);
        let Some(Guessed::Source { wanted, .. }) = guessed.map(|guess| &guess.of) else {
            return false;
        };
        let wanted = *wanted;
        took_too_late(&mut state, me, self.at, wanted, (self.from, number))
    }

    /// The message of this number leaves its pair.
    fn fetch(&self, me: usize, number: usize) -> (Envelope, Vec<u8>, Signature) {
        let mut state = state();
        state.ranks[me].guesses.retain(|guess| guess.at != self.at);
        let pair = state.pair(self.from, me);
        let message = &mut pair.messages[number];
        let bytes = core::mem::take(&mut message.bytes);
        (
            pair.all.envelope(number),
            bytes,
            core::mem::take(&mut message.signature),
        )
    }

    /// Takes the message, which is there.
    pub(super) fn take(&self, call: &Call) -> Answer<Status> {
        let me = call.rank();
        let number = message_of(self.from, me, self.post).expect("the message is there");
        if self.comes_too_late(me, number) {
            waiting::discard(call.site);
        }
        let (envelope, bytes, signature) = self.fetch(me, number);
        let room = self.of.size() * self.count;
        let mut status = Status {
            source: self.member.rank_of(self.from),
            tag: envelope.tag,
            bytes: bytes.len().min(room),
            error: 0,
        };
        check_types(&signature, &self.of.signature(self.count), status.source)?;
        self.of.unpack(&bytes, self.buffer, self.count, call);
        if bytes.len() > room {
            status.error = ERR_TRUNCATE;
            let message = format!(
                "the message from rank {} has {} bytes, and there is room for {room}",
                status.source,
                bytes.len()
            );
            return Err(Wrong {
                rule: "mpi-truncation",
                message,
                class: ERR_TRUNCATE,
            });
        }
        Ok(status)
    }
}

pub(super) fn check_types(message: &Signature, receive: &Signature, source: c_int) -> Answer {
    if datatypes::fits(message, receive) {
        return Ok(());
    }
    Err(Wrong {
        rule: "mpi-type-mismatch",
        message: format!("the message from rank {source} has other data types than its receive"),
        class: datatypes::ERR_TYPE,
    })
}

fn send_as(call: &Call, mode: Mode) -> Answer {
    let arguments = Arguments::read(call, 0, 5)?;
    if let Some(sent) = begin(&arguments, mode, call)? {
        sent.complete(call);
    }
    Ok(())
}

fn send(call: &Call) -> Answer {
    send_as(call, Mode::Standard)
}

fn send_synchronously(call: &Call) -> Answer {
    send_as(call, Mode::Synchronous)
}

fn send_buffered(call: &Call) -> Answer {
    send_as(call, Mode::Buffered)
}

fn send_ready(call: &Call) -> Answer {
    send_as(call, Mode::Ready)
}

/// Receives a message.
pub(super) fn receive_as(arguments: &Arguments, call: &Call) -> Answer<Status> {
    match post(arguments, true, call)? {
        Some(posted) => posted.complete(call),
        None => Ok(Status::OF_NOBODY),
    }
}

fn receive(call: &Call) -> Answer {
    let arguments = Arguments::read(call, 0, 5)?;
    let status = receive_as(&arguments, call)?;
    status.put(call.word(6), call);
    Ok(())
}

/// The work of a request.
pub(super) fn work(arguments: &Arguments, mode: Option<Mode>, call: &Call) -> Answer<Work> {
    Ok(match mode {
        Some(mode) => match begin(arguments, mode, call)? {
            Some(sent) => Work::Send(sent),
            None => Work::Done(Status::OF_NOBODY),
        },
        None => match post(arguments, false, call)? {
            Some(posted) => Work::Receive(posted),
            None => Work::Done(Status::OF_NOBODY),
        },
    })
}

fn begin_as(call: &Call, mode: Option<Mode>) -> Answer {
    let arguments = Arguments::read(call, 0, 5)?;
    let work = work(&arguments, mode, call)?;
    let request = requests::keep(call.rank(), Request::once(work, call.site));
    call.put(6, request);
    Ok(())
}

fn begin_send(call: &Call) -> Answer {
    begin_as(call, Some(Mode::Standard))
}

fn begin_send_synchronously(call: &Call) -> Answer {
    begin_as(call, Some(Mode::Synchronous))
}

fn begin_send_buffered(call: &Call) -> Answer {
    begin_as(call, Some(Mode::Buffered))
}

fn begin_send_ready(call: &Call) -> Answer {
    begin_as(call, Some(Mode::Ready))
}

fn begin_receive(call: &Call) -> Answer {
    begin_as(call, None)
}

fn keep_as(call: &Call, mode: Option<Mode>) -> Answer {
    let arguments = Arguments::read(call, 0, 5)?;
    match mode {
        Some(_) => arguments.check_send()?,
        None => arguments.check_receive()?,
    }
    let request = requests::keep(call.rank(), Request::persistent(arguments, mode, call.site));
    call.put(6, request);
    Ok(())
}

fn keep_send(call: &Call) -> Answer {
    keep_as(call, Some(Mode::Standard))
}

fn keep_send_synchronously(call: &Call) -> Answer {
    keep_as(call, Some(Mode::Synchronous))
}

fn keep_send_buffered(call: &Call) -> Answer {
    keep_as(call, Some(Mode::Buffered))
}

fn keep_send_ready(call: &Call) -> Answer {
    keep_as(call, Some(Mode::Ready))
}

fn keep_receive(call: &Call) -> Answer {
    keep_as(call, None)
}

/// A send and a receive at once: neither waits for the other.
fn both(sends: &Arguments, receives: &Arguments, status: usize, call: &Call) -> Answer {
    let posted = post(receives, true, call)?;
    let sent = begin(sends, Mode::Standard, call)?;
    let received = match posted {
        Some(posted) => posted.complete(call)?,
        None => Status::OF_NOBODY,
    };
    if let Some(sent) = sent {
        sent.complete(call);
    }
    received.put(status, call);
    Ok(())
}

fn send_and_receive(call: &Call) -> Answer {
    let sends = Arguments::read(call, 0, 10)?;
    let receives = Arguments::read(call, 5, 10)?;
    both(&sends, &receives, call.word(11), call)
}

fn exchange(call: &Call) -> Answer {
    let sends = Arguments::read(call, 0, 7)?;
    let receives = Arguments {
        other: call.int(5),
        tag: call.int(6),
        ..sends.clone()
    };
    both(&sends, &receives, call.word(8), call)
}

fn attach(call: &Call) -> Answer {
    let rank = &mut state().ranks[call.rank()];
    if rank.buffer.is_some() {
        return invalid(1, "a buffer is attached already");
    }
    rank.buffer = Some((call.word(0), call.int(1).max(0) as usize));
    Ok(())
}

fn detach(call: &Call) -> Answer {
    let buffer = state().ranks[call.rank()].buffer.take();
    let Some((address, bytes)) = buffer else {
        return invalid(1, "no buffer is attached");
    };
    call.put(0, address);
    call.put(1, bytes as c_int);
    Ok(())
}
