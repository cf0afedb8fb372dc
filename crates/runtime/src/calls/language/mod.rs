//! Support for languages and tools: unwinding and exceptions, long jumps, annotations, the verifier's interface, atomic sections.

pub(crate) mod annotations;
pub(crate) mod atomic_sections;
pub(crate) mod cleanup_handlers;
pub(crate) mod exception_pointers;
pub(crate) mod long_jumps;
pub(crate) mod verifier;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family {
    prepare: |_| {
        crate::core::unwinding::prepare();
        atomic_sections::prepare();
    },
    ..Family::QUIET
};
