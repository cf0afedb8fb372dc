//! The rows of the page, from the first to the last: what was done, and what is no event but has its place among them.
//!
//! A thread runs on to its next operation as soon as it has done one, or is created. So what it does in between (threads
//! it creates, errors it runs into) stands right after that row.

use reweave_report::{AccessEntry, Failure, Position, Story, Trace, thread_names};
use serde::Serialize;

/// One line of the swim lanes.
pub(crate) struct Row {
    pub kind: Kind,
    /// `None`: it is about all of them.
    pub thread: Option<u32>,
    pub object: Option<u32>,
    pub text: String,
    pub at: Option<Position>,
    /// How the program came there, as an index into the stacks.
    pub stack: Option<u32>,
}

/// What a row tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An event, by its index.
    Step(usize),
    /// A thread is created, by its index.
    Spawn(u32),
    /// An access that another one clashes with later, by the index of that error.
    Access(usize),
    /// Something went wrong, by its index among the errors.
    Failure(usize),
    /// What a thread came to and never did.
    Pending,
}

impl Kind {
    /// As the script knows it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Step(_) => "step",
            Kind::Spawn(_) => "spawn",
            Kind::Access(_) => "access",
            Kind::Failure(_) => "failure",
            Kind::Pending => "pending",
        }
    }
}

/// All rows.
pub(crate) fn rows(story: &Story<'_>) -> Vec<Row> {
    let trace = story.trace;
    let mut rows = Rows {
        story,
        children: vec![Vec::new(); trace.threads.len()],
        errors: distinct(trace).collect(),
        done: vec![0; trace.threads.len()],
        list: Vec::new(),
    };
    for (index, thread) in trace.threads.iter().enumerate().skip(1) {
        rows.children[thread.parent as usize].push(index as u32);
    }
    rows.beside(0);
    for (index, event) in trace.events.iter().enumerate() {
        rows.list.push(Row {
            kind: Kind::Step(index),
            thread: Some(event.thread),
            object: event.operation.object,
            text: story.event(index),
            at: event.at.clone(),
            stack: event.stack,
        });
        rows.done[event.thread as usize] += 1;
        rows.beside(event.thread);
    }
    rows.finish()
}

struct Rows<'a> {
    story: &'a Story<'a>,
    children: Vec<Vec<u32>>,
    /// Those that are told.
    errors: Vec<(usize, &'a Failure)>,
    /// Events of each thread so far.
    done: Vec<u32>,
    list: Vec<Row>,
}

impl Rows<'_> {
    /// What a thread does between the event it has just done and its next one.
    fn beside(&mut self, thread: u32) {
        let count = self.done[thread as usize];
        let trace = self.story.trace;
        let born = |child: &u32| trace.threads[*child as usize].born_after == count;
        let children: Vec<u32> = self.children[thread as usize]
            .iter()
            .copied()
            .filter(born)
            .collect();
        for child in children {
            self.list.push(Row {
                kind: Kind::Spawn(child),
                thread: Some(thread),
                object: None,
                text: format!("spawn {}", self.story.thread(child)),
                at: None,
                stack: None,
            });
            self.beside(child);
        }
        for (index, error) in self.errors.clone() {
            for (access, at) in error.earlier(thread, count) {
                let failing = self
                    .story
                    .thread(error.after.map_or(0, |(thread, _)| thread));
                self.list.push(Row {
                    kind: Kind::Access(index),
                    thread: Some(thread),
                    object: None,
                    text: error.told_earlier(access, failing),
                    at: at.cloned(),
                    stack: None,
                });
            }
            if error.after == Some((thread, count)) {
                self.fail(index, error, Some(thread));
            }
        }
    }

    fn fail(&mut self, index: usize, error: &Failure, thread: Option<u32>) {
        let rule = error.rule.as_ref().map(|rule| format!(" ({rule})"));
        self.list.push(Row {
            kind: Kind::Failure(index),
            thread,
            object: None,
            text: format!("{}{}", error.kind.name(), rule.unwrap_or_default()),
            at: match accesses(self.story.trace, error) {
                Some([_, found]) if error.accesses.is_empty() => found.at,
                _ => error.place().cloned(),
            },
            stack: None,
        });
    }

    /// What is true of the end: errors of nobody in particular, and what was never done.
    fn finish(mut self) -> Vec<Row> {
        let story = self.story;
        let shown = |index: usize| {
            let kind = Kind::Failure(index);
            self.list.iter().any(|row| row.kind == kind)
        };
        let left: Vec<_> = self
            .errors
            .iter()
            .filter(|(index, _)| !shown(*index))
            .copied()
            .collect();
        for (index, error) in left {
            self.fail(index, error, None);
            if let Some(row) = self.list.last_mut() {
                row.at = None;
            }
        }
        for (thread, pending) in story.unfinished() {
            self.list.push(Row {
                kind: Kind::Pending,
                thread: Some(thread.0),
                object: pending.operation.object,
                text: format!("{} …", story.pending(pending)),
                at: pending.at.clone(),
                stack: pending.stack,
            });
        }
        self.list
    }
}

/// Errors without those that tell the same once more.
fn distinct(trace: &Trace) -> impl Iterator<Item = (usize, &Failure)> {
    let told = |error: &Failure| (error.kind, error.rule.clone(), error.message.clone());
    let errors = trace.errors.iter().enumerate();
    errors.filter(move |(index, error)| {
        let mut before = trace.errors[..*index].iter();
        before.all(|other| told(other) != told(error))
    })
}

/// One of the two accesses of a race.
#[derive(Serialize)]
pub(crate) struct Access {
    pub thread: u32,
    pub at: Option<Position>,
}

/// The two accesses of a race, in the order of the run. Traces that do not list them name their threads in the message, and some also the places.
pub(crate) fn accesses(trace: &Trace, error: &Failure) -> Option<[Access; 2]> {
    if let [first, second] = &error.accesses[..] {
        let access = |access: &AccessEntry, number: usize| Access {
            thread: access.thread,
            at: error.places.get(number).cloned(),
        };
        return Some([access(first, 0), access(second, 1)]);
    }
    if error.kind != reweave_model::Kind::DataRace {
        return None;
    }
    let part = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    // A sentence names threads as the page does, or by their paths.
    let names = thread_names(trace);
    let index = |word: &str| {
        let known = trace.threads.iter().position(|thread| thread.path == word);
        known.or_else(|| names.iter().position(|name| name == word))
    };
    let mut said = Vec::new();
    for word in error.message.split(|c| !part(c)) {
        if let Some(thread) = index(word) {
            let from = word.as_ptr() as usize - error.message.as_ptr() as usize;
            said.push((thread as u32, from));
        }
    }
    let [(first, _), (second, middle)] = said[..] else {
        return None;
    };
    let place = |part: &str, number: usize| {
        let told = |place: &&Position| part.contains(&place.to_string());
        let place = error.places.iter().find(told);
        place.or(error.places.get(number)).cloned()
    };
    let (front, back) = error.message.split_at(middle);
    Some([
        Access {
            thread: first,
            at: place(front, 0),
        },
        Access {
            thread: second,
            at: place(back, 1),
        },
    ])
}
