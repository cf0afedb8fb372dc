//! How trace files are called: `NAME-NUMBER.rwt`, with one number for each error.
//!
//! *Decides:* the number. An error that has a file in the directory keeps its number as long as the program, how it is
//! started, and the error's places are the same; any other error gets the first number that is free. So no trace of another
//! error is ever overwritten. *Called by:* `found`. *Owns:* the numbers that are taken.

use reweave_model::Kind;
use reweave_report::{Position, Trace};
use std::{
    fs::{self, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The errors that have files of this name.
pub(crate) struct TraceNames {
    directory: PathBuf,
    name: String,
    /// Files as they were, and those of this check.
    known: Vec<(PathBuf, Cause)>,
}

/// What a trace shows.
#[derive(PartialEq, Eq)]
struct Cause {
    program: String,
    command: Vec<String>,
    errors: Vec<(Kind, Option<String>, Vec<Position>)>,
}

/// Where a trace goes.
pub(crate) struct Place {
    pub path: PathBuf,
    /// Whether another trace of the same error is there.
    pub replaces: bool,
}

impl Cause {
    fn of(trace: &Trace) -> Cause {
        let errors = trace.errors.iter().map(|error| {
            let mut places = error.places.clone();
            // Which access came last does not matter.
            places.sort();
            (error.kind, error.rule.clone(), places)
        });
        Cause {
            program: trace.program.name.clone(),
            command: trace.program.command.clone(),
            errors: errors.collect(),
        }
    }
}

impl TraceNames {
    /// Looks at what is in the directory, if it is there.
    pub(crate) fn new(directory: &Path, name: &str) -> TraceNames {
        let mut names = TraceNames {
            directory: directory.into(),
            name: name.into(),
            known: Vec::new(),
        };
        for number in 1.. {
            let path = names.numbered(number);
            // Numbers have gaps where users removed files.
            if !path.exists() && !names.any_beyond(number) {
                break;
            }
            if let Ok(trace) = Trace::read(&path) {
                names.known.push((path, Cause::of(&trace)));
            }
        }
        names
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.directory.join(format!("{}-{number}.rwt", self.name))
    }

    fn any_beyond(&self, number: u32) -> bool {
        let names = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let mut numbers = names.filter_map(|entry| {
            let name = entry.file_name();
            let rest = name.to_str()?.strip_prefix(&self.name)?;
            let digits = rest.strip_prefix('-')?.strip_suffix(".rwt")?;
            digits.parse::<u32>().ok()
        });
        numbers.any(|other| other > number)
    }

    /// The file for this trace. A new one is created, empty, so that no other check takes the number.
    pub(crate) fn place(&mut self, trace: &Trace) -> Place {
        let cause = Cause::of(trace);
        if let Some((path, _)) = self.known.iter().find(|(_, known)| *known == cause) {
            let same = fs::read_to_string(path).is_ok_and(|text| text == trace.to_json());
            return Place {
                path: path.clone(),
                replaces: !same,
            };
        }
        let path = self.free();
        self.known.push((path.clone(), cause));
        Place {
            path,
            replaces: false,
        }
    }

    fn free(&self) -> PathBuf {
        for number in 1.. {
            let path = self.numbered(number);
            match File::create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                // Where it cannot be created it cannot be written either, which has a sentence of its own.
                _ => return path,
            }
        }
        unreachable!("no directory has so many files")
    }
}
