//! Libraries that runs of a program have opened, known to all its processes: in one order, so that places in them have the same numbers everywhere.

use reweave_wire::{HelloModule, Library};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. Clones are the same list, which only grows.
#[derive(Clone, Debug, Default)]
pub struct Libraries(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    wanted: Vec<Library>,
    modules: Vec<HelloModule>,
}

impl Libraries {
    /// A list as it was.
    pub fn new(wanted: Vec<Library>) -> Libraries {
        let modules = Vec::new();
        Libraries(Arc::new(Mutex::new(Known { wanted, modules })))
    }

    /// What is loaded before the first run of a process that is started now.
    pub fn wanted(&self) -> Vec<Library> {
        self.known().wanted.clone()
    }

    /// From now on this one too.
    pub fn want(&self, library: Library) {
        let wanted = &mut self.known().wanted;
        if !wanted.contains(&library) {
            wanted.push(library);
        }
    }

    /// The files that the program is made of, with all libraries that some process had; the program's own path is empty.
    pub fn modules(&self) -> Vec<HelloModule> {
        self.known().modules.clone()
    }

    /// A process has these.
    pub(crate) fn met(&self, modules: &[HelloModule]) {
        let known = &mut self.known().modules;
        if known.len() < modules.len() {
            *known = modules.into();
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
