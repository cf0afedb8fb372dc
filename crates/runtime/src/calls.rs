//! Library calls of the program that are ours: [`threads`], [`mutexes`], [`allocation`] and so on. Each has its model; outside of
//! runs each goes to libc's own.

mod allocation;
mod barriers;
mod c11;
mod callers;
mod clocks;
mod condvars;
mod disk;
pub mod exceptions;
mod files;
mod futexes;
mod limits;
mod machine;
mod mappings;
mod marks;
mod mutexes;
mod once;
mod output;
pub mod paths;
pub mod pointers;
pub mod process;
mod random;
mod rwlocks;
pub mod sections;
mod semaphores;
pub mod signals;
mod spins;
mod strings;
mod system;
mod texts;
pub mod threads;
mod unsupported;
mod verifier;

pub use marks::{erase, unordered};
pub use output::written as output;
pub use process::end_process;
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
    pub disk: disk::State,
    pub files: files::State,
    pub limits: limits::State,
    pub mappings: mappings::State,
    pub pointers: pointers::State,
    pub process: process::State,
    pub signals: signals::State,
    pub texts: texts::State,
    pub threads: threads::State,
}

/// The same, of one thread.
#[derive(Default)]
pub struct Own {
    pub random: random::Own,
    pub signals: signals::Own,
    pub threads: threads::Own,
    pub verifier: verifier::Own,
    pub once: once::Own,
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
            signals: self.signals.child(),
            ..Own::default()
        }
    }
}

impl State {
    /// Before a run.
    pub fn clear(&mut self) {
        self.files.clear();
        self.limits.clear();
        self.pointers.clear();
        self.process.clear();
        self.signals.clear();
        self.texts.clear();
        self.threads.clear();
    }
}

/// Once, before memory is copied and the modules are listed.
pub fn prepare(beginning: &Beginning) {
    disk::prepare(&beginning.disk);
    exceptions::prepare();
    process::prepare();
    files::prepare();
    output::prepare();
    mappings::prepare();
    sections::prepare();
}

/// After a run, when nothing of it is needed any more: what memory does not tell.
pub fn clean_up() {
    disk::clean_up();
    files::clean_up();
    output::clean_up();
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
    /// Held in atomic sections.
    Section,
    /// Never changes.
    Nothing,
}

static HIDDEN: [u64; 4] = [0; 4];

impl Hidden {
    fn object(self) -> ObjectId {
        let address = &raw const HIDDEN as usize + 8 * self as usize;
        let (sort, fresh) = match self {
            Hidden::MainExit => (Sort::Semaphore, Object::Semaphore(0)),
            Hidden::Nothing => (Sort::Atomic, Object::Atomic(0)),
            Hidden::Exit | Hidden::Section => (Sort::Mutex, Object::mutex()),
        };
        world::get().object(address, 8, sort, || fresh)
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
