//! Synchronisation objects: mutexes, condition variables, read-write locks, semaphores, barriers, one-time initialisation, futexes.

pub(crate) mod barriers;
pub(crate) mod condvars;
pub(crate) mod futexes;
pub(crate) mod mutexes;
pub(crate) mod named_semaphores;
pub(crate) mod once;
pub(crate) mod robust_mutexes;
pub(crate) mod rwlocks;
pub(crate) mod semaphores;
pub(crate) mod spin_locks;
pub(crate) mod sync_objects;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    prepare: |_| named_semaphores::prepare(),
    conclude: sync_objects::conclude,
    ..Family::QUIET
};
