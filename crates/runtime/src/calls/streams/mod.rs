//! Streams of stdio.

pub(crate) mod messages;
pub(crate) mod stream_calls;
pub(crate) mod stream_cancellation;
pub(crate) mod stream_lifetimes;
pub(crate) mod stream_locks;
pub(crate) mod stream_objects;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family::QUIET;
