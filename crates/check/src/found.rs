//! Errors of a search: which are the same, how often each came up, which execution shows it best.

use crate::{
    shorten::shorten,
    subject::{Fault, Subject},
    trace_names::TraceNames,
};
use reweave_explore::Schedule;
use reweave_model::{Choice, End, Execution, Kind, Plan, Site};
use reweave_report::{Finding, Position, Trace, WriteError, record_sources};
use serde::{Deserialize, Serialize};
use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map::Entry},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// One distinct error, with the least execution that showed it.
#[derive(Clone, Debug)]
pub struct Error {
    /// That execution, as it was run once more.
    pub trace: Trace,
    /// Which of the execution's errors it is.
    pub index: usize,
    /// In how many executions it came up.
    pub seen: u64,
    /// The file that the trace was written to, or why there is none.
    pub file: Result<PathBuf, TraceFileError>,
    /// Whether the file held another trace of the same error.
    pub replaced: bool,
}

/// Why there is no trace file. [`fmt::Display`] is a sentence.
#[derive(Clone, Debug)]
pub enum TraceFileError {
    /// The directory for it cannot be made.
    NoDirectory(PathBuf, Arc<io::Error>),
    /// It cannot be written.
    NotWritten(Arc<WriteError>),
}

impl fmt::Display for TraceFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceFileError::NoDirectory(directory, error) => {
                write!(f, "{}: cannot be created: {error}", directory.display())
            }
            TraceFileError::NotWritten(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TraceFileError {}

impl Error {
    /// For the result document.
    pub fn finding(&self) -> Finding {
        let failure = &self.trace.errors[self.index];
        Finding {
            kind: failure.kind,
            rule: failure.rule.clone(),
            message: failure.message.clone(),
            location: self
                .trace
                .location(self.index)
                .as_ref()
                .map(Position::to_string),
            events: self.trace.events.len() as u64,
            trace: self
                .file
                .as_ref()
                .ok()
                .map(|path| path.display().to_string()),
            seen: self.seen,
            doubtful: false,
            because: None,
        }
    }
}

/// Two errors are the same when kind, rule and source places are. Sites stand for places while the search is under way.
pub(crate) type Identity<Place> = (Kind, Option<String>, Vec<Place>);

/// What one of an execution's errors is known by.
pub(crate) fn identity<Place: Ord>(
    execution: &Execution,
    index: usize,
    place: impl Fn(Site) -> Place,
) -> Identity<Place> {
    let error = &execution.errors[index];
    let mut places: Vec<Place> = error.sites.iter().map(|site| place(*site)).collect();
    if error.kind == Kind::DataRace {
        // Which of the two accesses came last does not matter.
        places.sort();
    }
    (error.kind, error.rule.clone(), places)
}

/// An execution that shows an error.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    /// In which order errors were met.
    order: usize,
    seen: u64,
    /// Which of the execution's errors it is.
    pub index: usize,
    plan: Plan,
    pub execution: Execution,
}

impl Case {
    /// By number of events, then plan: the same whoever was first.
    fn compare(&self, plan: &Plan, execution: &Execution) -> Ordering {
        let events = self.execution.events.len().cmp(&execution.events.len());
        events.then_with(|| choices(&self.plan).cmp(choices(plan)))
    }

    /// Counts another case of the same error, and keeps the lesser of both executions.
    fn merge(&mut self, other: Case) {
        let less = self.compare(&other.plan, &other.execution) == Ordering::Greater;
        let seen = self.seen + other.seen;
        if less {
            let order = self.order;
            *self = Case { order, ..other };
        }
        self.seen = seen;
    }
}

/// An error so far, as plain data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct StoredCase(Identity<Site>, Case);

/// All errors so far, from all workers.
#[derive(Default)]
pub(crate) struct Found {
    cases: Mutex<HashMap<Identity<Site>, Case>>,
}

impl Found {
    /// Takes in an execution's verdict, which is its first error; with `races` all its races as well, with `beyond` the first error
    /// that is none. Says whether there was any error.
    pub(crate) fn note(
        &self,
        plan: &Plan,
        execution: &Execution,
        races: bool,
        beyond: bool,
    ) -> bool {
        // What a run shows that was given up is shown by the one that it would have repeated, too.
        if execution.end == End::Redundant {
            return false;
        }
        let race = |error: &reweave_model::Error| error.kind == Kind::DataRace;
        let first = match beyond {
            true => execution.errors.iter().position(|error| !race(error)),
            false => None,
        };
        for (index, error) in execution.errors.iter().enumerate() {
            if index > 0 && first != Some(index) && !(races && race(error)) {
                continue;
            }
            let mut cases = self.lock();
            let order = cases.len();
            let case = cases
                .entry(identity(execution, index, |site| site))
                .or_insert_with(|| Case {
                    order,
                    seen: 0,
                    index,
                    plan: plan.clone(),
                    execution: execution.clone(),
                });
            case.seen += 1;
            if case.compare(plan, execution) == Ordering::Greater {
                case.index = index;
                case.plan.clone_from(plan);
                case.execution.clone_from(execution);
            }
        }
        !execution.errors.is_empty()
    }

    /// Whether there is any, `beyond` races if asked so.
    pub(crate) fn any(&self, beyond: bool) -> bool {
        let counts = |kind: Kind| !beyond || kind != Kind::DataRace;
        self.lock().keys().any(|(kind, ..)| counts(*kind))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Runs each error's execution once more, made simpler unless trying is `over`, and writes its trace to a file in the directory.
    /// Returns those errors, and how many there was no time for.
    pub(crate) fn confirm(
        &self,
        subject: &impl Subject,
        over: &(dyn Fn() -> bool + Sync),
        directory: &Path,
        name: &str,
    ) -> Result<(Vec<Error>, usize), Fault> {
        let mut cases: Vec<_> = std::mem::take(&mut *self.lock()).into_iter().collect();
        cases.sort_by_key(|(_, case)| case.order);
        let cases = merged(cases, |site| subject.position(site).ok_or(site));
        let (mut errors, mut late) = (Vec::new(), 0);
        let mut names = TraceNames::new(directory, name);
        for case in cases {
            let (mut trace, index) = match simplest(subject, &case, over) {
                Err(Fault::Late) => {
                    late += 1;
                    continue;
                }
                found => found?,
            };
            record_sources(&mut trace);
            let place = directory_for(directory).map(|()| names.place(&trace));
            errors.push(Error {
                replaced: place.as_ref().is_ok_and(|place| place.replaces),
                file: place.and_then(|place| write(&trace, place.path)),
                trace,
                index,
                seen: case.seen,
            });
        }
        Ok((errors, late))
    }

    /// As plain data, the first one met first.
    pub(crate) fn store(&self) -> Vec<StoredCase> {
        let cases = self.lock();
        let cases = cases.iter();
        let mut stored: Vec<_> = cases
            .map(|(identity, case)| StoredCase(identity.clone(), case.clone()))
            .collect();
        stored.sort_by_key(|StoredCase(_, case)| case.order);
        stored
    }

    /// Takes in what was stored.
    pub(crate) fn restore(&self, stored: Vec<StoredCase>) {
        let stored = stored.into_iter();
        self.lock()
            .extend(stored.map(|StoredCase(identity, case)| (identity, case)));
    }

    /// Adds what was found in another part of the same search.
    pub(crate) fn absorb(&self, stored: Vec<StoredCase>) {
        let mut cases = self.lock();
        for StoredCase(identity, mut case) in stored {
            let order = cases.len();
            match cases.entry(identity) {
                Entry::Vacant(place) => {
                    case.order = order;
                    place.insert(case);
                }
                Entry::Occupied(mut known) => known.get_mut().merge(case),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Identity<Site>, Case>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The trace of a case's execution, or of a simpler one that fails the same way, with which of its errors it is about.
fn simplest(
    subject: &impl Subject,
    case: &Case,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<(Trace, usize), Fault> {
    let mut trace = subject.confirm(&case.execution)?;
    trace.preemptions = Some(Schedule::default().preemptions(&case.execution));
    let known = (trace, case.index);
    let simpler = (!over()).then(|| shorten(subject, case, over)).flatten();
    let Some((execution, index, shortened)) = simpler else {
        return Ok(known);
    };
    // What a trial did and a run of its own does not do is not believed.
    let Ok(mut trace) = subject.confirm(&execution) else {
        return Ok(known);
    };
    let told = |trace: &Trace, index: usize| {
        let failure = trace.errors.get(index)?;
        let mut places = failure.places.clone();
        places.sort();
        Some((failure.kind, failure.rule.clone(), places))
    };
    if told(&trace, index) != told(&known.0, known.1) {
        return Ok(known);
    }
    trace.preemptions = Some(Schedule::default().preemptions(&execution));
    trace.shortened = Some(shortened);
    Ok((trace, index))
}

/// Puts together what differs in sites, but not in places. (A site without a place stands for itself.)
fn merged(
    cases: Vec<(Identity<Site>, Case)>,
    place: impl Fn(Site) -> Result<Position, Site>,
) -> Vec<Case> {
    let mut merged: Vec<(Identity<Result<Position, Site>>, Case)> = Vec::new();
    for ((kind, rule, sites), case) in cases {
        let mut places: Vec<_> = sites.into_iter().map(&place).collect();
        if kind == Kind::DataRace {
            places.sort();
        }
        let identity = (kind, rule, places);
        match merged.iter_mut().find(|(other, _)| *other == identity) {
            None => merged.push((identity, case)),
            Some((_, known)) => known.merge(case),
        }
    }
    merged.into_iter().map(|(_, case)| case).collect()
}

/// What orders plans: who goes, with which outcome.
fn choices(plan: &Plan) -> impl Iterator<Item = Choice> {
    plan.steps.iter().map(|step| step.choice)
}

fn directory_for(directory: &Path) -> Result<(), TraceFileError> {
    fs::create_dir_all(directory)
        .map_err(|error| TraceFileError::NoDirectory(directory.into(), Arc::new(error)))
}

fn write(trace: &Trace, path: PathBuf) -> Result<PathBuf, TraceFileError> {
    match trace.write(&path) {
        Ok(()) => Ok(path),
        Err(error) => {
            // The number is free again.
            if fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
                let _ = fs::remove_file(&path);
            }
            Err(TraceFileError::NotWritten(Arc::new(error)))
        }
    }
}
