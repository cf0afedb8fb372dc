//! Counting semaphores. The order of acquires is immaterial, but not which of them gets the last place: see [`Machine::depends`].
//!
//! `Take` and `Add` change the count by any number, and there is a most that it can be. Each depends on all else that is done to
//! the semaphore: how much a `Take` returns, and whether there is room for an `Add`, follows from their order.

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};

pub(crate) const CONFLICTS: Conflicts = &[
    (Class::Acquire, &[Class::Release, Class::AcquireProbe]),
    (Class::Release, &[Class::AcquireProbe]),
    (
        Class::Write,
        &[Class::Acquire, Class::Release, Class::AcquireProbe],
    ),
];

/// What [`Op::Add`] makes of a count at most.
pub const MOST_COUNTED: u64 = u64::MAX - 1;

fn taken(machine: &Machine, semaphore: ObjectId) -> bool {
    matches!(machine.object(semaphore), Object::Semaphore(0))
}

/// How much a `Take` takes or an `Add` adds now; `None`: it cannot.
fn amount(machine: &Machine, op: Op) -> Option<u64> {
    let object = op.object()?;
    let Object::Semaphore(counted) = *machine.object(object) else {
        return None;
    };
    match op {
        Op::Take { most, .. } => (counted > 0).then_some(counted.min(most)),
        Op::Add { count, .. } => MOST_COUNTED
            .checked_sub(counted)
            .is_some_and(|room| count <= room)
            .then_some(count),
        _ => None,
    }
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::SemAcquire { object, timed } => timed || !taken(machine, object),
        Op::Take { tries, .. } | Op::Add { tries, .. } => tries || amount(machine, op).is_some(),
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
        Op::Take { object, .. } | Op::Add { object, .. } => match amount(machine, op) {
            None => Effect::touch(object, Class::AcquireProbe).failed(),
            Some(amount) => Effect::touch(object, Class::Write).returning(amount),
        },
        op => unreachable!("{op:?} on a semaphore"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Some(Object::Semaphore(count)) = machine.object_of(doing.op) else {
        return;
    };
    match doing.op {
        Op::SemRelease(_) => *count += 1,
        // Of one that failed the result is 0.
        Op::Take { .. } => *count -= doing.effect.result,
        Op::Add { .. } => *count += doing.effect.result,
        _ => *count -= u64::from(doing.effect.ok),
    }
}

pub(super) fn well_formed(machine: &Machine, op: Op) -> bool {
    match op {
        Op::SemRelease(object) => !matches!(machine.object(object), Object::Semaphore(u64::MAX)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_takes_what_there_is_and_an_add_never_exceeds_the_most() {
        let mut machine = Machine::default();
        let me = machine.spawn(None);
        let object = machine.create(Object::Semaphore(0));
        let take = |most, tries| Op::Take {
            object,
            most,
            tries,
        };
        let add = |count, tries| Op::Add {
            object,
            count,
            tries,
        };
        assert!(!enabled(&machine, me, take(1, false)));
        assert!(!machine.apply(me, take(1, true), 0).ok);
        assert!(machine.apply(me, add(MOST_COUNTED, false), 0).ok);
        assert!(!enabled(&machine, me, add(1, false)));
        assert!(!machine.apply(me, add(1, true), 0).ok);
        assert!(enabled(&machine, me, add(0, false)));
        assert_eq!(machine.apply(me, take(1, false), 0).result, 1);
        assert!(!enabled(&machine, me, add(2, false)));
        assert!(enabled(&machine, me, add(1, false)));
        let rest = machine.apply(me, take(u64::MAX, false), 0).result;
        assert_eq!(rest, MOST_COUNTED - 1);
        assert_eq!(*machine.object(object), Object::Semaphore(0));
        assert!(!enabled(&machine, me, add(u64::MAX, false)));
    }
}
