//! The command, run in the directory of a program. A failure is reported with the command line that reproduces it.

use reweave_report::ResultDocument;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Longest time for one command. What takes longer hangs.
const LIMIT_S: u32 = 600;

/// A command that was run.
pub struct Ran {
    line: String,
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Ran {
    /// Runs `reweave WORDS` in a directory.
    pub fn new(directory: &Path, words: &[String]) -> Ran {
        Ran::of(directory, "reweave", env!("CARGO_BIN_EXE_reweave"), words)
    }

    /// Runs a command, of this name, in a directory.
    pub fn of(directory: &Path, name: &str, path: &str, words: &[String]) -> Ran {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", &LIMIT_S.to_string(), path]);
        // Cargo sets it; a debugger that starts the tests does not.
        command.env("REWEAVE_CACHE", "off");
        let Output {
            status,
            stdout,
            stderr,
        } = command
            .args(words)
            .current_dir(directory)
            .output()
            .expect("the command was built with the tests");
        let quoted = words
            .iter()
            .map(|word| match word.contains(' ') || word.is_empty() {
                true => format!("'{word}'"),
                false => word.clone(),
            });
        let words: Vec<_> = quoted.collect();
        Ran {
            line: format!("cd {} && {name} {}", directory.display(), words.join(" ")),
            code: status.code(),
            out: stdout,
            err: String::from_utf8_lossy(&stderr).into_owned(),
        }
    }

    /// A sentence about this run, with how to see it again and what the command had to say.
    pub fn wrong(&self, what: impl AsRef<str>) -> String {
        let mut sentence = format!("{}\n  {}", what.as_ref(), self.line);
        if !self.err.is_empty() {
            let lines: Vec<_> = self.err.lines().take(10).collect();
            sentence += &format!("\n  | {}", lines.join("\n  | "));
        }
        sentence
    }

    pub fn exits(&self, code: i32) -> Result<(), String> {
        match self.code {
            Some(actual) if actual == code => Ok(()),
            Some(actual) => Err(self.wrong(format!("exits with {actual} instead of {code}"))),
            None => Err(self.wrong(format!("did not end within {LIMIT_S} s"))),
        }
    }

    /// The document on standard output, which must be one and nothing else.
    pub fn document(&self) -> Result<ResultDocument, String> {
        let name = PathBuf::from("standard output");
        let document = ResultDocument::parse(&name, &self.out);
        document.map_err(|error| self.wrong(format!("has no result document: {error}")))
    }
}

/// Words of a command line.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
