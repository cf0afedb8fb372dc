//! Which model object a shim object is.
//!
//! *Decides:* the identity of an object in the execution under way. *Called by:* shims, at each operation. *Owns:* one word in each
//! shim object.
//!
//! An object that another execution has used was made outside the test closure, or kept from an earlier run: executions would see each
//! other through it. That is reported as misuse of the checker, and the object is taken for a new one.

use super::{World, task};
use reweave_model::{Error, Kind, Object, ObjectId};
use std::{
    panic::Location,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Execution stamp << 32 | object id. 0: not used yet.
pub(crate) struct Slot(AtomicU64);

impl Slot {
    pub(crate) const fn new() -> Slot {
        Slot(AtomicU64::new(0))
    }

    /// The object's id; its first use in this execution makes it known to the model. Only in a check.
    #[inline]
    #[track_caller]
    pub(crate) fn id(&self, make: impl FnOnce() -> Object) -> ObjectId {
        let word = self.0.load(Relaxed);
        let world = task().expect("an object has an id only in a check").world();
        if (word >> 32) as u32 == world.stamp.get() {
            return ObjectId(word as u32);
        }
        self.register(world, word, make())
    }

    /// The object's id, if it was used in this execution.
    pub(crate) fn known(&self) -> Option<ObjectId> {
        let word = self.0.load(Relaxed);
        let stamp = task()?.world().stamp.get();
        ((word >> 32) as u32 == stamp && word != 0).then_some(ObjectId(word as u32))
    }

    /// Its owner has it to itself and may change it unseen: the next use begins with what it finds.
    pub(crate) fn forget(&mut self) {
        *self.0.get_mut() = 0;
    }

    #[cold]
    #[track_caller]
    fn register(&self, world: &World, word: u64, object: Object) -> ObjectId {
        if word != 0 {
            let place = Location::caller();
            let kind = object.kind_name();
            super::error(Error {
                kind: Kind::Misuse,
                rule: Some("object-from-outside".into()),
                message: format!(
                    "the {kind} used at {place} was made outside the test closure or kept from an earlier execution: executions \
                     would see each other through it. Make it inside the closure, or make it a static"
                ),
                sites: vec![world.seen.site(place)],
                after: None,
            });
        }
        let id = world.run.borrow_mut().object(object);
        let stamp = u64::from(world.stamp.get());
        self.0.store(stamp << 32 | u64::from(id.0), Relaxed);
        id
    }
}
