//! What the families of calls do at certain moments of a process and of a run.
//!
//! `core` does not know the families. The root of the crate lists them (`each_family`), each with the functions it wants
//! called, and `core` calls them in that order. A family keeps its own state, in cells of its own ([`super::cell`]).

use super::per_process::ProcessChange;
use core::ffi::c_int;
use reweave_model::{End, Identity, Site, ThreadId};
use reweave_wire::Beginning;

/// A family of calls, as `core` sees it.
pub struct Family {
    /// Once in each process, before memory is copied and the modules are listed.
    pub prepare: fn(&Beginning),
    /// Before each run: forgets the run before.
    pub begin_run: fn(),
    /// A thread is about to begin, the first one of the run included.
    pub thread_begins: fn(&Birth),
    /// A process forks, goes on or is gone: passes the change to what each process has for itself.
    pub process_changes: fn(ProcessChange),
    /// The running process has called `exec`, and its one thread is about to begin at `main`: forgets what belonged to the program
    /// that it was, as a new run does. What `exec` keeps stays.
    pub program_begins: fn(),
    /// The running thread has left all functions of the program: destroys what belongs to it. Called in reverse order.
    pub thread_ends: fn(),
    /// The first thread of a run is about to call `main`.
    pub before_main: fn(),
    /// The running thread is about to end its process, which has not begun to end.
    pub process_is_to_end: fn(Site),
    /// The running thread ends the process with this status: runs what is to run then, as ordinary code.
    pub process_ends: fn(c_int, Site),
    /// A process of several is about to be gone, with its one thread, however it came to that. What others see of it, ends.
    pub one_of_several_ends: fn(Site),
    /// The same, of one that was forked.
    pub forked_process_ends: fn(),
    /// The module at an address must stay until [`Family::module_released`]: an object of the running thread needs its code.
    pub module_retained: fn(usize, Site),
    pub module_released: fn(usize, Site),
    /// Passes each page that the program has mapped and written to.
    pub each_mapped_page: fn(&mut PageVisitor<'_>),
    /// Adds to a state of the run what calls keep outside of the program's memory: see [`super::cell::ASIDE`].
    pub identify: fn(&mut Identity),
    /// Passes each pointer of the program that a call keeps for it outside of the program's memory, when a run has ended.
    pub each_kept: fn(&mut PointerVisitor<'_>),
    /// After each run, before its execution is closed: judges what can only be judged then.
    pub conclude: fn(End),
    /// After its execution was closed, before the report is written.
    pub before_report: fn(),
    /// After each run, when nothing of it is needed any more: puts back what lies outside of memory.
    pub clean_up: fn(),
}

/// Called with the words of a page.
pub type PageVisitor<'a> = dyn FnMut(&[u64]) + 'a;

/// Called with a pointer.
pub type PointerVisitor<'a> = dyn FnMut(usize) + 'a;

/// A thread that is about to begin.
#[derive(Clone, Copy)]
pub struct Birth {
    /// Its creator; none for the first thread of a run.
    pub parent: Option<ThreadId>,
    pub child: ThreadId,
    /// The ended thread whose place it takes, with its slot and thread-local memory. What a family keeps of that thread is to
    /// become the new thread's ([`super::per_thread::PerThread::take_over`]).
    pub reuses: Option<ThreadId>,
    /// It is the one thread of a new process: it goes on where its creator called `fork`, with all that this one has.
    pub forked: bool,
    /// It was there before, and begins again at `main` after `exec`.
    pub again: bool,
}

impl Family {
    /// Wants nothing called.
    pub const QUIET: Family = Family {
        prepare: |_| {},
        begin_run: || {},
        thread_begins: |_| {},
        process_changes: |_| {},
        program_begins: || {},
        thread_ends: || {},
        before_main: || {},
        process_is_to_end: |_| {},
        process_ends: |_, _| {},
        one_of_several_ends: |_| {},
        forked_process_ends: || {},
        module_retained: |_, _| {},
        module_released: |_, _| {},
        each_mapped_page: |_| {},
        identify: |_| {},
        each_kept: |_| {},
        conclude: |_| {},
        before_report: || {},
        clean_up: || {},
    };
}

pub fn prepare(beginning: &Beginning) {
    crate::each_family(|family| (family.prepare)(beginning));
}

pub fn begin_run() {
    crate::each_family(|family| (family.begin_run)());
}

pub fn thread_begins(birth: &Birth) {
    crate::each_family(|family| (family.thread_begins)(birth));
}

pub fn process_changes(change: ProcessChange) {
    crate::each_family(|family| (family.process_changes)(change));
}

pub fn program_begins() {
    crate::each_family(|family| (family.program_begins)());
}

pub fn thread_ends() {
    crate::each_family_reversed(|family| (family.thread_ends)());
}

pub fn before_main() {
    crate::each_family(|family| (family.before_main)());
}

pub fn process_is_to_end(site: Site) {
    crate::each_family(|family| (family.process_is_to_end)(site));
}

pub fn process_ends(status: c_int, site: Site) {
    crate::each_family(|family| (family.process_ends)(status, site));
}

pub fn one_of_several_ends(site: Site) {
    crate::each_family(|family| (family.one_of_several_ends)(site));
}

pub fn forked_process_ends() {
    crate::each_family(|family| (family.forked_process_ends)());
}

pub fn module_retained(address: usize, site: Site) {
    crate::each_family(|family| (family.module_retained)(address, site));
}

pub fn module_released(address: usize, site: Site) {
    crate::each_family(|family| (family.module_released)(address, site));
}

pub fn each_mapped_page(each: &mut PageVisitor<'_>) {
    crate::each_family(|family| (family.each_mapped_page)(each));
}

pub fn identify(out: &mut Identity) {
    crate::each_family(|family| (family.identify)(out));
}

pub fn each_kept(each: &mut PointerVisitor<'_>) {
    crate::each_family(|family| (family.each_kept)(each));
}

pub fn conclude(end: End) {
    crate::each_family(|family| (family.conclude)(end));
}

pub fn before_report() {
    crate::each_family(|family| (family.before_report)());
}

pub fn clean_up() {
    crate::each_family(|family| (family.clean_up)());
}
