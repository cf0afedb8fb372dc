//! Everything that must come before something else if every read is to see the write that it reads from.
//!
//! Only atomics that several threads touch matter: on others program order says it all.

use super::{
    super::graph::{Graph, Touch},
    Question, START,
};
use crate::happens::{Happens, Quad, Row, add_next, join};
use reweave_model::ThreadId;

/// Happens-before of the first events of each thread, and what follows from it. Owns reusable tables only.
#[derive(Debug, Default)]
pub(super) struct Saturation {
    width: usize,
    /// For every event that takes part the events at or before it.
    rows: Vec<Quad>,
    /// For every event, whether more than happens before it was found to come before it.
    grown: Vec<bool>,
    /// How many events of each thread take part.
    counts: Vec<Quad>,
    reads: Vec<Read>,
    writes: Vec<Write>,
    /// For every object the last one of `writes` that is to it, or [`START`].
    last: Vec<u32>,
    /// How many reads and writes there were when everything was found that follows.
    closed: (usize, usize),
    past: Vec<Quad>,
    /// Reads, and pairs of a read and a write, that were looked at.
    pub effort: u64,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    place: u32,
    source: u32,
    object: u32,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    place: u32,
    /// The one before it to the same object, as in [`Saturation::last`].
    before: u32,
}

impl Saturation {
    /// Begins with no events.
    pub fn clear(&mut self, graph: &Graph, happens: &Happens) {
        self.width = happens.done().len();
        self.rows.clear();
        self.rows
            .resize(graph.skeleton.events.len() * self.width, [0; 4]);
        self.grown.clear();
        self.grown.resize(graph.skeleton.events.len(), false);
        self.counts.clear();
        self.counts.resize(self.width, [0; 4]);
        self.reads.clear();
        self.writes.clear();
        self.last.clear();
        self.last.resize(graph.skeleton.objects.len(), START);
        self.closed = (0, 0);
    }

    /// Begins with what another one has.
    pub fn copy(&mut self, other: &Saturation) {
        self.width = other.width;
        self.rows.clone_from(&other.rows);
        self.grown.clone_from(&other.grown);
        self.counts.clone_from(&other.counts);
        self.reads.clone_from(&other.reads);
        self.writes.clone_from(&other.writes);
        self.last.clone_from(&other.last);
        self.closed = other.closed;
    }

    /// Adds an event that was not changed, after all that it depends on.
    pub fn add(&mut self, graph: &Graph, happens: &Happens, place: u32) {
        self.add_row(happens, place, happens.row(place));
        let Some(touch) = graph.touches[place as usize] else {
            return;
        };
        if graph.shared[touch.object.index()] {
            let source = graph.sources[place as usize];
            self.add_touch(place, touch, source);
        }
    }

    /// Adds a read that comes after everything that was added of other threads.
    pub fn add_last(&mut self, graph: &Graph, happens: &Happens, place: u32, all: &Row) {
        let mut past = std::mem::take(&mut self.past);
        past.clear();
        past.extend_from_slice(happens.row(place));
        join(&mut past, all);
        self.add_row(happens, place, &past);
        self.past = past;
        if let Some(touch) = graph.touches[place as usize] {
            let source = graph.sources[place as usize];
            self.add_touch(place, touch, source);
        }
    }

    /// Adds an event that reads from somewhere else now.
    pub fn add_changed(&mut self, question: &Question, place: u32) {
        let happens = question.happens;
        let source = question.source_of(place);
        let mut past = std::mem::take(&mut self.past);
        past.clear();
        past.extend_from_slice(question.coming(place));
        if source != START {
            join(&mut past, self.row(source));
        }
        add_next(&mut past, happens.thread(place));
        self.add_row(happens, place, &past);
        self.past = past;
        if let Some(mut touch) = question.graph.touches[place as usize] {
            touch.writes = question.writes(place);
            self.add_touch(place, touch, source);
        }
    }

    /// Adds an event that depends on what is in the row, itself included, and on all that has to come before that.
    fn add_row(&mut self, happens: &Happens, place: u32, row: &Row) {
        let (start, width) = (place as usize * self.width, self.width);
        let own = happens.thread(place).index();
        self.rows[start..][..width].copy_from_slice(row);
        for (thread, done) in row.as_flattened().iter().enumerate() {
            let others = *done as usize - usize::from(thread == own);
            let Some(last) = others.checked_sub(1) else {
                continue;
            };
            let last = happens.of_thread(ThreadId(thread as u32))[last] as usize;
            if !self.grown[last] {
                // What happens before it is in the row.
                continue;
            }
            self.grown[place as usize] = true;
            for quad in 0..width {
                let theirs = self.rows[last * width + quad];
                join(&mut self.rows[start + quad..][..1], &[theirs]);
            }
        }
        self.counts.as_flattened_mut()[own] += 1;
    }

    fn add_touch(&mut self, place: u32, touch: Touch, source: u32) {
        let object = touch.object.0;
        if touch.writes {
            let last = &mut self.last[touch.object.index()];
            let before = std::mem::replace(last, self.writes.len() as u32);
            self.writes.push(Write { place, before });
        }
        if touch.reads {
            self.reads.push(Read {
                place,
                source,
                object,
            });
        }
    }

    /// Finds all that follows; `false`: there are two events each of which must come before the other.
    pub fn close(&mut self, happens: &Happens) -> bool {
        let (reads, writes) = self.closed;
        let count = self.reads.len();
        // At first only what is new can have consequences; whatever is found can have some for all reads.
        let (mut left, mut index, mut found) = (count, 0, false);
        while left > 0 {
            left -= 1;
            let since = if index < reads && !found { writes } else { 0 };
            match self.look_at(happens, self.reads[index], since) {
                None => return false,
                Some(false) => {}
                Some(true) => (left, found) = (count, true),
            }
            index = if index + 1 == count { 0 } else { index + 1 };
        }
        self.closed = (count, self.writes.len());
        true
    }

    /// Whether a write comes between a source and an event after this one, whatever the order.
    pub fn overwritten(&self, happens: &Happens, object: usize, source: u32, past: u32) -> bool {
        let mut next = self.last[object];
        while next != START {
            let Write { place, before } = self.writes[next as usize];
            next = before;
            if place != source
                && self.before(happens, place, past)
                && (source == START || self.before(happens, source, place))
            {
                return true;
            }
        }
        false
    }

    /// How many events of each thread take part.
    pub fn counts(&self) -> &Row {
        &self.counts
    }

    /// The events at or before an event.
    pub fn row(&self, place: u32) -> &Row {
        &self.rows[place as usize * self.width..][..self.width]
    }

    #[inline]
    fn before(&self, happens: &Happens, earlier: u32, later: u32) -> bool {
        let later = later as usize * self.width;
        happens.spot(earlier).is_in(&self.rows, later)
    }

    /// What follows for the writes to what a read reads; whether that is new, or `None` if it cannot be.
    /// Only some of the writes count, from one on.
    fn look_at(&mut self, happens: &Happens, read: Read, since: usize) -> Option<bool> {
        let Read { place, source, .. } = read;
        let mut changed = false;
        self.effort += 1;
        let mut next = self.last[read.object as usize];
        while next != START && next as usize >= since {
            self.effort += 1;
            let Write {
                place: other,
                before,
            } = self.writes[next as usize];
            next = before;
            if other == source || other == place {
                continue;
            }
            let behind = source == START || self.before(happens, source, other);
            let (earlier, later) = match self.before(happens, other, place) {
                true if behind => return None,
                true => (other, source),
                false if behind => (place, other),
                false => continue,
            };
            if !self.before(happens, earlier, later) {
                self.order(happens, earlier, later);
                changed = true;
            }
        }
        Some(changed)
    }

    /// Puts one event, and all before it, before another and all behind that.
    fn order(&mut self, happens: &Happens, earlier: u32, later: u32) {
        let mut past = std::mem::take(&mut self.past);
        past.clear();
        past.extend_from_slice(self.row(earlier));
        let width = self.width;
        for (thread, count) in self.counts.as_flattened().iter().enumerate() {
            if *count == 0 {
                continue;
            }
            let line = &happens.of_thread(ThreadId(thread as u32))[..*count as usize];
            // Rows only grow along a thread: those behind the later one are its last ones.
            for &place in line.iter().rev() {
                if !self.before(happens, later, place) {
                    break;
                }
                if !self.before(happens, earlier, place) {
                    let start = place as usize * width;
                    join(&mut self.rows[start..start + width], &past);
                    self.grown[place as usize] = true;
                }
            }
        }
        self.past = past;
    }
}
