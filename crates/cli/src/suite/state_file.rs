//! What a suite remembers from one time to the next: how each test ended, and searches that were not.

use reweave_native::StoredSession;
use reweave_report::{ReadError, Verdict, open, save};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io::Read, path::Path};

const SCHEMA: &str = "reweave.suite-state/1";

/// The file.
#[derive(Serialize, Deserialize)]
pub struct StateFile {
    schema: String,
    /// By name.
    pub tests: BTreeMap<String, Kept>,
}

/// One test.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kept {
    pub verdict: Verdict,
    /// Of which program, built how, started how: see [`super::job`].
    pub program: String,
    /// Where it stopped; `None`: it came to its end.
    pub search: Option<StoredSession>,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
}

impl StateFile {
    /// Nothing yet.
    pub fn new() -> StateFile {
        StateFile {
            schema: SCHEMA.into(),
            tests: BTreeMap::new(),
        }
    }

    /// Reads the file, if there is one; an error is a sentence.
    pub fn read(path: &Path) -> Result<StateFile, String> {
        let wrong = |why: String| {
            format!(
                "{}: {why}; remove it, and all tests begin from their beginning",
                path.display()
            )
        };
        let file = match open(path) {
            Ok(file) => file,
            Err(ReadError::NotFound(_)) => return Ok(StateFile::new()),
            Err(error) => return Err(error.to_string()),
        };
        let mut text = Vec::new();
        // Searches have no largest size.
        file.into_inner()
            .read_to_end(&mut text)
            .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
        let no_state = |error| wrong(format!("not the state of a suite: {error}"));
        let head: Head = serde_json::from_slice(&text).map_err(no_state)?;
        if head.schema != SCHEMA {
            let found = head.schema;
            return Err(wrong(format!("it is a `{found}`, and not a `{SCHEMA}`")));
        }
        serde_json::from_slice(&text).map_err(no_state)
    }

    /// Writes the file whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string(self).map_err(|error| error.to_string())?;
        save(path, &text).map_err(|error| error.to_string())
    }

    /// Whether a test goes before others: it failed last time, or there was no time for all of it.
    pub fn rank(&self, name: &str) -> u8 {
        match self.tests.get(name).map(|kept| kept.verdict) {
            Some(Verdict::Failed | Verdict::Broken) => 0,
            Some(Verdict::Unfinished | Verdict::Incomplete) => 1,
            Some(Verdict::Ok) | None => 2,
        }
    }
}
