//! Support for languages and tools: exceptions, cleanup handlers, long jumps, annotations, the verifier's interface.
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

pub(crate) mod annotations;
pub(crate) mod character_tables;
pub(crate) mod cleanup_handlers;
pub(crate) mod exception_pointers;
pub(crate) mod long_jumps;
pub(crate) mod node_links;
pub(crate) mod verifier;

use crate::{
    core::families::Family,
    hooks::{atomic_sections, library_objects},
    run::unwinding,
};

pub(crate) static FAMILY: Family = Family {
    prepare: |_| {
        unwinding::prepare();
        atomic_sections::prepare();
        character_tables::prepare();
        library_objects::prepare();
    },
    begin_run: || {
        atomic_sections::clear();
        exception_pointers::clear();
        long_jumps::clear();
    },
    thread_begins: |birth| {
        atomic_sections::thread_begins(birth);
        long_jumps::thread_begins(birth);
    },
    process_changes: exception_pointers::process_changes,
    program_begins: exception_pointers::clear,
    ..Family::QUIET
};
