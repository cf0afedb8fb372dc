//! What is made visible only when a program turns out to need it.
//!
//! *Decides:* nothing. *Called by:* `ends` and `arcs`, which find out; the search, which restarts when something new is wanted; traces,
//! since a replay needs the same. *Owns:* what all workers of a search have found out so far.
//!
//! Hardly any program asks whether a thread has ended, or depends on which thread drops an `Arc` last. Events for these would cost time and
//! multiply executions for nothing. So they are added when an execution shows that they matter: it is discarded, and the search restarts.

use std::{
    collections::BTreeSet,
    fmt::Write,
    panic::Location,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// What the executions of a search show as events, beyond what they always do.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Visible {
    /// The ends of threads.
    pub ends: bool,
    /// Counts of references, by the place where they are created.
    pub counts: Vec<Count>,
    /// Weak compare-exchanges fail only as strong ones do.
    pub no_weak_failures: bool,
    /// Tasks may be polled once though nothing woke them.
    pub spurious_polls: bool,
    /// All counts, as an oracle for tests.
    pub every_count: bool,
}

/// Reference counts that are created at one place of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    file: String,
    line: u32,
    column: u32,
    level: Level,
}

/// How much of a reference count is visible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Nothing.
    Hidden,
    /// Each end of a reference is an event.
    Drops,
    /// All changes of both counts, and all looks at them.
    All,
}

/// See the module.
#[derive(Default)]
pub struct Wanted {
    visible: Mutex<Visible>,
    /// What the program did that is not supported.
    unsupported: Mutex<BTreeSet<String>>,
    /// Grows with each addition.
    version: AtomicU32,
}

impl Wanted {
    /// Wants this from the start.
    pub fn new(visible: Visible) -> Wanted {
        Wanted {
            visible: Mutex::new(visible),
            unsupported: Mutex::default(),
            version: AtomicU32::new(1),
        }
    }

    /// How often something was added.
    #[inline]
    pub fn version(&self) -> u32 {
        self.version.load(Relaxed)
    }

    /// What is wanted now.
    pub fn visible(&self) -> Visible {
        self.lock().clone()
    }

    pub(crate) fn want_ends(&self) {
        let mut visible = self.lock();
        if !visible.ends {
            visible.ends = true;
            self.version.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn want_count(&self, place: &Location<'_>, level: Level) {
        let mut visible = self.lock();
        let known = visible.counts.iter_mut().find(|count| count.is_at(place));
        match known {
            Some(count) if count.level >= level => return,
            Some(count) => count.level = level,
            None => visible.counts.push(Count {
                file: place.file().into(),
                line: place.line(),
                column: place.column(),
                level,
            }),
        }
        self.version.fetch_add(1, Relaxed);
    }

    /// The program does something that is not supported: whatever comes of it, not everything is explored.
    pub(crate) fn unsupported(&self, what: &str) {
        let all = self.unsupported.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        all.insert(format!("unsupported: {what}"));
    }

    /// All that, as results have it.
    pub(crate) fn all_unsupported(&self) -> Vec<String> {
        let all = self.unsupported.lock();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        all.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Visible> {
        self.visible.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visible {
    /// How much of the reference counts that are created at a place is visible.
    pub(crate) fn level(&self, place: &Location<'_>) -> Level {
        if self.every_count {
            return Level::All;
        }
        let found = self.counts.iter().find(|count| count.is_at(place));
        found.map_or(Level::Hidden, |count| count.level)
    }

    /// Whether tasks and channels that are created at a place are exact: see `future::context`.
    pub(crate) fn exact(&self, place: &Location<'_>) -> bool {
        self.level(place) == Level::All
    }

    /// Whether any count is.
    pub(crate) fn shows_counts(&self) -> bool {
        self.every_count || !self.counts.is_empty()
    }

    /// Counts and rules as a trace file has them: `drops src/queue.rs:10:5`.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.counts.iter().map(Count::name).collect();
        names.sort();
        names.extend(self.no_weak_failures.then(|| NO_WEAK_FAILURES.into()));
        names.extend(self.spurious_polls.then(|| SPURIOUS_POLLS.into()));
        names
    }

    /// The other way.
    pub(crate) fn named(ends: bool, names: &[String]) -> Visible {
        Visible {
            ends,
            counts: names.iter().filter_map(|name| Count::named(name)).collect(),
            no_weak_failures: names.iter().any(|name| name == NO_WEAK_FAILURES),
            spurious_polls: names.iter().any(|name| name == SPURIOUS_POLLS),
            every_count: false,
        }
    }
}

const SPURIOUS_POLLS: &str = "spurious polls";
const NO_WEAK_FAILURES: &str = "no weak failures";

impl Count {
    fn is_at(&self, place: &Location<'_>) -> bool {
        (self.line, self.column) == (place.line(), place.column()) && self.file == place.file()
    }

    fn name(&self) -> String {
        let mut name = match self.level {
            Level::Hidden | Level::Drops => "drops ".to_owned(),
            Level::All => "all ".to_owned(),
        };
        let _ = write!(name, "{}:{}:{}", self.file, self.line, self.column);
        name
    }

    fn named(name: &str) -> Option<Count> {
        let (level, place) = name.split_once(' ')?;
        let level = match level {
            "drops" => Level::Drops,
            "all" => Level::All,
            _ => return None,
        };
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        let file = parts.next()?.to_owned();
        Some(Count {
            file,
            line,
            column,
            level,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Visible, Wanted};
    use std::panic::Location;

    #[test]
    fn additions_are_counted_once_and_survive_a_trace() {
        let wanted = Wanted::default();
        let place = Location::caller();
        assert_eq!(wanted.visible().level(place), Level::Hidden);
        wanted.want_count(place, Level::Drops);
        wanted.want_count(place, Level::Drops);
        assert_eq!(wanted.version(), 1);
        wanted.want_count(place, Level::All);
        wanted.want_count(place, Level::Drops);
        wanted.want_ends();
        assert_eq!(wanted.version(), 3);
        let visible = wanted.visible();
        assert_eq!(visible.level(place), Level::All);
        let visible = Visible {
            no_weak_failures: true,
            ..visible
        };
        assert_eq!(Visible::named(true, &visible.names()), visible);
    }
}
