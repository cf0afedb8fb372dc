//! Code of libraries that a program opens and closes while other threads may run it.
//!
//! A call of a function without hooks is not seen. So, where it matters ([`Rule::Libraries`]), code of libraries cannot be run
//! until the processor traps there: the trap counts as a read of the code, and the thread goes on until its next operation. To
//! close a library is to free its memory: code of a closed library cannot be run at all.
//!
//! `calls/libraries` says which libraries there are and when they are opened and closed; the fault handler and the race detector
//! ask. *Invariant:* the list is not borrowed while the world's functions are called, since these ask for names of libraries.

use crate::{
    core::{
        cell::{ASIDE, RunCell, RunValue},
        sys,
    },
    run::{rules, world},
};
use alloc::{string::String, vec::Vec};
use core::{ffi::c_int, ops::Range};
use reweave_memory::Kind;
use reweave_model::Site;
use reweave_wire::Rule;

/// What is known of a library that the program can open.
struct LibraryCode {
    /// The name of its file, without directories.
    name: Option<String>,
    code: Vec<Range<usize>>,
    whole: Vec<Range<usize>>,
    access: Access,
}

/// Whether code can be run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// As the rules say: freely, or with a trap.
    Usual,
    /// Without a trap, until the next operation.
    Trapped,
    /// Not at all.
    Closed,
}

/// All libraries, with the numbers that `calls/libraries` has for them.
static LIBRARIES: RunCell<Vec<LibraryCode>, ASIDE> = RunCell::new(Vec::new());

/// Whether some code can be run without a trap, and is to trap again after the next operation.
static TRAPPED: RunValue<bool> = RunValue::new(false);

const UNUSABLE: c_int = libc::PROT_NONE;
const READABLE: c_int = libc::PROT_READ;
const RUNNABLE: c_int = libc::PROT_READ | libc::PROT_EXEC;

/// Adds a library, whose number is that of libraries before it.
pub fn add(path: &[u8], code: Vec<Range<usize>>, whole: Vec<Range<usize>>) {
    let file = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    LIBRARIES.borrow().push(LibraryCode {
        name: core::str::from_utf8(file).ok().map(String::from),
        code,
        whole,
        access: Access::Usual,
    });
}

impl LibraryCode {
    fn protect(&self, access: c_int) {
        for range in &self.code {
            // SAFETY: the range is code of a library that stays mapped. No thread is within it now: the runtime runs. A later
            // trap is understood by `ran`.
            unsafe { sys::protect(range.start, range.len(), access) };
        }
    }
}

/// A library is about to be used.
pub fn opened(library: usize) {
    let guarded = rules::holds(Rule::Libraries);
    let was_closed = LIBRARIES.borrow()[library].access == Access::Closed;
    if was_closed {
        let whole = LIBRARIES.borrow()[library].whole.clone();
        let mut world = world::borrow();
        for range in whole {
            world.shadow.forget(range.start, range.len());
        }
    }
    let mut libraries = LIBRARIES.borrow();
    let library = &mut libraries[library];
    if was_closed {
        library.access = Access::Usual;
        library.protect(RUNNABLE);
    }
    if guarded {
        library.protect(READABLE);
    }
}

/// No thread may use a library any more.
pub fn closed(library: usize, site: Site) {
    let whole = LIBRARIES.borrow()[library].whole.clone();
    for range in whole {
        world::borrow().give_back(range.start, range.len(), site);
    }
    let mut libraries = LIBRARIES.borrow();
    libraries[library].access = Access::Closed;
    libraries[library].protect(UNUSABLE);
}

/// After a run: all code can be run.
pub fn clean_up() {
    let guarded = rules::holds(Rule::Libraries);
    for library in LIBRARIES.borrow().iter_mut() {
        if guarded || library.access == Access::Closed {
            library.protect(RUNNABLE);
        }
        library.access = Access::Usual;
    }
    TRAPPED.set(false);
}

/// Whether code that lies there can be run at any time, without a trap of this module.
pub fn runs_freely(address: usize) -> bool {
    let libraries = LIBRARIES.borrow();
    let within = |library: &&LibraryCode| library.code.iter().any(|code| code.contains(&address));
    match libraries.iter().find(within) {
        Some(library) => library.access == Access::Usual && !rules::holds(Rule::Libraries),
        None => true,
    }
}

/// After each event: distinguishes what the running thread does from now on from what it did before.
#[inline]
pub fn refresh() {
    if TRAPPED.get() {
        trap_again();
    }
}

#[cold]
fn trap_again() {
    TRAPPED.set(false);
    for library in LIBRARIES.borrow().iter_mut() {
        if library.access == Access::Trapped {
            library.access = Access::Usual;
            library.protect(READABLE);
        }
    }
}

/// What a trap means.
pub enum Trap {
    /// It has nothing to do with libraries.
    Other,
    /// The thread goes on.
    GoesOn,
    /// The library is closed, and the error was reported.
    Reported,
}

/// The running thread trapped at code that it was about to run.
pub fn ran(address: usize, site: Site) -> Trap {
    let within = |library: &LibraryCode| library.code.iter().any(|range| range.contains(&address));
    let found = LIBRARIES.borrow().iter().position(within);
    let Some(library) = found else {
        return Trap::Other;
    };
    let reported = {
        let mut world = world::borrow();
        let before = world.run.execution().errors.len();
        world.touch(address, 1, Kind::Read, site);
        world.run.execution().errors.len() > before
    };
    let mut libraries = LIBRARIES.borrow();
    let library = &mut libraries[library];
    if library.access == Access::Usual {
        library.access = Access::Trapped;
        TRAPPED.set(true);
        library.protect(RUNNABLE);
        return Trap::GoesOn;
    }
    match reported {
        true => Trap::Reported,
        false => Trap::Other,
    }
}

/// The name of the file that the program opened as a library which lies there.
pub fn name_at(address: usize) -> Option<String> {
    let libraries = LIBRARIES.borrow();
    let holds = |library: &&LibraryCode| library.whole.iter().any(|range| range.contains(&address));
    libraries.iter().find(holds)?.name.clone()
}
