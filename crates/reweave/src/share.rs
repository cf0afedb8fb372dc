//! One budget for all checks of a test program: `REWEAVE_TOTAL_BUDGET`.
//!
//! Nobody knows how many checks will come. So each gets at most half of what is left: one that would never end leaves the other half to
//! all that follow, and all of them together end in time.

use std::{sync::OnceLock, time::Duration, time::Instant};

/// What a check that begins now may use up of the total.
pub(crate) fn share(total: Duration) -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    total.saturating_sub(FIRST.get_or_init(Instant::now).elapsed()) / 2
}
