//! Why no thread can go on: locks taken in a circle, a lock that its holder never gives back, a notification that nobody heard.

use super::{Cause, and, step};
use crate::{
    text::{Story, circle},
    trace::PendingEntry,
    walk::Hold,
};
use reweave_model::{Op, ThreadId};

/// Threads of a circle that are named.
const LISTED: usize = 4;

pub(super) fn cause(story: &Story<'_>) -> Option<Cause> {
    let circle = circle(story);
    if let Some(cause) = of_circle(story, &circle) {
        return Some(cause);
    }
    // A thread that waits for another's end is no reason; nor is one that waits for a lock whose holder waits itself.
    let waiting: Vec<(ThreadId, &PendingEntry)> = story.unfinished().collect();
    let mut rest: Vec<_> = waiting
        .iter()
        .filter(|(_, pending)| pending.operation.name != "join")
        .collect();
    rest.sort_by_key(|(thread, pending)| {
        let lock = pending.operation.name == "lock";
        (lock, lock || !missed(story, thread.0, pending))
    });
    rest.iter()
        .find_map(|(thread, pending)| single(story, thread.0, pending))
}

fn held(story: &Story<'_>, object: u32, by: u32) -> Option<usize> {
    let holds = story.walked.held.get(object as usize)?;
    let hold = holds.iter().find(|hold| hold.thread == by)?;
    Some(hold.since)
}

fn of_circle(story: &Story<'_>, circle: &[u32]) -> Option<Cause> {
    let wants = |thread: u32| {
        let pending = story.trace.threads.get(thread as usize)?.pending.as_ref()?;
        pending.operation.object
    };
    let name = |object: u32| story.trace.object_name(object);
    match circle {
        [] => None,
        [own] => {
            let object = wants(*own)?;
            let since = held(story, object, *own)?;
            let (who, what) = (story.thread(*own), name(object));
            Some(Cause::new(
                format!(
                    "{who} waits for {what}, which it holds itself since {}: no interleaving is needed.",
                    step(since)
                ),
                [since],
            ))
        }
        threads => {
            let mut parts = Vec::new();
            let mut steps = Vec::new();
            for (index, thread) in threads.iter().enumerate() {
                let before = threads[(index + threads.len() - 1) % threads.len()];
                let (has, wanted) = (wants(before)?, wants(*thread)?);
                let since = held(story, has, *thread)?;
                steps.push(since);
                let who = story.thread(*thread);
                let (has, wanted) = (name(has), name(wanted));
                parts.push(format!(
                    "{who} holds {has} ({}) and wants {wanted}",
                    step(since)
                ));
            }
            if threads.len() > LISTED {
                let (count, who) = (threads.len(), story.thread(threads[0]));
                let text = format!(
                    "{count} threads, from {who} on, each hold a lock and want the one that the next thread holds: a circle."
                );
                return Some(Cause::new(text, steps));
            }
            let why = match threads.len() {
                2 => "they take the two locks in opposite order".to_owned(),
                count => format!("{count} threads take their locks in a circle"),
            };
            Some(Cause::new(format!("{}: {why}.", parts.join("; ")), steps))
        }
    }
}

/// What one waiting thread says about the cause.
fn single(story: &Story<'_>, thread: u32, pending: &PendingEntry) -> Option<Cause> {
    let op = pending.operation.to_op()?;
    match op {
        Op::Wake { condvar, .. } => Some(unheard(story, thread, condvar.0)),
        Op::Lock(object)
        | Op::ReadLock(object)
        | Op::WriteBegin(object)
        | Op::WriteAcquire(object) => kept(story, thread, object.0),
        Op::SemAcquire { object, .. } => kept_asleep(story, thread, object.0, None)
            .or_else(|| Some(exhausted(story, thread, object.0))),
        Op::Leave(object) | Op::Arrive(object) => {
            let name = story.trace.object_name(object.0);
            let wait = story.wait(thread, pending)?;
            let rest = wait.what.split_once(", to which ").map(|(_, rest)| rest);
            let rest = rest.map_or_else(String::new, |rest| format!(": {rest}"));
            Some(Cause::new(
                format!("Too few threads come to {name}{rest}, and no other can come any more."),
                [],
            ))
        }
        _ if pending.saw.is_some() || matches!(op, Op::Await(..)) => {
            let object = op.object()?.0;
            Some(spins(story, thread, object))
        }
        _ => None,
    }
}

/// Whether another thread gave a notification that this one, which waits for one, did not get: more of a reason than that there was none.
fn missed(story: &Story<'_>, thread: u32, pending: &PendingEntry) -> bool {
    let operation = &pending.operation;
    operation.name != "wake"
        || story.trace.events.iter().any(|event| {
            let notifies = event.operation.name.starts_with("notify");
            notifies && event.operation.object == operation.object && event.thread != thread
        })
}

/// A wait for a notification that does not come.
fn unheard(story: &Story<'_>, thread: u32, condvar: u32) -> Cause {
    let trace = story.trace;
    let (who, what) = (story.thread(thread), trace.object_name(condvar));
    let steps = &story.walked.steps[thread as usize];
    let slept = steps.iter().rev().copied().find(|step| {
        let operation = &trace.events[*step].operation;
        matches!(&*operation.name, "wait" | "wait-if") && operation.object == Some(condvar)
    });
    let notifies = |index: &usize| {
        let operation = &trace.events[*index].operation;
        operation.object == Some(condvar) && operation.name.starts_with("notify")
    };
    let last = (0..trace.events.len()).rev().find(notifies);
    if let Some(cause) = kept_asleep(story, thread, condvar, slept) {
        return cause;
    }
    let Some(last) = last else {
        return Cause::new(
            format!("{who} waits for a notification of {what}, but no thread ever notifies it."),
            slept,
        );
    };
    let notifier = story.thread(trace.events[last].thread);
    let waiters = story.walked.before[last]
        .waiters
        .as_deref()
        .unwrap_or_default();
    let sleeps = slept.map_or_else(String::new, |slept| format!(" ({})", step(slept)));
    let text = match slept {
        Some(slept) if last < slept && trace.events[last].thread == thread => format!(
            "{who} waits for a notification of {what}{sleeps}, which it last notified itself ({}); no thread notifies it again.",
            step(last)
        ),
        Some(slept) if last < slept && waiters.is_empty() => format!(
            "{notifier} notified {what} ({}) before {who} began to wait{sleeps}: the notification was lost.",
            step(last)
        ),
        Some(slept) if last < slept => format!(
            "The last notification of {what} ({}, by {notifier}) came before {who} began to wait{sleeps}; no thread notifies it again.",
            step(last)
        ),
        _ => {
            let woken = trace.events[last].result.checked_sub(1);
            let one = trace.events[last].operation.name == "notify-one";
            let woken = woken.filter(|woken| one && (*woken as usize) < trace.threads.len());
            let woken = woken.map_or_else(
                || "another thread".to_owned(),
                |woken| story.thread(woken as u32).to_owned(),
            );
            format!(
                "The notification of {what} by {notifier} ({}) woke {woken} and not {who}, which waits since{}; no other follows.",
                step(last),
                slept.map_or_else(|| " before".into(), |slept| format!(" {}", step(slept)))
            )
        }
    };
    Cause::new(text, slept.into_iter().chain([last]))
}

/// The thread sleeps with a lock that another one waits for.
fn kept_asleep(
    story: &Story<'_>,
    thread: u32,
    condvar: u32,
    slept: Option<usize>,
) -> Option<Cause> {
    let trace = story.trace;
    let (other, object, since) = story.unfinished().find_map(|(other, pending)| {
        let object = pending.operation.object?;
        let since = match &*pending.operation.name {
            "lock" | "read-lock" | "write-announce" | "write-lock" => held(story, object, thread)?,
            "acquire" => lent(story, object, thread)?,
            _ => return None,
        };
        Some((other, object, since))
    })?;
    let (who, other) = (story.thread(thread), story.thread(other.0));
    let (what, lock) = (trace.object_name(condvar), trace.object_name(object));
    let sleeps = slept.map_or_else(String::new, |slept| format!(" ({})", step(slept)));
    Some(Cause::new(
        format!(
            "{who} waits for {what}{sleeps} and keeps {lock} ({}) meanwhile, which {other} needs to go on.",
            step(since)
        ),
        slept.into_iter().chain([since]),
    ))
}

/// The step in which a thread took the last unit of a semaphore that is used as a lock: only who took from it posts it.
fn lent(story: &Story<'_>, object: u32, thread: u32) -> Option<usize> {
    let mut taken = Vec::new();
    let mut returned = false;
    let events = story.trace.events.iter().enumerate();
    for (index, event) in events.filter(|(_, event)| event.ok) {
        if event.operation.object != Some(object) {
            continue;
        }
        match &*event.operation.name {
            "acquire" | "try-acquire" => taken.push((event.thread, index)),
            "release" => {
                let own = taken
                    .iter()
                    .rposition(|(taker, _)| *taker == event.thread)?;
                taken.remove(own);
                returned = true;
            }
            _ => {}
        }
    }
    let own = taken.iter().rfind(|(taker, _)| *taker == thread);
    own.filter(|_| returned).map(|(_, since)| *since)
}

/// A lock that is not given back.
fn kept(story: &Story<'_>, thread: u32, object: u32) -> Option<Cause> {
    let trace = story.trace;
    let hold: &Hold = story.walked.held.get(object as usize)?.first()?;
    let (who, what) = (story.thread(thread), trace.object_name(object));
    let (holder, since) = (story.thread(hold.thread), step(hold.since));
    let entry = &trace.threads[hold.thread as usize];
    let text = match &entry.pending {
        _ if hold.thread == thread => format!(
            "{who} waits for {what}, which it holds itself since {since}: no interleaving is needed."
        ),
        None => format!(
            "{holder} took {what} in {since} and ended without giving it back; {who} waits for it."
        ),
        Some(pending) => {
            let wait = story.wait(hold.thread, pending)?;
            format!(
                "{holder} holds {what} since {since} and {} meanwhile; {who} waits for {what}.",
                wait.what
            )
        }
    };
    Some(Cause::new(text, [hold.since]))
}

/// A semaphore without units.
fn exhausted(story: &Story<'_>, thread: u32, object: u32) -> Cause {
    let trace = story.trace;
    let (who, what) = (story.thread(thread), trace.object_name(object));
    let done = |names: &'static [&'static str]| {
        let events = trace.events.iter().enumerate();
        events.filter(move |(_, event)| {
            let operation = &event.operation;
            event.ok && operation.object == Some(object) && names.contains(&&*operation.name)
        })
    };
    let posts = done(&["release"]).count();
    let takes: Vec<usize> = done(&["acquire", "try-acquire"])
        .map(|(index, _)| index)
        .collect();
    let Some(last) = takes.last().copied() else {
        return Cause::new(
            format!("{who} waits for {what}, which no thread posts."),
            [],
        );
    };
    let taker = story.thread(trace.events[last].thread);
    let posts = match posts {
        0 => "nothing was posted".to_owned(),
        1 => "it was posted once".to_owned(),
        n => format!("it was posted {n} times"),
    };
    Cause::new(
        format!(
            "{taker} took the last of {what} ({}); {posts}, and {who} waits for one more that no thread posts.",
            step(last)
        ),
        [last],
    )
}

/// A loop whose condition nobody changes any more.
fn spins(story: &Story<'_>, thread: u32, object: u32) -> Cause {
    let trace = story.trace;
    let (who, what) = (story.thread(thread), trace.object_name(object));
    let writes = ["store", "read-modify-write", "compare-exchange"];
    let last = trace.events.iter().rposition(|event| {
        let operation = &event.operation;
        event.ok && operation.object == Some(object) && writes.contains(&&*operation.name)
    });
    let others = story
        .unfinished()
        .filter(|(other, pending)| other.0 != thread && pending.operation.name != "join");
    let others: Vec<String> = others
        .map(|(other, _)| story.thread(other.0).to_owned())
        .collect();
    let rest = match others.len() {
        0 => "all other threads have ended or wait for an end".to_owned(),
        _ => format!("{} cannot go on either", and(&others)),
    };
    let (text, steps) = match last {
        Some(last) => (
            format!(
                "{who} spins on {what}, last written by {} in {}: {rest}, so nothing changes it any more.",
                story.thread(trace.events[last].thread),
                step(last)
            ),
            Some(last),
        ),
        None => (
            format!("{who} spins on {what}, which no thread has written: {rest}."),
            None,
        ),
    };
    Cause::new(text, steps)
}
