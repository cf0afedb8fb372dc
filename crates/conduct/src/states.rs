//! States of a run, for stateful search.
//!
//! *Called by:* targets under [`Policy::States`], before each turn, when every thread has announced its operation or ended. The target makes
//! the identity: what the model knows comes from [`Machine::identify`](reweave_model::Machine::identify), the operations that threads have come to from
//! [`Run::identify`], and memory, registers and stacks it adds itself. *Owns:* the states of the run so far, to see a cycle close.

use crate::run::Run;
use alloc::{collections::BTreeSet, vec::Vec};
use core::hash::Hash;
use reweave_model::{End, Identity, ObjectId, PlainAccess, Policy, StateId, Unrecorded};

/// The states of a run.
#[derive(Debug, Default)]
pub(crate) struct KnownStates {
    all: BTreeSet<StateId>,
    /// The last one was there before.
    again: bool,
}

impl KnownStates {
    /// A new run.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.again = false;
    }
}

impl Run {
    /// Whether the plan asks for states.
    #[inline]
    pub fn records_states(&self) -> bool {
        matches!(self.plan.policy, Policy::States { .. })
    }

    /// Adds what the run knows: objects, threads, and the operations that threads have come to. `name`: of objects, in all
    /// runs the same. `elsewhere`: atomics whose values are part of the memory that the target adds.
    pub fn identify(
        &self,
        name: impl Fn(ObjectId) -> u64,
        elsewhere: impl Fn(ObjectId) -> bool,
        out: &mut Identity,
    ) {
        self.state.identify(&name, elsewhere, out);
        for pending in &self.pending {
            let Some(pending) = pending else {
                out.word(0);
                continue;
            };
            // Objects by their names: their numbers are not the same in every run.
            let operands = pending.op.operands();
            let objects = [operands.object, operands.mutex, operands.atomic];
            (
                pending.op.kind(),
                pending.gate,
                objects.map(|it| it.map(&name)),
            )
                .hash(out);
            (operands.thread, operands.count, operands.value).hash(out);
            (operands.expected, operands.rmw).hash(out);
            (operands.timed, operands.flag).hash(out);
        }
    }

    /// The run does something that states do not hold: from here on they are not known.
    pub fn leave_states(&mut self, why: Unrecorded) {
        self.execution.unrecorded.get_or_insert(why);
    }

    /// The run is in this state now.
    pub fn enter_state(&mut self, id: StateId) {
        debug_assert_eq!(self.execution.states.len(), self.execution.events.len());
        self.known.again = !self.known.all.insert(id);
        self.execution.states.push(id);
    }

    /// A thread accesses memory, which is no event. Accesses behind steps that were tried before are known.
    pub fn note_access(&mut self, mut access: PlainAccess) {
        let done = self.execution.events.len();
        if done < self.plan.steps.len() || self.execution.unrecorded.is_some() {
            return;
        }
        access.position = done as u32;
        access.threads = self.execution.threads.len() as u32;
        let all = &mut self.execution.accesses;
        if let Some(last) = all.last_mut() {
            let end = last.address + u64::from(last.bytes);
            let goes_on = PlainAccess {
                address: end,
                bytes: access.bytes,
                ..*last
            };
            if goes_on == access && last.bytes < 1 << 20 {
                last.bytes += access.bytes;
                return;
            }
        }
        all.push(access);
    }

    /// The names of all objects, when the run is over.
    pub fn name_objects(&mut self, name: impl Fn(ObjectId) -> u64) {
        let count = self.execution.objects.len() as u32;
        let names: Vec<u64> = (0..count).map(|index| name(ObjectId(index))).collect();
        self.execution.names = names;
    }

    /// How the run ends if a cycle of states has just been closed.
    pub(crate) fn closes_cycle(&self) -> Option<End> {
        let Policy::States { livelock } = self.plan.policy else {
            return None;
        };
        if self.execution.unrecorded.is_some() {
            return Some(End::Redundant);
        }
        self.known.again.then_some(match livelock {
            true => End::Livelock,
            false => End::Redundant,
        })
    }
}
