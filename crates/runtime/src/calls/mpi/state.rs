//! What the runtime keeps of a run's ranks. It lies in memory that all processes of the run share.

use super::{
    communicators::Comm,
    datatypes::{Signature, Type},
    matching::Matching,
    requests::Request,
};
use crate::{
    core::{
        cell::{Borrow, RunCell},
        channel,
    },
    kernel::rank_channels::RankObject,
};
use alloc::vec::Vec;
use core::{ffi::c_int, sync::atomic::Ordering};
use reweave_model::ObjectId;
use reweave_wire::Sends;

static STATE: RunCell<Ranks> = RunCell::new(Ranks::new());

/// The state, for a scope that has no operation in it.
#[track_caller]
pub(super) fn state() -> Borrow<'static, Ranks> {
    STATE.borrow()
}

pub(super) struct Ranks {
    pub(super) ranks: Vec<Rank>,
    /// Between each two ranks, by sender and receiver.
    pairs: Vec<Pair>,
    pub(super) comms: Vec<Comm>,
    pub(super) stuck: super::waiting::Stuck,
}

impl Ranks {
    const fn new() -> Ranks {
        Ranks {
            ranks: Vec::new(),
            pairs: Vec::new(),
            comms: Vec::new(),
            stuck: super::waiting::Stuck::new(),
        }
    }

    /// What lies between a sender and a receiver.
    pub(super) fn pair(&mut self, from: usize, to: usize) -> &mut Pair {
        let size = self.ranks.len();
        &mut self.pairs[from * size + to]
    }

    /// A rank does something that others may learn of: what it knows then.
    pub(super) fn tick(&mut self, rank: usize) -> Vec<u32> {
        let clock = &mut self.ranks[rank].clock;
        clock[rank] += 1;
        clock.clone()
    }

    /// A rank learns what another one knew.
    pub(super) fn learn(&mut self, rank: usize, known: &[u32]) {
        join(&mut self.ranks[rank].clock, known);
    }

    pub(super) fn size(&self) -> usize {
        self.ranks.len()
    }
}

/// A clock learns of another one.
pub(super) fn join(clock: &mut [u32], known: &[u32]) {
    for (own, known) in clock.iter_mut().zip(known) {
        *own = (*own).max(*known);
    }
}

/// A new run.
pub(super) fn begin_run() {
    let ranks = channel::header().ranks.load(Ordering::Relaxed) as usize;
    let mut state = STATE.borrow();
    *state = Ranks::new();
    state.ranks.resize_with(ranks, Rank::default);
    for rank in &mut state.ranks {
        rank.clock = alloc::vec![0; ranks];
    }
    state.pairs.resize_with(ranks * ranks, Pair::default);
    state.comms = Comm::first(ranks);
}

/// Whether standard sends wait for their receives.
pub(super) fn sends() -> Sends {
    match channel::header().sends.load(Ordering::Relaxed) {
        sends if sends == Sends::Eager as u32 => Sends::Eager,
        sends if sends == Sends::Rendezvous as u32 => Sends::Rendezvous,
        _ => Sends::Both,
    }
}

/// Whether the rank has asked for error codes instead of errors.
pub(super) fn returns_errors(rank: usize) -> bool {
    state()
        .ranks
        .get(rank)
        .is_some_and(|rank| rank.returns_errors)
}

/// How far a rank is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Phase {
    #[default]
    New,
    Started,
    Finished,
}

/// What is kept of a rank.
#[derive(Default)]
pub(super) struct Rank {
    pub(super) phase: Phase,
    pub(super) requests: Vec<Option<Request>>,
    /// Receives, probes and waits that have guessed what comes first, and that has not come.
    pub(super) guesses: Vec<Guess>,
    /// How many receives it has posted.
    pub(super) posted: usize,
    pub(super) types: Vec<Option<Type>>,
    pub(super) groups: Vec<Option<Vec<usize>>>,
    pub(super) operations: Vec<Option<super::reductions::UserOperation>>,
    /// The buffer that was attached for buffered sends.
    pub(super) buffer: Option<(usize, usize)>,
    pub(super) returns_errors: bool,
    /// What it has done and what it knows of the others, by rank. A send that may be buffered knows nothing of its receive.
    pub(super) clock: Vec<u32>,
    /// Attributes that its communicators have: communicator, key, value.
    pub(super) attributes: Vec<(usize, c_int, usize)>,
    pub(super) keys: c_int,
}

/// A guess which of several things comes first, made before any is there: so every possible one is explored, and what follows is
/// determined. A wrong guess is found when nothing else can run.
pub(super) struct Guess {
    /// Its number among the receives that the rank has posted.
    pub(super) at: usize,
    /// The outcome of the guess: of several for which nothing ever comes, only the first is kept.
    pub(super) outcome: usize,
    pub(super) of: Guessed,
}

pub(super) enum Guessed {
    /// The source of a message.
    Source {
        wanted: super::matching::Wanted,
        source: usize,
        candidates: Vec<usize>,
        /// The number of the receive at its source; a probe has none.
        post: Option<usize>,
    },
    /// The request that completes, by number.
    Request {
        request: usize,
        candidates: Vec<usize>,
    },
}

/// A message that is on its way.
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    pub(super) signature: Signature,
    /// What its sender knew when it sent it.
    pub(super) clock: Vec<u32>,
}

/// What lies between a sender and a receiver.
#[derive(Default)]
pub(super) struct Pair {
    /// All there is.
    pub(super) all: Matching,
    /// What the sender has seen, and what the receiver has.
    pub(super) at_sender: Matching,
    pub(super) at_receiver: Matching,
    pub(super) messages: Vec<Message>,
    /// Each receive: its number among all of the rank, and what it accepts.
    pub(super) posts: Vec<(usize, super::matching::Wanted)>,
    /// What the receiver knew when it posted each.
    pub(super) post_clocks: Vec<Vec<u32>>,
    /// Messages whose senders went on because their receives were posted, and how far they were.
    pub(super) released: Vec<(usize, u32)>,
    /// Parts of collective calls on their way: communicator and number of the call; how many the receiver has seen.
    pub(super) parts: Vec<(usize, usize)>,
    pub(super) part_clocks: Vec<Vec<u32>>,
    pub(super) parts_seen: usize,
    objects: [Option<ObjectId>; 3],
}

/// The object of the model for messages, receives or parts between two ranks.
pub(super) fn object(of: RankObject) -> ObjectId {
    let (kind, from, to) = match of {
        RankObject::Messages { from, to } => (0, from, to),
        RankObject::Receives { from, to } => (1, from, to),
        RankObject::Parts { from, to } => (2, from, to),
        RankObject::Meeting { .. } => unreachable!("a meeting lies between more than two"),
    };
    let mut state = state();
    let known = &mut state.pair(from, to).objects[kind];
    *known.get_or_insert_with(|| of.make(2))
}
