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

use crate::core::{
    leaks,
    objects::Sort,
    world::{self, perform},
};
use reweave_model::{End, Gate, Kind, Object, ObjectId, Op, Order, Site};
use reweave_wire::Beginning;

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

/// Once, before memory is copied and the modules are listed.
pub fn prepare(beginning: &Beginning) {
    crate::kernel::file_names::prepare(&beginning.disk);
    crate::core::rules::prepare(&beginning.units);
    language::unwinding::prepare();
    process::process_end::prepare();
    crate::kernel::file_objects::prepare();
    process::output::prepare();
    memory::mmap::prepare();
    sync::named_semaphores::prepare();
    libraries::prepare(&beginning.libraries);
    language::atomic_sections::prepare();
    crate::kernel::waits::prepare();
    openmp::prepare();
}

/// After a run, when nothing of it is needed any more: what memory does not tell.
pub fn clean_up() {
    crate::kernel::file_names::clean_up();
    crate::kernel::file_objects::clean_up();
    process::output::clean_up();
    libraries::clean_up();
    memory::mmap::clean_up();
}

/// After a run, before its execution is closed: what can only be judged now.
pub fn conclude(end: End) {
    sync::sync_objects::conclude(end);
    if end == End::Done {
        process::process_end::conclude();
        threads::lifecycle::conclude();
        if world::get().run.execution().errors.is_empty() {
            leaks::conclude();
        }
    }
}

/// Objects that no memory of the program stands for; their addresses are places here.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Hidden {
    /// Who holds it ends the process, and never gives it back.
    Exit,
    /// Counts whether the first thread has called `pthread_exit`.
    MainExit,
    /// Counts what is done to names of semaphores.
    Names,
    /// Held in atomic sections.
    Section,
    /// Never changes.
    Nothing,
    /// Protects the list of those who wait: see [`waits`].
    Waits,
    /// Held in OpenMP's critical sections without a name.
    Critical,
    /// Held where OpenMP makes something atomic by a lock.
    Atomic,
    /// Held by who names files: see [`disk`].
    Disk,
    /// Held while libraries are opened and closed.
    Loader,
}

static HIDDEN: [u64; 10] = [0; 10];

impl Hidden {
    pub(crate) fn address(self) -> usize {
        &raw const HIDDEN as usize + 8 * self as usize
    }

    pub(crate) fn object(self) -> ObjectId {
        let (sort, fresh) = match self {
            Hidden::MainExit => (Sort::Semaphore, Object::Semaphore(0)),
            Hidden::Nothing => (Sort::Atomic, Object::Atomic(0)),
            Hidden::Names => (Sort::Quiet, Object::Atomic(0)),
            Hidden::Waits => (Sort::Quiet, Object::mutex()),
            Hidden::Disk => (Sort::Quiet, Object::rwlock()),
            _ => (Sort::Mutex, Object::mutex()),
        };
        world::get().object(self.address(), 8, sort, || fresh)
    }
}

/// An operation of a library call.
pub(crate) fn visible(op: Op, site: Site) -> world::Done {
    perform(op, Gate::Open, site, Order::SeqCst, None)
}

/// Wrong use of the object at an address: an error. What happens next is anybody's guess, so the thread goes no further.
#[cold]
pub(crate) fn misuse(rule: &str, message: &str, address: usize, site: Site) -> ! {
    // C++'s library calls for the program.
    let site = match world::get().is_program(site) {
        true => site,
        false => crate::core::call_sites::here(),
    };
    let world = world::get();
    world.error_about(Kind::Misuse, Some(rule), message.into(), &[site], address);
    world.freeze(site)
}

/// What a call that sets `errno` returns when it fails.
pub(crate) fn failed(error: core::ffi::c_int) -> core::ffi::c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}
