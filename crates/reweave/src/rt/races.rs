//! Feeds the race detector.
//!
//! *Decides:* when it runs. Most programs have no plain accesses that are checked; until the first one, what the detector would have to
//! know is only noted (a few bytes an event), and told to it then. *Called by:* the runtime at each operation, creation, fence and access.
//! *Owns:* the detector and the notes of the execution under way.

use super::{World, explain, location};
use reweave_memory::{RaceDetector, RaceFound};
use reweave_model::{Error, Event, Execution, Kind, Order, Site, ThreadId};

/// See the module.
#[derive(Default)]
pub(crate) struct Races {
    detector: RaceDetector,
    /// From the first access on, in all later executions too.
    on: bool,
    notes: Vec<Note>,
    /// The epochs of marks. While the detector is off: not known yet.
    marks: Vec<u32>,
    /// Places of races in this execution.
    found: Vec<(Site, Site)>,
}

#[derive(Clone, Copy)]
enum Note {
    /// The next event of the execution.
    Event,
    Spawn(ThreadId, ThreadId),
    Fence(ThreadId, Order),
    Mark(ThreadId),
}

/// A moment of a thread, for asking later whether it happens before another thread's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(u32);

impl Races {
    pub(crate) fn begin(&mut self, takes_back: bool) {
        self.on |= takes_back;
        self.notes.clear();
        self.marks.clear();
        self.found.clear();
        if self.on {
            self.detector.clear();
        }
    }

    #[inline]
    pub(crate) fn event(&mut self, event: &Event) {
        if self.on {
            self.detector.event(event);
        } else {
            self.notes.push(Note::Event);
        }
    }

    pub(crate) fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        if self.on {
            self.detector.spawn(parent, child);
        } else {
            self.notes.push(Note::Spawn(parent, child));
        }
    }

    pub(crate) fn fence(&mut self, thread: ThreadId, order: Order) {
        if self.on {
            self.detector.fence(thread, order);
        } else {
            self.notes.push(Note::Fence(thread, order));
        }
    }

    /// See [`RaceDetector::round_may_begin`].
    pub(crate) fn round_may_begin(&mut self, thread: ThreadId, begins: bool) {
        self.detector.round_may_begin(thread, begins);
    }

    /// See [`RaceDetector::take_back`].
    pub(crate) fn take_back(&mut self, thread: ThreadId, events: u32) {
        self.detector.take_back(thread, events);
    }

    /// This moment of a thread.
    #[inline]
    pub(crate) fn mark(&mut self, thread: ThreadId) -> Mark {
        if self.on {
            self.marks.push(self.detector.epoch(thread));
        } else if !matches!(self.notes.last(), Some(Note::Mark(last)) if *last == thread) {
            self.notes.push(Note::Mark(thread));
            self.marks.push(0);
        }
        Mark(self.marks.len() as u32 - 1)
    }

    /// Whether a marked moment of a thread happens before the next step of another.
    pub(crate) fn before(
        &mut self,
        so_far: &Execution,
        (thread, mark): (ThreadId, Mark),
        later: ThreadId,
    ) -> bool {
        if !self.on {
            self.catch_up(so_far);
        }
        let known = self.detector.clock(later).get(thread.index()).copied();
        self.marks[mark.0 as usize] <= known.unwrap_or(0)
    }

    /// Whether no other thread is left: each was joined.
    pub(crate) fn alone(&mut self, so_far: &Execution, thread: ThreadId) -> bool {
        if !self.on {
            self.catch_up(so_far);
        }
        self.detector.alone(thread)
    }

    /// A race that the access completes, the first time for its two places.
    pub(crate) fn access(
        &mut self,
        so_far: &Execution,
        thread: ThreadId,
        (address, bytes): (usize, usize),
        write: bool,
        site: Site,
    ) -> Option<RaceFound> {
        if !self.on {
            self.catch_up(so_far);
        }
        let race = self
            .detector
            .access(thread, address, bytes, write, site)
            .filter(|race| !self.found.contains(&(race.first, race.second)))?;
        self.found.push((race.first, race.second));
        Some(race)
    }

    #[cold]
    fn catch_up(&mut self, so_far: &Execution) {
        self.on = true;
        self.detector.clear();
        let mut events = so_far.events.iter();
        let mut marks = self.marks.iter_mut();
        for note in self.notes.drain(..) {
            match note {
                Note::Event => {
                    let event = events.next().expect("a note for each event");
                    self.detector.event(event);
                }
                Note::Spawn(parent, child) => self.detector.spawn(parent, child),
                Note::Fence(thread, order) => self.detector.fence(thread, order),
                Note::Mark(thread) => {
                    let mark = marks.next().expect("a note for each mark");
                    *mark = self.detector.epoch(thread);
                }
            }
        }
    }
}

/// A race as an error. The place of the access that completes it comes first.
pub(crate) fn error(world: &World, race: &RaceFound) -> Error {
    let told = |thread, write, site| {
        let verb = if write { "writes" } else { "reads" };
        let place = location(site).map_or_else(|| "?".into(), ToString::to_string);
        format!("{} {verb} at {place}", explain::name(world, thread))
    };
    Error {
        kind: Kind::DataRace,
        rule: None,
        message: format!(
            "{},\n{},\nand nothing orders the two",
            told(race.first_thread, race.first_write, race.first),
            told(race.second_thread, race.second_write, race.second),
        ),
        sites: vec![race.second, race.first],
        after: None,
    }
}
