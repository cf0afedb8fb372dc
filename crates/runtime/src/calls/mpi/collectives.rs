//! Collective calls: which ranks wait for which, mismatches, and what each gets.
//!
//! The n-th collective calls of the members of a communicator belong together. A call waits for no more than the standard
//! demands: that of a root for the others' data, those of others for the root's, each for all only where its result depends on all.

use super::{
    call::{Answer, Call, Wrong},
    communicators::Member,
    datatypes::{self, Signature, Type},
    messages::check_types,
    reductions::{self, Operation},
    state::{join as join_clocks, object, state},
    waiting,
};
use crate::{kernel::rank_channels::RankObject, run::operations::visible};
use alloc::{format, string::String, vec::Vec};
use core::ffi::c_int;
use reweave_model::{ObjectId, Op};

/// Which members wait for which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    /// Each for all.
    All,
    /// Each for the root, a member of this rank.
    FromRoot(usize),
    /// The root for each.
    ToRoot(usize),
    /// Each for those of lower ranks.
    Lower,
}

/// What one member contributes: the same for all, or a piece for each.
#[derive(Clone, Default)]
pub(super) struct Part {
    pub(super) pieces: Vec<Vec<u8>>,
    pub(super) signature: Signature,
}

impl Part {
    /// So many values of a type, for all.
    pub(super) fn whole(buffer: &Buffer, call: &Call) -> Part {
        Part {
            pieces: alloc::vec![buffer.of.pack(buffer.address, buffer.count, call)],
            signature: buffer.of.signature(buffer.count),
        }
    }

    fn for_member(&self, member: usize) -> &[u8] {
        match self.pieces.len() {
            0 => &[],
            1 => &self.pieces[0],
            _ => &self.pieces[member],
        }
    }
}

/// Values of the program.
#[derive(Clone)]
pub(super) struct Buffer {
    pub(super) address: usize,
    pub(super) count: usize,
    pub(super) of: Type,
}

/// The collective calls of the members of a communicator that belong together.
pub(super) struct Instance {
    name: &'static str,
    pattern: Pattern,
    /// The operation of a reduction and the signature of its data.
    reduces: Option<(Operation, Signature)>,
    pub(super) parts: Vec<Option<Part>>,
    meeting: Option<ObjectId>,
    /// What those knew that have come.
    clock: Vec<u32>,
    /// Communicators that it has made, by colour.
    pub(super) made: Vec<(c_int, usize)>,
}

/// What a member gets at the end.
#[derive(Clone)]
pub(super) enum Outcome {
    Nothing,
    /// The piece of one member.
    Of(usize, Buffer),
    /// The pieces of members, in order.
    Each(Vec<(usize, Buffer)>),
    /// The reduction of the members below a rank, or of all; of its bytes those from here on.
    Reduced {
        below: usize,
        skip: usize,
        into: Buffer,
        of: Type,
    },
}

/// A collective call that a member has joined.
#[derive(Clone)]
pub(super) struct Joined {
    pub(super) member: Member,
    pub(super) number: usize,
    pattern: Pattern,
    operation: Option<Operation>,
    outcome: Outcome,
}

/// What a call is, to be compared with those of the other members.
pub(super) struct Collective {
    pub(super) pattern: Pattern,
    pub(super) operation: Option<Operation>,
    pub(super) part: Part,
    pub(super) outcome: Outcome,
}

fn mismatch(message: String) -> Wrong {
    Wrong {
        rule: "mpi-collective-mismatch",
        message,
        class: 15,
    }
}

/// Whether a call belongs to those that were made before.
fn compare(known: &Instance, collective: &Collective, name: &str) -> Answer {
    if known.name != name {
        return Err(mismatch(format!("another rank calls {} here", known.name)));
    }
    if known.pattern != collective.pattern {
        return Err(mismatch("another rank names another root".into()));
    }
    let reduces = collective
        .operation
        .as_ref()
        .map(|operation| (operation, &collective.part.signature));
    match (&known.reduces, reduces) {
        (Some((operation, signature)), Some((own, mine))) => {
            if !operation.same(own) {
                return Err(mismatch("another rank names another operation".into()));
            }
            if signature != mine {
                return Err(mismatch(
                    "another rank has another number or type of elements".into(),
                ));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Notes what a member contributes to its next collective call: the call's number, and the meeting if all wait for all.
fn note(
    member: &Member,
    collective: &mut Collective,
    call: &Call,
) -> Answer<(usize, Option<ObjectId>)> {
    let (me, size) = (member.rank, member.members.len());
    let pattern = collective.pattern;
    let mut state = state();
    let (ranks, clock) = (state.size(), state.tick(call.rank()));
    let comm = &mut state.comms[member.comm];
    let number = comm.calls[me];
    comm.calls[me] += 1;
    if comm.instances.len() == number {
        let operation = collective.operation.clone();
        let mut parts = Vec::new();
        parts.resize_with(size, || None);
        comm.instances.push(Instance {
            name: call.name(),
            pattern,
            reduces: operation.map(|operation| (operation, collective.part.signature.clone())),
            parts,
            meeting: None,
            clock: alloc::vec![0; ranks],
            made: Vec::new(),
        });
    }
    let instance = &mut comm.instances[number];
    compare(instance, collective, call.name())?;
    join_clocks(&mut instance.clock, &clock);
    instance.parts[me] = Some(core::mem::take(&mut collective.part));
    let context = member.comm;
    let make = || RankObject::Meeting { context, number }.make(size);
    let meets = pattern == Pattern::All;
    let meeting = meets.then(|| *instance.meeting.get_or_insert_with(make));
    Ok((number, meeting))
}

/// Joins a collective call: contributes, and waits for nothing.
pub(super) fn join(member: Member, mut collective: Collective, call: &Call) -> Answer<Joined> {
    let (me, size) = (member.rank, member.members.len());
    let (number, meeting) = note(&member, &mut collective, call)?;
    let send = |to: usize| signal(&member, number, to, call);
    match collective.pattern {
        Pattern::All => {
            let meeting = meeting.expect("all meet");
            visible(Op::Arrive(meeting), call.site);
        }
        Pattern::FromRoot(root) if root == me => (0..size).filter(|to| *to != me).for_each(send),
        Pattern::ToRoot(root) if root != me => send(root),
        Pattern::Lower => (me + 1..size).for_each(send),
        _ => {}
    }
    Ok(Joined {
        number,
        pattern: collective.pattern,
        operation: collective.operation,
        outcome: collective.outcome,
        member,
    })
}

/// Another member may go on, as far as this one is concerned.
fn signal(member: &Member, number: usize, to: usize, call: &Call) {
    let (from, to) = (call.rank(), member.members[to]);
    visible(Op::Send(object(RankObject::Parts { from, to })), call.site);
    let mut state = state();
    let clock = state.tick(from);
    let pair = state.pair(from, to);
    pair.parts.push((member.comm, number));
    pair.part_clocks.push(clock);
}

impl Joined {
    /// Waits for the members that this one depends on, and takes its result.
    pub(super) fn complete(&self, call: &Call) -> Answer {
        self.meet(call);
        self.take(call)
    }

    /// Waits for the members that this one depends on.
    pub(super) fn meet(&self, call: &Call) {
        let (me, size) = (self.member.rank, self.member.members.len());
        match self.pattern {
            Pattern::All => {
                let meeting = self.with(|instance| instance.meeting);
                let meeting = meeting.expect("it was made when the first member joined");
                visible(Op::Leave(meeting), call.site);
                let known = self.with(|instance| instance.clock.clone());
                state().learn(call.rank(), &known);
            }
            Pattern::FromRoot(root) if root != me => self.await_member(root, call),
            Pattern::ToRoot(root) if root == me => {
                (0..size)
                    .filter(|other| *other != me)
                    .for_each(|other| self.await_member(other, call));
            }
            Pattern::Lower => (0..me).for_each(|other| self.await_member(other, call)),
            _ => {}
        }
    }

    fn await_member(&self, other: usize, call: &Call) {
        let (from, to) = (self.member.members[other], call.rank());
        let wanted = (self.member.comm, self.number);
        loop {
            {
                let mut state = state();
                let pair = state.pair(from, to);
                if pair.parts[..pair.parts_seen].contains(&wanted) {
                    return;
                }
            }
            waiting::wait(object(RankObject::Parts { from, to }), &mut false, call);
            let mut state = state();
            let pair = state.pair(from, to);
            let known = pair.part_clocks[pair.parts_seen].clone();
            pair.parts_seen += 1;
            state.learn(to, &known);
        }
    }

    pub(super) fn with<R>(&self, then: impl FnOnce(&mut Instance) -> R) -> R {
        then(&mut state().comms[self.member.comm].instances[self.number])
    }

    /// What a member has contributed for this one.
    pub(super) fn piece(&self, of: usize) -> (Vec<u8>, Signature) {
        self.with(|instance| match &instance.parts[of] {
            Some(part) => (
                part.for_member(self.member.rank).into(),
                part.signature.clone(),
            ),
            None => Default::default(),
        })
    }

    fn take(&self, call: &Call) -> Answer {
        match &self.outcome {
            Outcome::Nothing => Ok(()),
            Outcome::Of(member, into) => self.place(*member, into, call),
            Outcome::Each(all) => all
                .iter()
                .try_for_each(|(member, into)| self.place(*member, into, call)),
            Outcome::Reduced {
                below,
                skip,
                into,
                of,
            } => {
                let operation = self.operation.as_ref().expect("a reduction has one");
                let Some(first) = (0..*below).next() else {
                    return Ok(());
                };
                let mut sum = self.piece(first).0;
                for member in 1..*below {
                    let next = self.piece(member).0;
                    reductions::apply(operation, &mut sum, &next, of, call)?;
                }
                into.of
                    .unpack(&sum[*skip..], into.address, into.count, call);
                Ok(())
            }
        }
    }

    fn place(&self, member: usize, into: &Buffer, call: &Call) -> Answer {
        let (bytes, signature) = self.piece(member);
        let room = into.of.size() * into.count;
        if bytes.len() > room {
            return Err(Wrong {
                rule: "mpi-truncation",
                message: format!(
                    "rank {member} contributes {} bytes, and there is room for {room}",
                    bytes.len()
                ),
                class: 14,
            });
        }
        check_types(&signature, &into.of.signature(into.count), member as c_int)?;
        if bytes.len() < room {
            return Err(mismatch(format!(
                "rank {member} contributes {} bytes, and {room} are expected",
                bytes.len()
            )));
        }
        into.of.unpack(&bytes, into.address, into.count, call);
        Ok(())
    }
}

/// Buffers as arguments of a call: address, count and type from an argument on.
pub(super) fn buffer(call: &Call, at: usize) -> Answer<Buffer> {
    Ok(Buffer {
        address: call.word(at),
        count: datatypes::count(call, at + 1)?,
        of: datatypes::committed(call.rank(), call.int(at + 2))?,
    })
}
