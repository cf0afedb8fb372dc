//! Library calls of the program that the runtime stands for, in families. Each has its model; outside of runs each goes to libc's
//! own. Families do not import each other: what several need is in `core` or `kernel`.

pub(crate) mod files;
pub(crate) mod language;
pub(crate) mod libraries;
pub(crate) mod memory;
pub(crate) mod openmp;
pub(crate) mod process;
pub(crate) mod streams;
pub(crate) mod sync;
pub(crate) mod threads;
pub(crate) mod time;

/// What the calls of a run leave for each other.
#[derive(Default)]
pub struct State {
    pub copies: files::copies::State,
    pub descriptors: crate::kernel::descriptor_table::State,
    pub disk: crate::kernel::file_names::State,
    pub file_locks: crate::kernel::file_locks::State,
    pub files: crate::kernel::file_objects::State,
    pub mapped: crate::kernel::file_mappings::State,
    pub positions: crate::kernel::offsets::State,
    pub streams: streams::stream_objects::State,
    pub waits: crate::kernel::waits::State,
}

/// The same, of one thread.
#[derive(Default)]
pub struct Own {
    pub disk: crate::kernel::file_names::Own,
    pub waits: crate::kernel::waits::Own,
}

impl State {
    /// Before a run.
    pub fn clear(&mut self) {
        self.copies.clear();
        self.descriptors.clear();
        self.file_locks.clear();
        self.files.clear();
        self.mapped.clear();
        self.positions.clear();
        self.streams.clear();
        self.waits.clear();
    }
}
