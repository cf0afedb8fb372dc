//! The trace file: one execution, complete enough to be shown, compared and run again.
//!
//! Made from a finished [`Execution`] and what its target knows ([`Context`]); read back by replay and by everything
//! that shows it. Threads go by creation path and objects by kind and order of first use: no address is stored.
//!
//! Invariants, checked when a file is read: the plan has one step for each event, of the same thread and kind; every index
//! is below the length of its table; every operation is done on an object of its kind.

use crate::{
    document::{self, ReadError, WriteError},
    operation::Operation,
    position::Position,
    stacks::CallEntry,
    values::{SleepEntry, ValueType, VariableEntry, WatchedEntry},
};
use reweave_model::{
    Choice, Edge, End, Error, Event, Execution, Gate, Kind, Mark, Object, Op, Pending, Plan,
    Policy, Site, Step, ThreadId,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, path::Path};

pub use crate::object_state::ObjectState;

/// The schema of a trace file.
pub(crate) const SCHEMA: &str = "reweave.trace/1";

/// One execution of one program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trace {
    schema: String,
    /// The version of reweave that wrote it.
    pub version: String,
    /// What was run.
    pub program: Program,
    /// What a replay must set as well.
    pub options: Options,
    /// How it ended.
    pub end: String,
    /// What went wrong; the first is the verdict.
    pub errors: Vec<Failure>,
    /// How often the turn was taken from a thread that could have gone on, where that was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u32>,
    /// What the execution was like before it was made simpler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<Shortened>,
    /// The files in which something happens, as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceEntry>,
    /// In order of creation.
    pub threads: Vec<ThreadEntry>,
    /// In order of first use.
    pub objects: Vec<ObjectEntry>,
    /// One step for each event.
    pub plan: Vec<PlanStep>,
    /// In the order they happened.
    pub events: Vec<TraceEvent>,
    /// How the program came to the places of events and of threads that did not end, each stack of calls once, the innermost call first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Vec<CallEntry>>,
    /// Where threads slept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sleeps: Vec<SleepEntry>,
    /// Variables that the failure is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<WatchedEntry>,
    /// What the program printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// What was run, and how it is run again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Program {
    /// For people: a test's name, a file's name.
    pub name: String,
    /// What it is, such as `rust-test`.
    pub kind: String,
    /// Which test of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// How it was built and started, in words of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Of which file: equal if the file is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Memory whose plain accesses were operations, because some raced: place and length, in words of its kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visible: Vec<(u64, u64)>,
    /// Rules that the run followed, by name: modelling that few programs need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Libraries that runs open, in the order in which they were met, and whether others see their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<(String, bool)>,
    /// One line that runs exactly this execution again; `{trace}` stands for the file's own path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// Options of the search that a replay needs too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Options {
    /// Events after which a run is cut.
    pub max_steps: u32,
    /// Whether waits may end without a notification.
    pub spurious_wakeups: bool,
    /// Whether the ends of threads are events: the program asks for them without waiting.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub thread_ends: bool,
}

/// The execution that was found first, which fails the same way as the reported one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shortened {
    /// Its events.
    pub steps: u32,
    /// How often another thread than before went on.
    pub switches: u32,
    /// How often that one could have gone on itself.
    pub preemptions: u32,
    /// How many runs it took to find the simpler one.
    pub runs: u32,
}

/// What a source file was like when the program ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SourceEntry {
    /// As places name it.
    pub file: String,
    /// Of its bytes: 64 bits of FNV-1a in hexadecimal.
    pub hash: String,
}

/// A thread: its name in every run, and what it had come to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadEntry {
    /// By creation path: `main`, `main.0`, `main.0.2`.
    pub path: String,
    /// The name the program gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The function of the program that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Who created it, as an index into this table.
    pub parent: u32,
    /// After how many of its parent's events.
    pub born_after: u32,
    /// What it had come to when the run ended; `None`: its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingEntry>,
}

/// An operation that was never done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingEntry {
    /// What was to be done.
    #[serde(flatten)]
    pub operation: Operation,
    /// The word that a parked loop waits to see changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saw: Option<u64>,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
    /// How it came there, as an index into the stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}

/// A shared object: its name, and its state at first use.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectEntry {
    /// Such as `mutex#1`: kind and order of first use among its kind.
    pub name: String,
    /// What it is called for people, where more is known than its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How its values are written, where they are no plain numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValueType>,
    /// State at first use.
    #[serde(flatten)]
    pub state: ObjectState,
    /// Its values are pointers: eight times a number that stands for an address, plus the low three bits of the address. Two runs
    /// that are otherwise the same may number differently.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pointers: bool,
    /// Where it was used first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_used: Option<Position>,
    /// Where its memory was allocated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated: Option<Position>,
}

/// Who went, with which outcome, to do what: written as `[thread, outcome, "operation"]`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlanStep(pub u32, pub u16, pub String);

/// One operation done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceEvent {
    /// Who did it, as an index into the thread table.
    pub thread: u32,
    /// What was done.
    #[serde(flatten)]
    pub operation: Operation,
    /// Whether it got what it asked for.
    pub ok: bool,
    /// What it returned.
    pub result: u64,
    /// It comes after this many events (second) of this thread (first), beyond program order and dependence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<(u32, u32)>,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
    /// How it came there, as an index into the stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}

/// Something that went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// What it is.
    pub kind: Kind,
    /// For misuse and memory errors, which rule was broken.
    pub rule: Option<String>,
    /// For people.
    pub message: String,
    /// The source places it is about.
    pub places: Vec<Position>,
    /// For each place, how the program had come there, such as `push at queue.c:12`, the innermost call first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Vec<String>>,
    /// For each place, the access there, where the error is about accesses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<AccessEntry>,
    /// Variables that the failed condition names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<VariableEntry>,
    /// In which thread (first), after how many of its events (second), where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<(u32, u32)>,
}

/// An access that an error is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccessEntry {
    /// What it did: `read`, `write`, `atomic read`, `atomic write` or `free`.
    pub access: String,
    /// In which thread, as an index into the thread table.
    pub thread: u32,
    /// After how many of the thread's events, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u32>,
    /// The value that it read or wrote, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Failure {
    /// The access that the execution failed with, as an index into the accesses; the others came before it.
    pub fn failing(&self) -> Option<usize> {
        let (thread, count) = self.after?;
        let here = |access: &AccessEntry| (access.thread, access.after) == (thread, Some(count));
        self.accesses.iter().rposition(here)
    }

    /// Where the execution failed.
    pub fn place(&self) -> Option<&Position> {
        match self.failing() {
            Some(access) => self.places.get(access),
            None => self.places.first(),
        }
    }

    /// Accesses before the one that the execution failed with, each with its place, of a thread after so many of its events.
    pub fn earlier(
        &self,
        thread: u32,
        count: u32,
    ) -> impl Iterator<Item = (&AccessEntry, Option<&Position>)> {
        let failing = self.failing();
        let accesses = self.accesses.iter().enumerate();
        accesses
            .filter(move |(index, access)| {
                failing.is_some_and(|failing| *index != failing)
                    && (access.thread, access.after) == (thread, Some(count))
            })
            .map(|(index, access)| (access, self.places.get(index)))
    }

    /// What a row says of an access before the one that the execution failed with.
    pub fn told_earlier(&self, access: &AccessEntry, failing: &str) -> String {
        match &self.rule {
            Some(rule) => format!("{}: {rule} in {failing}", access.access),
            None => format!("{}: {} with {failing}", access.access, self.kind.name()),
        }
    }
}

/// What the maker of a trace knows beyond the execution.
pub struct Context<'a> {
    /// What was run.
    pub program: Program,
    /// With which options.
    pub options: Options,
    /// Where a site is.
    pub site: &'a dyn Fn(Site) -> Option<Position>,
    /// What the program printed.
    pub output: Option<String>,
    /// For each error, in which thread and after how many of its events it came up. May be shorter than the errors.
    pub blame: &'a [Option<Edge>],
}

/// The first place at which two traces differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The event, counted from 1; `None`: all events are the same and the end is not.
    pub step: Option<usize>,
    /// What the first trace has there.
    pub expected: String,
    /// What the second one has.
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => write!(f, "step {step}: ")?,
            None => write!(f, "after the last step: ")?,
        }
        write!(f, "recorded {}, now {}", self.expected, self.actual)
    }
}

impl Trace {
    /// The trace of a finished execution.
    pub fn from_execution(execution: &Execution, context: Context<'_>) -> Trace {
        let site = context.site;
        let events: Vec<TraceEvent> = execution.events.iter().map(|e| event(e, site)).collect();
        let plan = execution.events.iter().map(|event| {
            let kind = event.op.kind().name();
            PlanStep(event.thread.0, event.outcome, kind.into())
        });
        let failure = |(index, error): (usize, &Error)| Failure {
            kind: error.kind,
            rule: error.rule.clone(),
            message: error.message.clone(),
            places: error.sites.iter().filter_map(|at| site(*at)).collect(),
            stacks: Vec::new(),
            accesses: Vec::new(),
            variables: Vec::new(),
            after: context.blame.get(index).copied().flatten().map(pair),
        };
        Trace {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            program: context.program,
            options: context.options,
            end: end_name(execution.end).into(),
            errors: execution.errors.iter().enumerate().map(failure).collect(),
            preemptions: None,
            shortened: None,
            sources: Vec::new(),
            threads: threads(execution, site),
            objects: objects(execution, site),
            plan: plan.collect(),
            events,
            stacks: Vec::new(),
            sleeps: Vec::new(),
            watched: Vec::new(),
            output: context.output,
        }
    }

    /// How often another thread than before went on.
    pub fn switches(&self) -> usize {
        let pairs = self.events.windows(2);
        pairs.filter(|two| two[0].thread != two[1].thread).count()
    }

    /// A plan whose steps are the whole execution.
    pub fn plan(&self) -> Plan {
        let step = |(step, event): (&PlanStep, &TraceEvent)| Step {
            choice: Choice {
                thread: ThreadId(step.0),
                outcome: step.1,
            },
            kind: event.op().kind(),
            site: Site::ANY,
            ok: Some(event.ok),
            mark: Mark::Default,
        };
        Plan {
            steps: self.plan.iter().zip(&self.events).map(step).collect(),
            sleep: Vec::new(),
            policy: Policy::First,
            max_steps: self.options.max_steps,
        }
    }

    /// One JSON document.
    pub fn to_json(&self) -> String {
        document::to_json(self)
    }

    /// Writes the file whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        document::save(path, &self.to_json())
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Trace, ReadError> {
        Trace::parse(path, &document::load(path)?)
    }

    /// As [`Trace::read`], of bytes at hand; the path is only for messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Trace, ReadError> {
        let trace: Trace = document::parse(path, bytes, SCHEMA)?;
        match trace.flaw() {
            None => Ok(trace),
            Some(message) => Err(ReadError::Inconsistent {
                path: path.into(),
                message,
            }),
        }
    }

    /// The first thing in which another trace of the same program differs: what a replay asks.
    pub fn differs(&self, other: &Trace) -> Option<Difference> {
        let steps = self.events.len().max(other.events.len());
        for index in 0..steps {
            let (expected, actual) = (self.one(index), other.one(index));
            if expected != actual {
                let none = || "nothing: the execution is over".to_owned();
                return Some(Difference {
                    step: Some(index + 1),
                    expected: expected.unwrap_or_else(none),
                    actual: actual.unwrap_or_else(none),
                });
            }
        }
        let (expected, actual) = (self.ending(), other.ending());
        (expected != actual).then_some(Difference {
            step: None,
            expected,
            actual,
        })
    }

    /// One event with everything a replay must reproduce, for comparison and for messages.
    fn one(&self, index: usize) -> Option<String> {
        let event = self.events.get(index)?;
        let mut text = format!(
            "{}: {}",
            self.thread_path(event.thread),
            event.operation.name
        );
        let operation = &event.operation;
        for object in [operation.object, operation.mutex].into_iter().flatten() {
            text += &format!(" {}", self.object_name(object));
        }
        if let Some(thread) = operation.of {
            text += &format!(" {}", self.thread_path(thread));
        }
        if let Some(function) = &operation.function {
            text += &format!(" {function}");
        }
        // Which number an address has is no part of what a run does.
        let pointers = operation.object.is_some_and(|object| self.pointers(object));
        let word = |word: u64| match (pointers, word) {
            (false, _) => word.to_string(),
            (true, 0..8) => pointer(word),
            (true, _) => format!("&?{}", tag(word)),
        };
        if let Some(expected) = operation.expected {
            text += &format!(" {} ->", word(expected));
        }
        if let Some(value) = operation.value {
            text += &match operation.function.as_deref() {
                None | Some("swap") => format!(" {}", word(value)),
                Some(_) => format!(" {value}"),
            };
        }
        if let Some(flag) = operation.flag {
            text += if flag { " +" } else { " -" };
        }
        text += &format!(" = {}", word(event.result));
        if !event.ok {
            text += " (failed)";
        }
        if let Some(at) = &event.at {
            text += &format!(" at {at}");
        }
        Some(text)
    }

    fn ending(&self) -> String {
        let mut text = format!("end `{}`", self.end);
        for error in &self.errors {
            text += &format!(", {}", error.kind.name());
            if let Some(rule) = &error.rule {
                text += &format!(" ({rule})");
            }
            for place in &error.places {
                text += &format!(" at {place}");
            }
        }
        for thread in &self.threads {
            if let Some(pending) = &thread.pending {
                let object = pending
                    .operation
                    .object
                    .map(|object| self.object_name(object));
                let (path, name) = (&thread.path, &pending.operation.name);
                text += &format!(", {path} at {name} {}", object.unwrap_or_default());
            }
        }
        text
    }

    pub(crate) fn thread_path(&self, thread: u32) -> &str {
        self.threads
            .get(thread as usize)
            .map_or("?", |thread| &thread.path)
    }

    /// Whether an object's values are pointers.
    pub(crate) fn pointers(&self, object: u32) -> bool {
        let object = self.objects.get(object as usize);
        object.is_some_and(|object| object.pointers)
    }

    pub(crate) fn object_name(&self, object: u32) -> &str {
        self.objects
            .get(object as usize)
            .map_or("?", |object| &object.name)
    }
}

impl TraceEvent {
    /// The operation, for the model.
    pub(crate) fn op(&self) -> Op {
        self.operation
            .to_op()
            .expect("checked when the trace was read or made from an operation")
    }
}

type Sites<'a> = &'a dyn Fn(Site) -> Option<Position>;

fn pair(edge: Edge) -> (u32, u32) {
    (edge.thread.0, edge.count)
}

fn event(event: &Event, site: Sites<'_>) -> TraceEvent {
    TraceEvent {
        thread: event.thread.0,
        operation: event.op.into(),
        ok: event.ok,
        result: event.result,
        after: event.after.map(pair),
        at: site(event.site),
        stack: None,
    }
}

fn pending(pending: Pending, site: Sites<'_>) -> PendingEntry {
    PendingEntry {
        operation: pending.op.into(),
        saw: match pending.gate {
            Gate::Word(word) => Some(word),
            Gate::Open | Gate::Late => None,
        },
        at: site(pending.site),
        stack: None,
    }
}

fn threads(execution: &Execution, site: Sites<'_>) -> Vec<ThreadEntry> {
    let entry = |record: &reweave_model::ThreadRecord| ThreadEntry {
        path: path_name(&record.path),
        name: record.name.clone(),
        start: None,
        parent: record.born.thread.0,
        born_after: record.born.count,
        pending: record.pending.map(|wish| pending(wish, site)),
    };
    execution.threads.iter().map(entry).collect()
}

/// A thread by its creation path: `main`, `main.0`, `main.0.1`.
pub fn path_name(path: &[u32]) -> String {
    path.iter()
        .fold("main".to_owned(), |name, n| format!("{name}.{n}"))
}

/// The numbers of a thread's path; `None`: not a path.
pub fn parse_path(path: &str) -> Option<Vec<u32>> {
    let mut parts = path.split('.');
    (parts.next() == Some("main")).then_some(())?;
    parts.map(|part| part.parse().ok()).collect()
}

fn objects(execution: &Execution, site: Sites<'_>) -> Vec<ObjectEntry> {
    let mut first = vec![None; execution.objects.len()];
    let events = execution.events.iter().map(|event| (event.op, event.site));
    let wishes = execution.threads.iter().filter_map(|thread| thread.pending);
    for (op, at) in events.chain(wishes.map(|wish| (wish.op, wish.site))) {
        for object in [op.object(), op.second()].into_iter().flatten() {
            if let Some(first) = first.get_mut(object.index()) {
                first.get_or_insert(at);
            }
        }
    }
    let mut seen = BTreeMap::new();
    let entry = |(object, first): (&Object, Option<Site>)| {
        let kind = object.kind_name();
        let number = seen.entry(kind).or_insert(0);
        *number += 1;
        ObjectEntry {
            name: format!("{kind}#{number}"),
            label: None,
            values: None,
            state: ObjectState::of(object),
            pointers: false,
            first_used: first.and_then(site),
            allocated: None,
        }
    };
    let mut entries: Vec<_> = execution.objects.iter().zip(first).map(entry).collect();
    for object in &execution.pointers {
        entries[object.index()].pointers = true;
    }
    entries
}

/// A pointer for people: `null`, `&3`, `&3+1` for one with a tag in its low bits.
pub(crate) fn pointer(word: u64) -> String {
    match word >> 3 {
        0 => format!("null{}", tag(word)),
        number => format!("&{number}{}", tag(word)),
    }
}

fn tag(word: u64) -> String {
    match word & 7 {
        0 => String::new(),
        tag => format!("+{tag}"),
    }
}

const ENDS: [(End, &str); 6] = [
    (End::Done, "done"),
    (End::Deadlock, "deadlock"),
    (End::Livelock, "livelock"),
    (End::Blocked, "blocked"),
    (End::Redundant, "redundant"),
    (End::MaxSteps, "max-steps"),
];

fn end_name(end: End) -> &'static str {
    ENDS.iter()
        .find(|(known, _)| *known == end)
        .map_or("?", |(_, name)| name)
}

pub(crate) fn end_of(name: &str) -> Option<End> {
    ENDS.iter()
        .find(|(_, known)| *known == name)
        .map(|(end, _)| *end)
}
