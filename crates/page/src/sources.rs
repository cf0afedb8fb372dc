//! The program's sources in the page, as far as they are still there; the rest is shown without them.

use reweave_report::{Position, Trace};
use serde::Serialize;
use std::{collections::BTreeMap, ffi::OsStr, path::Path};

/// A source file in the page.
#[derive(Serialize)]
pub(crate) struct Source {
    pub name: String,
    /// `None`: it cannot be shown.
    pub text: Option<String>,
    /// What a reader should know of it.
    pub note: Option<String>,
}

/// Longest sum of all texts, in bytes: a page should open at once.
const LONGEST: usize = 8 << 20;

/// What sources are called. A trace from somewhere else must not make a page carry away other files.
const ENDINGS: [&str; 14] = [
    "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "rs", "tcc",
];

/// The files of a page, by number.
pub(crate) struct Sources {
    read: reweave_report::Sources,
    numbers: BTreeMap<String, usize>,
    bytes: usize,
    pub list: Vec<Source>,
}

impl Sources {
    pub fn new(trace: &Trace) -> Sources {
        Sources {
            read: reweave_report::Sources::of(trace),
            numbers: BTreeMap::new(),
            bytes: 0,
            list: Vec::new(),
        }
    }

    /// The number of the file that a place is in.
    pub fn number(&mut self, at: &Position) -> usize {
        if let Some(number) = self.numbers.get(&at.file) {
            return *number;
        }
        let text = self.text(&at.file);
        self.bytes += text.as_ref().map_or(0, String::len);
        let note = self.read.note(&at.file).map(String::from);
        self.list.push(Source {
            name: at.file.clone(),
            note: note.or_else(|| text.as_ref().err().map(|why| (*why).into())),
            text: text.ok(),
        });
        self.numbers.insert(at.file.clone(), self.list.len() - 1);
        self.list.len() - 1
    }

    fn text(&self, file: &str) -> Result<String, &'static str> {
        let ending = Path::new(file).extension().and_then(OsStr::to_str);
        if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            return Err("The file is not called like a source.");
        }
        let lines = self.read.lines(file).ok_or("The file is not there.")?;
        let text = lines.join("\n");
        match self.bytes + text.len() {
            ..LONGEST => Ok(text),
            _ => Err("There is no room for the file in the page."),
        }
    }
}
