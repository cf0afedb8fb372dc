//! What each thread has learned of other threads, by dependence and by what it reads: the same in equivalent executions.
//!
//! *Called by:* [`Run::heard`](crate::Run::heard), for timed waits. A run in which no target asks pays nothing; the first
//! question pays for all events so far.

use alloc::vec::Vec;
use reweave_model::{Access, Class, Clock, Edge, Event, Execution, Op, ThreadId};

/// What comes before each event of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// How many events are in it.
    done: usize,
    /// For each thread what is at or before each of its events.
    threads: Vec<Vec<Clock>>,
    /// For each object what is at or before its touches, by their class.
    objects: Vec<Vec<(Class, Clock)>>,
    /// What is before the last epoch.
    epoch: Clock,
}

impl Past {
    /// A new run.
    pub(crate) fn clear(&mut self) {
        if self.done > 0 {
            *self = Past::default();
        }
    }

    /// Whether the events of a thread after its first `count` come after an event of another thread that those first ones
    /// do not come after.
    pub(crate) fn heard(&mut self, execution: &Execution, thread: ThreadId, count: u32) -> bool {
        while self.done < execution.events.len() {
            self.add(execution, &execution.events[self.done]);
        }
        let mine = self.threads.get(thread.index());
        let (Some(now), Some(since)) = (
            mine.and_then(|mine| mine.last()),
            mine.and_then(|mine| mine.get((count as usize).checked_sub(1)?)),
        ) else {
            return false;
        };
        (0..execution.threads.len())
            .any(|other| other != thread.index() && now.get(other) > since.get(other))
    }

    fn add(&mut self, execution: &Execution, event: &Event) {
        if self.threads.len() < execution.threads.len() {
            self.threads.resize_with(execution.threads.len(), Vec::new);
        }
        if self.objects.len() < execution.objects.len() {
            self.objects.resize_with(execution.objects.len(), Vec::new);
        }
        if execution.epochs.contains(&(self.done as u32)) {
            for last in self.threads.iter().filter_map(|events| events.last()) {
                self.epoch.join(last);
            }
        }
        let thread = event.thread.index();
        let mut clock = self.epoch.clone();
        let before = self.threads[thread].len() as u32;
        self.join(execution, event.thread, before, &mut clock);
        if let Some(Edge { thread, count }) = event.after {
            self.join(execution, thread, count, &mut clock);
        }
        for access in event.access.into_iter().flatten() {
            for (class, past) in &self.objects[access.object.index()] {
                let hears = match execution.is_atomic(access.object) {
                    true => !matches!(event.op, Op::Store(..)),
                    false => access.class.conflicts(*class),
                };
                if hears {
                    clock.join(past);
                }
            }
        }
        clock.set(thread, before + 1);
        for Access { object, class } in event.access.into_iter().flatten() {
            let touched = &mut self.objects[object.index()];
            if execution.is_atomic(object) {
                // A read learns of the last write and of no other.
                if class == Class::Write {
                    touched.clear();
                    touched.push((class, clock.clone()));
                }
                continue;
            }
            match touched.iter_mut().find(|(other, _)| *other == class) {
                Some((_, past)) => past.join(&clock),
                None => touched.push((class, clock.clone())),
            }
        }
        self.threads[thread].push(clock);
        self.done += 1;
    }

    /// Adds what is at or before the first `count` events of a thread, or its creation.
    fn join(&self, execution: &Execution, thread: ThreadId, count: u32, clock: &mut Clock) {
        let mut step = Edge { thread, count };
        while step.count == 0 {
            let born = execution.threads[step.thread.index()].born;
            if born.thread == step.thread {
                return;
            }
            step = born;
        }
        clock.join(&self.threads[step.thread.index()][step.count as usize - 1]);
    }
}
