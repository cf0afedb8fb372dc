//! Finds an order in which every read sees the write that it is to read from; or that there is none.
//!
//! What has to be in order is happens-before, which holds who reads from whom. Beyond that a write may not come between another
//! write and those who read from it. So happens-before is *saturated*: a write that comes before a read comes before what it
//! reads from, and a write that comes after what is read comes after the read. For a new read that is done once for what was
//! done before it, and goes on from there for each of its sources and for the next read. Most of what cannot be is found
//! so. Before that a guess is tried: as it was done, with the read in front of the next write after its source. After it another:
//! what must come before the read goes first. Behind it stands a complete search, whose only real choices are writes that
//! somebody still has to read: everything else can be done as soon as it may be.

mod saturation;
mod search;

use super::graph::{Graph, START};
use crate::happens::{Happens, Quad, Row, add_next, count, join};
use saturation::Saturation;
use search::Search;

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
        // A round that was taken back leaves everything as it is.
        let same = self.read as usize >= self.graph.real
            && self.source == self.graph.sources[self.read as usize];
        !self.fails && !same && self.graph.would_write(self.read, self.value()).is_some()
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
    /// What has to come before the read.
    past: Vec<Quad>,
    /// The first so many events of the run, saturated.
    base: Saturation,
    begun: u32,
    saturation: Saturation,
    search: Search,
}

impl Witness {
    /// There is a new run to ask about.
    pub fn begin(&mut self) {
        self.begun = 0;
        self.base.effort = 0;
        self.saturation.effort = 0;
    }

    /// How much was done for this run so far: pairs of reads and writes that were looked at.
    pub fn effort(&self) -> u64 {
        self.base.effort + self.saturation.effort
    }

    /// Looks for an order; says whether there is one.
    pub fn find(&mut self, question: &Question) -> bool {
        let done = &question.graph.done;
        self.guide.clear();
        match question.leads.is_empty() && question.first >= question.graph.ordered {
            // It is new: all that was done before takes part.
            true => self
                .guide
                .extend_from_slice(&done[..question.first as usize]),
            false => {
                let others = done.iter().copied();
                self.guide
                    .extend(others.filter(|place| question.takes_part(*place)));
            }
        }
        self.in_time(question);
        if self.fits(question) {
            return true;
        }
        if !self.saturate(question) {
            return false;
        }
        self.past.clear();
        self.past
            .extend_from_slice(self.saturation.row(question.read));
        self.read_at(question, 0);
        self.fits(question) || self.search(question)
    }

    /// Looks for an order of the whole run in which some reads, each the last of its thread, come after everything else; says whether there is
    /// one.
    pub fn last_of_all(&mut self, graph: &Graph, happens: &Happens, late: &[u32]) -> bool {
        let Some((&read, _)) = late.split_last() else {
            return false;
        };
        let final_for = |read: &u32| {
            let source = graph.sources[*read as usize];
            let object = graph.touches[*read as usize].map(|touch| touch.object);
            (0..graph.real as u32).all(|write| {
                let touch = graph.touches[write as usize].filter(|touch| touch.writes);
                let overwrites = touch.is_some()
                    && touch.map(|touch| touch.object) == object
                    && write != source
                    && (source == START || happens.after(write, source));
                !overwrites
            })
        };
        if !late.iter().all(final_for) {
            return false;
        }
        let question = Question {
            graph,
            happens,
            first: graph.real as u32,
            leads: late,
            read,
            source: graph.sources[read as usize],
            swapped: false,
            fails: false,
        };
        self.saturation.clear(graph, happens);
        let real = 0..graph.real as u32;
        for place in real.clone().filter(|place| !late.contains(place)) {
            self.saturation.add(graph, happens, place);
        }
        let all = self.saturation.counts().to_vec();
        for &place in late {
            self.saturation.add_last(graph, happens, place, &all);
        }
        if !self.saturation.close(happens) {
            return false;
        }
        self.guide.clear();
        self.guide
            .extend(real.filter(|place| !late.contains(place)));
        self.guide.extend_from_slice(late);
        self.search
            .run(&question, &self.saturation, &self.guide, &mut self.order)
    }

    fn search(&mut self, question: &Question) -> bool {
        self.guide.push(question.read);
        self.search
            .run(question, &self.saturation, &self.guide, &mut self.order)
    }

    fn saturate(&mut self, question: &Question) -> bool {
        let Question {
            graph,
            happens,
            first,
            ..
        } = *question;
        if question.leads.is_empty() {
            self.advance(graph, happens, first);
            if self.overwritten(question) {
                return false;
            }
            self.saturation.copy(&self.base);
        } else {
            self.saturation.clear(graph, happens);
            (0..first).for_each(|place| self.saturation.add(graph, happens, place));
        }
        for &place in question.leads {
            match question.changed(place) {
                true => self.saturation.add_changed(question, place),
                false => self.saturation.add(graph, happens, place),
            }
        }
        self.saturation.add_changed(question, question.read);
        self.saturation.close(happens)
    }

    /// Whether a write comes between the source and a new read, whatever the order.
    fn overwritten(&self, question: &Question) -> bool {
        let Question {
            graph,
            happens,
            read,
            source,
            ..
        } = *question;
        let (thread, nth) = (happens.thread(read), happens.nth(read));
        let past = happens.coming_last(&graph.skeleton, thread, nth);
        let touch = graph.touches[read as usize];
        past.zip(touch).is_some_and(|(past, touch)| {
            let object = touch.object.index();
            self.base.overwritten(happens, object, source, past)
        })
    }

    /// Makes the base be about the first so many events.
    fn advance(&mut self, graph: &Graph, happens: &Happens, first: u32) {
        if self.begun == 0 || self.begun > first {
            self.base.clear(graph, happens);
            self.begun = 0;
        }
        if self.begun < first {
            (self.begun..first).for_each(|place| self.base.add(graph, happens, place));
            self.begun = first;
            self.base.close(happens);
        }
    }

    /// As it was done, the read and what happens before it in time to see its source.
    fn in_time(&mut self, question: &Question) {
        let Question { source, read, .. } = *question;
        self.past.clear();
        self.past.extend_from_slice(question.coming(read));
        let mut others = self.guide.iter();
        if source != START {
            join(&mut self.past, question.happens.row(source));
            others.by_ref().find(|place| **place == source);
        }
        let object = question.graph.touches[read as usize].map(|touch| touch.object);
        let overwrites = |place: &u32| {
            let touch = question.graph.touches[*place as usize];
            touch.map(|touch| touch.object) == object && question.writes(*place)
        };
        let rest = others.clone().position(overwrites);
        let time = self.guide.len() - rest.map_or(0, |rest| others.len() - rest);
        self.read_at(question, time);
    }

    /// As it was done up to a time, what has to come before the read as far as is known, the read, then all else.
    fn read_at(&mut self, question: &Question, time: usize) {
        let needed = |place: &u32| question.happens.in_row(&self.past, *place);
        let (before, behind) = self.guide.split_at(time);
        self.order.clear();
        self.order.extend_from_slice(before);
        self.order
            .extend(behind.iter().copied().filter(|place| needed(place)));
        self.order.push(question.read);
        self.order
            .extend(behind.iter().copied().filter(|place| !needed(place)));
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
