//! The complete search for an order.
//!
//! Whoever can go and harms nobody goes at once. A write harms those who still have to read what it overwrites, and so may not
//! go; one that has readers of its own harms other writes, which have to wait for these. Only between such writes
//! is there anything to choose.

use super::{Question, START, Saturation};
use crate::happens::{Quad, Row, add_next, count};
use reweave_model::ThreadId;
use std::collections::HashSet;

/// Searches for orders. Owns reusable tables only.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// What was done, and the last write to the same object before.
    done: Vec<(u32, u32)>,
    /// Events done of each thread, and how many of them take part.
    counts: Vec<Quad>,
    ends: Vec<Quad>,
    /// The last write to each object.
    last: Vec<u32>,
    /// Who has still to read a write; and what is there before the first write to each object.
    readers: Vec<u32>,
    readers_of_start: Vec<u32>,
    /// From where there is no way on.
    dead: HashSet<(Vec<Quad>, Vec<u32>)>,
}

/// What is looked for.
struct Task<'a> {
    question: &'a Question<'a>,
    saturation: &'a Saturation,
    all: usize,
}

impl Task<'_> {
    fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        let count = self.question.graph.skeleton.threads.len();
        (0..count as u32).map(ThreadId)
    }
}

impl Search {
    /// Looks for an order of all of these; says whether there is one.
    pub fn run(
        &mut self,
        question: &Question,
        saturation: &Saturation,
        all: &[u32],
        order: &mut Vec<u32>,
    ) -> bool {
        self.begin(question, all);
        let task = Task {
            question,
            saturation,
            all: all.len(),
        };
        let found = self.search(&task);
        order.clear();
        order.extend(self.done.iter().map(|(place, _)| *place));
        found
    }

    fn begin(&mut self, question: &Question, all: &[u32]) {
        let graph = question.graph;
        let objects = graph.skeleton.objects.len();
        let threads = graph.skeleton.threads.len();
        self.done.clear();
        self.dead.clear();
        refill(&mut self.counts, threads.div_ceil(4), [0; 4]);
        refill(&mut self.last, objects, START);
        refill(&mut self.readers, graph.skeleton.events.len(), 0);
        refill(&mut self.readers_of_start, objects, 0);
        refill(&mut self.ends, threads.div_ceil(4), [0; 4]);
        for &place in all {
            add_next(&mut self.ends, question.happens.thread(place));
            if let Some(touch) = graph.touches[place as usize].filter(|touch| touch.reads) {
                *self.readers(question.source_of(place), touch.object.index()) += 1;
            }
        }
    }

    fn readers(&mut self, source: u32, object: usize) -> &mut u32 {
        match source {
            START => &mut self.readers_of_start[object],
            _ => &mut self.readers[source as usize],
        }
    }

    fn search(&mut self, task: &Task) -> bool {
        let begun = self.done.len();
        while let Some(place) = self.next_harmless(task) {
            self.go(task, place);
        }
        if self.done.len() == task.all {
            return true;
        }
        let here = (self.counts.clone(), self.last.clone());
        if !self.dead.contains(&here) {
            for thread in task.threads() {
                let Some(place) = self.next_of(task, thread) else {
                    continue;
                };
                if self.can_go(task, place) {
                    self.go(task, place);
                    if self.search(task) {
                        return true;
                    }
                    self.undo(task);
                }
            }
            self.dead.insert(here);
        }
        while self.done.len() > begun {
            self.undo(task);
        }
        false
    }

    fn next_of(&self, task: &Task, thread: ThreadId) -> Option<u32> {
        let done = count(&self.counts, thread);
        let more = done < count(&self.ends, thread);
        more.then(|| task.question.happens.of_thread(thread)[done as usize])
    }

    fn next_harmless(&self, task: &Task) -> Option<u32> {
        let threads = task.threads();
        let mut next = threads.filter_map(|thread| self.next_of(task, thread));
        next.find(|place| {
            let harmless = self.readers[*place as usize] == 0 || !task.question.writes(*place);
            harmless && self.can_go(task, *place)
        })
    }

    fn can_go(&self, task: &Task, place: u32) -> bool {
        if !self.ready(task.saturation.row(place)) {
            return false;
        }
        let Some(touch) = task.question.graph.touches[place as usize] else {
            return true;
        };
        let last = self.last[touch.object.index()];
        if touch.reads && task.question.source_of(place) != last {
            return false;
        }
        let waiting = match last {
            START => self.readers_of_start[touch.object.index()],
            _ => self.readers[last as usize],
        };
        waiting == u32::from(touch.reads) || !task.question.writes(place)
    }

    /// Whether all but the event itself was done.
    fn ready(&self, row: &Row) -> bool {
        let counts = row.as_flattened().iter().zip(self.counts.as_flattened());
        let missing = counts.map(|(needed, done)| (needed - done).max(0));
        missing.sum::<i32>() <= 1
    }

    fn go(&mut self, task: &Task, place: u32) {
        add_next(&mut self.counts, task.question.happens.thread(place));
        let mut before = START;
        if let Some(touch) = task.question.graph.touches[place as usize] {
            let object = touch.object.index();
            before = self.last[object];
            if touch.reads {
                *self.readers(before, object) -= 1;
            }
            if task.question.writes(place) {
                self.last[object] = place;
            }
        }
        self.done.push((place, before));
    }

    fn undo(&mut self, task: &Task) {
        let (place, before) = self.done.pop().expect("it was done");
        let thread = task.question.happens.thread(place).index();
        self.counts.as_flattened_mut()[thread] -= 1;
        if let Some(touch) = task.question.graph.touches[place as usize] {
            let object = touch.object.index();
            self.last[object] = before;
            if touch.reads {
                *self.readers(before, object) += 1;
            }
        }
    }
}

fn refill<T: Clone>(list: &mut Vec<T>, length: usize, value: T) {
    list.clear();
    list.resize(length, value);
}
