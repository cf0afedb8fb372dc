//! Clocks, sleeps and deadlines, in virtual time.

pub(crate) mod clocks;
