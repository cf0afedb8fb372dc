//! Code of libraries that are closed while other threads may run it.
//!
//! Nothing tells of a call of a function that has no hooks. So, where it matters ([`Rule::Libraries`]), code of libraries cannot be run until
//! the processor traps there: that is a read of the code, and the thread goes on until its next operation. To close a library gives its memory back.

use crate::{
    calls::libraries::{Late, all, state},
    core::{rules, sys, world},
};
use core::{
    ffi::c_int,
    sync::atomic::{AtomicBool, Ordering},
};
use reweave_memory::Kind;
use reweave_model::Site;
use reweave_wire::Rule;

/// Whether code that can be run now is to trap after the next operation.
static BARE: AtomicBool = AtomicBool::new(false);

const NOBODY: c_int = libc::PROT_NONE;
const READS: c_int = libc::PROT_READ;
const RUNS: c_int = libc::PROT_READ | libc::PROT_EXEC;

fn protect(library: &Late, access: c_int) {
    for range in &library.code {
        // SAFETY: a trap is understood by `ran`; otherwise as it was.
        unsafe { sys::protect(range.start, range.len(), access) };
    }
}

/// A library is about to be used.
pub fn opened(late: usize) {
    let guarded = rules::holds(Rule::Libraries);
    let library = &all().late[late];
    if state().closed.contains(&late) {
        for range in &library.whole {
            world::get().shadow.forget(range.start, range.len());
        }
        state().closed.retain(|other| *other != late);
        protect(library, RUNS);
    }
    if guarded {
        protect(library, READS);
    }
}

/// Nobody may use a library any more.
pub fn closed(late: usize, site: Site) {
    let library = &all().late[late];
    for range in &library.whole {
        world::get().give_back(range.start, range.len(), site);
    }
    protect(library, NOBODY);
    state().bare.retain(|other| *other != late);
    state().closed.push(late);
}

/// After a run: all code can be run.
pub fn clean_up() {
    let guarded = rules::holds(Rule::Libraries);
    for (late, library) in all().late.iter().enumerate() {
        if guarded || state().closed.contains(&late) {
            protect(library, RUNS);
        }
    }
    state().closed.clear();
    BARE.store(false, Ordering::Relaxed);
}

/// What the running thread does from now on is told apart from what it did before.
#[inline]
pub fn refresh() {
    if BARE.load(Ordering::Relaxed) {
        cover();
    }
}

#[cold]
fn cover() {
    BARE.store(false, Ordering::Relaxed);
    for late in state().bare.drain(..) {
        if !state().closed.contains(&late) {
            protect(&all().late[late], READS);
        }
    }
}

/// What came of a trap.
pub enum Trap {
    /// It has nothing to do with libraries.
    Other,
    /// The thread goes on.
    GoesOn,
    /// The library is closed, and the error is told.
    Told,
}

/// Somebody ran code at a place where that traps.
pub fn ran(address: usize, site: Site) -> Trap {
    let within = |late: &Late| late.code.iter().any(|range| range.contains(&address));
    let Some(late) = all().late.iter().position(within) else {
        return Trap::Other;
    };
    let world = world::get();
    let told = world.run.execution().errors.len();
    world.touch(address, 1, Kind::Read, site);
    if !state().closed.contains(&late) && !state().bare.contains(&late) {
        state().bare.push(late);
        BARE.store(true, Ordering::Relaxed);
        protect(&all().late[late], RUNS);
        return Trap::GoesOn;
    }
    match world::get().run.execution().errors.len() > told {
        true => Trap::Told,
        false => Trap::Other,
    }
}
