//! Probes: looking at a message without taking it, and taking what was looked at.

use super::{
    call::{Answer, Call, mpi},
    communicators::{self, Member},
    datatypes,
    matching::Wanted,
    messages::{self, ANY_SOURCE, ANY_TAG, PROC_NULL, Status},
    requests::UNDEFINED,
    state::{Guess, Guessed, object, state},
    waiting,
};
use crate::{kernel::rank_channels::RankObject, run::operations::visible};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::Op;

mpi! {
    MPI_Probe => probe;
    MPI_Iprobe => ask;
    MPI_Get_count => count_of;
    MPI_Get_elements => elements_of;
    MPI_Test_cancelled => is_cancelled;
}

struct Probe {
    member: Member,
    wanted: Wanted,
    source: c_int,
}

fn read(call: &Call) -> Answer<Probe> {
    let member = communicators::find(call, call.int(2))?;
    let (source, tag) = (call.int(0), call.int(1));
    messages::check_wanted(&member, source, tag)?;
    let wanted = Wanted {
        context: member.comm as u32,
        tag: (tag != ANY_TAG).then_some(tag),
    };
    Ok(Probe {
        member,
        wanted,
        source,
    })
}

impl Probe {
    /// The first message of a rank that is wanted, as far as this one has seen.
    fn seen(&self, from: usize, call: &Call) -> Option<usize> {
        state()
            .pair(from, call.rank())
            .at_receiver
            .first_open(self.wanted)
    }

    /// What is said of that message.
    fn status(&self, from: usize, number: usize, call: &Call) -> Status {
        let mut state = state();
        let pair = state.pair(from, call.rank());
        Status {
            source: self.member.rank_of(from),
            tag: pair.all.envelope(number).tag,
            bytes: pair.messages[number].bytes.len(),
            error: 0,
        }
    }

    /// Receives that were posted before and would take that message, from another source.
    fn earlier(&self, from: usize, number: usize, call: &Call) -> Vec<(usize, usize)> {
        let me = call.rank();
        let envelope = state().pair(from, me).all.envelope(number);
        messages::earlier_wildcards(me, usize::MAX, from, envelope)
    }
}

const OF_NOBODY: Status = Status {
    source: PROC_NULL,
    ..Status::EMPTY
};

fn probe(call: &Call) -> Answer {
    let probe = read(call)?;
    let me = call.rank();
    let from = match probe.source {
        PROC_NULL => {
            OF_NOBODY.put(call.word(3), call);
            return Ok(());
        }
        ANY_SOURCE => {
            let (outcome, candidates) =
                messages::guess_source(&probe.member, probe.wanted, true, call);
            let source = candidates[outcome];
            let at = state().ranks[me].posted;
            let of = Guessed::Source {
                wanted: probe.wanted,
                source,
                candidates,
                post: None,
            };
            state().ranks[me].guesses.push(Guess { at, outcome, of });
            source
        }
        source => probe.member.world(source)?,
    };
    let number = loop {
        match probe.seen(from, call) {
            Some(number) => break number,
            None => await_message(from, call),
        }
    };
    for (source, post) in probe.earlier(from, number, call) {
        while state().pair(source, me).at_receiver.send_of(post).is_none() {
            await_message(source, call);
        }
    }
    state().ranks[me]
        .guesses
        .retain(|guess| !matches!(guess.of, Guessed::Source { post: None, .. }));
    probe.status(from, number, call).put(call.word(3), call);
    Ok(())
}

fn await_message(from: usize, call: &Call) {
    let to = call.rank();
    waiting::wait(object(RankObject::Messages { from, to }), &mut false, call);
    messages::see_message(from, to);
}

fn ask(call: &Call) -> Answer {
    let probe = read(call)?;
    let sources = match probe.source {
        PROC_NULL => {
            call.put(3, 1 as c_int);
            OF_NOBODY.put(call.word(4), call);
            return Ok(());
        }
        ANY_SOURCE => probe.member.members.clone(),
        source => alloc::vec![probe.member.world(source)?],
    };
    let there: Vec<(usize, usize)> = sources
        .into_iter()
        .filter_map(|from| Some((from, is_there(&probe, from, call)?)))
        .collect();
    let chosen = match there.len() {
        0 => {
            call.put(3, 0 as c_int);
            return Ok(());
        }
        1 => 0,
        many => visible(Op::Any(many as u32), call.site).result as usize,
    };
    let (from, number) = there[chosen];
    call.put(3, 1 as c_int);
    probe.status(from, number, call).put(call.word(4), call);
    Ok(())
}

/// The first message of a rank that is wanted, if it has come.
fn is_there(probe: &Probe, from: usize, call: &Call) -> Option<usize> {
    let to = call.rank();
    loop {
        if let Some(number) = probe.seen(from, call) {
            if !probe.earlier(from, number, call).is_empty() {
                call.unsupported(" beside a receive from any source");
            }
            return Some(number);
        }
        if !waiting::ask(object(RankObject::Messages { from, to }), call) {
            return None;
        }
        messages::see_message(from, to);
    }
}

/// Bytes that a status says.
fn bytes_of(call: &Call) -> usize {
    let [low, high]: [c_int; 2] = call.get(call.word(0), 0);
    low as u32 as usize | (high as u32 as usize >> 1) << 32
}

fn count_of(call: &Call) -> Answer {
    let of = datatypes::find(call.rank(), call.int(1))?;
    let (bytes, size) = (bytes_of(call), of.size());
    call.put(
        2,
        match size {
            0 => 0,
            size if bytes % size == 0 => (bytes / size) as c_int,
            _ => UNDEFINED,
        },
    );
    Ok(())
}

fn elements_of(call: &Call) -> Answer {
    let of = datatypes::find(call.rank(), call.int(1))?;
    let mut bytes = bytes_of(call);
    let mut elements = 0;
    let mut pieces = of.pieces.iter().cycle();
    while let Some(piece) = pieces.next().filter(|_| bytes > 0) {
        let whole = piece.count.min(bytes / piece.basic.bytes());
        elements += whole;
        bytes -= whole * piece.basic.bytes();
        if whole < piece.count && bytes > 0 {
            call.put(2, UNDEFINED);
            return Ok(());
        }
    }
    call.put(2, elements as c_int);
    Ok(())
}

fn is_cancelled(call: &Call) -> Answer {
    call.put(1, 0 as c_int);
    Ok(())
}
