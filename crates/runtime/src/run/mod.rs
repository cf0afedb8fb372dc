//! The run at hand: the world and its threads, turns and operations, checked accesses, loops that wait, faults, and what happens between two
//! runs.
//!
//! May import `core`.

pub(crate) mod accesses;
pub(crate) mod address_reuse;
pub(crate) mod atomic_objects;
pub(crate) mod atomic_peeks;
pub(crate) mod call_sites;
pub(crate) mod callers;
pub(crate) mod cancellation;
pub(crate) mod captured_output;
pub(crate) mod closed_code;
pub(crate) mod credentials;
pub(crate) mod debugger;
pub(crate) mod dooms;
pub(crate) mod entry;
pub(crate) mod faults;
pub(crate) mod foreign_code;
pub(crate) mod handle_copies;
pub(crate) mod heap;
pub(crate) mod hidden_objects;
pub(crate) mod leaks;
pub(crate) mod leftovers;
pub(crate) mod line_traps;
pub(crate) mod memory_image;
pub(crate) mod object_lifetimes;
pub(crate) mod operations;
pub(crate) mod os_threads;
pub(crate) mod outside_run;
pub(crate) mod panics;
pub(crate) mod perform;
pub(crate) mod plain_spin;
pub(crate) mod process_end;
pub(crate) mod processes;
pub(crate) mod racy_units;
pub(crate) mod recording;
pub(crate) mod rules;
pub(crate) mod serve;
pub(crate) mod signal_actions;
pub(crate) mod slots;
pub(crate) mod snapshot;
pub(crate) mod spin;
pub(crate) mod states;
pub(crate) mod thread_end;
pub(crate) mod thread_identities;
pub(crate) mod times;
pub(crate) mod turns;
pub(crate) mod unwinding;
pub(crate) mod watched_reads;
pub(crate) mod wide_values;
pub(crate) mod world;
