//! Condition variables, and the queues of futexes. A wait is three events: joining the waiters, leaving them, locking the mutex again.
//!
//! Which waiter a notification wakes is an outcome. A notified thread is no waiter any more, and leaves the wait when it is scheduled.

use super::{Doing, Object, mutex};
use crate::{
    dependence::{Access, Class},
    machine::{Effect, Machine},
    op::{Op, ThreadId},
};

pub(super) fn enabled(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    let me = machine.thread(thread);
    match op {
        Op::Wake { timed, .. } => {
            timed || me.notified.is_some() || (machine.spurious && !me.woke_spuriously)
        }
        _ => true,
    }
}

pub(super) fn outcomes(machine: &Machine, thread: ThreadId, op: Op) -> usize {
    let me = machine.thread(thread);
    match op {
        Op::NotifyOne(condvar) => match machine.object(condvar) {
            Object::Condvar(waiters) => waiters.len().max(1),
            _ => 1,
        },
        Op::Wake { timed: true, .. } => {
            let spurious = machine.spurious && !me.woke_spuriously && me.notified.is_none();
            1 + usize::from(spurious)
        }
        _ => 1,
    }
}

pub(super) fn effect(machine: &Machine, thread: ThreadId, op: Op, outcome: u16) -> Effect {
    let touch = |object, class| Some(Access { object, class });
    match op {
        Op::Enqueue { condvar, mutex } => Effect {
            access: [touch(condvar, Class::Write), touch(mutex, Class::Write)],
            ..Effect::NONE
        },
        Op::EnqueueIf {
            condvar,
            atomic,
            expected,
        } => {
            let value = machine.value(atomic);
            Effect {
                ok: value == expected,
                result: value,
                // What an operation touches must not depend on when it is done, so one that fails looks at both too. The order of
                // those that wait is immaterial: waiters are woken in any order.
                access: [touch(condvar, Class::Read), touch(atomic, Class::Read)],
                ..Effect::NONE
            }
        }
        Op::Wake { condvar, timed } => match machine.thread(thread).notified {
            Some(notification) => Effect::after(notification),
            None => {
                let timed_out = timed && outcome == 0;
                Effect {
                    ok: !timed_out,
                    ..Effect::touch(condvar, Class::Write).returning(2 - u64::from(timed_out))
                }
            }
        },
        Op::NotifyOne(condvar) => {
            let woken = match machine.object(condvar) {
                Object::Condvar(waiters) if !waiters.is_empty() => {
                    1 + u64::from(machine.nth(waiters, outcome.into()).0)
                }
                _ => 0,
            };
            Effect::touch(condvar, Class::Write).returning(woken)
        }
        Op::NotifyAll(condvar) => {
            let woken = match machine.object(condvar) {
                Object::Condvar(waiters) => waiters.len() as u64,
                _ => 0,
            };
            Effect::touch(condvar, Class::Write).returning(woken)
        }
        op => unreachable!("{op:?} on a condition variable"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Doing {
        thread, op, effect, ..
    } = *doing;
    if let Op::Enqueue { mutex, .. } = op {
        mutex::unlock(machine, mutex, true);
    }
    let Some((Object::Condvar(waiters), threads)) = machine.object_and_threads(op) else {
        return;
    };
    match op {
        Op::Enqueue { .. } | Op::EnqueueIf { .. } if effect.ok => {
            waiters.push(thread);
            threads[thread.index()].notified = None;
        }
        Op::Wake { .. } => {
            let me = &mut threads[thread.index()];
            if me.notified.take().is_none() {
                waiters.retain(|waiter| *waiter != thread);
                me.woke_spuriously |= effect.result == 2;
            }
        }
        Op::NotifyOne(_) => {
            if let Some(woken) = effect.result.checked_sub(1) {
                let woken = ThreadId(woken as u32);
                waiters.retain(|waiter| *waiter != woken);
                threads[woken.index()].notified = Some(doing.step);
            }
        }
        Op::NotifyAll(_) => {
            for waiter in waiters.drain(..) {
                threads[waiter.index()].notified = Some(doing.step);
            }
        }
        _ => {}
    }
}

pub(super) fn well_formed(machine: &Machine, thread: ThreadId, op: Op) -> bool {
    match (op, op.object().map(|object| machine.object(object))) {
        (Op::Enqueue { .. } | Op::EnqueueIf { .. }, Some(Object::Condvar(waiters))) => {
            !waiters.contains(&thread)
        }
        _ => true,
    }
}
