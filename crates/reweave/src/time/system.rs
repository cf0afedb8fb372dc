//! [`SystemTime`].

use super::{Duration, Instant, SystemTimeError, When};
use std::{
    fmt,
    ops::{Add, AddAssign, Sub, SubAssign},
    time,
};

/// As [`std::time::SystemTime`]. In a check every execution begins at the same moment, and time passes as for [`Instant`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime(time::SystemTime);

/// As [`std::time::UNIX_EPOCH`].
pub const UNIX_EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

/// When executions begin: the first of January 2025.
const BEGINNING: Duration = Duration::from_secs(1_735_689_600);

impl SystemTime {
    /// As [`std::time::SystemTime::UNIX_EPOCH`].
    pub const UNIX_EPOCH: SystemTime = SystemTime(time::UNIX_EPOCH);

    /// As [`std::time::SystemTime::now`].
    #[must_use]
    #[track_caller]
    pub fn now() -> SystemTime {
        SystemTime(match Instant::now().0 {
            When::Check(passed) => time::UNIX_EPOCH + BEGINNING + passed,
            When::Std(_) => time::SystemTime::now(),
        })
    }

    /// As [`std::time::SystemTime::duration_since`].
    ///
    /// # Errors
    /// If `earlier` is later.
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, SystemTimeError> {
        self.0.duration_since(earlier.0)
    }

    /// As [`std::time::SystemTime::elapsed`].
    ///
    /// # Errors
    /// If it is in the future.
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        SystemTime::now().duration_since(*self)
    }

    /// As [`std::time::SystemTime::checked_add`].
    pub fn checked_add(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_add(duration).map(SystemTime)
    }

    /// As [`std::time::SystemTime::checked_sub`].
    pub fn checked_sub(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_sub(duration).map(SystemTime)
    }
}

impl From<time::SystemTime> for SystemTime {
    fn from(time: time::SystemTime) -> SystemTime {
        SystemTime(time)
    }
}

impl From<SystemTime> for time::SystemTime {
    fn from(time: SystemTime) -> time::SystemTime {
        time.0
    }
}

impl fmt::Debug for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add<Duration> for SystemTime {
    type Output = SystemTime;

    fn add(self, duration: Duration) -> SystemTime {
        SystemTime(self.0 + duration)
    }
}

impl AddAssign<Duration> for SystemTime {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for SystemTime {
    type Output = SystemTime;

    fn sub(self, duration: Duration) -> SystemTime {
        SystemTime(self.0 - duration)
    }
}

impl SubAssign<Duration> for SystemTime {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}
