//! One-time initialisation.

use super::{Doing, Object, OnceState};
use crate::{
    dependence::Class,
    machine::{Effect, Machine},
    op::{Op, ThreadId},
};

/// What [`Op::OnceBegin`] returns.
const RUNS: u64 = 0;
const DONE: u64 = 1;
const FAILED: u64 = 2;
const RUNS_AGAIN: u64 = 3;

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::OnceBegin { object, .. } => {
            !matches!(machine.object(object), Object::Once(OnceState::Running(_)))
        }
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, _: u16) -> Effect {
    match op {
        Op::OnceBegin { object, force } => {
            let (result, class) = match machine.object(object) {
                Object::Once(OnceState::Done) => (DONE, Class::Read),
                Object::Once(OnceState::Failed) if !force => (FAILED, Class::Read),
                Object::Once(OnceState::Failed) => (RUNS_AGAIN, Class::Write),
                _ => (RUNS, Class::Write),
            };
            Effect::touch(object, class).returning(result)
        }
        Op::OnceEnd(object, _) => Effect::touch(object, Class::Write),
        op => unreachable!("{op:?} on a one-time initialisation"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Some(Object::Once(state)) = machine.object_of(doing.op) else {
        return;
    };
    match (doing.op, doing.effect.result) {
        (Op::OnceBegin { .. }, RUNS | RUNS_AGAIN) => *state = OnceState::Running(doing.thread),
        (Op::OnceEnd(_, true), _) => *state = OnceState::Done,
        (Op::OnceEnd(_, false), _) => *state = OnceState::Failed,
        _ => {}
    }
}
