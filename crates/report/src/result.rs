//! The result document of one search, and the exit code that goes with it.

use crate::{
    coverage::Coverage,
    document::{self, ReadError, WriteError},
    fleet::FleetCourse,
};
use reweave_model::Kind;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The schema of a result document.
pub(crate) const SCHEMA: &str = "reweave.result/1";

/// What a search came to. Field names and meanings are those of `reweave.result/1`; they change only with its number.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResultDocument {
    schema: String,
    /// The program's name.
    pub program: String,
    /// How it was explored.
    pub algorithm: String,
    /// Why not by the one that needs the fewest executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm_because: Option<String>,
    /// What two executions have in common that count as one, such as `mazurkiewicz`.
    pub equivalence: String,
    /// Whether every class was run.
    pub complete: bool,
    /// Why not, such as `budget` or `stopped-at-error`.
    pub incomplete: Vec<String>,
    /// What was met and not explored, with places; each belongs to a reason in `incomplete`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexplored: Vec<Unexplored>,
    /// Code that was explored by its library calls alone, of an unmodified program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<UnseenCode>,
    /// Always `sc`: sequential consistency.
    pub memory_model: String,
    /// Places in the program that ask for less than sequential consistency.
    pub weak_orders: u64,
    /// Runs that ended by themselves.
    pub executions: u64,
    /// How many of them had been run before, where that can be: `--balance inspect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Some of these may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicates_missed: bool,
    /// Runs that did not.
    pub blocked: u64,
    /// Why they did not.
    pub blocked_by: BlockedBy,
    /// Events of all runs.
    pub events: u64,
    /// The most threads that one run had.
    pub threads_max: u32,
    /// Wall-clock time.
    pub elapsed_s: f64,
    /// Nothing was explored: the document is of an earlier check, and nothing has changed since, so many seconds ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_s: Option<f64>,
    /// How large the search is; absent if no execution ended by itself or schedules were random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimated>,
    /// What makes the search large; only of searches that did not come to their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiplies: Option<Multiplies>,
    /// What the search covered, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// How a cluster explored it over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetCourse>,
    /// How many explored at once.
    pub workers: u32,
    /// How the program was run again, such as `warm`.
    pub restart: String,
    /// Distinct errors.
    pub errors: Vec<Finding>,
    /// Errors that the user knows and accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppressed>,
    /// Distinct findings that are no errors unless asked for.
    pub warnings: Vec<Finding>,
}

/// How large a search is that was not explored to its end.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Estimated {
    /// Executions in all; `None`: more than a floating-point number can hold.
    pub executions: Option<f64>,
    /// Their decimal logarithm, which is always a number.
    pub executions_log10: f64,
    /// Seconds in all, at the rate so far; `None`: more than a floating-point number can hold.
    pub seconds: Option<f64>,
    /// The part that was explored, from 0 to 1.
    pub covered: f64,
}

/// An error that the user knows and accepts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Suppressed {
    /// What it is.
    pub kind: Kind,
    /// The first source place it is about.
    pub location: Option<String>,
    /// Why it is accepted.
    pub reason: String,
    /// In how many executions it came up.
    pub seen: u64,
}

/// A call that was refused, or code that is not seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unexplored {
    /// As in `incomplete`, such as `unsupported: fork`.
    pub reason: String,
    /// Where.
    pub location: Option<String>,
    /// How the program came there, such as `serve at server.c:12`, the innermost call first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// Code that was explored by its library calls alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnseenCode {
    /// The name of its file.
    pub file: String,
    /// Atomic instructions that a disassembler finds in it.
    pub atomics: u64,
    /// System calls in it that do not go through the C library.
    pub system_calls: u64,
}

/// The place with the most steps, in one execution, on objects that several threads touch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Multiplies {
    /// The place.
    pub location: String,
    /// The thread that is there most often.
    pub thread: String,
    /// How often.
    pub times: u64,
    /// How many threads are there.
    pub threads: u64,
    /// How many steps of all threads are there.
    pub steps: u64,
    /// How many touch such objects anywhere.
    pub of: u64,
}

impl Estimated {
    /// From a decimal logarithm and numbers that may be infinite.
    pub fn new(executions_log10: f64, seconds: f64, covered: f64) -> Estimated {
        let held = |number: f64| number.is_finite().then_some(number);
        Estimated {
            executions: held(10f64.powf(executions_log10).round()),
            executions_log10,
            seconds: held(seconds),
            covered,
        }
    }
}

/// Runs that did not end by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BlockedBy {
    /// A failed `assume`.
    pub assume: u64,
    /// Could only have repeated another run.
    pub redundant: u64,
}

/// One distinct error.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// For misuse and memory errors, which rule was broken.
    pub rule: Option<String>,
    /// For people.
    pub message: String,
    /// The first source place it is about.
    pub location: Option<String>,
    /// Length of the execution that shows it.
    pub events: u64,
    /// The trace file of that execution.
    pub trace: Option<String>,
    /// In how many executions it came up.
    pub seen: u64,
    /// It is none if code that was not observed synchronises there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
    /// Why it is doubtful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// How a command ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ExitCode {
    /// Explored completely, no error.
    Clean = 0,
    /// At least one error found.
    Found = 1,
    /// Wrong usage, or the program could not be compiled or started.
    Usage = 2,
    /// No error found, but not everything was explored.
    Incomplete = 3,
    /// A fault of reweave itself, or a program that does not behave the same when run again.
    Fault = 4,
}

impl ExitCode {
    /// As the operating system gets it.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl ResultDocument {
    /// A document about nothing yet: no execution, complete, under sequential consistency.
    pub fn new(program: &str, algorithm: &str, equivalence: &str) -> ResultDocument {
        ResultDocument {
            schema: SCHEMA.into(),
            program: program.into(),
            algorithm: algorithm.into(),
            algorithm_because: None,
            equivalence: equivalence.into(),
            complete: true,
            incomplete: Vec::new(),
            unexplored: Vec::new(),
            unseen: Vec::new(),
            memory_model: "sc".into(),
            weak_orders: 0,
            executions: 0,
            duplicates: None,
            duplicates_missed: false,
            blocked: 0,
            blocked_by: BlockedBy::default(),
            events: 0,
            threads_max: 0,
            elapsed_s: 0.0,
            cached_s: None,
            estimate: None,
            multiplies: None,
            coverage: None,
            fleet: None,
            workers: 1,
            restart: "warm".into(),
            errors: Vec::new(),
            suppressed: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Marks the data races as doubtful, if code was run that was not observed.
    pub fn doubt(&mut self) {
        let places = self.incomplete.iter();
        let mut places = places.filter_map(|why| why.strip_prefix("uninstrumented: "));
        let Some(place) = places.next() else { return };
        let because = format!("{place} was not observed, and may order the two accesses");
        let races = self.errors.iter_mut();
        for race in races.filter(|error| error.kind == Kind::DataRace) {
            race.doubtful = true;
            race.because = Some(because.clone());
        }
    }

    /// How many of its errors are not doubtful.
    pub fn certain(&self) -> usize {
        let certain = self.errors.iter().filter(|error| !error.doubtful);
        certain.count()
    }

    /// How a command that came to this result ends; `strict` counts warnings as errors.
    pub fn exit_code(&self, strict: bool) -> ExitCode {
        if self.certain() > 0 || (strict && !self.warnings.is_empty()) {
            ExitCode::Found
        } else if !self.complete {
            ExitCode::Incomplete
        } else {
            ExitCode::Clean
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

    /// How the name of a search's document ends, and that of the search before it.
    pub const LATEST: &str = ".result.json";
    /// See [`ResultDocument::LATEST`].
    pub const PREVIOUS: &str = ".previous.json";

    /// Leaves the document beside the traces of its search, in `DIRECTORY/NAME.result.json`, for those who look at the directory
    /// later. The one before it becomes `NAME.previous.json`.
    pub fn keep(&self, directory: &Path, name: &str) -> Result<(), WriteError> {
        let latest = directory.join(format!("{name}{}", ResultDocument::LATEST));
        // Where there was none before there is nothing to move.
        let previous = directory.join(format!("{name}{}", ResultDocument::PREVIOUS));
        let _ = std::fs::rename(&latest, previous);
        self.write(&latest)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<ResultDocument, ReadError> {
        ResultDocument::parse(path, &document::load(path)?)
    }

    /// As [`ResultDocument::read`], of bytes at hand; the path is only for messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<ResultDocument, ReadError> {
        let result: ResultDocument = document::parse(path, bytes, SCHEMA)?;
        if result.complete != result.incomplete.is_empty() {
            let message = "`complete` and `incomplete` do not agree".into();
            return Err(ReadError::Inconsistent {
                path: path.into(),
                message,
            });
        }
        Ok(result)
    }
}
