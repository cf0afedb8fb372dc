//! Threads: creation, joining, attributes, names, scheduling, cancellation, and C11's names for all of that.

pub(crate) mod attributes;
pub(crate) mod c11;
pub(crate) mod cancellation;
pub(crate) mod joins;
pub(crate) mod lifecycle;
pub(crate) mod scheduling;
pub(crate) mod thread_names;

use crate::core::families::Family;
use reweave_model::End;

pub(crate) static FAMILY: Family = Family {
    conclude: |end| {
        if end == End::Done {
            lifecycle::conclude();
        }
    },
    ..Family::QUIET
};
