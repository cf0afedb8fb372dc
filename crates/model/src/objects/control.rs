//! Operations without an object: joining a thread, choosing, assuming.

use super::Doing;
use crate::{
    machine::{Effect, Machine},
    op::{Op, ThreadId},
};

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::Join(other) => machine.finished(other),
        Op::Assume(holds) => holds,
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, outcome: u16) -> Effect {
    match op {
        Op::Join(other) => Effect::after(machine.last_step(other)),
        Op::Any(_) => Effect::NONE.returning(outcome.into()),
        _ => Effect::NONE,
    }
}

pub(super) fn apply(_: &mut Machine, _: &Doing) {}
