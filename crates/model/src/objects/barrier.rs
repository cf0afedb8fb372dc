//! Barriers. Within a round the order of arrivals is immaterial, but not which thread completes the round: see [`Machine::depends`].
//!
//! The next round may fill up while threads still leave this one, so rounds are told apart as even and odd. Which thread leads is an
//! outcome of the first that leaves.

use super::{Doing, Generation, Object};
use crate::{
    dependence::{Class, Conflicts},
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};

pub(crate) const CONFLICTS: Conflicts = &[
    (Class::ArriveEven, &[Class::ArriveOdd, Class::TripEven]),
    (Class::ArriveOdd, &[Class::TripOdd]),
];

/// The full round that a thread is in.
fn generation(machine: &Machine, barrier: ObjectId, thread: ThreadId) -> Option<&Generation> {
    match machine.object(barrier) {
        Object::Barrier { leaving, .. } => {
            leaving.iter().find(|full| full.members.contains(&thread))
        }
        _ => None,
    }
}

/// Whether one of the threads that leave learns that it leads.
fn has_leader(machine: &Machine, barrier: ObjectId) -> bool {
    matches!(machine.object(barrier), Object::Barrier { leads: true, .. })
}

pub(super) fn enabled(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    match op {
        Op::Leave(barrier) => generation(machine, barrier, thread)
            .is_some_and(|full| full.leader.is_some() || machine.nth(&full.members, 0) == thread),
        _ => true,
    }
}

pub(super) fn outcomes(machine: &Machine, thread: ThreadId, barrier: ObjectId) -> usize {
    match generation(machine, barrier, thread) {
        Some(full) if full.leader.is_none() && has_leader(machine, barrier) => full.members.len(),
        _ => 1,
    }
}

pub(super) fn effect(machine: &Machine, thread: ThreadId, op: Op, outcome: u16) -> Effect {
    match op {
        Op::Arrive(barrier) => match machine.object(barrier) {
            Object::Barrier { full, .. } if full % 2 == 0 => {
                Effect::touch(barrier, Class::ArriveEven)
            }
            Object::Barrier { .. } => Effect::touch(barrier, Class::ArriveOdd),
            _ => Effect::NONE,
        },
        Op::Leave(barrier) => {
            let full = generation(machine, barrier, thread).expect("left only when full");
            let leads = |leader| u64::from(leader == thread && has_leader(machine, barrier));
            match full.leader {
                Some((leader, settled)) => Effect::after(settled).returning(leads(leader)),
                None => {
                    let class = match full.round % 2 {
                        0 => Class::TripEven,
                        _ => Class::TripOdd,
                    };
                    let leader = machine.nth(&full.members, outcome.into());
                    Effect::touch(barrier, class).returning(leads(leader))
                }
            }
        }
        op => unreachable!("{op:?} on a barrier"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let thread = doing.thread;
    // Settled by the first that leaves.
    let leader = match (doing.op, doing.effect.access[0]) {
        (Op::Leave(barrier), Some(_)) => {
            let full = generation(machine, barrier, thread).expect("left only when full");
            Some(machine.nth(&full.members, doing.outcome.into()))
        }
        _ => None,
    };
    let Some(Object::Barrier {
        size,
        full,
        arrived,
        leaving,
        ..
    }) = machine.object_of(doing.op)
    else {
        return;
    };
    if let Op::Arrive(_) = doing.op {
        arrived.push(thread);
        if arrived.len() >= *size as usize {
            leaving.push(Generation {
                round: *full,
                members: core::mem::take(arrived),
                leader: None,
            });
            *full += 1;
        }
        return;
    }
    for full in leaving
        .iter_mut()
        .filter(|full| full.members.contains(&thread))
    {
        if let Some(leader) = leader {
            full.leader = Some((leader, doing.step));
        }
        full.members.retain(|member| *member != thread);
    }
    leaving.retain(|full| !full.members.is_empty());
}

pub(super) fn well_formed(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    match (op, op.object().map(|object| machine.object(object))) {
        (Op::Arrive(_), Some(Object::Barrier { arrived, .. })) => !arrived.contains(&thread),
        _ => true,
    }
}
