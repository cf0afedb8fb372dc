//! Everything that must come before something else if every read is to see the write that it reads from.

use super::{Question, START};
use crate::happens::{Quad, Row, add_next, join};

/// Happens-before, and what follows from it. Owns reusable tables only.
#[derive(Debug, Default)]
pub(super) struct Saturation {
    width: usize,
    /// For every event that takes part the events at or before it.
    rows: Vec<Quad>,
    reads: Vec<u32>,
    writes: Vec<u32>,
    past: Vec<Quad>,
}

impl Saturation {
    /// Finds all of it; `false`: there are two events each of which must come before the other.
    pub fn saturate(&mut self, question: &Question, all: &[u32]) -> bool {
        self.begin(question, all);
        loop {
            let mut changed = false;
            for index in 0..self.reads.len() {
                match self.look_at(question, all, self.reads[index]) {
                    None => return false,
                    Some(new) => changed |= new,
                }
            }
            if !changed {
                return true;
            }
        }
    }

    fn begin(&mut self, question: &Question, all: &[u32]) {
        let (graph, happens) = (question.graph, question.happens);
        self.width = question.coming(question.read).len();
        self.rows.clear();
        let events = graph.skeleton.events.len();
        self.rows.resize(events * self.width, [0; 4]);
        self.reads.clear();
        self.writes.clear();
        for &place in all {
            let Some(touch) = graph.touches[place as usize] else {
                let row = happens.row(place);
                self.row_mut(place).copy_from_slice(row);
                continue;
            };
            if touch.reads {
                self.reads.push(place);
            }
            if question.writes(place) {
                self.writes.push(place);
            }
            if question.changed(place) {
                self.row_mut(place).copy_from_slice(question.coming(place));
                add_next(self.row_mut(place), happens.thread(place));
            } else {
                let row = happens.row(place);
                self.row_mut(place).copy_from_slice(row);
            }
        }
        for place in [question.source, question.read] {
            if place != START && question.changed(place) {
                let source = question.source_of(place);
                if source != START {
                    self.order(question, all, source, place);
                }
            }
        }
    }

    /// The events at or before an event.
    pub fn row(&self, place: u32) -> &Row {
        &self.rows[place as usize * self.width..][..self.width]
    }

    fn row_mut(&mut self, place: u32) -> &mut Row {
        &mut self.rows[place as usize * self.width..][..self.width]
    }

    fn before(&self, question: &Question, earlier: u32, later: u32) -> bool {
        question.happens.in_row(self.row(later), earlier)
    }

    /// What follows for the writes to what a read reads; whether that is new, or `None` if it cannot be.
    fn look_at(&mut self, question: &Question, all: &[u32], read: u32) -> Option<bool> {
        let graph = question.graph;
        let source = question.source_of(read);
        let object = graph.touches[read as usize]?.object;
        let mut changed = false;
        for index in 0..self.writes.len() {
            let other = self.writes[index];
            let same = graph.touches[other as usize].is_some_and(|touch| touch.object == object);
            if !same || other == source || other == read {
                continue;
            }
            if self.before(question, other, read) {
                if source == START || self.before(question, source, other) {
                    return None;
                }
                if !self.before(question, other, source) {
                    self.order(question, all, other, source);
                    changed = true;
                }
            } else if (source == START || self.before(question, source, other))
                && !self.before(question, read, other)
            {
                self.order(question, all, read, other);
                changed = true;
            }
        }
        Some(changed)
    }

    /// Puts one event, and all before it, before another and all behind that.
    fn order(&mut self, question: &Question, all: &[u32], earlier: u32, later: u32) {
        let mut past = std::mem::take(&mut self.past);
        past.clear();
        past.extend_from_slice(self.row(earlier));
        for &place in all {
            if place == later || self.before(question, later, place) {
                join(self.row_mut(place), &past);
            }
        }
        self.past = past;
    }
}
