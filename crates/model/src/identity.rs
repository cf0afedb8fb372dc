//! Identities of states: what stateful search recognises a state by.
//!
//! A state is the state of all objects, of what the model knows of each thread, and of what the target adds: memory, registers, stacks. Its
//! identity is a number of 128 bits made of all that. Two states with the same identity must have the same future, whatever happened
//! before; two states with the same future may have different identities, which costs time only.
//!
//! *Called by:* conductors of targets under [`Policy::States`](crate::Policy::States). Left out is what only tells of the past: how many steps a
//! thread has done, which step a wait was ended by, how often a lock was released. Threads have the numbers of the run, so the paths of all threads
//! in the order of their creation belong to the state. Objects go by names that are the same in every run.

use crate::{
    machine::Machine,
    objects::{Object, OnceState},
    op::{ObjectId, ThreadId},
};
use core::hash::{Hash, Hasher};
use serde::{Deserialize, Serialize};

/// What a state is recognised by.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct StateId(pub u128);

/// What a program does that the states of a run do not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Unrecorded {
    Clock,
    Processes,
    Descriptors,
    Signals,
    Stacks,
    Calls,
}

impl Unrecorded {
    /// All of them: the place is the number in files.
    pub const ALL: [Unrecorded; 6] = [
        Unrecorded::Clock,
        Unrecorded::Processes,
        Unrecorded::Descriptors,
        Unrecorded::Signals,
        Unrecorded::Stacks,
        Unrecorded::Calls,
    ];

    /// The end of a sentence that begins with *because*.
    pub const fn why(self) -> &'static str {
        match self {
            Unrecorded::Clock => "the program reads the clock, and time is no part of a state",
            Unrecorded::Processes => "states of several processes are not recorded",
            Unrecorded::Descriptors => {
                "the program uses files, pipes or sockets, which are no part of a state"
            }
            Unrecorded::Signals => "the program uses signals, which are no part of a state",
            Unrecorded::Stacks => "the program has stacks of its own, which are no part of a state",
            Unrecorded::Calls => "the program makes calls whose effects are no part of a state",
        }
    }
}

/// An identity in the making: two independent sums over the same words.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    low: u64,
    high: u64,
}

impl Default for Identity {
    fn default() -> Identity {
        Identity {
            low: 0x243f_6a88_85a3_08d3,
            high: 0x1319_8a2e_0370_7344,
        }
    }
}

impl Identity {
    /// Adds a word, whose place matters.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.low = mix(self.low ^ word, 0x9e37_79b9_7f4a_7c15);
        self.high = mix(self.high.rotate_left(23) ^ word, 0xc2b2_ae3d_27d4_eb4f);
    }

    /// Adds a part of what comes in no order.
    #[inline]
    pub fn add(&mut self, part: Identity) {
        self.low = self.low.wrapping_add(mix(part.low, 2));
        self.high = self.high.wrapping_add(mix(part.high, 3));
    }

    /// The number.
    pub fn id(self) -> StateId {
        StateId(u128::from(self.high) << 64 | u128::from(self.low))
    }
}

/// Both halves of the product depend on all bits of the word.
fn mix(word: u64, factor: u64) -> u64 {
    let mut z = word.wrapping_add(factor);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.low
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.word(word);
    }
}

/// What of a state lies in the model.
impl Machine {
    /// Adds threads, and the objects that are not `elsewhere`: atomics whose values are part of the memory that the target adds.
    pub fn identify(
        &self,
        name: impl Fn(ObjectId) -> u64,
        elsewhere: impl Fn(ObjectId) -> bool,
        out: &mut Identity,
    ) {
        let mut sum = (0, 0);
        for (object, index) in self.objects().iter().zip(0..) {
            let left_out = || matches!(object, Object::Atomic(_)) && elsewhere(ObjectId(index));
            if !object.is_idle() && !left_out() {
                // Objects have numbers in the order of their first use, which is not part of the state: a sum in no order.
                let mut one = Identity::default();
                one.word(name(ObjectId(index)));
                object.identify(&mut one);
                sum = (one.low.wrapping_add(sum.0), one.high.wrapping_add(sum.1));
            }
        }
        out.word(sum.0);
        out.word(sum.1);
        for index in 0..self.order().len() {
            let id = ThreadId(index as u32);
            self.path(id).hash(out);
            let failed = self.failures(id).map(|object| mix(name(object), 1));
            out.word(failed.fold(0, u64::wrapping_add));
            out.word(self.flags(id));
        }
    }
}

impl Object {
    /// Whether it is as at its first use: such an object is the same as one that was not used yet.
    fn is_idle(&self) -> bool {
        match self {
            Object::Mutex { holder, .. } => holder.is_none(),
            Object::RwLock {
                writer, readers, ..
            } => writer.is_none() && readers.is_empty(),
            Object::Condvar(waiters) => waiters.is_empty(),
            Object::Once(state) => *state == OnceState::New,
            Object::Pool(addresses) => addresses.is_empty(),
            _ => false,
        }
    }

    fn identify(&self, out: &mut Identity) {
        match self {
            Object::Mutex { holder, .. } => holder.hash(out),
            Object::RwLock {
                writer,
                acquired,
                readers,
                ..
            } => {
                (writer, acquired).hash(out);
                sorted(readers, out);
            }
            // Any of them may be woken.
            Object::Condvar(waiters) => sorted(waiters, out),
            // The others as they stand, with all that they remember of the past.
            other => other.hash(out),
        }
    }
}

fn sorted(threads: &[ThreadId], out: &mut Identity) {
    let mut threads = threads.to_vec();
    threads.sort_unstable();
    threads.hash(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;

    fn id(machine: &Machine) -> StateId {
        let mut identity = Identity::default();
        machine.identify(|object| u64::from(object.0), |_| false, &mut identity);
        identity.id()
    }

    #[test]
    fn a_mutex_that_was_used_is_as_before() {
        let mut machine = Machine::default();
        let thread = machine.spawn(None);
        let mutex = machine.create(Object::mutex());
        let before = id(&machine);
        machine.apply(thread, Op::Lock(mutex), 0);
        assert_ne!(id(&machine), before);
        machine.apply(thread, Op::Unlock(mutex), 0);
        assert_eq!(id(&machine), before);
    }

    #[test]
    fn the_order_of_first_use_does_not_matter() {
        let states = [[1, 2], [2, 1]].map(|values| {
            let mut machine = Machine::default();
            machine.spawn(None);
            for value in values {
                machine.create(Object::Atomic(value));
            }
            let mut identity = Identity::default();
            machine.identify(|object| values[object.index()], |_| false, &mut identity);
            identity.id()
        });
        assert_eq!(states[0], states[1]);
    }
}
