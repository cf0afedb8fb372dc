//! What a check came out with.

use reweave_explore::AlgorithmName as Algorithm;
use reweave_model::Kind;
use reweave_report::{BlockedBy, Finding, ResultDocument, Style};
use std::{fmt, io::Write, path::PathBuf, time::Duration};

/// What a check came out with.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was checked.
    pub name: String,
    /// How.
    pub algorithm: Algorithm,
    /// Which executions count as the same.
    pub equivalence: &'static str,
    /// Why not by who reads from whom, where that needs the fewest executions.
    pub algorithm_because: Option<String>,
    /// Whether all was explored.
    pub complete: bool,
    /// Why not.
    pub incomplete: Vec<String>,
    /// Runs that ended by themselves, one for each class met.
    pub executions: u64,
    /// Runs that did not.
    pub blocked: u64,
    /// Why not.
    pub blocked_by: BlockedBy,
    /// Steps of all runs together.
    pub events: u64,
    /// Most threads in one run.
    pub threads_max: u32,
    /// Places in the program that ask for less than sequential consistency.
    pub weak_orders: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// On how many workers.
    pub workers: usize,
    /// What went wrong, each distinct error once, the first one found first.
    pub errors: Vec<Error>,
    /// What is not wrong but worth a look.
    pub warnings: Vec<Warning>,
}

/// Something that is not wrong but worth a look. [`fmt::Display`] is one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Which rule of good use was broken, such as `unjoined`.
    pub rule: String,
    /// For people.
    pub message: String,
    /// The source place it is about.
    pub location: Option<String>,
    /// In how many executions it came up.
    pub seen: u64,
}

/// One error, with the shortest execution that showed it.
#[derive(Clone, Debug)]
pub struct Error {
    /// What it is.
    pub kind: Kind,
    /// For misuse and memory errors, which rule was broken.
    pub rule: Option<String>,
    /// For people.
    pub message: String,
    /// The first source place it is about.
    pub location: Option<String>,
    /// Steps of the execution that is shown.
    pub events: usize,
    /// The file to replay it from; `None`: it could not be written.
    pub trace: Option<PathBuf>,
    /// In how many executions it came up.
    pub seen: u64,
    /// The whole story.
    pub story: String,
}

impl Report {
    /// One line for people.
    pub fn summary(&self) -> String {
        let name = if self.name.is_empty() {
            "check"
        } else {
            &self.name
        };
        let text = reweave_report::summary(&self.document());
        let weak = match self.weak_orders {
            0 => String::new(),
            1 => "; 1 place asks for less than that".into(),
            many => format!("; {many} places ask for less than that"),
        };
        let weak = Some(weak).filter(|_| self.errors.is_empty());
        format!(
            "{name}: {}{} ({:.2} s)",
            text.trim_end(),
            weak.unwrap_or_default(),
            self.elapsed.as_secs_f64()
        )
    }

    /// The stories of all errors; `None`: there are none.
    pub fn story(&self) -> Option<String> {
        if self.errors.is_empty() {
            return None;
        }
        let stories: Vec<&str> = self
            .errors
            .iter()
            .map(|error| error.story.as_str())
            .collect();
        Some(format!("{}\n\n{}", self.summary(), stories.join("\n")))
    }

    /// The result document that scripts read (schema `reweave.result/1`).
    pub fn document(&self) -> ResultDocument {
        let mut document = ResultDocument::new(&self.name, self.algorithm.name(), self.equivalence);
        document
            .algorithm_because
            .clone_from(&self.algorithm_because);
        document.complete = self.complete;
        document.incomplete.clone_from(&self.incomplete);
        document.weak_orders = self.weak_orders;
        document.executions = self.executions;
        document.blocked = self.blocked;
        document.blocked_by = self.blocked_by;
        document.events = self.events;
        document.threads_max = self.threads_max;
        document.elapsed_s = self.elapsed.as_secs_f64();
        document.workers = self.workers as u32;
        document.errors = self.errors.iter().map(Error::finding).collect();
        document.warnings = self.warnings.iter().map(Warning::finding).collect();
        document
    }

    /// Says on standard error what came out, past the capturing of test output. Silent with `REWEAVE_QUIET=1`.
    pub(crate) fn announce(&self) {
        if std::env::var_os("REWEAVE_QUIET").is_some_and(|quiet| quiet != "0") {
            return;
        }
        let mut text = format!("reweave: {}\n", self.summary());
        for warning in &self.warnings {
            text += &format!("reweave: {}: warning: {warning}\n", self.name);
        }
        // Nobody to tell if standard error is closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl Error {
    fn finding(&self) -> Finding {
        Finding {
            kind: self.kind,
            rule: self.rule.clone(),
            message: self.message.clone(),
            location: self.location.clone(),
            events: self.events as u64,
            trace: self.trace.as_ref().map(|path| path.display().to_string()),
            seen: self.seen,
            doubtful: false,
            because: None,
        }
    }
}

impl Warning {
    fn finding(&self) -> Finding {
        Finding {
            kind: Kind::Misuse,
            rule: Some(self.rule.clone()),
            message: self.message.clone(),
            location: self.location.clone(),
            events: 0,
            trace: None,
            seen: self.seen,
            doubtful: false,
            because: None,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rule)?;
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// How stories are written: for a panic message, so without colour.
pub(crate) fn style() -> Style {
    Style {
        colour: false,
        width: 100,
        full: false,
        plain: false,
    }
}
