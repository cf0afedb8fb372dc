//! State that each process of the program has for itself, while the runtime's memory is shared by all of them.
//!
//! All state of the runtime lies in memory that every process of the run maps at one address, so one thread of one process
//! at a time can use it like that of a single process ([`super::shared_memory`]). What belongs to one process (its heap, its
//! descriptors, its handlers) is kept here: the value of the process that runs lies in the cell, those of the others beside
//! it. A fork copies it, as it copies the memory of the program. A program of one process pays nothing.

use super::cell::{Borrow, RunCell};
use alloc::vec::Vec;

/// A process of the run, in the order of their creation; 0 is the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct ProcessId(pub u32);

impl ProcessId {
    /// The process that the driver started.
    pub const FIRST: ProcessId = ProcessId(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub fn is_first(self) -> bool {
        self == ProcessId::FIRST
    }
}

/// What happens to the processes of a run.
#[derive(Clone, Copy)]
pub enum ProcessChange {
    /// The running process forks; from here on the new one runs.
    Fork { from: ProcessId },
    /// The running process begins as another program: from here on it goes by another number.
    Exec,
    /// Another process goes on.
    Switch { from: ProcessId, to: ProcessId },
    /// The run is over, and the first process runs alone.
    Over,
}

/// A value of each process.
pub struct PerProcess<T, const ASIDE: bool = false> {
    now: RunCell<T, ASIDE>,
    others: RunCell<Vec<Option<T>>, ASIDE>,
}

impl<T: Clone, const ASIDE: bool> PerProcess<T, ASIDE> {
    pub const fn new(value: T) -> PerProcess<T, ASIDE> {
        PerProcess {
            now: RunCell::new(value),
            others: RunCell::new(Vec::new()),
        }
    }

    /// The running process's value, for a scope.
    #[inline(always)]
    #[track_caller]
    pub fn borrow(&self) -> Borrow<'_, T, ASIDE> {
        self.now.borrow()
    }

    /// The cell of the running process's value.
    pub fn cell(&self) -> &RunCell<T, ASIDE> {
        &self.now
    }

    /// Passes the values of all processes but the one that runs.
    pub fn each_other(&self, mut what: impl FnMut(ProcessId, &T)) {
        for (index, value) in self.others.borrow().iter().enumerate() {
            if let Some(value) = value {
                what(ProcessId(index as u32), value);
            }
        }
    }

    pub fn change(&self, change: ProcessChange) {
        let mut others = self.others.borrow();
        match change {
            ProcessChange::Fork { from } => {
                *place(&mut others, from) = Some(self.now.borrow().clone())
            }
            // What a process keeps then is for each module to say ([`super::families::Family::program_begins`]).
            ProcessChange::Exec => {}
            ProcessChange::Switch { from, to } => {
                let next = place(&mut others, to).take();
                let next = next.expect("a process that is to go on was left before");
                let left = core::mem::replace(&mut *self.now.borrow(), next);
                *place(&mut others, from) = Some(left);
            }
            ProcessChange::Over => others.clear(),
        }
    }
}

fn place<T>(others: &mut Vec<Option<T>>, process: ProcessId) -> &mut Option<T> {
    if others.len() <= process.index() {
        others.resize_with(process.index() + 1, || None);
    }
    &mut others[process.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_copies_and_each_process_keeps_its_own() {
        let cell = PerProcess::new(1);
        let (first, second) = (ProcessId::FIRST, ProcessId(1));
        cell.change(ProcessChange::Fork { from: first });
        *cell.borrow() += 1;
        cell.change(ProcessChange::Switch {
            from: second,
            to: first,
        });
        assert_eq!(*cell.borrow(), 1);
        *cell.borrow() = 7;
        cell.change(ProcessChange::Switch {
            from: first,
            to: second,
        });
        assert_eq!(*cell.borrow(), 2);
        cell.change(ProcessChange::Switch {
            from: second,
            to: first,
        });
        cell.change(ProcessChange::Over);
        assert_eq!(*cell.borrow(), 7);
    }
}
