//! Time, by the names and signatures of [`std::time`].
//!
//! In a check every thread has a clock of its own that only its sleeps, its timeouts and its looks at the clock move: what it reads is a
//! function of its causal past.
//! A thread begins with its creator's time, whoever joins it is at least as late as its end, and whoever takes a lock, reads a value or
//! receives a message is at least as late as the thread that released, wrote or sent it. Looks at the clock are ordered one after the other,
//! and every order is explored.

use crate::rt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

mod system;

pub use self::system::{SystemTime, UNIX_EPOCH};
pub use std::time::{Duration, SystemTimeError};

/// As [`std::time::Instant`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(When);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum When {
    /// Since the beginning of the execution.
    Check(Duration),
    Std(std::time::Instant),
}

/// Moves the running thread's clock forward.
pub(crate) fn advance(duration: Duration) {
    if let Some(task) = rt::task() {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        task.world().run.borrow_mut().advance(task.thread, ns);
    }
}

/// The time, for what does not show it to the program: no look at the clock.
#[doc(hidden)]
pub fn passed() -> Instant {
    Instant(match rt::task() {
        None => When::Std(std::time::Instant::now()),
        Some(task) => {
            let run = task.world().run.borrow();
            When::Check(Duration::from_nanos(run.time_ns(task.thread)))
        }
    })
}

impl Instant {
    /// As [`std::time::Instant::now`].
    #[track_caller]
    pub fn now() -> Instant {
        Instant(match rt::task() {
            None => When::Std(std::time::Instant::now()),
            Some(task) => When::Check(Duration::from_nanos(rt::look_at_clock(task))),
        })
    }

    /// As [`std::time::Instant::elapsed`].
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Instant::now().saturating_duration_since(*self)
    }

    /// As [`std::time::Instant::duration_since`].
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// As [`std::time::Instant::checked_duration_since`].
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        match (self.0, earlier.0) {
            (When::Check(mine), When::Check(theirs)) => mine.checked_sub(theirs),
            (When::Std(mine), When::Std(theirs)) => mine.checked_duration_since(theirs),
            // One of them was kept from outside the check, which has no relation to the time in it.
            _ => None,
        }
    }

    /// As [`std::time::Instant::saturating_duration_since`].
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// As [`std::time::Instant::checked_add`].
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        Some(Instant(match self.0 {
            When::Check(time) => When::Check(time.checked_add(duration)?),
            When::Std(time) => When::Std(time.checked_add(duration)?),
        }))
    }

    /// As [`std::time::Instant::checked_sub`].
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        Some(Instant(match self.0 {
            When::Check(time) => When::Check(time.checked_sub(duration)?),
            When::Std(time) => When::Std(time.checked_sub(duration)?),
        }))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        self.checked_add(duration)
            .expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        self.checked_sub(duration)
            .expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}
