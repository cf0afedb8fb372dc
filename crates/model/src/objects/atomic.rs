//! Atomics, and what can be done to any object: looking at it, storing to it, waiting in a loop for it to change.
//!
//! A store to a mutex forgets that it is poisoned; to other objects it does nothing.

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};

pub(crate) const CONFLICTS: Conflicts = &[
    (Class::Read, &[Class::Write]),
    (Class::Write, &[Class::Write]),
];

impl Op {
    /// For an operation on an atomic that neither waits nor looks at anything else: whether it reads, and whether it writes if it
    /// succeeds or fails so.
    #[inline]
    pub fn reads_and_writes(self, ok: bool) -> Option<(bool, bool)> {
        match self {
            Op::Load(_) => Some((true, false)),
            Op::Store(..) => Some((false, true)),
            Op::Rmw(..) => Some((true, true)),
            Op::CompareExchange { .. } => Some((true, ok)),
            _ => None,
        }
    }

    /// The value that an operation leaves in an atomic where it finds this one; `None`: it does not write.
    #[inline]
    pub fn writes_after(self, value: u64) -> Option<u64> {
        match self {
            Op::Store(_, new) => Some(new),
            Op::Rmw(_, rmw) => Some(rmw.apply(value)),
            Op::CompareExchange { expected, new, .. } => (value == expected).then_some(new),
            _ => None,
        }
    }

    /// The atomic, if it is one, whose value the operation returns.
    pub fn returns_value_of(self) -> Option<ObjectId> {
        match self {
            Op::Load(object)
            | Op::Await(object, _)
            | Op::Rmw(object, _)
            | Op::CompareExchange { object, .. } => Some(object),
            other => other.atomic(),
        }
    }

    /// For an operation that looks at nothing but the value of an atomic: what it would do to one that holds this value, and the value
    /// afterwards.
    pub fn effect_on(self, value: u64) -> Option<(Effect, u64)> {
        let (ok, result, after, class) = match self {
            Op::Load(_) => (true, value, value, Class::Read),
            Op::Store(_, new) => (true, 0, new, Class::Write),
            Op::Rmw(_, rmw) => (true, value, rmw.apply(value), Class::Write),
            Op::CompareExchange {
                expected,
                new,
                weak: false,
                ..
            } => match value == expected {
                true => (true, value, new, Class::Write),
                false => (false, value, value, Class::Read),
            },
            _ => return None,
        };
        let touch = Effect::touch(self.object()?, class);
        let effect = Effect {
            ok,
            result,
            ..touch
        };
        Some((effect, after))
    }
}

impl Machine {
    pub(super) fn value(&self, object: ObjectId) -> u64 {
        match self.object(object) {
            Object::Atomic(value) => *value,
            other => panic!("{} used as an atomic", other.kind_name()),
        }
    }
}

/// An object's place in a set of 64.
#[inline]
pub(crate) fn place(object: ObjectId) -> u64 {
    1 << (object.0 % 64)
}

pub(super) fn enabled(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    match op {
        Op::Await(object, seen) => {
            let object = machine.object(object);
            let let_go = machine.thread(thread).let_go;
            let_go || object.predicted_writer().is_none() && object.differs(seen)
        }
        _ => true,
    }
}

pub(super) fn outcomes(machine: &Machine, thread: ThreadId, op: Op) -> usize {
    match op {
        Op::CompareExchange {
            object,
            expected,
            weak: true,
            ..
        } => {
            let may_fail = machine.thread(thread).failed & place(object) == 0;
            1 + usize::from(may_fail && machine.value(object) == expected)
        }
        _ => 1,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, outcome: u16) -> Effect {
    match op {
        Op::Load(id) => {
            let object = machine.object(id);
            let class = match object {
                Object::Semaphore(_) => Class::AcquireProbe,
                Object::Pipe(_) => Class::Look,
                _ => Class::Read,
            };
            Effect::touch(id, class).returning(object.sees(op))
        }
        Op::Await(id, seen) => {
            let object = machine.object(id);
            Effect::touch(id, object.notices(seen)).returning(object.sees(op))
        }
        Op::Store(id, _) => Effect::touch(id, Class::Write),
        Op::Rmw(id, _) => Effect::touch(id, Class::Write).returning(machine.value(id)),
        Op::CompareExchange {
            object, expected, ..
        } => {
            let value = machine.value(object);
            match value == expected && outcome == 0 {
                true => Effect::touch(object, Class::Write).returning(value),
                false => Effect::touch(object, Class::Read).returning(value).failed(),
            }
        }
        op => unreachable!("{op:?} on an atomic"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    match (machine.object_of(doing.op), doing.op) {
        (Some(Object::Atomic(value)), Op::Store(_, new)) => *value = new,
        (Some(Object::Atomic(value)), Op::Rmw(_, rmw)) => *value = rmw.apply(*value),
        (
            Some(Object::Atomic(value)),
            Op::CompareExchange {
                object, new, weak, ..
            },
        ) => {
            if doing.effect.ok {
                *value = new;
                machine.thread_mut(doing.thread).failed &= !place(object);
            } else if weak && doing.outcome == 1 {
                machine.thread_mut(doing.thread).failed |= place(object);
            }
        }
        (Some(Object::Mutex { version, .. }), Op::Store(..)) => *version += 1,
        _ => {}
    }
}
