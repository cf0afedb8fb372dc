//! Library calls of the program that are ours: [`threads`], [`mutexes`], [`allocation`] and so on. Each has its model; outside of
//! runs each goes to libc's own.

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

pub use process::output::written as output;
pub use process::process_end::end_process;
pub use sync::robust_mutexes::Health;
pub use sync::sync_objects::{erase, unordered};
pub use threads::lifecycle::end_thread;

/// What the calls of a run leave for each other.
#[derive(Default)]
pub struct State {
    pub awaited: process::awaited_signals::State,
    pub copies: files::copies::State,
    pub descriptors: crate::kernel::descriptor_table::State,
    pub disk: crate::kernel::file_names::State,
    pub file_locks: crate::kernel::file_locks::State,
    pub files: crate::kernel::file_objects::State,
    pub handlers: process::exit_handlers::State,
    pub libraries: libraries::State,
    pub limits: process::resource_limits::State,
    pub mapped: crate::kernel::file_mappings::State,
    pub mappings: memory::mmap::State,
    pub named: sync::named_semaphores::State,
    pub openmp: openmp::State,
    pub pointers: language::exception_pointers::State,
    pub positions: crate::kernel::offsets::State,
    pub process: process::process_end::State,
    pub signals: process::signals::State,
    pub streams: streams::stream_objects::State,
    pub texts: memory::formatted_text::State,
    pub threads: threads::lifecycle::State,
    pub waits: crate::kernel::waits::State,
}

/// The same, of one thread.
#[derive(Default)]
pub struct Own {
    pub robust: sync::robust_mutexes::Own,
    pub cancel: threads::cancellation::Own,
    pub disk: crate::kernel::file_names::Own,
    pub openmp: openmp::Own,
    pub jumps: language::long_jumps::Own,
    pub random: process::random::Own,
    pub scheduling: threads::scheduling::Own,
    pub signals: process::signals::Own,
    pub threads: threads::lifecycle::Own,
    pub verifier: language::verifier::Own,
    pub once: sync::once::Own,
    pub waits: crate::kernel::waits::Own,
}

impl Own {
    /// Of the first thread.
    pub fn first() -> Own {
        Own {
            random: process::random::Own::first(),
            ..Own::default()
        }
    }

    /// Of a thread that this one creates.
    pub fn child(&self, slot: usize) -> Own {
        Own {
            random: self.random.child(slot),
            scheduling: self.scheduling,
            signals: self.signals.child(),
            ..Own::default()
        }
    }
}

impl State {
    /// Before a run.
    pub fn clear(&mut self) {
        self.awaited.clear();
        self.copies.clear();
        self.descriptors.clear();
        self.file_locks.clear();
        self.files.clear();
        self.handlers.clear();
        self.libraries.clear();
        self.limits.clear();
        self.mapped.clear();
        self.named.clear();
        self.openmp.clear();
        self.pointers.clear();
        self.positions.clear();
        self.process.clear();
        self.signals.clear();
        self.streams.clear();
        self.texts.clear();
        self.threads.clear();
        self.waits.clear();
    }
}
