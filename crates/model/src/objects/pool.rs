//! Pools: addresses of freed blocks that an allocation may return again, and child processes that have ended.
//!
//! An allocation takes two steps. [`Op::Allocate`] looks at the pool and decides: a new address (outcome 0), or the n-th smallest of the
//! pool (outcome n). Then [`Op::Reuse`] takes that address out of the pool, unless another thread was faster; if so, the block has a
//! new address after all. With one step, what an allocation conflicts with would depend on its outcome, and the most with outcomes
//! other than the first: `optimal` lost classes.
//!
//! A process that ends is given back to the pool of its parent, and a wait for any child takes two steps for the same reason:
//! [`Op::Reap`] decides on one of the pool, `Reuse` takes it.
//!
//! Frees commute with each other, since the pool is a set, and so do the looks of allocations.

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};

pub(crate) const CONFLICTS: Conflicts = &[
    (Class::GiveBack, &[Class::LookBack, Class::TakeBack]),
    (Class::TakeBack, &[Class::LookBack, Class::TakeBack]),
];

fn freed(machine: &Machine, pool: ObjectId) -> &[u64] {
    match machine.object(pool) {
        Object::Pool(freed) => freed,
        _ => &[],
    }
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::Reap { object, tries } => tries || !freed(machine, object).is_empty(),
        _ => true,
    }
}

pub(super) fn outcomes(machine: &Machine, op: Op) -> usize {
    match op {
        Op::Allocate(pool) => 1 + freed(machine, pool).len(),
        Op::Reap { object, .. } => freed(machine, object).len().max(1),
        _ => 1,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, outcome: u16) -> Effect {
    match op {
        Op::Free(pool, _) => Effect::touch(pool, Class::GiveBack),
        Op::Allocate(pool) => {
            let place = usize::from(outcome).checked_sub(1);
            let address = place.and_then(|place| freed(machine, pool).get(place));
            Effect::touch(pool, Class::LookBack).returning(address.copied().unwrap_or(0))
        }
        Op::Reap { object, .. } => {
            let ended = freed(machine, object).get(usize::from(outcome));
            Effect::touch(object, Class::LookBack).returning(ended.copied().unwrap_or(0))
        }
        Op::Reuse(pool, address) => match freed(machine, pool).binary_search(&address) {
            Ok(_) => Effect::touch(pool, Class::TakeBack),
            Err(_) => Effect::touch(pool, Class::TakeBack).failed(),
        },
        op => unreachable!("{op:?} on a pool"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Some(Object::Pool(freed)) = machine.object_of(doing.op) else {
        return;
    };
    match doing.op {
        Op::Free(_, address) => {
            // One that is there already was freed twice.
            if let Err(place) = freed.binary_search(&address) {
                freed.insert(place, address);
            }
        }
        Op::Reuse(_, taken) => freed.retain(|address| *address != taken),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_reaps_any_child_that_has_ended() {
        let mut machine = Machine::default();
        let me = machine.spawn(None);
        let object = machine.create(Object::pool());
        let reap = |tries| Op::Reap { object, tries };
        assert!(!enabled(&machine, me, reap(false)));
        assert_eq!(machine.apply(me, reap(true), 0).result, 0);
        machine.apply(me, Op::Free(object, 7), 0);
        machine.apply(me, Op::Free(object, 5), 0);
        assert_eq!(machine.outcomes(me, reap(false)), 2);
        assert_eq!(machine.apply(me, reap(true), 1).result, 7);
        assert!(machine.apply(me, Op::Reuse(object, 7), 0).ok);
        assert_eq!(machine.apply(me, reap(false), 0).result, 5);
    }

    #[test]
    fn an_allocation_gets_a_new_address_or_a_freed_one_once() {
        let mut machine = Machine::default();
        let me = machine.spawn(None);
        let pool = machine.create(Object::pool());
        let allocate = Op::Allocate(pool);
        assert_eq!(machine.outcomes(me, allocate), 1);
        machine.apply(me, Op::Free(pool, 32), 0);
        machine.apply(me, Op::Free(pool, 16), 0);
        machine.apply(me, Op::Free(pool, 16), 0);
        assert_eq!(machine.outcomes(me, allocate), 3);
        assert_eq!(machine.apply(me, allocate, 0).result, 0);
        assert_eq!(machine.apply(me, allocate, 2).result, 32);
        assert!(machine.apply(me, Op::Reuse(pool, 32), 0).ok);
        assert!(!machine.apply(me, Op::Reuse(pool, 32), 0).ok);
        assert_eq!(machine.apply(me, allocate, 1).result, 16);
        assert!(machine.apply(me, Op::Reuse(pool, 16), 0).ok);
        assert_eq!(machine.outcomes(me, allocate), 1);
    }
}
