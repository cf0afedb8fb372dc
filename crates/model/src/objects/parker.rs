//! Parking tokens of threads; signals of native programs are such tokens too.

use super::{Doing, Object};
use crate::{
    dependence::Class,
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};

fn has_token(machine: &Machine, parker: ObjectId) -> bool {
    matches!(machine.object(parker), Object::Parker(true))
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::Park { object, timed } => timed || has_token(machine, object),
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, _: u16) -> Effect {
    match op {
        Op::Park { object, .. } if !has_token(machine, object) => {
            Effect::touch(object, Class::Write).failed()
        }
        Op::Park { object, .. } | Op::Unpark(object) => Effect::touch(object, Class::Write),
        op => unreachable!("{op:?} on a parking token"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    if let Some(Object::Parker(token)) = machine.object_of(doing.op) {
        *token = matches!(doing.op, Op::Unpark(_));
    }
}
