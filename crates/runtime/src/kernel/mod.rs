//! What the operating system keeps for a process, as a run sees it.
//!
//! | part | files |
//! | --- | --- |
//! | open descriptions, what a descriptor is open on, those that the run models | `open_description`, `eventfd`, `endpoints`, `pipes`, `native_room`, `blocking` |
//! | sockets, their addresses and connections | `sockets`, `addresses`, `connections`, `datagrams` |
//! | descriptor table, closing, numbers of each thread | `descriptor_table`, `closing`, `descriptor_ranges`, `descriptor_arguments` |
//! | what ranks of MPI wait for | `rank_channels` |
//! | disk overlay, names and paths | `overlay`, `file_names`, `nameless_files`, `path_resolution`, `open_checks`, `paths` |
//! | files as objects of the model | `file_objects` |
//! | file locks, mapped files | `file_locks`, `file_mappings` |
//! | what the process had at `main` | `start_state` |
//! | waiting on several objects, futexes, signals | `readiness`, `epoll`, `waits`, `imported_names`, `futexes`, `signals` |
//! | the operating system and the C library | `os_files`, `libc_streams`, `program_memory` |
//! | happens-before | `ordering` |
//!
//! Each part keeps its state in one cell. May import `core`, `run` and `shared`, never a family of calls.

pub(crate) mod addresses;
pub(crate) mod blocking;
pub(crate) mod closing;
pub(crate) mod connections;
pub(crate) mod datagrams;
pub(crate) mod descriptor_arguments;
pub(crate) mod descriptor_ranges;
pub(crate) mod descriptor_table;
pub(crate) mod endpoints;
pub(crate) mod epoll;
pub(crate) mod eventfd;
pub(crate) mod file_locks;
pub(crate) mod file_mappings;
pub(crate) mod file_names;
pub(crate) mod file_objects;
pub(crate) mod futexes;
pub(crate) mod imported_names;
pub(crate) mod libc_streams;
pub(crate) mod nameless_files;
pub(crate) mod native_room;
pub(crate) mod open_checks;
pub(crate) mod open_description;
pub(crate) mod ordering;
pub(crate) mod os_files;
pub(crate) mod overlay;
pub(crate) mod passed_calls;
pub(crate) mod path_resolution;
pub(crate) mod paths;
pub(crate) mod pipes;
pub(crate) mod program_memory;
pub(crate) mod rank_channels;
pub(crate) mod readiness;
pub(crate) mod signals;
pub(crate) mod sockets;
pub(crate) mod start_state;
pub(crate) mod waits;

use crate::{core::families::Family, run::recording};

pub(crate) static FAMILY: Family = Family {
    prepare: |beginning| {
        overlay::overlay().set_root(&beginning.disk);
        start_state::prepare();
        epoll::prepare();
        waits::prepare();
        path_resolution::prepare();
        recording::NAMES.set(file_objects::named);
    },
    begin_run: || {
        addresses::begin_run();
        connections::begin_run();
        descriptor_table::begin_run();
        endpoints::begin_run();
        epoll::begin_run();
        file_locks::begin_run();
        file_mappings::begin_run();
        file_names::begin_run();
        file_objects::begin_run();
        libc_streams::begin_run();
        open_description::begin_run();
        pipes::begin_run();
        readiness::begin_run();
        sockets::begin_run();
        start_state::begin_run();
        waits::begin_run();
    },
    thread_begins: |birth| {
        file_names::thread_begins(birth);
        waits::thread_begins(birth);
    },
    thread_ends: waits::end,
    one_of_several_ends: endpoints::drop_all,
    before_report: || {
        descriptor_table::conclude();
        path_resolution::conclude();
    },
    clean_up: || {
        file_names::clean_up();
        nameless_files::clean_up();
        path_resolution::clean_up();
        start_state::clean_up();
    },
    program_begins: || {
        file_mappings::program_begins();
        libc_streams::begin_run();
    },
    process_changes: |change| {
        descriptor_table::process_changes(change);
        file_mappings::process_changes(change);
        libc_streams::process_changes(change);
        readiness::process_changes(change);
        signals::process_changes(change);
    },
    ..Family::QUIET
};
