//! Counting semaphores. The order of acquires is immaterial, but not which of them gets the last place: see [`Machine::depends`].

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};

pub(crate) const CONFLICTS: Conflicts = &[
    (Class::Acquire, &[Class::Release, Class::AcquireProbe]),
    (Class::Release, &[Class::AcquireProbe]),
];

fn taken(machine: &Machine, semaphore: ObjectId) -> bool {
    matches!(machine.object(semaphore), Object::Semaphore(0))
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::SemAcquire { object, timed } => timed || !taken(machine, object),
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, _: u16) -> Effect {
    match op {
        Op::SemAcquire { object, .. } | Op::SemTryAcquire(object) => match taken(machine, object) {
            true => Effect::touch(object, Class::AcquireProbe).failed(),
            false => Effect::touch(object, Class::Acquire),
        },
        Op::SemRelease(object) => Effect::touch(object, Class::Release),
        op => unreachable!("{op:?} on a semaphore"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Some(Object::Semaphore(count)) = machine.object_of(doing.op) else {
        return;
    };
    match doing.op {
        Op::SemRelease(_) => *count += 1,
        _ => *count -= u64::from(doing.effect.ok),
    }
}

pub(super) fn well_formed(machine: &Machine, op: Op) -> bool {
    match op {
        Op::SemRelease(object) => !matches!(machine.object(object), Object::Semaphore(u64::MAX)),
        _ => true,
    }
}
