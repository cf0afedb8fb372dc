//! The program's sources, as far as they are still there.
//!
//! A trace names files as the compiler did, from the directory where the program was built; tests name them from the root
//! of their workspace, which lies above. What cannot be read is told in a sentence, and the page shows the rest.

use reweave_report::{Position, Trace};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// A source file in the page.
#[derive(Serialize)]
pub(crate) struct Source {
    pub name: String,
    /// `None`: it cannot be shown.
    pub text: Option<String>,
    /// What a reader should know of it.
    pub note: Option<String>,
}

/// Longest file that goes into a page, and longest sum of all: a page should open at once.
const LONGEST: u64 = 1 << 20;
const ALL: usize = 8 << 20;

/// What sources are called. A trace from somewhere else must not make a page carry away other files.
const ENDINGS: [&str; 14] = [
    "c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "rs", "tcc",
];

/// The files of a page, by number.
pub(crate) struct Sources {
    numbers: BTreeMap<String, usize>,
    pub list: Vec<Source>,
    directories: Vec<PathBuf>,
    bytes: usize,
}

impl Sources {
    pub fn new(trace: &Trace) -> Sources {
        let built = trace.program.directory.as_ref().map(PathBuf::from);
        let here = env::current_dir().ok();
        let above = |path: &PathBuf| path.ancestors().map(Path::to_owned).collect::<Vec<_>>();
        let directories = built.iter().chain(&here).flat_map(above);
        Sources {
            numbers: BTreeMap::new(),
            list: Vec::new(),
            directories: directories.collect(),
            bytes: 0,
        }
    }

    /// The number of the file that a place is in.
    pub fn number(&mut self, at: &Position) -> usize {
        if let Some(number) = self.numbers.get(&at.file) {
            return *number;
        }
        let source = self.load(&at.file);
        self.bytes += source.text.as_ref().map_or(0, String::len);
        self.list.push(source);
        self.numbers.insert(at.file.clone(), self.list.len() - 1);
        self.list.len() - 1
    }

    fn load(&self, name: &str) -> Source {
        let read = self.read(name);
        Source {
            name: name.into(),
            note: read.as_ref().err().cloned(),
            text: read.ok(),
        }
    }

    fn read(&self, name: &str) -> Result<String, String> {
        let ending = Path::new(name).extension().and_then(OsStr::to_str);
        if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            return Err("The file is not called like a source.".into());
        }
        let mut paths = self
            .directories
            .iter()
            .map(|directory| directory.join(name));
        let path = paths
            .find(|path| path.is_file())
            .ok_or("The file is not there any more.")?;
        let bytes = fs::metadata(&path).map_or(0, |data| data.len());
        if bytes > LONGEST || self.bytes + bytes as usize > ALL {
            return Err("The file is too long to stand in the page.".into());
        }
        let bytes =
            fs::read(&path).map_err(|error| format!("The file cannot be read: {error}."))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
