//! Threads: creation, joining, attributes, names, scheduling, cancellation, memory of their own, and C11's names for all of that.
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

pub(crate) mod attributes;
pub(crate) mod c11_threads;
pub(crate) mod cancellation;
pub(crate) mod joins;
pub(crate) mod lifecycle;
pub(crate) mod own_handles;
pub(crate) mod scheduling;
pub(crate) mod thread_keys;
pub(crate) mod thread_locals;
pub(crate) mod thread_names;

use crate::{
    core::families::Family,
    run::{cancellation as core_cancellation, unwinding},
};
use reweave_model::End;

pub(crate) static FAMILY: Family = Family {
    begin_run: || {
        core_cancellation::clear();
        unwinding::clear();
        attributes::clear();
        joins::clear();
        scheduling::clear();
        thread_keys::clear();
        thread_locals::clear();
        thread_names::clear();
    },
    prepare: |_| lifecycle::prepare(),
    process_changes: thread_keys::process_changes,
    identify: |out| {
        core_cancellation::identify(out);
        attributes::identify(out);
        scheduling::identify(out);
    },
    thread_begins: |birth| {
        core_cancellation::thread_begins(birth);
        unwinding::thread_begins(birth);
        attributes::thread_begins(birth);
        joins::thread_begins(birth);
        scheduling::thread_begins(birth);
        thread_locals::thread_begins(birth);
        thread_names::thread_begins(birth);
    },
    program_begins: thread_keys::clear,
    thread_ends: || {
        thread_locals::destroy_all();
        thread_keys::destroy_values();
    },
    process_ends: |_, _| thread_locals::destroy_all(),
    conclude: |end| {
        if end == End::Done {
            lifecycle::conclude();
        }
    },
    ..Family::QUIET
};
