//! Streams of stdio. What they have in common with calls on descriptors is in [`crate::kernel`].

pub(crate) mod formatted_streams;
pub(crate) mod messages;
pub(crate) mod stream_calls;
pub(crate) mod stream_cancellation;
pub(crate) mod stream_lifetimes;
pub(crate) mod stream_locks;
pub(crate) mod stream_objects;
pub(crate) mod stream_opening;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    begin_run: || {
        stream_cancellation::begin_run();
        stream_locks::begin_run();
        stream_objects::begin_run();
    },
    identify: stream_locks::identify,
    program_begins: || {
        stream_cancellation::begin_run();
        stream_locks::begin_run();
        stream_objects::begin_run();
    },
    process_changes: |change| {
        stream_cancellation::process_changes(change);
        stream_locks::process_changes(change);
        stream_objects::process_changes(change);
    },
    ..Family::QUIET
};
