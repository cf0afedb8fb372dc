//! What stuck threads wait for, in words.
//!
//! *Decides:* the text of deadlock and livelock errors. *Called by:* `target` when a run ended so.

use super::{World, location};
use reweave_model::{
    Error, Gate, Kind, Object, ObjectId, OnceState, Op, Pending, Run, Site, ThreadId,
};
use std::fmt::Write;

/// The error of a run whose threads cannot go on.
pub(crate) fn stuck(world: &World, kind: Kind) -> Error {
    let run = world.run.borrow();
    let mut message = String::new();
    let mut sites = Vec::new();
    for thread in run.state().order() {
        let Some(pending) = run.pending(*thread) else {
            continue;
        };
        let separator = if message.is_empty() { "" } else { "; " };
        let _ = write!(
            message,
            "{separator}{} {} ({})",
            name(world, *thread),
            waits(world, &run, *thread, pending),
            place(pending.site),
        );
        sites.push(pending.site);
    }
    Error {
        kind,
        rule: None,
        message,
        sites,
    }
}

/// A thread for people.
pub(crate) fn name(world: &World, thread: ThreadId) -> String {
    match &world.threads.borrow()[thread.index()].name {
        Some(name) => format!("thread {} '{name}'", thread.0),
        None if thread == ThreadId::MAIN => "thread 0 'main'".into(),
        None => format!("thread {}", thread.0),
    }
}

fn place(site: Site) -> String {
    location(site).map_or_else(|| "?".into(), ToString::to_string)
}

fn waits(world: &World, run: &Run, thread: ThreadId, pending: &Pending) -> String {
    let Some(object) = pending.op.object() else {
        return match pending.op {
            Op::Join(other) => format!("waits for the end of {}", name(world, other)),
            op => format!("waits at {}", op.kind().name()),
        };
    };
    let id = object.0;
    if let (Op::Await(..), _) | (_, Gate::Word(_)) = (pending.op, pending.gate) {
        let kind = run.state().object(object).kind_name();
        return format!("spins until {kind} #{id} changes");
    }
    match pending.op {
        Op::Wake { .. } => format!("waits for a notification of condvar #{id}"),
        Op::Park { .. } => "is parked".into(),
        Op::Recv { .. } => format!("waits for a message on channel #{id}"),
        Op::Send(_) => format!("waits for room in channel #{id}"),
        Op::Handoff(..) => format!("waits for a receiver on channel #{id}"),
        _ => held(world, run, thread, object),
    }
}

/// For what has holders, or a count.
fn held(world: &World, run: &Run, thread: ThreadId, object: ObjectId) -> String {
    let state = run.state().object(object);
    let mut text = format!("waits for {} #{}", state.kind_name(), object.0);
    let holders: Vec<ThreadId> = match state {
        Object::Mutex { holder, .. } => holder.iter().copied().collect(),
        Object::RwLock {
            writer, readers, ..
        } => writer.iter().chain(readers).copied().collect(),
        Object::Once(OnceState::Running(initialiser)) => vec![*initialiser],
        Object::Barrier { size, arrived, .. } => {
            let _ = write!(text, " ({} of {size} have arrived)", arrived.len());
            Vec::new()
        }
        _ => Vec::new(),
    };
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
