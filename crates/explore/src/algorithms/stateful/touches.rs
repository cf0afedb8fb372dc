//! What operations touch, by names that are the same in every run, and what comes before an operation: its past.

use reweave_model::{Execution, ObjectId, Op, ThreadId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How an object is touched. Two touches of one object commute if both are in the same way, and that is not `Changes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Way {
    /// A load.
    Looks,
    /// A reader of a read-write lock comes or goes.
    Reads,
    /// A semaphore is released.
    Releases,
    /// All else.
    Changes,
}

/// An object by its number in [`Touches`], and how it is touched.
type Part = (u32, Way);

fn conflict(a: Part, b: Part) -> bool {
    a.0 == b.0 && (a.1 != b.1 || a.1 == Way::Changes)
}

/// What an operation may touch, whatever its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Touch {
    parts: [Option<Part>; 2],
    special: Special,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Special {
    Nothing,
    /// Takes a mutex, waiting for it.
    Locks,
    Unlocks,
    /// Waits for the end of a thread.
    Joins(ThreadId),
    /// The program ends with it: no other thread goes on.
    Ends,
}

impl Touch {
    /// Of an operation that the program ends with. It depends on all others.
    pub const ENDS: Touch = Touch {
        parts: [None, None],
        special: Special::Ends,
    };

    fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts.iter().flatten().copied()
    }

    /// Whether two operations of different threads may depend on each other where both can come next.
    pub fn races(&self, other: &Touch) -> bool {
        use Special::{Ends, Locks, Unlocks};
        match (self.special, other.special) {
            (Ends, _) | (_, Ends) => true,
            // Never both are next: the mutex is held.
            (Locks, Unlocks) | (Unlocks, Locks) => false,
            _ => self
                .parts()
                .any(|mine| other.parts().any(|it| conflict(mine, it))),
        }
    }

    /// Whether all that could enable an operation like this, which waits, depends on another: it touches the only object of this one in a way
    /// that commutes with nothing.
    pub fn is_decided_by(&self, other: &Touch) -> bool {
        let mut mine = self.parts();
        match (mine.next(), mine.next()) {
            (Some((object, _)), None) => other.parts().any(|it| it == (object, Way::Changes)),
            _ => false,
        }
    }
}

/// Gives objects their numbers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Touches {
    objects: BTreeMap<u64, u32>,
}

impl Touches {
    /// What an operation of an execution touches.
    pub fn of(&mut self, execution: &Execution, op: Op) -> Touch {
        let way = match op {
            Op::Load(_) | Op::Await(..) => Way::Looks,
            Op::ReadLock(_) | Op::ReadUnlock(_) => Way::Reads,
            Op::SemRelease(_) => Way::Releases,
            _ => Way::Changes,
        };
        let mut part = |object: ObjectId| {
            let next = self.objects.len() as u32;
            let name = execution.names[object.index()];
            (*self.objects.entry(name).or_insert(next), way)
        };
        Touch {
            parts: [op.object().map(&mut part), op.second().map(&mut part)],
            special: match op {
                Op::Lock(_) => Special::Locks,
                Op::Unlock(_) | Op::UnlockClean(_) => Special::Unlocks,
                Op::Join(thread) => Special::Joins(thread),
                _ => Special::Nothing,
            },
        }
    }
}

/// What a thread has behind it when it comes to an operation, from some state on: whose steps, and what they touched. Threads and objects may
/// be missing, which costs time only.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Past {
    /// A bit for each of the first threads.
    threads: u64,
    /// One entry for each object, sorted.
    objects: Vec<Part>,
}

impl Past {
    /// Whether there is a step of this thread in it.
    pub fn has(&self, thread: ThreadId) -> bool {
        thread.0 < 64 && self.threads >> thread.0 & 1 == 1
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.threads == 0
    }

    /// Whether all of so many threads have steps in it, but perhaps for one.
    pub fn has_all(&self, count: usize, but: ThreadId) -> bool {
        (0..count as u32).all(|thread| thread == but.0 || self.has(ThreadId(thread)))
    }

    /// Its threads.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + '_ {
        (0..64).map(ThreadId).filter(|thread| self.has(*thread))
    }

    /// Whether a step that touches this comes before one in it.
    pub fn depends(&self, touch: &Touch) -> bool {
        touch.special == Special::Ends
            || touch.parts().any(|part| {
                let known = self.objects.binary_search_by_key(&part.0, |it| it.0);
                known.is_ok_and(|index| conflict(self.objects[index], part))
            })
    }

    /// The same with one step more at its beginning.
    pub fn with(&self, thread: ThreadId, touch: &Touch) -> Past {
        let mut past = self.clone();
        let mut add = |thread: ThreadId| past.threads |= 1_u64.checked_shl(thread.0).unwrap_or(0);
        add(thread);
        if let Special::Joins(other) = touch.special {
            // It comes after all of that thread.
            add(other);
        }
        for (object, way) in touch.parts() {
            match past.objects.binary_search_by_key(&object, |it| it.0) {
                // What commutes with touches in two ways commutes with no touch.
                Ok(known) if past.objects[known].1 != way => past.objects[known].1 = Way::Changes,
                Ok(_) => {}
                Err(place) => past.objects.insert(place, (object, way)),
            }
        }
        past
    }

    /// Whether all that is in it is in another.
    pub fn is_within(&self, other: &Past) -> bool {
        let within = |(object, way): &Part| {
            let known = other.objects.binary_search_by_key(object, |it| it.0);
            known.is_ok_and(|index| [*way, Way::Changes].contains(&other.objects[index].1))
        };
        self.threads & !other.threads == 0 && self.objects.iter().all(within)
    }

    /// What is in both.
    pub fn common(&self, other: &Past) -> Past {
        let both = |(object, way): &Part| {
            let index = other.objects.binary_search_by_key(object, |it| it.0);
            let theirs = other.objects[index.ok()?].1;
            match (*way, theirs) {
                (mine, theirs) if mine == theirs => Some((*object, mine)),
                (Way::Changes, way) | (way, Way::Changes) => Some((*object, way)),
                _ => None,
            }
        };
        Past {
            threads: self.threads & other.threads,
            objects: self.objects.iter().filter_map(both).collect(),
        }
    }
}
