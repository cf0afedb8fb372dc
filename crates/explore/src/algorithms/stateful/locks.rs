//! Whether locks, and the creation and the end of threads, keep all accesses apart that the search has seen.
//!
//! A run that is cut at a visited state may have had a race with what comes after that state: only whole runs show all races. But where
//! every two accesses of one place, one of them a write, are made under a common lock, or one by a thread before it creates the other or
//! after it has joined it, there is none in any run. The accesses behind all steps that were tried are looked at, from whichever state. If
//! nothing of that keeps two of them apart, the program is explored by another algorithm.
//!
//! *Why it is enough.* If a run of the program has a race, take its two accesses and all that happens before the steps that they
//! follow. That is a run, and the search has tried a permutation of its steps by swapping neighbours that do not depend on each
//! other, in one piece or in several that meet at states. There each access is made by the same thread after the same step, so with the
//! same locks held and the same threads joined. If one lock were held at both, or one thread had been created after the other access,
//! or joined before it, they would be ordered in that run.
//!
//! *May give way* though there is no race: where only semaphores, conditions or atomics order accesses.

use reweave_model::{Execution, Machine, Object, PlainAccess, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one thread did to some bytes of a granule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Use {
    thread: ThreadId,
    path: Vec<u32>,
    /// How many threads there were.
    threads: u32,
    mask: u8,
    write: bool,
    atomic: bool,
    /// Names of the locks that it held.
    locks: Vec<u64>,
    /// Threads that it had joined.
    joined: Vec<ThreadId>,
}

/// Accesses by granules of eight bytes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Uses {
    granules: BTreeMap<u64, Vec<Use>>,
}

/// An access that covers more granules is not looked at.
const MOST: u64 = 1 << 14;

impl Uses {
    /// Looks at the accesses that were made after so many events, where the model is in this state; whether all are kept apart.
    pub fn look_at(&mut self, execution: &Execution, state: &Machine, position: usize) -> bool {
        let all = &execution.accesses;
        let from = all.partition_point(|it| (it.position as usize) < position);
        let here = all[from..]
            .iter()
            .take_while(|it| it.position as usize == position);
        let mut known: Option<Use> = None;
        for access in here {
            let mut one = match known.take() {
                Some(one) if one.thread == access.thread => one,
                _ => Use::by(access.thread, execution, state, position),
            };
            (one.threads, one.write, one.atomic) = (access.threads, access.write, access.atomic);
            if !self.add(&mut one, access) {
                return false;
            }
            known = Some(one);
        }
        true
    }

    fn add(&mut self, one: &mut Use, access: &PlainAccess) -> bool {
        let end = access.address + u64::from(access.bytes);
        let granules = access.address / 8..end.div_ceil(8);
        if granules.end - granules.start > MOST {
            return false;
        }
        for granule in granules {
            let start = access.address.max(granule * 8) - granule * 8;
            let upto = end.min(granule * 8 + 8) - granule * 8;
            one.mask = ((1_u16 << upto) - (1 << start)) as u8;
            let uses = self.granules.entry(granule).or_default();
            if uses.contains(one) {
                continue;
            }
            if uses.iter().any(|other| one.may_race(other)) {
                return false;
            }
            uses.push(one.clone());
        }
        true
    }
}

impl Use {
    fn by(thread: ThreadId, execution: &Execution, state: &Machine, position: usize) -> Use {
        let holds = |object: &Object| match object {
            Object::Mutex { holder, .. } => *holder == Some(thread),
            _ => false,
        };
        let objects = state.objects().iter().zip(&execution.names);
        // The lowest bit: it orders no memory.
        let locks = objects.filter(|(object, name)| *name & 1 == 0 && holds(object));
        let events = execution.events[..position].iter();
        let joined = events
            .filter(|it| it.thread == thread)
            .filter_map(|event| match event.op {
                reweave_model::Op::Join(other) => Some(other),
                _ => None,
            });
        Use {
            thread,
            path: execution.threads[thread.index()].path.clone(),
            threads: 0,
            mask: 0,
            write: false,
            atomic: false,
            locks: locks.map(|(_, name)| *name).collect(),
            joined: joined.collect(),
        }
    }

    /// Whether nothing keeps the two apart.
    fn may_race(&self, other: &Use) -> bool {
        self.thread != other.thread
            && self.mask & other.mask != 0
            && (self.write || other.write)
            && !(self.atomic && other.atomic)
            && !self.locks.iter().any(|lock| other.locks.contains(lock))
            && !self.comes_apart(other)
            && !other.comes_apart(self)
    }

    /// Whether the other thread was created by this one after its access, or had ended and was joined by it before.
    fn comes_apart(&self, other: &Use) -> bool {
        // Children of one thread have numbers in the order of their creation.
        let child = other.path.len() == self.path.len() + 1 && other.path.starts_with(&self.path);
        child && other.thread.0 >= self.threads || self.joined.contains(&other.thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn use_of(thread: u32, path: &[u32], write: bool) -> Use {
        Use {
            thread: ThreadId(thread),
            path: path.into(),
            threads: 3,
            mask: 0b1111,
            write,
            atomic: false,
            locks: Vec::new(),
            joined: Vec::new(),
        }
    }

    #[test]
    fn a_common_lock_keeps_accesses_apart() {
        let (mut one, mut other) = (use_of(1, &[0], true), use_of(2, &[1], false));
        assert!(one.may_race(&other) && other.may_race(&one));
        one.locks = vec![4, 6];
        assert!(one.may_race(&other));
        other.locks = vec![6];
        assert!(!one.may_race(&other) && !other.may_race(&one));
    }

    #[test]
    fn other_bytes_readers_and_atomics_do_not_race() {
        let (mut one, mut other) = (use_of(1, &[0], true), use_of(2, &[1], false));
        other.mask = 0b1111_0000;
        assert!(!one.may_race(&other));
        other.mask = 0b0001_1000;
        assert!(one.may_race(&other));
        (one.atomic, other.atomic) = (true, true);
        assert!(!one.may_race(&other));
        (one.atomic, one.write) = (false, false);
        assert!(!one.may_race(&other));
    }

    /// An access of main while there were three threads comes before all of a fourth one that main creates, and after all of one that it
    /// has joined.
    #[test]
    fn creation_and_end_keep_accesses_apart() {
        let mut main = use_of(0, &[], true);
        assert!(main.may_race(&use_of(2, &[1], true)));
        assert!(!main.may_race(&use_of(3, &[2], true)));
        assert!(!use_of(3, &[2], true).may_race(&main));
        // The child of a thread that was there may have been created by then.
        assert!(main.may_race(&use_of(3, &[0, 0], true)));
        main.joined = vec![ThreadId(2)];
        assert!(!main.may_race(&use_of(2, &[1], true)));
        assert!(main.may_race(&use_of(1, &[0], true)));
    }
}
