//! Channels with any number of senders and one receiver.
//!
//! A message orders its send before its receive, and a slot of a bounded channel the receive that emptied it before the send that
//! fills it again: by [`Effect::after`], not by conflicts.

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    execution::Edge,
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};
use Class::{Deaf, Empty, Full, Handle, Hangup, Poll, Recv, Refused, Send};
use alloc::collections::VecDeque;

pub(crate) const CONFLICTS: Conflicts = &[
    (Send, &[Send, Empty, Full, Hangup, Deaf]),
    (Recv, &[Recv, Poll, Empty, Full, Hangup, Deaf]),
    (Poll, &[Poll, Empty, Full, Hangup, Deaf, Handle]),
    (Empty, &[Handle]),
    (Handle, &[Hangup]),
    (Full, &[Deaf]),
    (Deaf, &[Refused]),
];

/// Results of [`Op::Recv`], [`Op::TryRecv`] and [`Op::TrySend`], beside `ok`.
const EMPTY_OR_FULL: u64 = 1;
const DISCONNECTED: u64 = 2;

impl Op {
    /// For an operation that comes after another thread's step if it finds its effect, whether it could as well go before that step:
    /// it does not wait for it.
    pub fn may_precede_cause(self, spurious: bool) -> bool {
        match self {
            Op::Wake { timed, .. } => timed || spurious,
            Op::Recv { timed, .. } => timed,
            Op::TryRecv(_) | Op::TrySend(_) => true,
            Op::Put { tries, .. } | Op::Get { tries, .. } => tries,
            _ => false,
        }
    }
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match (op, op.object().map(|object| machine.object(object))) {
        (
            Op::Send(_),
            Some(Object::Channel {
                capacity: Some(room),
                queue,
                receiver,
                ..
            }),
        ) => *room == 0 || queue.len() < *room as usize || !receiver,
        (
            Op::Handoff(_, message),
            Some(Object::Channel {
                received, receiver, ..
            }),
        ) => *received > message || !receiver,
        (Op::Recv { timed, .. }, Some(Object::Channel { queue, senders, .. })) => {
            timed || !queue.is_empty() || *senders == 0
        }
        (Op::Expect(_), Some(Object::Channel { queue, .. })) => !queue.is_empty(),
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, thread: ThreadId, op: Op, _: u16) -> Effect {
    match op {
        Op::Send(channel) | Op::TrySend(channel) => send(machine, channel),
        Op::Handoff(channel, message) => hand_over(machine, channel, message),
        Op::Recv { object, timed } => {
            let waits = !timed && !machine.thread(thread).let_go;
            receive(machine, object, if waits { Recv } else { Poll })
        }
        Op::Expect(_) if machine.thread(thread).let_go => {
            Effect::NONE.returning(EMPTY_OR_FULL).failed()
        }
        Op::Expect(channel) => receive(machine, channel, Recv),
        Op::TryRecv(channel) => receive(machine, channel, Poll),
        Op::SenderAdd(channel) | Op::SenderDrop(channel) => Effect::touch(channel, Handle),
        Op::ReceiverDrop(channel) => Effect::touch(channel, Deaf),
        op => unreachable!("{op:?} on a channel"),
    }
}

fn send(machine: &Machine, channel: ObjectId) -> Effect {
    let Object::Channel {
        capacity,
        queue,
        taken,
        sent,
        receiver,
        ..
    } = machine.object(channel)
    else {
        panic!("send on something else")
    };
    let bound = capacity.filter(|room| *room > 0);
    if !receiver {
        let refused = Effect::touch(channel, Refused);
        return refused.returning(DISCONNECTED).failed();
    }
    if bound.is_some_and(|room| queue.len() >= room as usize) {
        let full = Effect::touch(channel, Full);
        return full.returning(EMPTY_OR_FULL).failed();
    }
    // It takes the slot of message `sent - room`; `taken` ends with the latest one received.
    let slot = bound.and_then(|room| (queue.len() + taken.len()).checked_sub(room as usize));
    Effect {
        after: slot.map(|slot| taken[slot]),
        ..Effect::touch(channel, Send).returning(*sent)
    }
}

fn hand_over(machine: &Machine, channel: ObjectId, message: u64) -> Effect {
    match machine.object(channel) {
        Object::Channel {
            received, taken, ..
        } if *received > message => {
            let back = (received - message) as usize;
            Effect {
                after: taken.len().checked_sub(back).map(|place| taken[place]),
                ..Effect::NONE
            }
        }
        Object::Channel { .. } => Effect::touch(channel, Refused).failed(),
        _ => Effect::NONE,
    }
}

/// `class`: of one that finds a message.
fn receive(machine: &Machine, channel: ObjectId, class: Class) -> Effect {
    let Object::Channel { queue, senders, .. } = machine.object(channel) else {
        panic!("receive on something else")
    };
    match (queue.front(), *senders) {
        (Some(sent), _) => Effect {
            after: Some(*sent),
            ..Effect::touch(channel, class)
        },
        (None, 0) => {
            let gone = Effect::touch(channel, Hangup);
            gone.returning(DISCONNECTED).failed()
        }
        (None, _) => {
            let empty = Effect::touch(channel, Empty);
            empty.returning(EMPTY_OR_FULL).failed()
        }
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Some(Object::Channel {
        capacity,
        queue,
        taken,
        sent,
        received,
        senders,
        receiver,
    }) = machine.object_of(doing.op)
    else {
        return;
    };
    match doing.op {
        Op::Send(_) | Op::TrySend(_) if doing.effect.ok => {
            queue.push_back(doing.step);
            *sent += 1;
        }
        Op::Recv { .. } | Op::TryRecv(_) | Op::Expect(_) if doing.effect.ok => {
            queue.pop_front();
            *received += 1;
            remember(taken, doing.step, *capacity);
        }
        Op::SenderAdd(_) => *senders += 1,
        Op::SenderDrop(_) => *senders -= 1,
        Op::ReceiverDrop(_) => *receiver = false,
        _ => {}
    }
}

/// Keeps the steps that took messages while a sender may still refer to them.
fn remember(taken: &mut VecDeque<Edge>, step: Edge, room: Option<u32>) {
    match room {
        None => {}
        // Senders meet the receiver: each looks up the step that took its own message.
        Some(0) => taken.push_back(step),
        Some(room) => {
            taken.push_back(step);
            if taken.len() > room as usize {
                taken.pop_front();
            }
        }
    }
}

pub(super) fn well_formed(machine: &Machine, op: Op) -> bool {
    match (op, op.object().map(|object| machine.object(object))) {
        (Op::SenderAdd(_), Some(Object::Channel { senders, .. })) => *senders != u32::MAX,
        (Op::SenderDrop(_), Some(Object::Channel { senders, .. })) => *senders != 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_learns_that_nothing_can_run_gets_no_message_sent_after_that() {
        let mut machine = Machine::default();
        let (me, other) = (machine.spawn(None), machine.spawn(Some(ThreadId::MAIN)));
        let channel = machine.create(Object::channel(None));
        let expect = Op::Expect(channel);
        assert!(!enabled(&machine, me, expect));
        machine.release(me);
        machine.apply(other, Op::Send(channel), 0);
        let nothing = machine.apply(me, expect, 0);
        assert_eq!((nothing.ok, nothing.access), (false, [None, None]));
        let message = machine.apply(me, expect, 0);
        assert!(message.ok && message.after.is_some());
    }
}
