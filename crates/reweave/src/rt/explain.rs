//! What stuck threads wait for, in words.
//!
//! *Decides:* the text of deadlock and livelock errors. *Called by:* `target` when a run ended so.

use super::{World, location};
use reweave_conduct::Run;
use reweave_model::{Error, Gate, Kind, Object, ObjectId, Op, Pending, Site, ThreadId};
use std::fmt::Write;

/// The error of a run whose threads cannot go on.
pub(crate) fn stuck(world: &World, kind: Kind) -> Error {
    let run = world.run.borrow();
    let mut message = String::new();
    let mut stuck = Vec::new();
    for thread in run.state().order() {
        let Some(pending) = run.pending(*thread) else {
            continue;
        };
        let separator = if message.is_empty() { "" } else { "\n" };
        let _ = write!(
            message,
            "{separator}{}, at {}, {}",
            name(world, *thread),
            place(pending.site),
            waits(world, &run, *thread, pending),
        );
        stuck.push(pending);
    }
    stuck.sort_by_key(|pending| pending.joins());
    Error {
        kind,
        rule: None,
        message,
        sites: stuck.iter().map(|pending| pending.site).collect(),
        after: None,
    }
}

/// A thread for people, by its path as reports have it: `main`, `main.0 "worker"`.
pub(crate) fn name(world: &World, thread: ThreadId) -> String {
    let run = world.run.borrow();
    let mut text = "main".to_owned();
    for n in run.state().path(thread) {
        let _ = write!(text, ".{n}");
    }
    if let Some(name) = &world.threads.borrow()[thread.index()].name {
        let _ = write!(text, " \"{name}\"");
    }
    text
}

/// An object for people, as reports have it: `mutex#1`, counted for each kind.
fn object_name(run: &Run, object: ObjectId) -> String {
    let kind = run.state().object(object).kind_name();
    let objects = &run.execution().objects[..=object.index()];
    let number = objects.iter().filter(|other| other.kind_name() == kind);
    format!("{kind}#{}", number.count())
}

fn place(site: Site) -> String {
    location(site).map_or_else(|| "?".into(), ToString::to_string)
}

fn waits(world: &World, run: &Run, thread: ThreadId, pending: &Pending) -> String {
    let Some(object) = pending.op.object() else {
        let of = match pending.op {
            Op::Join(other) => name(world, other),
            _ => String::new(),
        };
        return waiting(pending.op, &of);
    };
    let known = object_name(run, object);
    if let Gate::Word(_) = pending.gate {
        return format!("spins until {known} changes");
    }
    let state = run.state().object(object);
    let mut text = waiting(pending.op, &known);
    if let Object::Barrier { size, arrived, .. } = state {
        let _ = write!(text, " ({} of {size} have arrived)", arrived.len());
    }
    let holders = state.holders();
    let others = holders.iter().map(|holder| match *holder == thread {
        true => "itself".to_owned(),
        false => name(world, *holder),
    });
    let others = others.collect::<Vec<_>>().join(", ");
    if !others.is_empty() {
        let _ = write!(text, ", held by {others}");
    }
    text
}

/// What an operation waits for, as reports say it.
fn waiting(op: Op, about: &str) -> String {
    match op.kind().waiting() {
        Some(waiting) => waiting.about(about),
        None => format!("waits at {}", op.kind().name()),
    }
}
