//! The user and the groups that the process runs as.
//!
//! The kernel keeps them for each thread. The C library tells all of its threads of a change by a signal, and waits for them: threads that
//! are parked for ever do not answer. Here the running thread makes the system call for itself. That is enough for fibers, which share one
//! thread of the kernel. Where threads are real ones ([`crate::run::os_threads`]), each repeats the changes of the run when its turn comes.
//!
//! The process ends with the run, so nothing is put back.

use crate::{
    core::{
        cell::{RunCell, RunValue},
        per_thread::PerThread,
        sys,
    },
    run::{leftovers, world},
};
use alloc::vec::Vec;

/// A system call that changes them.
#[derive(Clone)]
pub struct Change {
    pub number: i64,
    pub arguments: [usize; 3],
    /// The groups, if that is what it sets: the first argument is their number.
    pub groups: Option<Vec<libc::gid_t>>,
}

impl Change {
    /// Makes the system call for the running thread of the kernel.
    fn make(&self) -> isize {
        let [a, mut b, c] = self.arguments;
        if let Some(groups) = &self.groups {
            b = groups.as_ptr() as usize;
        }
        // SAFETY: the calls that set users and groups take numbers; `setgroups` reads as many groups as there are in the list.
        let result = unsafe { sys::call(self.number, [a, b, c, 0, 0, 0]) };
        // The kernel has taken both away, since others must not learn from the process what its new user may not know.
        let (dump, die) = (libc::PR_SET_DUMPABLE, libc::PR_SET_PDEATHSIG);
        for (option, value) in [(dump, 1), (die, libc::SIGKILL)] {
            let arguments = [option as usize, value as usize, 0, 0, 0, 0];
            // SAFETY: both options take a number.
            unsafe { sys::call(libc::SYS_prctl, arguments) };
        }
        result
    }
}

/// The changes of the run, in their order.
static CHANGES: RunCell<Vec<Change>> = RunCell::new(Vec::new());
static COUNT: RunValue<usize> = RunValue::new(0);
/// How many of them each thread has made.
static MADE: PerThread<usize> = PerThread::new();

/// A new run.
pub fn clear() {
    CHANGES.borrow().clear();
    COUNT.set(0);
    MADE.clear();
}

/// The running thread changes the user or the groups; what the kernel answers.
pub fn change(change: Change) -> isize {
    leftovers::leaves();
    let result = change.make();
    if result >= 0 {
        let me = world::borrow().current;
        CHANGES.borrow().push(change);
        COUNT.set(COUNT.get() + 1);
        MADE.with(me, |made| *made = COUNT.get());
    }
    result
}

/// A thread of the kernel goes on: makes the changes that others have made since it last ran.
#[inline]
pub fn catch_up() {
    if COUNT.get() > 0 {
        make_all();
    }
}

#[cold]
fn make_all() {
    let me = world::borrow().current;
    let made = MADE.with(me, |made| core::mem::replace(made, COUNT.get()));
    let changes: Vec<Change> = CHANGES.borrow()[made..].to_vec();
    for change in changes {
        change.make();
    }
}
