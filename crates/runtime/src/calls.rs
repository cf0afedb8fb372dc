//! Library calls of the program that are ours: [`threads`], [`mutexes`], [`allocation`] and so on. Each has its model; outside of
//! runs each goes to libc's own.

mod allocation;
mod barriers;
mod clocks;
mod condvars;
pub mod exceptions;
mod futexes;
mod marks;
mod mutexes;
mod once;
pub mod process;
mod rwlocks;
mod semaphores;
mod spins;
pub mod threads;
mod verifier;

pub use marks::unordered;
pub use process::end_process;
pub use threads::end_thread;

use crate::{
    objects::Sort,
    world::{self, perform},
};
use reweave_model::{End, Gate, Kind, Object, ObjectId, Op, Order, Site};

/// What the calls of a run leave for each other.
#[derive(Default)]
pub struct State {
    pub process: process::State,
    pub threads: threads::State,
}

/// The same, of one thread.
#[derive(Default)]
pub struct Own {
    pub threads: threads::Own,
    pub verifier: verifier::Own,
    pub once: once::Own,
}

impl State {
    /// Before a run.
    pub fn clear(&mut self) {
        self.process.clear();
        self.threads.clear();
    }
}

/// Once, before memory is copied and the modules are listed.
pub fn prepare() {
    exceptions::prepare();
}

/// After a run, before its execution is closed: what can only be judged now.
pub fn conclude(end: End) {
    marks::conclude(end);
    if end == End::Done {
        process::conclude();
        threads::conclude();
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
}

static HIDDEN: [u64; 3] = [0; 3];

impl Hidden {
    fn object(self) -> ObjectId {
        let address = &raw const HIDDEN as usize + 8 * self as usize;
        let (sort, fresh) = match self {
            Hidden::MainExit => (Sort::Semaphore, Object::Semaphore(0)),
            Hidden::Exit | Hidden::Section => (Sort::Mutex, Object::mutex()),
        };
        world::get().object(address, 8, sort, || fresh)
    }
}

/// An operation of a library call.
fn visible(op: Op, site: Site) -> reweave_model::Event {
    perform(op, Gate::Open, site, Order::SeqCst, None)
}

/// Wrong use of the object at an address: an error. What happens next is anybody's guess, so the thread goes no further.
#[cold]
fn misuse(rule: &str, message: &str, address: usize, site: Site) -> ! {
    let place = site.0 as usize;
    let mut modules = world::get().modules.iter();
    let library = modules.any(|module| {
        module.library && (module.bias..module.bias + module.end - module.start).contains(&place)
    });
    // C++'s library calls for the program.
    let site = match library {
        true => exceptions::program_site(0),
        false => site,
    };
    let world = world::get();
    world.error_about(Kind::Misuse, Some(rule), message.into(), &[site], address);
    world.freeze(site)
}
