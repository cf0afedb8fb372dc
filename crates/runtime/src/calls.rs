//! Library calls of the program that are ours: [`threads`], [`mutexes`], [`allocation`] and so on. Each has its model; outside of
//! runs each goes to libc's own.

mod allocation;
mod annotations;
mod answers;
mod attributes;
mod awaited;
mod barriers;
mod c11;
mod callers;
mod cancel;
mod clocks;
mod condvars;
mod copies;
pub mod descriptors;
mod disk;
mod entries;
pub mod exceptions;
mod file_locks;
pub mod files;
mod futexes;
mod given;
mod handlers;
mod joins;
mod jumps;
pub mod libraries;
mod limits;
mod machine;
mod mapped;
mod mappings;
mod markings;
mod marks;
mod messages;
mod mutexes;
mod named;
mod naming;
mod numbers;
mod once;
mod openmp;
mod output;
pub mod paths;
mod pieces;
pub mod pointers;
mod positions;
pub mod process;
mod random;
mod ranges;
mod reached;
mod robust;
pub mod rules;
mod rwlocks;
mod scans;
mod scheduling;
pub mod sections;
mod semaphores;
mod shared_memory;
pub mod signals;
mod spins;
mod statics;
mod stream_calls;
mod stream_ends;
mod stream_locks;
mod stream_points;
mod streams;
mod strings;
mod system;
mod temporaries;
mod texts;
mod thread_names;
pub mod threads;
mod transfers;
mod unsupported;
mod verifier;
mod waits;
mod ways;

pub use marks::{erase, unordered};
pub use output::written as output;
pub use process::end_process;
pub use robust::Health;
pub use threads::end_thread;

use crate::{
    leaks,
    objects::Sort,
    world::{self, perform},
};
use reweave_model::{End, Gate, Kind, Object, ObjectId, Op, Order, Site};
use reweave_wire::Beginning;

/// What the calls of a run leave for each other.
#[derive(Default)]
pub struct State {
    pub awaited: awaited::State,
    pub copies: copies::State,
    pub descriptors: descriptors::State,
    pub disk: disk::State,
    pub file_locks: file_locks::State,
    pub files: files::State,
    pub handlers: handlers::State,
    pub libraries: libraries::State,
    pub limits: limits::State,
    pub mapped: mapped::State,
    pub mappings: mappings::State,
    pub named: named::State,
    pub openmp: openmp::State,
    pub pointers: pointers::State,
    pub positions: positions::State,
    pub process: process::State,
    pub signals: signals::State,
    pub streams: streams::State,
    pub texts: texts::State,
    pub threads: threads::State,
    pub waits: waits::State,
}

/// The same, of one thread.
#[derive(Default)]
pub struct Own {
    pub robust: robust::Own,
    pub cancel: cancel::Own,
    pub disk: disk::Own,
    pub openmp: openmp::Own,
    pub jumps: jumps::Own,
    pub random: random::Own,
    pub scheduling: scheduling::Own,
    pub signals: signals::Own,
    pub threads: threads::Own,
    pub verifier: verifier::Own,
    pub once: once::Own,
    pub waits: waits::Own,
}

impl Own {
    /// Of the first thread.
    pub fn first() -> Own {
        Own {
            random: random::Own::first(),
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
    disk::prepare(&beginning.disk);
    rules::prepare(beginning.rules);
    exceptions::prepare();
    process::prepare();
    files::prepare();
    output::prepare();
    mappings::prepare();
    named::prepare();
    libraries::prepare(&beginning.libraries);
    sections::prepare();
    waits::prepare();
    openmp::prepare();
}

/// After a run, when nothing of it is needed any more: what memory does not tell.
pub fn clean_up() {
    disk::clean_up();
    files::clean_up();
    output::clean_up();
    libraries::clean_up();
    mappings::clean_up();
}

/// After a run, before its execution is closed: what can only be judged now.
pub fn conclude(end: End) {
    marks::conclude(end);
    if end == End::Done {
        process::conclude();
        threads::conclude();
        if world::get().run.execution().errors.is_empty() {
            leaks::conclude();
        }
    }
}

/// Objects that no memory of the program stands for; their addresses are places here.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Hidden {
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
    fn address(self) -> usize {
        &raw const HIDDEN as usize + 8 * self as usize
    }

    fn object(self) -> ObjectId {
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
fn visible(op: Op, site: Site) -> world::Done {
    perform(op, Gate::Open, site, Order::SeqCst, None)
}

/// Wrong use of the object at an address: an error. What happens next is anybody's guess, so the thread goes no further.
#[cold]
fn misuse(rule: &str, message: &str, address: usize, site: Site) -> ! {
    // C++'s library calls for the program.
    let site = match world::get().is_program(site) {
        true => site,
        false => callers::here(),
    };
    let world = world::get();
    world.error_about(Kind::Misuse, Some(rule), message.into(), &[site], address);
    world.freeze(site)
}

/// What a call that sets `errno` returns when it fails.
fn failed(error: core::ffi::c_int) -> core::ffi::c_int {
    // SAFETY: the running thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}
