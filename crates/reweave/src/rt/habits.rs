//! What is not wrong in a program but worth a look.
//!
//! *Decides:* which threads were left to themselves. *Called by:* `target` when an execution came to its end with nothing wrong. *Owns:* for
//! each worker, the places where such threads were created, with the number of executions.
//!
//! In an ordinary program the return from `main` ends all other threads wherever they are; in a check they run on to their end. A thread
//! could be cut off so when not all that it did happens before the end of the main closure: the same in equivalent executions, whichever
//! of them was run.

use super::world::Thread;
use reweave_model::{Event, Execution, Op, Site, ThreadId};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// A kind of warning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Habit {
    /// A thread was never joined.
    Unjoined,
    /// A thread could still be running when the main closure returns.
    MainReturnedEarly,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Habits {
    /// In how many executions.
    all: RefCell<BTreeMap<(Habit, Site), u64>>,
}

impl Habit {
    /// As the result document spells it.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Habit::Unjoined => "unjoined",
            Habit::MainReturnedEarly => "main-returned-early",
        }
    }

    /// For people; the place is reported separately.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Habit::Unjoined => {
                "a thread that is created here is never joined: its result and its end are nobody's business"
            }
            Habit::MainReturnedEarly => {
                "a thread that is created here can still be running when the main closure returns; a real program would end it there"
            }
        }
    }
}

impl Habits {
    /// An execution came to its end, with nothing wrong.
    pub(crate) fn ended(&self, execution: &Execution, threads: &[Thread]) {
        if threads.iter().skip(1).all(|thread| thread.joined) {
            return;
        }
        let mut now = BTreeSet::new();
        let late = late(execution);
        for (thread, late) in threads.iter().zip(late).skip(1) {
            if !thread.joined {
                now.insert((Habit::Unjoined, thread.spawned));
            }
            if late {
                now.insert((Habit::MainReturnedEarly, thread.spawned));
            }
        }
        let mut all = self.all.borrow_mut();
        for habit in now {
            *all.entry(habit).or_default() += 1;
        }
    }

    pub(crate) fn all(&self) -> Vec<(Habit, Site, u64)> {
        let all = self.all.borrow();
        all.iter()
            .map(|((habit, site), seen)| (*habit, *site, *seen))
            .collect()
    }
}

/// For each thread, whether some of its events do not happen before the end of the main one.
fn late(execution: &Execution) -> Vec<bool> {
    let mut left: Vec<u32> = vec![0; execution.threads.len()];
    for event in &execution.events {
        left[event.thread.index()] += 1;
    }
    let total = left.clone();
    // How many of each thread's events, from its first on, happen before it.
    let mut before = vec![0; total.len()];
    before[0] = total[0];
    let mut past: Vec<&Event> = Vec::new();
    for event in execution.events.iter().rev() {
        let thread = event.thread.index();
        let place = left[thread];
        left[thread] -= 1;
        if place > before[thread] && !past.iter().any(|later| event.conflicts(later)) {
            continue;
        }
        past.push(event);
        let mut raise = |thread: ThreadId, count: u32| {
            let known = &mut before[thread.index()];
            *known = count.max(*known);
        };
        raise(event.thread, place);
        if let Op::Join(other) = event.op {
            raise(other, total[other.index()]);
        }
        if let Some(edge) = event.after {
            raise(edge.thread, edge.count);
        }
        let born = execution.threads[thread].born;
        raise(born.thread, born.count);
    }
    let late = before.iter().zip(total).map(|(before, all)| *before < all);
    late.collect()
}
