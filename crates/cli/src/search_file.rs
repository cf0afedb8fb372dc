//! Searches that were interrupted or stopped, and are continued by `check --resume`.
//!
//! *Decides:* which stored search belongs to a check: the same program, arguments, input, options and version. *Called by:*
//! `check`. *Owns:* `NAME.search` in the directory of the traces.

use crate::fingerprint;
use reweave_native::StoredSession;
use reweave_report::{ReadError, open, save};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

const SCHEMA: &str = "reweave.search/1";

/// Where a search is kept, and of which check.
pub struct SearchFile {
    path: PathBuf,
    check: String,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    schema: String,
    check: String,
    search: StoredSession,
}

#[derive(Deserialize)]
struct Head {
    schema: String,
    check: String,
}

impl SearchFile {
    /// Of a check with this name and these facts.
    pub fn new(directory: &Path, name: &str, facts: &fingerprint::Facts) -> SearchFile {
        SearchFile {
            path: directory.join(format!("{name}.search")),
            check: facts.digest(),
        }
    }

    /// The stored search; an error says why there is none to go on with.
    pub fn read(&self) -> Result<StoredSession, String> {
        let path = self.path.display();
        let file = match open(&self.path) {
            Ok(file) => file,
            Err(ReadError::NotFound(_)) => {
                return Err(format!(
                    "no search was stopped before its end ({path} is not there)"
                ));
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut text = Vec::new();
        // Searches have no largest size.
        let read = file.into_inner().read_to_end(&mut text);
        read.map_err(|error| format!("{path}: cannot be read: {error}"))?;
        let unreadable = |error| format!("{path}: not a stored search: {error}");
        let head: Head = serde_json::from_slice(&text).map_err(unreadable)?;
        if head.schema != SCHEMA {
            return Err(format!(
                "{path} is a `{}`, and not a `{SCHEMA}`",
                head.schema
            ));
        }
        if head.check != self.check {
            return Err(format!(
                "{path} is of another program, other options or another version of reweave"
            ));
        }
        let stored: Stored = serde_json::from_slice(&text).map_err(unreadable)?;
        Ok(stored.search)
    }

    /// Writes the search whole or not at all.
    pub fn write(&self, search: StoredSession) -> Result<(), String> {
        let stored = Stored {
            schema: SCHEMA.into(),
            check: self.check.clone(),
            search,
        };
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)
            .map_err(|error| format!("{}: cannot be created: {error}", directory.display()))?;
        let text = serde_json::to_string(&stored).map_err(|error| error.to_string())?;
        save(&self.path, &text).map_err(|error| error.to_string())
    }

    /// The search of this check has come to its end.
    pub fn remove(&self) {
        if self.read().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
