//! Happens-before between threads, as arrows from row to row: what each step learned from an earlier one.
//!
//! Only what orders two threads is drawn; within a thread the lane itself is the order. An arrow ends at the step that
//! learned something and begins at the step that it learned it from, the latest one where there are several.

use crate::rows::{Kind, Row};
use reweave_model::{ObjectId, ObjectKind, Op, Synchronises};
use reweave_report::Trace;
use std::collections::HashMap;

/// From a row to a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrow {
    pub from: usize,
    pub to: usize,
    /// What it hands over, as the script knows it.
    pub kind: &'static str,
}

/// All arrows, by the row they end at.
pub(crate) fn arrows(trace: &Trace, rows: &[Row]) -> Vec<Arrow> {
    let mut drawing = Drawing {
        trace,
        rows,
        steps: vec![Vec::new(); trace.threads.len()],
        spawned: vec![None; trace.threads.len()],
        given: HashMap::new(),
        arrows: Vec::new(),
    };
    for (index, row) in rows.iter().enumerate() {
        drawing.row(index, row);
    }
    drawing.arrows
}

struct Drawing<'a> {
    trace: &'a Trace,
    rows: &'a [Row],
    /// For each thread, the rows of its events.
    steps: Vec<Vec<usize>>,
    /// For each thread, the row that created it, until an arrow leads from there.
    spawned: Vec<Option<usize>>,
    /// For each object and what it hands over, the last row that gave it.
    given: HashMap<(ObjectId, &'static str), usize>,
    arrows: Vec<Arrow>,
}

impl Drawing<'_> {
    fn row(&mut self, index: usize, row: &Row) {
        if let Some(thread) = row.thread {
            if let Some(from) = self.spawned[thread as usize].take() {
                self.draw(from, index, "spawn");
            }
        }
        match row.kind {
            Kind::Spawn(child) => self.spawned[child as usize] = Some(index),
            Kind::Step(event) => self.event(index, event),
            Kind::Access(_) | Kind::Failure(_) | Kind::Pending => {}
        }
    }

    fn draw(&mut self, from: usize, to: usize, kind: &'static str) {
        if self.rows[from].thread != self.rows[to].thread {
            self.arrows.push(Arrow { from, to, kind });
        }
    }

    fn event(&mut self, row: usize, index: usize) {
        let event = &self.trace.events[index];
        let Some(op) = event.operation.to_op() else {
            return;
        };
        if let Some(from) = event.after.and_then(|after| self.named(after)) {
            let kind = match op {
                Op::Join(_) => "join",
                Op::Wake { .. } => "wake",
                // The leader was settled there.
                Op::Leave(_) => "arrival",
                _ => "message",
            };
            self.draw(from, row, kind);
        }
        let mut sources: Vec<_> = taken(op, event.ok)
            .into_iter()
            .flatten()
            .filter_map(|from| Some((*self.given.get(&from)?, from.1)))
            .collect();
        // A writer comes after readers and after writers: the last of all is enough.
        sources.sort();
        if let Some((from, kind)) = sources.pop() {
            self.draw(from, row, if kind == "read" { "lock" } else { kind });
        }
        if let Some(gift) = gives(op, event.ok) {
            self.given.insert(gift, row);
        }
        self.steps[event.thread as usize].push(row);
    }

    /// The row of a thread's event by its number; for number 0, where the thread was created.
    fn named(&self, (thread, count): (u32, u32)) -> Option<usize> {
        match count.checked_sub(1) {
            Some(last) => self.steps[thread as usize].get(last as usize).copied(),
            None => {
                let child = Kind::Spawn(thread);
                self.rows.iter().position(|row| row.kind == child)
            }
        }
    }
}

/// What an operation hands on to the next thread that takes the object.
fn gives(op: Op, ok: bool) -> Option<(ObjectId, &'static str)> {
    let object = op.object()?;
    match op.kind().synchronises() {
        Synchronises::Atomic => {
            let (_, writes) = op.reads_and_writes(ok)?;
            writes.then_some((object, "value"))
        }
        Synchronises::ReleaseShared => Some((object, "read")),
        Synchronises::Arrive => Some((object, "arrival")),
        Synchronises::ReleaseMore if !ok => None,
        _ => Some((op.released()?, label(op))),
    }
}

/// From what an operation learns of what other threads did.
fn taken(op: Op, ok: bool) -> [Option<(ObjectId, &'static str)>; 2] {
    let nothing = [None, None];
    let Some(object) = op.object() else {
        return nothing;
    };
    let one = |kind| [Some((object, kind)), None];
    match op.kind().synchronises() {
        Synchronises::Acquire if ok => one(label(op)),
        Synchronises::AcquireAll if ok => [Some((object, "lock")), Some((object, "read"))],
        Synchronises::Leave => one("arrival"),
        Synchronises::Message if !ok && receives(op) => one("close"),
        _ => [op.returns_value_of().map(|atomic| (atomic, "value")), None],
    }
}

/// What an object other than an atomic hands over, as the script knows it.
fn label(op: Op) -> &'static str {
    match op.kind().object_kind() {
        Some(ObjectKind::Once) => "done",
        Some(ObjectKind::Semaphore) => "permit",
        Some(ObjectKind::Parker) => "wake",
        Some(ObjectKind::Barrier) => "arrival",
        Some(ObjectKind::Channel | ObjectKind::Pipe) => "close",
        _ => "lock",
    }
}

fn receives(op: Op) -> bool {
    matches!(
        op,
        Op::Recv { .. } | Op::TryRecv(_) | Op::Expect(_) | Op::Get { .. }
    )
}
