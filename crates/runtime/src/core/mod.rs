//! What every other room stands on, without a run: cells, system calls, the runtime's own memory, switching and restart, modules and
//! symbols, the driver's channel, trampolines.
//!
//! May import `model`, `wire` and itself.

pub(crate) mod cell;
pub(crate) mod channel;
pub(crate) mod families;
pub(crate) mod loader;
pub(crate) mod modules;
pub(crate) mod objects;
pub(crate) mod own_memory;
pub(crate) mod per_process;
pub(crate) mod per_thread;
pub(crate) mod program_start;
pub(crate) mod program_symbols;
pub(crate) mod real;
pub(crate) mod restore;
pub(crate) mod shared_memory;
pub(crate) mod signal_names;
pub(crate) mod switch;
pub(crate) mod sys;
pub(crate) mod system_call_names;
pub(crate) mod trampoline;
pub(crate) mod unseen_calls;
pub(crate) mod variadic;
