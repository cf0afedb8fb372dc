//! Synchronisation objects: mutexes, condition variables, read-write locks, semaphores, barriers, one-time initialisation, and
//! C11's names for them. Futexes, which come in by `syscall`, are in [`crate::kernel::futexes`].
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

pub(crate) mod barriers;
pub(crate) mod c11_sync;
pub(crate) mod condvars;
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
    begin_run: || {
        named_semaphores::clear();
        once::clear();
        robust_mutexes::clear();
    },
    thread_begins: |birth| {
        once::thread_begins(birth);
        robust_mutexes::thread_begins(birth);
    },
    process_changes: named_semaphores::process_changes,
    thread_ends: robust_mutexes::orphan_all,
    forked_process_ends: robust_mutexes::orphan_all,
    conclude: sync_objects::conclude,
    clean_up: sync_objects::erase_marks,
    ..Family::QUIET
};
