//! The process: its end, signals, limits, identity, random numbers, raw system calls, and calls that are not supported.
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

pub(crate) mod at_fork;
pub(crate) mod awaited_signals;
pub(crate) mod credentials;
pub(crate) mod entropy;
pub(crate) mod exec;
pub(crate) mod exit_handlers;
pub(crate) mod forks;
pub(crate) mod old_signals;
pub(crate) mod process_end;
pub(crate) mod random;
pub(crate) mod resource_limits;
pub(crate) mod signals;
pub(crate) mod spawn;
pub(crate) mod syscalls;
pub(crate) mod system_info;
pub(crate) mod unsupported;

use crate::{
    core::families::Family,
    kernel::signals as kernel_signals,
    run::{captured_output, credentials as users, process_end as end, signal_actions},
    shared::{injected_faults, resource_limits as limits},
};
use reweave_model::End;

pub(crate) static FAMILY: Family = Family {
    prepare: |_| {
        exit_handlers::prepare();
        captured_output::prepare();
    },
    begin_run: || {
        end::clear();
        users::clear();
        at_fork::clear();
        entropy::clear();
        exit_handlers::clear();
        injected_faults::clear();
        limits::clear();
        random::clear();
        signals::clear();
    },
    identify: |out| {
        kernel_signals::identify(out);
        exit_handlers::identify(out);
    },
    thread_begins: |birth| {
        entropy::thread_begins(birth);
        kernel_signals::thread_begins(birth);
        signals::thread_begins(birth);
    },
    program_begins: || {
        end::clear();
        at_fork::clear();
        exit_handlers::clear();
        signal_actions::forget_handlers();
    },
    process_ends: exit_handlers::run_all,
    each_kept: |each| {
        exit_handlers::each_kept(each);
        signals::each_kept(each);
    },
    conclude: |ended| {
        if ended == End::Done {
            end::conclude();
            resource_limits::conclude();
        }
    },
    clean_up: captured_output::clean_up,
    process_changes: |change| {
        at_fork::process_changes(change);
        exit_handlers::process_changes(change);
        limits::process_changes(change);
    },
    ..Family::QUIET
};
