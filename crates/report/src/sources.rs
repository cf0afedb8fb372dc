//! The text of source lines, from where the program was built, and whether it is still the text that ran.
//!
//! A trace says by a hash what each file was like. Sources that are gone or have changed since are no reason to show less of the trace.

use crate::{
    position::Position,
    trace::{SourceEntry, Trace},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

/// Larger files are nobody's source.
const LARGEST: u64 = 4 << 20;

/// Directories above the one where the program ran in which its files are looked for: tests run in a crate, their files are named from the workspace.
const ABOVE: usize = 3;

/// Files of one trace, as they are now.
#[derive(Debug, Default)]
pub struct Sources {
    files: BTreeMap<String, Vec<String>>,
    notes: Vec<String>,
}

impl Sources {
    /// Reads the files that a trace names.
    pub fn of(trace: &Trace) -> Sources {
        let mut sources = Sources::default();
        for file in named(trace) {
            let text = find(trace, &file).and_then(|path| read(&path));
            let known = trace.sources.iter().find(|entry| entry.file == file);
            match (&text, known) {
                (None, Some(_)) => sources.notes.push(format!(
                    "{file} is not where it was: its lines are shown by number only."
                )),
                (Some(bytes), Some(entry)) if hash(bytes) != entry.hash => {
                    sources.notes.push(format!(
                        "{file} has changed since this was recorded: its lines are those of today."
                    ))
                }
                _ => {}
            }
            if let Some(bytes) = text {
                let lines = String::from_utf8_lossy(&bytes);
                let lines = lines.lines().map(str::to_owned).collect();
                sources.files.insert(file, lines);
            }
        }
        sources
    }

    /// The line at a place, without the blanks around it.
    pub fn line(&self, at: &Position) -> Option<&str> {
        let lines = self.files.get(&at.file)?;
        let line = lines.get((at.line as usize).checked_sub(1)?)?.trim();
        (!line.is_empty()).then_some(line)
    }

    /// All lines of a file.
    pub fn lines(&self, file: &str) -> Option<&[String]> {
        self.files.get(file).map(Vec::as_slice)
    }

    /// What is to be said of a file that is not as it was.
    pub fn note(&self, file: &str) -> Option<&str> {
        let about = |note: &&String| {
            note.strip_prefix(file)
                .is_some_and(|it| it.starts_with(' '))
        };
        self.notes.iter().find(about).map(String::as_str)
    }

    /// Sentences about files that are not as they were.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Writes down what the files are like that a trace names.
pub fn record_sources(trace: &mut Trace) {
    let entry = |file: String| {
        let bytes = read(&find(trace, &file)?)?;
        let hash = hash(&bytes);
        Some(SourceEntry { file, hash })
    };
    trace.sources = named(trace).into_iter().filter_map(entry).collect();
}

/// All files in which something happens.
pub(crate) fn named(trace: &Trace) -> BTreeSet<String> {
    let events = trace.events.iter().filter_map(|event| event.at.as_ref());
    let threads = trace.threads.iter().filter_map(|it| it.pending.as_ref());
    let pending = threads.filter_map(|pending| pending.at.as_ref());
    let errors = trace.errors.iter().flat_map(|error| &error.places);
    let calls = trace.stacks.iter().flatten().filter(|call| !call.library);
    let calls = calls.filter_map(|call| call.at.as_ref());
    let places = events.chain(pending).chain(errors).chain(calls);
    places.map(|at| at.file.clone()).collect()
}

fn find(trace: &Trace, file: &str) -> Option<PathBuf> {
    let built = trace.program.directory.as_ref().map(PathBuf::from);
    let mut near = built.into_iter().chain(env::current_dir());
    near.find_map(|directory| {
        let mut above = directory.ancestors().take(ABOVE);
        above.find_map(|it| Some(it.join(file)).filter(|path| path.is_file()))
    })
}

/// A file's bytes; `None`: it is none that can be read, or nobody's source.
fn read(path: &Path) -> Option<Vec<u8>> {
    let fits = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= LARGEST);
    fits.then(|| fs::read(path).ok()).flatten()
}

/// 64 bits of FNV-1a: tells a changed file, and is no protection against one who wants to deceive.
fn hash(bytes: &[u8]) -> String {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}
