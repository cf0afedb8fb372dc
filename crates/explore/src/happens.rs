//! The happens-before kernel: for every event of an execution the set of events it depends on, as a vector clock.
//!
//! An event comes after its thread's earlier events, the creation of its thread, the step named by its edge, every
//! earlier conflicting touch of an object, and everything before an epoch. All algorithms ask this one place. Owns its
//! tables and reuses them from execution to execution; [`Happens::analyse`] recomputes only what lies behind the
//! prefix that the last execution shares with this one.

use reweave_model::{Access, Class, Event, Execution, ThreadId};

/// Tables about one execution.
#[derive(Debug, Default)]
pub(crate) struct Happens {
    threads: usize,
    /// One row of `threads` counts an event: how many events of each thread are at or before it.
    rows: Vec<u32>,
    /// Which event of its thread each event is, from 0.
    nth: Vec<u32>,
    /// Positions of each thread's events.
    of_thread: Vec<Vec<u32>>,
    /// Positions of the events that touch an object.
    of_object: Vec<Vec<u32>>,
    /// The last execution's events, to find the shared prefix.
    events: Vec<Event>,
    /// Whether the last execution had epochs: then nothing of it is kept.
    epochs: bool,
    row: Vec<u32>,
}

impl Happens {
    /// Computes the tables for an execution.
    pub fn analyse(&mut self, execution: &Execution) {
        let kept = self.keep_prefix(execution);
        for position in kept..execution.events.len() {
            self.append(execution, position);
        }
    }

    fn keep_prefix(&mut self, execution: &Execution) -> usize {
        let epochs = std::mem::replace(&mut self.epochs, !execution.epochs.is_empty());
        let comparable = self.threads == execution.threads.len() && !epochs && !self.epochs;
        let shared = self.events.iter().zip(&execution.events);
        let kept = match comparable {
            true => shared.take_while(|(a, b)| a == b).count(),
            false => 0,
        };
        let threads = execution.threads.len();
        self.of_thread.resize_with(threads, Vec::new);
        let objects = self.of_object.len().max(execution.objects.len());
        self.of_object.resize_with(objects, Vec::new);
        for table in self.of_thread.iter_mut().chain(&mut self.of_object) {
            let keep = table.partition_point(|position| (*position as usize) < kept);
            table.truncate(keep);
        }
        self.threads = threads;
        self.rows.truncate(kept * threads);
        self.nth.truncate(kept);
        self.events.truncate(kept);
        self.events.extend_from_slice(&execution.events[kept..]);
        kept
    }

    fn append(&mut self, execution: &Execution, position: usize) {
        let event = &execution.events[position];
        let mut row = std::mem::take(&mut self.row);
        self.start_row(execution, event, position, &mut row);
        for access in event.access.into_iter().flatten() {
            let touching = &self.of_object[access.object.index()];
            for &earlier in touching.iter().rev() {
                let other = &execution.events[earlier as usize];
                if !self.in_row(&row, earlier) && other.conflicts(event) {
                    join(&mut row, self.row(earlier));
                }
                if settles(other, access) {
                    break;
                }
            }
            self.of_object[access.object.index()].push(position as u32);
        }
        let thread = event.thread.index();
        row[thread] = self.of_thread[thread].len() as u32 + 1;
        self.nth.push(row[thread] - 1);
        self.of_thread[thread].push(position as u32);
        self.rows.extend_from_slice(&row);
        self.row = row;
    }

    /// Program order, creation, edge, epoch: everything but conflicts.
    fn start_row(&self, execution: &Execution, event: &Event, position: usize, row: &mut Vec<u32>) {
        row.clear();
        row.resize(self.threads, 0);
        self.before_thread(
            execution,
            event.thread,
            self.of_thread[event.thread.index()].len(),
            row,
        );
        if let Some(edge) = event.after {
            if let Some(step) = edge.count.checked_sub(1) {
                join(
                    row,
                    self.row(self.of_thread[edge.thread.index()][step as usize]),
                );
            }
            // A thread that did nothing itself may have been created late.
            self.before_thread(execution, edge.thread, 0, row);
        }
        let epoch = execution
            .epochs
            .iter()
            .rev()
            .find(|epoch| **epoch as usize <= position);
        if let Some(epoch) = epoch {
            for (thread, positions) in self.of_thread.iter().enumerate() {
                let count = positions.partition_point(|position| position < epoch);
                row[thread] = row[thread].max(count as u32);
            }
        }
    }

    /// Adds what a thread has behind it when it comes to its `nth` event: see [`Happens::coming`].
    fn before_thread(&self, execution: &Execution, thread: ThreadId, nth: usize, row: &mut [u32]) {
        match nth.checked_sub(1) {
            Some(last) => join(row, self.row(self.of_thread[thread.index()][last])),
            None => {
                let mut thread = thread;
                loop {
                    let born = execution.threads[thread.index()].born;
                    if let Some(last) = born.count.checked_sub(1) {
                        join(
                            row,
                            self.row(self.of_thread[born.thread.index()][last as usize]),
                        );
                        return;
                    }
                    if born.thread == thread {
                        return;
                    }
                    thread = born.thread;
                }
            }
        }
    }

    /// What a thread has behind it when it comes to its `nth` event, done or not: program order and creation only.
    pub fn coming(&self, execution: &Execution, thread: ThreadId, nth: usize, row: &mut Vec<u32>) {
        row.clear();
        row.resize(self.threads, 0);
        self.before_thread(execution, thread, nth, row);
    }

    /// The events at or before an event: a count for each thread.
    pub fn row(&self, position: u32) -> &[u32] {
        &self.rows[position as usize * self.threads..][..self.threads]
    }

    /// The last event of a set given by counts.
    pub fn last(&self, row: &[u32]) -> Option<u32> {
        let lines = self.of_thread.iter().zip(row);
        lines
            .filter_map(|(line, count)| line.get((*count as usize).checked_sub(1)?).copied())
            .max()
    }

    /// The events of a set given by counts that lie behind a position, in order.
    pub fn behind(&self, row: &[u32], position: u32, out: &mut Vec<u32>) {
        for (line, count) in self.of_thread.iter().zip(row) {
            let from = line.partition_point(|event| *event <= position);
            out.extend_from_slice(line.get(from..*count as usize).unwrap_or_default());
        }
        out.sort_unstable();
    }

    /// Whether an event is in a set given by counts.
    pub fn in_row(&self, row: &[u32], position: u32) -> bool {
        self.nth[position as usize] < row[self.events[position as usize].thread.index()]
    }

    /// Whether all that an event depends on is among the first so many events of each thread; it is itself the next one
    /// of its thread.
    pub fn ready(&self, position: u32, counts: &[u32]) -> bool {
        let missing = self
            .row(position)
            .iter()
            .zip(counts)
            .filter(|(needed, done)| needed > done);
        missing.count() <= 1
    }

    /// Which event of its thread it is, from 0.
    pub fn nth(&self, position: u32) -> u32 {
        self.nth[position as usize]
    }

    /// Positions of a thread's events.
    pub fn of_thread(&self, thread: ThreadId) -> &[u32] {
        &self.of_thread[thread.index()]
    }

    /// Positions of the events that touch an object.
    pub fn of_object(&self, object: reweave_model::ObjectId) -> &[u32] {
        &self.of_object[object.index()]
    }
}

/// Whether all earlier touches that matter to this one lie before that event: it writes what only is read and written.
pub(crate) fn settles(event: &Event, access: Access) -> bool {
    let write = Access {
        class: Class::Write,
        ..access
    };
    matches!(access.class, Class::Read | Class::Write) && event.access.contains(&Some(write))
}

/// Adds one set of events to another.
pub(crate) fn join(row: &mut [u32], other: &[u32]) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
