//! Mutexes. Their touches are reads (a failed attempt) and writes, as of an atomic.

use super::{Doing, Object, ObjectKind};
use crate::{
    dependence::Class,
    machine::{Effect, Machine},
    op::{ObjectId, Op, Synchronises, ThreadId},
};

impl Op {
    /// The lock that it takes for itself alone, if it succeeds.
    pub fn locks(self) -> Option<ObjectId> {
        let kind = self.kind();
        match (kind.synchronises(), kind.object_kind()) {
            (Synchronises::Acquire, Some(ObjectKind::Mutex)) => self.object(),
            (Synchronises::AcquireAll, _) => self.object(),
            _ => None,
        }
    }

    /// The lock, taken for its thread alone, that it gives back.
    pub fn unlocks(self) -> Option<ObjectId> {
        let kind = self.kind();
        match (kind.synchronises(), kind.object_kind()) {
            (Synchronises::Release, Some(ObjectKind::Once)) => None,
            (Synchronises::Release, _) => self.released(),
            _ => None,
        }
    }
}

impl Machine {
    #[inline]
    pub(crate) fn free(&self, mutex: ObjectId) -> bool {
        matches!(self.object(mutex), Object::Mutex { holder: None, .. })
    }
}

/// Gives it back; `changed`: so may have what it protects.
pub(super) fn unlock(machine: &mut Machine, mutex: ObjectId, changed: bool) {
    if let Object::Mutex { holder, version } = machine.object_mut(mutex) {
        *holder = None;
        *version += u64::from(changed);
    }
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::Lock(mutex) => machine.free(mutex),
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, _: u16) -> Effect {
    match op {
        Op::TryLock(mutex) if !machine.free(mutex) => Effect::touch(mutex, Class::Read).failed(),
        Op::Lock(mutex) | Op::TryLock(mutex) | Op::Unlock(mutex) | Op::UnlockClean(mutex) => {
            Effect::touch(mutex, Class::Write)
        }
        op => unreachable!("{op:?} on a mutex"),
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    match doing.op {
        Op::Unlock(mutex) => unlock(machine, mutex, true),
        Op::UnlockClean(mutex) => unlock(machine, mutex, false),
        Op::Lock(mutex) | Op::TryLock(mutex) if doing.effect.ok => {
            if let Object::Mutex { holder, .. } = machine.object_mut(mutex) {
                *holder = Some(doing.thread);
            }
        }
        _ => {}
    }
}
