//! What a directory holds: traces, result documents, and files that cannot be read, each by a name below the directory.

use reweave_report::{Document, ReadError, ResultDocument, SuiteDocument, Trace};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Directories below each other that are looked into, and most files that are taken in.
const DEPTH: usize = 4;
const MOST: usize = 2000;

/// What was found, the newest first.
pub(super) struct Shelf {
    pub directory: PathBuf,
    pub traces: Vec<Item<Trace>>,
    pub results: Vec<Item<ResultDocument>>,
    /// Why, for each.
    pub unreadable: Vec<String>,
    /// Whether there was more.
    pub cut: bool,
}

/// One document.
pub(super) struct Item<T> {
    /// Its path below the directory, with slashes.
    pub name: String,
    pub path: PathBuf,
    /// When its file was written.
    pub changed: SystemTime,
    pub document: T,
}

impl Shelf {
    /// Reads what is there now.
    pub fn look(directory: &Path) -> Shelf {
        let mut found = Vec::new();
        walk(directory, DEPTH, &mut found);
        found.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        let mut shelf = Shelf {
            directory: directory.into(),
            traces: Vec::new(),
            results: Vec::new(),
            unreadable: Vec::new(),
            cut: found.len() > MOST,
        };
        for (path, changed) in found.into_iter().take(MOST) {
            shelf.take(path, changed);
        }
        shelf
    }

    /// One document and nothing else.
    pub fn of(document: Document, path: &Path) -> Shelf {
        let mut shelf = Shelf {
            directory: path.parent().unwrap_or(Path::new("")).into(),
            traces: Vec::new(),
            results: Vec::new(),
            unreadable: Vec::new(),
            cut: false,
        };
        let changed = fs::metadata(path).and_then(|data| data.modified());
        shelf.put(
            path.into(),
            changed.unwrap_or(SystemTime::UNIX_EPOCH),
            document,
        );
        shelf
    }

    fn take(&mut self, path: PathBuf, changed: SystemTime) {
        match Document::read(&path) {
            Ok(document) => self.put(path, changed, document),
            // Other people's documents may lie here too.
            Err(ReadError::Other { .. }) if path.extension() == Some(OsStr::new("json")) => {}
            Err(error) => self.unreadable.push(error.to_string()),
        }
    }

    fn put(&mut self, path: PathBuf, changed: SystemTime, document: Document) {
        let inside = path.strip_prefix(&self.directory).unwrap_or(&path);
        let name = inside.to_string_lossy().into_owned();
        match document {
            Document::Trace(document) => self.traces.push(Item {
                name,
                path,
                changed,
                document,
            }),
            Document::Result(document) => self.results.push(Item {
                name,
                path,
                changed,
                document,
            }),
            Document::Suite(suite) => self.results.extend(searches(&name, &path, changed, suite)),
        }
    }

    /// A trace by its name, with its file.
    pub fn trace(&self, name: &str) -> Option<(&Path, &Trace)> {
        let item = self.traces.iter().find(|item| item.name == name)?;
        Some((&item.path, &item.document))
    }

    /// A result by its name.
    pub fn result(&self, name: &str) -> Option<&Item<ResultDocument>> {
        self.results.iter().find(|item| item.name == name)
    }
}

/// The searches of a suite, each as if it had a document of its own.
fn searches(
    name: &str,
    path: &Path,
    changed: SystemTime,
    suite: SuiteDocument,
) -> impl Iterator<Item = Item<ResultDocument>> {
    suite.tests.into_iter().filter_map(move |test| {
        Some(Item {
            name: format!("{name}: {}", test.name),
            path: path.into(),
            changed,
            document: test.result?,
        })
    })
}

/// Files that may be documents. Links are not followed: they may lead out of the directory.
fn walk(directory: &Path, depth: usize, found: &mut Vec<(PathBuf, SystemTime)>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
            continue;
        };
        let ours = path
            .extension()
            .is_some_and(|ending| ending == "rwt" || ending == "json");
        if kind.is_dir() && depth > 1 {
            walk(&path, depth - 1, found);
        } else if kind.is_file() && ours && found.len() <= MOST {
            let changed = entry.metadata().and_then(|data| data.modified());
            found.push((path, changed.unwrap_or(SystemTime::UNIX_EPOCH)));
        }
    }
}
