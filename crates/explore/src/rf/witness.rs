//! Finds an order in which every read sees the write that it is to read from; or that there is none.
//!
//! What has to be in order is happens-before, which holds who reads from whom. Beyond that a write may not come between another
//! write and those who read from it. Two guesses are tried first; behind them stands a complete search, whose
//! only real choices are writes that somebody still has to read: everything else can be done as soon as it
//! may be.

use super::graph::{Graph, START};
use crate::happens::{Happens, Quad, Row, add_next, count, join};
use std::collections::HashSet;

/// What is asked: these events, with one or two of them reading from somewhere else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub graph: &'a Graph,
    pub happens: &'a Happens,
    /// The first so many events take part.
    pub first: u32,
    /// And these, in order.
    pub leads: &'a [u32],
    /// And this one.
    pub read: u32,
    /// What it reads from.
    pub source: u32,
    /// Whether that one reads from what it read from itself.
    pub swapped: bool,
    /// Whether the read fails though it need not.
    pub fails: bool,
}

impl Question<'_> {
    fn takes_part(&self, position: u32) -> bool {
        position < self.first || self.leads.binary_search(&position).is_ok()
    }

    fn source_of(&self, position: u32) -> u32 {
        if position == self.read {
            self.source
        } else if self.swapped && position == self.source {
            self.graph.sources[self.read as usize]
        } else {
            self.graph.sources[position as usize]
        }
    }

    fn changed(&self, position: u32) -> bool {
        position == self.read || self.swapped && position == self.source
    }

    fn writes(&self, position: u32) -> bool {
        match self.graph.touches[position as usize] {
            Some(_) if position == self.read => self.read_writes(),
            Some(_) if self.changed(position) => true,
            Some(touch) => touch.writes,
            None => false,
        }
    }

    /// The value that the read gets.
    pub fn value(&self) -> u64 {
        let Question { graph, source, .. } = *self;
        let object = graph.touches[self.read as usize].expect("it reads").object;
        if self.swapped {
            let before = graph.value(object, self.source_of(source));
            let value = graph.would_write(source, before);
            return value.expect("only what writes is swapped");
        }
        graph.value(object, source)
    }

    fn read_writes(&self) -> bool {
        !self.fails && self.graph.would_write(self.read, self.value()).is_some()
    }

    /// What a thread has behind it when it comes to an event.
    fn coming(&self, position: u32) -> &Row {
        let (thread, nth) = (self.happens.thread(position), self.happens.nth(position));
        self.happens.coming(&self.graph.skeleton, thread, nth)
    }
}

/// Finds orders. Owns reusable tables only.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// The answer.
    pub order: Vec<u32>,
    /// Those that take part, in the order in which they were done.
    guide: Vec<u32>,
    last: Vec<u32>,
    past: Vec<Quad>,
}

impl Witness {
    /// Looks for an order; says whether there is one.
    pub fn find(&mut self, question: &Question) -> bool {
        if self.hopeless(question) {
            return false;
        }
        let done = question.graph.done.iter().copied();
        self.guide.clear();
        self.guide
            .extend(done.filter(|place| question.takes_part(*place) && *place != question.read));
        self.read_last(question);
        if self.fits(question) {
            return true;
        }
        self.past_first(question);
        self.fits(question) || self.search(question)
    }

    /// Whether what was written there is overwritten before the read, whatever the order.
    fn hopeless(&mut self, question: &Question) -> bool {
        let Question {
            graph,
            happens,
            source,
            ..
        } = *question;
        let touch = graph.touches[question.read as usize].expect("it reads");
        let coming = question.coming(question.read);
        let writes = question.writes(question.read);
        let others = (0..question.first).chain(question.leads.iter().copied());
        others.filter(|other| *other != source).any(|other| {
            let same = |at: super::graph::Touch| at.object == touch.object;
            if !graph.touches[other as usize].is_some_and(same) || !question.writes(other) {
                return false;
            }
            let between =
                happens.in_row(coming, other) && (source == START || happens.after(other, source));
            let taken = writes && question.source_of(other) == source && {
                graph.touches[other as usize].is_some_and(|touch| touch.reads)
            };
            between || taken
        })
    }

    /// As it was done, the read at the end.
    fn read_last(&mut self, question: &Question) {
        self.order.clear();
        self.order.extend_from_slice(&self.guide);
        self.order.push(question.read);
    }

    /// What the read and its source need, the read, then all else.
    fn past_first(&mut self, question: &Question) {
        let Question {
            happens, source, ..
        } = *question;
        let mut past = std::mem::take(&mut self.past);
        past.clear();
        past.extend_from_slice(question.coming(question.read));
        if source != START {
            let theirs = match question.swapped {
                true => question.coming(source),
                false => happens.row(source),
            };
            join(&mut past, theirs);
        }
        let needed = |place: &u32| *place == source || happens.in_row(&past, *place);
        self.order.clear();
        self.order
            .extend(self.guide.iter().copied().filter(|place| needed(place)));
        self.order.push(question.read);
        self.order
            .extend(self.guide.iter().copied().filter(|place| !needed(place)));
        self.past = past;
    }

    /// Whether everybody reads what is to be read.
    fn fits(&mut self, question: &Question) -> bool {
        let objects = question.graph.skeleton.objects.len();
        self.last.clear();
        self.last.resize(objects, START);
        for &place in &self.order {
            let Some(touch) = question.graph.touches[place as usize] else {
                continue;
            };
            let last = &mut self.last[touch.object.index()];
            if touch.reads && *last != question.source_of(place) {
                return false;
            }
            if question.writes(place) {
                *last = place;
            }
        }
        // The one that was swapped may have got in front of what it needs.
        !question.swapped || self.in_order(question)
    }

    /// Whether happens-before is respected.
    fn in_order(&self, question: &Question) -> bool {
        let mut counts = vec![[0; 4]; question.coming(question.read).len()];
        self.order.iter().all(|place| {
            let ready = ready(question, *place, &counts);
            add_next(&mut counts, question.happens.thread(*place));
            ready
        })
    }

    /// The complete search.
    fn search(&mut self, question: &Question) -> bool {
        let guide = std::mem::take(&mut self.guide);
        let mut all = guide;
        all.push(question.read);
        let width = question.coming(question.read).len();
        let mut state = State {
            order: Vec::with_capacity(all.len()),
            counts: vec![[0; 4]; width],
            last: vec![START; question.graph.skeleton.objects.len()],
            left: all,
        };
        let found = state.search(question, &mut HashSet::new());
        self.order.clone_from(&state.order);
        self.guide = state.left;
        found
    }
}

fn ready(question: &Question, position: u32, counts: &Row) -> bool {
    if !question.changed(position) {
        let done = count(counts, question.happens.thread(position)) as usize;
        return question.happens.nth(position) == done && question.happens.ready(position, counts);
    }
    let coming = question.coming(position).as_flattened().iter();
    let mut counts = coming.zip(counts.as_flattened());
    counts.all(|(needed, done)| needed <= done)
}

#[derive(Clone)]
struct State {
    order: Vec<u32>,
    counts: Vec<Quad>,
    last: Vec<u32>,
    /// What is not done yet.
    left: Vec<u32>,
}

impl State {
    fn search(&mut self, question: &Question, dead: &mut HashSet<Vec<Quad>>) -> bool {
        self.do_what_harms_nobody(question);
        if self.left.is_empty() {
            return true;
        }
        if dead.contains(&self.counts) {
            return false;
        }
        let choices: Vec<u32> = self.left.clone();
        for choice in choices {
            if self.can_go(question, choice) && !self.dooms(question, choice) {
                let mut next = self.clone();
                next.go(question, choice);
                if next.search(question, dead) {
                    *self = next;
                    return true;
                }
            }
        }
        dead.insert(self.counts.clone());
        false
    }

    fn do_what_harms_nobody(&mut self, question: &Question) {
        let mut index = 0;
        while index < self.left.len() {
            let place = self.left[index];
            let harmless = !question.writes(place) || !self.is_read(question, place);
            if harmless && self.can_go(question, place) {
                self.go(question, place);
                index = 0;
            } else {
                index += 1;
            }
        }
    }

    fn go(&mut self, question: &Question, place: u32) {
        self.left.retain(|other| *other != place);
        self.order.push(place);
        add_next(&mut self.counts, question.happens.thread(place));
        if let Some(touch) = question.graph.touches[place as usize] {
            if question.writes(place) {
                self.last[touch.object.index()] = place;
            }
        }
    }

    fn can_go(&self, question: &Question, place: u32) -> bool {
        if !ready(question, place, &self.counts) {
            return false;
        }
        let Some(touch) = question.graph.touches[place as usize] else {
            return true;
        };
        let last = self.last[touch.object.index()];
        if touch.reads && question.source_of(place) != last {
            return false;
        }
        !question.writes(place)
            || !self.left.iter().any(|other| {
                *other != place && self.reads_from(question, *other, touch.object, last)
            })
    }

    fn reads_from(
        &self,
        question: &Question,
        place: u32,
        object: reweave_model::ObjectId,
        source: u32,
    ) -> bool {
        let touch = question.graph.touches[place as usize];
        touch.is_some_and(|touch| touch.reads && touch.object == object)
            && question.source_of(place) == source
    }

    fn is_read(&self, question: &Question, place: u32) -> bool {
        let object = question.graph.touches[place as usize].map(|touch| touch.object);
        object.is_some_and(|object| {
            let mut left = self.left.iter();
            left.any(|other| self.reads_from(question, *other, object, place))
        })
    }

    /// Whether somebody who reads this needs another write to the object that is still to come.
    fn dooms(&self, question: &Question, write: u32) -> bool {
        let touch = question.graph.touches[write as usize].expect("it writes");
        let readers = self
            .left
            .iter()
            .filter(|reader| self.reads_from(question, **reader, touch.object, write));
        let mut needed = readers.map(|reader| question.coming(*reader));
        needed.any(|row| {
            self.left.iter().any(|other| {
                let same = question.graph.touches[*other as usize]
                    .is_some_and(|theirs| theirs.object == touch.object);
                *other != write
                    && same
                    && question.writes(*other)
                    && question.happens.in_row(row, *other)
            })
        })
    }
}
