//! Objects of the model that no memory of the program stands for.

use crate::{core::objects::Sort, run::world};
use reweave_model::{Object, ObjectId};

/// Objects that no memory of the program stands for; their addresses are places here.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Hidden {
    /// Who holds it ends the process, and never gives it back.
    Exit,
    /// Counts whether the first thread has called `pthread_exit`.
    MainExit,
    /// Counts what is done to names of semaphores.
    Names,
    /// Held in atomic sections.
    Section,
    /// Never changes.
    Nothing,
    /// Protects the list of those who wait: see [`crate::kernel::waits`].
    Waits,
    /// Held in OpenMP's critical sections without a name.
    Critical,
    /// Held where OpenMP makes something atomic by a lock.
    Atomic,
    /// Held by who names files: see [`crate::kernel::file_names`].
    Disk,
    /// Held while libraries are opened and closed.
    Loader,
    /// Counts how often threads have looked at the clock.
    Clock,
}

static HIDDEN: [u64; 11] = [0; 11];

impl Hidden {
    pub(crate) fn address(self) -> usize {
        &raw const HIDDEN as usize + 8 * self as usize
    }

    pub(crate) fn object(self) -> ObjectId {
        let (sort, fresh) = match self {
            Hidden::MainExit => (Sort::Semaphore, Object::Semaphore(0)),
            Hidden::Nothing => (Sort::Atomic, Object::Atomic(0)),
            Hidden::Names | Hidden::Clock => (Sort::Quiet, Object::Atomic(0)),
            Hidden::Waits => (Sort::Quiet, Object::mutex()),
            Hidden::Disk => (Sort::Quiet, Object::rwlock()),
            _ => (Sort::Mutex, Object::mutex()),
        };
        world::borrow().object(self.address(), 8, sort, || fresh)
    }
}
