//! The document of a suite: many tests, each with what was expected of it and what its search came to.

use crate::{
    document::{self, ReadError, WriteError},
    result::{ExitCode, ResultDocument},
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The schema of a suite's document.
pub(crate) const SCHEMA: &str = "reweave.suite/1";

/// What a suite came to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SuiteDocument {
    schema: String,
    /// The suite's file.
    pub suite: String,
    /// In which order tests got their time.
    pub policy: String,
    /// How much there was, in seconds; `None`: no end of it.
    pub budget_s: Option<f64>,
    /// Wall-clock time.
    pub elapsed_s: f64,
    /// How many explored at once.
    pub workers: u32,
    /// In the order of the file.
    pub tests: Vec<TestEntry>,
}

/// One test of a suite.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TestEntry {
    /// What it is called.
    pub name: String,
    /// `clean`, `no-error`, or the kind of error.
    pub expected: String,
    /// Whether it came to that.
    pub verdict: Verdict,
    /// Why not, in a sentence.
    pub message: Option<String>,
    /// What its search came to; `None`: there was none.
    pub result: Option<ResultDocument>,
}

/// What became of a test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As expected.
    Ok,
    /// Not as expected.
    Failed,
    /// Could not be built or run.
    Broken,
    /// No error, and not everything was explored, for a reason that more time does not change.
    Incomplete,
    /// The time was up.
    Unfinished,
}

impl Verdict {
    /// All of them, the good one first.
    pub const ALL: [Verdict; 5] = [
        Verdict::Ok,
        Verdict::Failed,
        Verdict::Broken,
        Verdict::Incomplete,
        Verdict::Unfinished,
    ];

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Failed => "failed",
            Verdict::Broken => "broken",
            Verdict::Incomplete => "incomplete",
            Verdict::Unfinished => "unfinished",
        }
    }
}

impl SuiteDocument {
    /// A document without tests yet.
    pub fn new(suite: &str, policy: &str) -> SuiteDocument {
        SuiteDocument {
            schema: SCHEMA.into(),
            suite: suite.into(),
            policy: policy.into(),
            budget_s: None,
            elapsed_s: 0.0,
            workers: 1,
            tests: Vec::new(),
        }
    }

    /// How many tests came to this.
    pub fn count(&self, verdict: Verdict) -> usize {
        let tests = self.tests.iter();
        tests.filter(|test| test.verdict == verdict).count()
    }

    /// How a command that came to this ends.
    pub fn exit_code(&self) -> ExitCode {
        let any = |verdict| self.count(verdict) > 0;
        if any(Verdict::Failed) || any(Verdict::Broken) {
            ExitCode::Found
        } else if any(Verdict::Incomplete) || any(Verdict::Unfinished) {
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

    /// Reads a document of bytes at hand; the path is only for messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<SuiteDocument, ReadError> {
        document::parse(path, bytes, SCHEMA)
    }
}
