//! What every other room stands on: the run and its threads, switching, restart, the program's heap, the runtime's own memory.
//!
//! May import `model`, `wire` and itself.

pub(crate) mod call_sites;
pub(crate) mod cell;
pub(crate) mod channel;
pub(crate) mod debugger;
pub(crate) mod dooms;
pub(crate) mod entry;
pub(crate) mod families;
pub(crate) mod faults;
pub(crate) mod heap;
pub(crate) mod hidden_objects;
pub(crate) mod leaks;
pub(crate) mod leftovers;
pub(crate) mod loader;
pub(crate) mod modules;
pub(crate) mod objects;
pub(crate) mod operations;
pub(crate) mod os_threads;
pub(crate) mod own_memory;
pub(crate) mod per_thread;
pub(crate) mod perform;
pub(crate) mod plain_spin;
pub(crate) mod real;
pub(crate) mod recording;
pub(crate) mod restore;
pub(crate) mod rules;
pub(crate) mod serve;
pub(crate) mod slots;
pub(crate) mod snapshot;
pub(crate) mod spin;
pub(crate) mod switch;
pub(crate) mod sys;
pub(crate) mod times;
pub(crate) mod turns;
pub(crate) mod world;
