//! Clocks and sleeps, in virtual time. Deadlines, which other families need too, are in [`crate::shared::deadlines`].
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

pub(crate) mod clocks;
pub(crate) mod sleeps;

use crate::core::families::Family;

pub(crate) static FAMILY: Family = Family::QUIET;
