//! Carries virtual time from thread to thread: along with what is written and read, and with steps that are waited for.
//!
//! *Called by:* every operation, from the moment some thread's clock has moved. *Owns:* the latest time of each object and of each
//! step. Both follow from the causal past alone: only touches that come one after the other carry time, so readers that do not know of
//! each other do not learn each other's time.

use super::World;
use reweave_model::{Class, Edge, Event, ObjectId, Op, Run};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

/// See the module.
#[derive(Default)]
pub(crate) struct Times {
    used: Cell<bool>,
    objects: RefCell<HashMap<ObjectId, u64>>,
    steps: RefCell<HashMap<(u32, u32), u64>>,
}

impl Times {
    /// Whether some thread's clock has moved in this execution.
    #[inline]
    pub(crate) fn used(&self) -> bool {
        self.used.get()
    }

    /// A thread's clock has moved.
    pub(crate) fn note(&self) {
        self.used.set(true);
    }

    /// A new execution.
    pub(crate) fn begin(&self) {
        if self.used.replace(false) {
            self.objects.borrow_mut().clear();
            self.steps.borrow_mut().clear();
        }
    }
}

impl World {
    /// After an event of the run.
    #[cold]
    pub(crate) fn carry_time(&self, event: &Event, run: &Run) {
        let count = run.state().count(event.thread);
        let mut objects = self.times.objects.borrow_mut();
        let mut steps = self.times.steps.borrow_mut();
        let mut threads = self.threads.borrow_mut();
        let clock = &mut threads[event.thread.index()].clock_ns;
        if let Some(Edge { thread, count }) = event.after {
            *clock = (*clock).max(steps.get(&(thread.0, count)).copied().unwrap_or(0));
        }
        for access in event.access.iter().flatten() {
            if !matches!(access.class, Class::Read | Class::Write) {
                continue;
            }
            let time = objects.entry(access.object).or_insert(0);
            // A store to an atomic learns nothing of those before it.
            let store = matches!(event.op, Op::Store(..));
            if !store || !run.execution().is_atomic(access.object) {
                *clock = (*clock).max(*time);
            }
            if access.class == Class::Write {
                *time = *clock;
            }
        }
        steps.insert((event.thread.0, count), *clock);
    }
}
