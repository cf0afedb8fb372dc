//! What the operating system keeps for a process, as a run sees it: descriptors and what they are open on, offsets, file locks, file
//! mappings, the overlay that keeps the user's disk untouched, and waiting on several objects.
//!
//! May import `core` and `hooks`, never a family of calls.

pub(crate) mod descriptor_arguments;
pub(crate) mod descriptor_ranges;
pub(crate) mod descriptor_table;
pub(crate) mod file_locks;
pub(crate) mod file_mappings;
pub(crate) mod file_names;
pub(crate) mod file_objects;
pub(crate) mod futexes;
pub(crate) mod offsets;
pub(crate) mod open_description;
pub(crate) mod overlay;
pub(crate) mod path_resolution;
pub(crate) mod signals;
pub(crate) mod waits;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    prepare: |beginning| {
        file_names::prepare(&beginning.disk);
        file_objects::prepare();
        waits::prepare();
    },
    before_report: descriptor_table::conclude,
    thread_ends: waits::end,
    clean_up: || {
        file_names::clean_up();
        file_objects::clean_up();
    },
    ..Family::QUIET
};
