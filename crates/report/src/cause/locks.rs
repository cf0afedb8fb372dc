//! Two accesses that nothing orders: which locks were held at each.

use super::{Cause, and};
use crate::{
    text::Story,
    trace::{AccessEntry, Failure, ObjectState},
};
use std::collections::BTreeMap;

/// What a thread holds after so many of its events: lock, and whether only for reading.
fn held(story: &Story<'_>, thread: u32, count: u32) -> BTreeMap<u32, bool> {
    let trace = story.trace;
    let mut held = BTreeMap::new();
    let own = story.walked.steps[thread as usize]
        .iter()
        .take(count as usize);
    for index in own {
        let event = &trace.events[*index];
        let operation = &event.operation;
        let Some(object) = operation.object else {
            continue;
        };
        match operation.name.as_str() {
            "lock" | "try-lock" | "write-lock" | "try-write-lock" if event.ok => {
                held.insert(object, false);
            }
            "read-lock" | "try-read-lock" if event.ok => {
                held.insert(object, true);
            }
            "unlock" | "unlock-clean" | "read-unlock" | "write-unlock" => {
                held.remove(&object);
            }
            "wait" => {
                operation.mutex.map(|mutex| held.remove(&mutex));
            }
            _ => {}
        }
    }
    held
}

/// The locks held at an access, in words.
fn told(story: &Story<'_>, access: &AccessEntry) -> Option<(String, BTreeMap<u32, bool>)> {
    let held = held(story, access.thread, access.after?);
    let names: Vec<String> = held
        .iter()
        .map(|(object, shared)| {
            let name = story.trace.object_name(*object);
            match shared {
                true => format!("{name} (for reading)"),
                false => name.to_owned(),
            }
        })
        .collect();
    let names = match names.is_empty() {
        true => "no lock".to_owned(),
        false => and(&names),
    };
    Some((names, held))
}

/// A data race.
pub(super) fn race(story: &Story<'_>, error: &Failure) -> Option<Cause> {
    let [first, second] = &error.accesses[..] else {
        return None;
    };
    let ((one, locks), (other, others)) = (told(story, first)?, told(story, second)?);
    let (a, b) = (story.thread(first.thread), story.thread(second.thread));
    let any = story.trace.objects.iter().any(|object| {
        matches!(
            object.state,
            ObjectState::Mutex { .. } | ObjectState::Rwlock { .. }
        )
    });
    let writes = [(first, a), (second, b)];
    let writes = writes
        .iter()
        .filter(|(access, _)| access.access.contains("write"))
        .count();
    let text = match (locks.is_empty(), others.is_empty()) {
        (true, true) if any => format!("Neither {a} nor {b} holds a lock at its access."),
        (true, true) => {
            format!("{a} and {b} access it with no lock, and nothing else orders them.")
        }
        _ if locks.keys().any(|lock| others.contains_key(lock)) => match writes {
            // Both have it for reading.
            0 => return None,
            _ => format!(
                "{a} holds {one} and {b} holds {other}: locks for reading do not keep each other out."
            ),
        },
        _ => format!("{a} holds {one}, {b} holds {other}: no lock protects both accesses."),
    };
    Some(Cause::new(text, []))
}

/// A use and a free, or a use and a destruction, that nothing orders.
pub(super) fn unordered(story: &Story<'_>, error: &Failure) -> Option<Cause> {
    let [first, second] = &error.accesses[..] else {
        return None;
    };
    if first.thread == second.thread {
        let who = story.thread(first.thread);
        let text =
            format!("Both are done by {who}, one after the other: no interleaving is needed.");
        return Some(Cause::new(text, []));
    }
    let (a, b) = (story.thread(first.thread), story.thread(second.thread));
    let joins = story.trace.events.iter().any(|event| {
        event.operation.name == "join"
            && event.thread == first.thread
            && event.operation.of == Some(second.thread)
    });
    let (early, late) = (&first.access, &second.access);
    let frees = match (early.as_str(), late.as_str()) {
        ("free", _) => Some((a, b, late)),
        (_, "free") => Some((b, a, early)),
        _ => None,
    };
    if let Some((freer, user, access)) = frees {
        return Some(Cause::new(
            format!(
                "{freer} frees it without waiting for {user}: nothing orders the free and {user}'s {access}."
            ),
            [],
        ));
    }
    let join = match joins {
        false => "",
        true => " before it has joined it",
    };
    Some(Cause::new(
        format!(
            "Nothing makes the {late} by {b} wait for the {early} by {a}{join}: they can come in either order."
        ),
        [],
    ))
}
