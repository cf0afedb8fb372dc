//! Libraries that runs of a program open, in one order for all its processes, so that sites in them have the same numbers
//! everywhere.
//!
//! *Called by:* `target`, which adds to the list, and `subject`, which names files. *Owns:* the list, which only grows.

use reweave_wire::{HelloModule, Library};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct LoadedLibraries(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    wanted: Vec<Library>,
    modules: Vec<HelloModule>,
}

impl LoadedLibraries {
    /// A list with these libraries.
    pub fn new(wanted: Vec<Library>) -> LoadedLibraries {
        let modules = Vec::new();
        LoadedLibraries(Arc::new(Mutex::new(List { wanted, modules })))
    }

    /// Libraries that a new process loads before its first run.
    pub fn wanted(&self) -> Vec<Library> {
        self.known().wanted.clone()
    }

    /// Adds a library, for processes started from now on.
    pub fn want(&self, library: Library) {
        let wanted = &mut self.known().wanted;
        if !wanted.contains(&library) {
            wanted.push(library);
        }
    }

    /// The files of the program, with all libraries that any process loaded; the program's own path is empty.
    pub fn modules(&self) -> Vec<HelloModule> {
        self.known().modules.clone()
    }

    /// Records the files of a process.
    pub(crate) fn met(&self, modules: &[HelloModule]) {
        let known = &mut self.known().modules;
        if known.len() < modules.len() {
            *known = modules.into();
        }
    }

    /// From how libraries are written in traces: path, and whether their symbols are global.
    pub fn from_stored(libraries: &[(String, bool)]) -> LoadedLibraries {
        let library = |(path, global): &(String, bool)| Library {
            path: path.clone(),
            global: *global,
        };
        LoadedLibraries::new(libraries.iter().map(library).collect())
    }

    /// As they are written in traces.
    pub fn stored(&self) -> Vec<(String, bool)> {
        let wanted = self.wanted().into_iter();
        wanted.map(|it| (it.path, it.global)).collect()
    }

    fn known(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
