//! What a check came to.
//!
//! *Decides:* when two errors are the same, which execution shows an error, and how a result reads. *Made by:* `searching`.

use crate::rt;
use reweave_explore::Algorithm;
use reweave_model::{Divergence, Execution, Kind, Site};
use reweave_report::{
    BlockedBy, Context, Finding, Options, Position, Program, ResultDocument, Style, Trace,
    render_trace, summary,
};
use std::{fmt, path::PathBuf, time::Duration};

/// What a check came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// The check's name.
    pub name: String,
    /// How it was explored.
    pub algorithm: Algorithm,
    /// How many explored at once.
    pub workers: usize,
    /// Whether every class of executions was run.
    pub complete: bool,
    /// Why not, such as `budget` or `stopped-at-error`.
    pub incomplete: Vec<String>,
    /// Executions that ended by themselves.
    pub executions: u64,
    /// Executions that did not.
    pub blocked: u64,
    /// Why they did not.
    pub blocked_by: BlockedBy,
    /// Events of all executions.
    pub events: u64,
    /// Most threads in one execution.
    pub threads_max: u32,
    /// Places in the program that ask for less than sequential consistency.
    pub weak_orders: u64,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Distinct errors: the same kind, rule and places count as one.
    pub errors: Vec<Found>,
    /// The program did not do the same again: nothing else in the report is to be believed.
    pub divergence: Option<String>,
    /// Threads that could not be unwound; their memory is lost.
    pub leaked_threads: u64,
}

/// A distinct error.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// For misuse, which rule was broken.
    pub rule: Option<String>,
    /// For people.
    pub message: String,
    /// The first source place it is about.
    pub location: Option<String>,
    /// Length of the execution that shows it.
    pub events: usize,
    /// The trace file of that execution, when one was written.
    pub trace: Option<PathBuf>,
    /// In how many executions it came up.
    pub seen: u64,
    /// That execution, for showing.
    pub(crate) shown: Box<Trace>,
}

impl Report {
    /// As the result document of the command.
    pub fn document(&self) -> ResultDocument {
        let (algorithm, equivalence) = (self.algorithm.name(), self.algorithm.equivalence());
        let mut document = ResultDocument::new(&self.name, algorithm, equivalence);
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
        document.errors = self.errors.iter().map(Found::finding).collect();
        document
    }

    /// One line.
    pub fn summary(&self) -> String {
        match &self.divergence {
            Some(divergence) => divergence.clone(),
            None => summary(&self.document()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.summary())?;
        if self.leaked_threads > 0 {
            let leaked = self.leaked_threads;
            write!(
                f,
                "\n{leaked} threads could not be unwound and were left behind"
            )?;
        }
        for error in &self.errors {
            write!(f, "\n\n{error}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = self.trace.as_ref().map(|path| {
            let test = self.shown.program.test.as_deref().unwrap_or_default();
            format!("REWEAVE_REPLAY={} cargo test {test}", path.display())
        });
        let text = render_trace(&self.shown, again.as_deref(), Style::default());
        f.write_str(text.trim_end())
    }
}

impl Found {
    fn finding(&self) -> Finding {
        Finding {
            kind: self.kind,
            rule: self.rule.clone(),
            message: self.message.clone(),
            location: self.location.clone(),
            events: self.events as u64,
            trace: self.trace.as_ref().map(|path| path.display().to_string()),
            seen: self.seen,
        }
    }
}

/// A source place, as reports write it.
pub(crate) fn position(site: Site) -> Option<Position> {
    let location = rt::location(site)?;
    Some(Position {
        file: location.file().into(),
        line: location.line(),
        column: location.column(),
    })
}

/// An execution of a check, to be stored or shown.
pub(crate) fn trace(name: &str, options: Options, execution: &Execution) -> Trace {
    // The harness calls a test by its path inside the crate.
    let test = name.split_once("::").map_or(name, |(_, test)| test);
    let program = Program {
        name: name.into(),
        kind: "rust-test".into(),
        test: Some(test.into()),
        command: Vec::new(),
        replay: Some(format!("REWEAVE_REPLAY={{trace}} cargo test {test}")),
    };
    let context = Context {
        program,
        options,
        site: &position,
        output: None,
        blame: &[],
    };
    Trace::from_execution(execution, context)
}

/// What went another way than before.
pub(crate) fn diverged(divergence: &Divergence) -> String {
    let at = |site: Site| position(site).map_or(String::new(), |place| format!(" at {place}"));
    let expected = &divergence.expected;
    let thread = expected.choice.thread.0;
    let actual = match divergence.actual {
        Some((kind, site)) if (kind, site) == (expected.kind, expected.site) => {
            "it cannot go on there".to_owned()
        }
        Some((kind, site)) => format!("it came to `{}`{}", kind.name(), at(site)),
        None => "it does not exist or has ended".into(),
    };
    format!(
        "the test does not behave the same when it is run again: at step {}, thread {thread} was expected to `{}`{}, but {actual}. A \
         check must depend on nothing but the schedule: no clock, no random numbers, no iteration over a HashMap, no state \
         kept from earlier executions",
        divergence.step + 1,
        expected.kind.name(),
        at(expected.site),
    )
}
