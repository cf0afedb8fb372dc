//! The process: its end, signals, limits, identity, raw system calls, and calls that are not supported.

pub(crate) mod awaited_signals;
pub(crate) mod exit_handlers;
pub(crate) mod output;
pub(crate) mod process_end;
pub(crate) mod random;
pub(crate) mod resource_limits;
pub(crate) mod signals;
pub(crate) mod syscalls;
pub(crate) mod system_info;
pub(crate) mod unsupported;

use crate::core::families::Family;
use reweave_model::End;

pub(crate) static FAMILY: Family = Family {
    prepare: |_| {
        process_end::prepare();
        output::prepare();
    },
    conclude: |end| {
        if end == End::Done {
            process_end::conclude();
        }
    },
    clean_up: output::clean_up,
    ..Family::QUIET
};
