//! Which thread holds a mutex of the model.

use crate::run::world;
use reweave_model::{Object, ObjectId, ThreadId};

/// The thread that holds a mutex.
pub fn holder(mutex: ObjectId) -> Option<ThreadId> {
    match world::borrow().run.state().object(mutex) {
        Object::Mutex { holder, .. } => *holder,
        _ => None,
    }
}

/// Whether the running thread holds a mutex.
#[inline]
pub fn held(mutex: ObjectId) -> bool {
    let world = world::borrow();
    let me = Some(world.current);
    matches!(world.run.state().object(mutex), Object::Mutex { holder, .. } if *holder == me)
}
