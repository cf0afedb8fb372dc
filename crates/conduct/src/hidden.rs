//! Objects that a target adds for itself.
//!
//! A library call may have to be modelled by locks and flags that the program does not have: the list of waiters of a
//! futex, the names of open files. The order of the steps at such an object matters and is explored. But the object
//! orders no memory: two accesses of the program with nothing but a hidden lock between them are a race. The target asks
//! [`Run::is_hidden`] and leaves such events out of its race detection.

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{Object, ObjectId};

/// A bit for each object of a run; those behind the end are not hidden.
#[derive(Debug, Default)]
pub(crate) struct HiddenObjects(Vec<u64>);

impl HiddenObjects {
    /// A new run.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, object: ObjectId) {
        let word = object.index() / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (object.index() % 64);
    }

    #[inline]
    fn has(&self, object: ObjectId) -> bool {
        let word = self.0.get(object.index() / 64);
        word.is_some_and(|word| word >> (object.index() % 64) & 1 == 1)
    }
}

impl Run {
    /// Makes an object known that orders no memory.
    pub fn hidden_object(&mut self, object: Object) -> ObjectId {
        let id = self.object(object);
        self.hidden.add(id);
        id
    }

    /// Whether an object orders no memory.
    #[inline]
    pub fn is_hidden(&self, object: ObjectId) -> bool {
        self.hidden.has(object)
    }
}
