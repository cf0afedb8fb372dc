//! Waiting for another rank, and wrong guesses.
//!
//! A wait that may depend on a guess is *late*: when nothing else can run it ends without success ([`Gate::Late`]). If nothing has
//! happened since the time before, the run is stuck for good, and it is decided why:
//!
//! 1. A standard send that waits for its receive may be buffered after all: both are explored. One that is not buffered then must
//!    never be received: if it is, the run is one of those in which it was buffered, and is discarded.
//! 2. Some wildcard could take a message that is there, from another source than it guessed: the run is discarded.
//! 3. Some guess was not the first and nothing came: it is the same deadlock as with the first, and is discarded.
//! 4. Otherwise it is a deadlock.

use super::{
    call::Call,
    messages, requests,
    state::{Guess, Guessed, Ranks, state},
};
use crate::run::{
    operations::visible,
    world::{self, Done, perform},
};
use alloc::vec::Vec;
use reweave_model::{Gate, ObjectId, Op, Order, Site};

/// How a wait has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waited {
    /// The other rank has done its part.
    Met,
    /// The message is buffered, so that there is nothing to wait for.
    Buffered,
}

/// Waits until something comes through a channel. If it `may_buffer`, the wait is that of a standard send, which need not wait.
pub(super) fn wait(object: ObjectId, may_buffer: &mut bool, call: &Call) -> Waited {
    let me = call.rank();
    if *may_buffer {
        state().stuck.undecided.push(me);
    }
    let waited = wait_for(object, may_buffer, call);
    state().stuck.undecided.retain(|rank| *rank != me);
    waited
}

fn wait_for(object: ObjectId, may_buffer: &mut bool, call: &Call) -> Waited {
    let site = call.site;
    loop {
        let op = Op::Expect(object);
        if perform(op, Gate::Late, site, Order::SeqCst, None).ok {
            return Waited::Met;
        }
        match note_idle(call.rank()) {
            Verdict::Goes => {}
            Verdict::Decides => {
                if visible(Op::Any(2), site).result == 0 {
                    return Waited::Buffered;
                }
                *may_buffer = false;
                state().stuck.undecided.retain(|rank| *rank != call.rank());
            }
            Verdict::Stuck if is_wrong(&mut state()) => discard(site),
            Verdict::Stuck => {
                let timed = false;
                visible(Op::Recv { object, timed }, site);
                return Waited::Met;
            }
        }
    }
}

/// What is known of waits that ended because nothing else could run. It is the same for all that ended at one time, in whatever order
/// they go on.
#[derive(Default)]
pub(super) struct Stuck {
    /// How often nothing else could run.
    epochs: usize,
    /// Events until then, less those that are no progress; until the time before.
    progress: usize,
    before: Option<usize>,
    /// Events that are no progress.
    idle: usize,
    /// Ranks with sends that wait for their receive and may be buffered instead; the first of them then.
    undecided: Vec<usize>,
    decides: Option<usize>,
}

impl Stuck {
    pub(super) const fn new() -> Stuck {
        Stuck {
            epochs: 0,
            progress: 0,
            before: None,
            idle: 0,
            undecided: Vec::new(),
            decides: None,
        }
    }
}

/// What follows from the end of a wait.
enum Verdict {
    /// Something has happened since the time before, or another rank decides: it waits on.
    Goes,
    /// The rank decides whether its send is buffered.
    Decides,
    Stuck,
}

/// A wait of a rank has ended because nothing else could run.
fn note_idle(rank: usize) -> Verdict {
    let (epochs, events) = {
        let world = world::borrow();
        let epochs = &world.run.execution().epochs;
        (epochs.len(), epochs.last().copied().unwrap_or(0) as usize)
    };
    let stuck = &mut state().stuck;
    if stuck.epochs != epochs {
        stuck.before = (stuck.epochs > 0).then_some(stuck.progress);
        stuck.epochs = epochs;
        stuck.progress = events - stuck.idle;
        stuck.decides = stuck.undecided.iter().min().copied();
    }
    stuck.idle += 1;
    match stuck.decides {
        _ if stuck.before != Some(stuck.progress) => Verdict::Goes,
        Some(first) if first == rank => Verdict::Decides,
        Some(_) => Verdict::Goes,
        None => Verdict::Stuck,
    }
}

/// The run is one that others stand for.
pub(super) fn discard(site: Site) -> ! {
    world::borrow().run.discard();
    world::freeze(site)
}

/// Asks whether something has come through a channel.
pub(super) fn ask(object: ObjectId, call: &Call) -> bool {
    let Done { ok, .. } = world::poll(
        Op::TryRecv(object),
        call.frame,
        call.site,
        Order::SeqCst,
        None,
    );
    ok
}

/// Whether a rank that is about to end still waits for nothing that it guessed.
pub(super) fn pending_guess_is_wrong(rank: usize) -> bool {
    let mut state = state();
    let guesses = core::mem::take(&mut state.ranks[rank].guesses);
    guesses
        .iter()
        .any(|guess| guess_is_wrong(&mut state, rank, guess))
}

/// Whether some guess is wrong in a run that is stuck.
fn is_wrong(state: &mut Ranks) -> bool {
    for rank in 0..state.size() {
        let guesses = core::mem::take(&mut state.ranks[rank].guesses);
        let wrong = guesses
            .iter()
            .any(|guess| guess_is_wrong(state, rank, guess));
        state.ranks[rank].guesses = guesses;
        if wrong {
            return true;
        }
    }
    false
}

fn guess_is_wrong(state: &mut Ranks, rank: usize, guess: &Guess) -> bool {
    match &guess.of {
        Guessed::Source {
            wanted,
            source,
            candidates,
            post,
        } => {
            let pair = state.pair(*source, rank);
            let met = match post {
                Some(post) => pair.all.send_of(*post),
                None => pair.all.first_open(*wanted),
            };
            if let Some(number) = met {
                return post.is_some()
                    && messages::took_too_late(state, rank, guess.at, *wanted, (*source, number));
            }
            let could = |candidate: &usize| {
                let pair = state.pair(*candidate, rank);
                pair.all
                    .could_take(*wanted, |post| pair.posts[post].0 > guess.at)
            };
            guess.outcome > 0 || candidates.iter().any(could)
        }
        Guessed::Request {
            request,
            candidates,
        } => {
            let mut complete = |request: &usize| requests::could_complete(state, rank, *request);
            if complete(request) {
                return false;
            }
            guess.outcome > 0 || candidates.iter().any(complete)
        }
    }
}
