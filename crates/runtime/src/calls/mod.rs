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
    pub libraries: libraries::State,
    pub mappings: memory::mmap::State,
    pub openmp: openmp::State,
    pub pointers: language::exception_pointers::State,
    pub texts: memory::formatted_text::State,
}

/// The same, of one thread.
#[derive(Default)]
pub struct Own {
    pub openmp: openmp::Own,
    pub jumps: language::long_jumps::Own,
    pub verifier: language::verifier::Own,
}

impl State {
    /// Before a run.
    pub fn clear(&mut self) {
        self.libraries.clear();
        self.openmp.clear();
        self.pointers.clear();
        self.texts.clear();
    }
}
