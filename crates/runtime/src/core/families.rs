//! What the families of calls do at certain moments of a process and of a run.
//!
//! `core` does not know the families. The root of the crate lists them ([`crate::FAMILIES`]), each with the functions it wants
//! called, and `core` calls them in that order. A family keeps its own state, in cells of its own ([`super::cell`]).

use reweave_model::{End, ThreadId};
use reweave_wire::Beginning;

/// A family of calls, as `core` sees it.
pub struct Family {
    /// Once in each process, before memory is copied and the modules are listed.
    pub prepare: fn(&Beginning),
    /// Before each run: forgets the run before.
    pub begin_run: fn(),
    /// A thread is about to begin, the first one of the run included.
    pub thread_begins: fn(&Birth),
    /// After each run, before its execution is closed: judges what can only be judged then.
    pub conclude: fn(End),
    /// After its execution was closed, before the report is written.
    pub before_report: fn(),
    /// After each run, when nothing of it is needed any more: puts back what lies outside of memory.
    pub clean_up: fn(),
}

/// A thread that is about to begin.
#[derive(Clone, Copy)]
pub struct Birth {
    /// Its creator; none for the first thread of a run.
    pub parent: Option<ThreadId>,
    pub child: ThreadId,
    /// The slot whose stack and thread-local memory it uses.
    pub slot: usize,
}

impl Family {
    /// Wants nothing called.
    pub const QUIET: Family = Family {
        prepare: |_| {},
        begin_run: || {},
        thread_begins: |_| {},
        conclude: |_| {},
        before_report: || {},
        clean_up: || {},
    };
}

pub fn prepare(beginning: &Beginning) {
    crate::FAMILIES
        .iter()
        .for_each(|family| (family.prepare)(beginning));
}

pub fn begin_run() {
    crate::FAMILIES
        .iter()
        .for_each(|family| (family.begin_run)());
}

pub fn thread_begins(birth: &Birth) {
    crate::FAMILIES
        .iter()
        .for_each(|family| (family.thread_begins)(birth));
}

pub fn conclude(end: End) {
    crate::FAMILIES
        .iter()
        .for_each(|family| (family.conclude)(end));
}

pub fn before_report() {
    crate::FAMILIES
        .iter()
        .for_each(|family| (family.before_report)());
}

pub fn clean_up() {
    crate::FAMILIES
        .iter()
        .for_each(|family| (family.clean_up)());
}
