//! Clocks, sleeps and deadlines, in virtual time.

pub(crate) mod clocks;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family::QUIET;
