//! How the program came to a place: its calls, and which of them a reader should see first.
//!
//! *Decides:* which call of a stack is shown as the place of a step. A function that does nothing but lock a mutex is the same line for
//! every lock of a program, so its caller is shown. *Called by:* `presented`, for everything that shows a trace. *Owns:* nothing.

use crate::{
    position::Position,
    trace::{Trace, TraceEvent},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One call of a stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct CallEntry {
    /// The function.
    pub function: String,
    /// Where in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
    /// It is a function of a library.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub library: bool,
}

impl CallEntry {
    /// `push (queue.c:12)`.
    pub fn told(&self) -> String {
        match &self.at {
            Some(at) => format!("{} ({})", self.function, at.line()),
            None => self.function.clone(),
        }
    }
}

/// What is done on a synchronisation object, as far as wrappers of it go: a function that does two of these is none.
fn family(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "lock" | "try-lock" | "read-lock" | "write-lock" | "try-read-lock" | "try-write-lock"
        | "write-announce" => "lock",
        "unlock" | "unlock-clean" | "read-unlock" | "write-unlock" => "unlock",
        // A wait gives the lock up and takes it again at the same line.
        "wait" | "wake" | "wait-if" => "wait",
        "notify-one" | "notify-all" => "notify",
        "acquire" | "try-acquire" => "acquire",
        "release" => "release",
        "arrive" | "leave" => "barrier",
        "join" => "join",
        _ => return None,
    })
}

/// Words of which the name of a wrapper has at least one.
const WORDS: &[&str] = &[
    "acquire",
    "broadcast",
    "down",
    "enter",
    "guard",
    "join",
    "leave",
    "lock",
    "locker",
    "mutex",
    "notify",
    "post",
    "rdlock",
    "release",
    "rwlock",
    "scoped",
    "sem",
    "signal",
    "timedwait",
    "trylock",
    "unlock",
    "up",
    "wait",
    "wrlock",
    "rdunlock",
    "wrunlock",
];

/// Whether a function is called as one that only passes on to a library's.
fn named_as_wrapper(function: &str) -> bool {
    let plain = without_arguments(function);
    let mut words = Vec::new();
    let mut word = String::new();
    // The class too: of a guard, constructor and destructor take and give the lock.
    for c in plain.chars() {
        if !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && !word.ends_with(is_upper)) {
            words.push(std::mem::take(&mut word).to_ascii_lowercase());
        }
        if c.is_ascii_alphanumeric() {
            word.push(c);
        }
    }
    words.push(word.to_ascii_lowercase());
    let words = words.iter().map(String::as_str);
    words.into_iter().any(|word| WORDS.contains(&word))
}

fn is_upper(c: char) -> bool {
    c.is_ascii_uppercase()
}

/// Without the arguments of templates.
pub(crate) fn without_arguments(function: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for c in function.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

/// What is known of the steps that one function does itself.
#[derive(Default)]
struct Own<'a> {
    families: BTreeSet<&'static str>,
    lines: BTreeSet<&'a Option<Position>>,
    objects: BTreeSet<u32>,
    /// Something else than synchronisation is done there.
    other: bool,
}

/// For each stack, which of its calls is the place that is shown.
pub(crate) fn shown(trace: &Trace) -> Vec<usize> {
    let mut shown: Vec<usize> = trace
        .stacks
        .iter()
        .map(|stack| first_own(stack, 0))
        .collect();
    // A wrapper of a wrapper is one too: `Guard::Guard` calls `Lock::enter`.
    for _ in 0..DEEPEST {
        let wrappers = wrappers(trace, &shown);
        let mut moved = false;
        for (stack, place) in trace.stacks.iter().zip(&mut shown) {
            let Some(call) = stack.get(*place) else {
                continue;
            };
            let next = first_own(stack, *place + 1);
            let there = stack.get(next).is_some_and(|call| !call.library);
            if wrappers.contains(call.function.as_str()) && there {
                *place = next;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    shown
}

/// Wrappers around wrappers that are looked through.
const DEEPEST: usize = 4;

/// The first call at or after this one that is no library's; or the first of all.
fn first_own(stack: &[CallEntry], from: usize) -> usize {
    let own = |call: &CallEntry| !call.library && call.at.is_some();
    let found = stack.iter().skip(from).position(own);
    found.map_or(0, |found| from + found)
}

/// Functions that only pass on to a library's, judged by what they do themselves in this execution.
fn wrappers<'a>(trace: &'a Trace, shown: &[usize]) -> BTreeSet<&'a str> {
    let mut functions: BTreeMap<&str, Own<'_>> = BTreeMap::new();
    let done = trace
        .events
        .iter()
        .map(|event| (event.stack, &event.operation));
    let pending = trace.threads.iter().filter_map(|it| it.pending.as_ref());
    let pending = pending.map(|pending| (pending.stack, &pending.operation));
    // The lock that a wait takes again is part of the wait.
    let again = retaken(&trace.events);
    for (index, (stack, operation)) in done.chain(pending).enumerate() {
        let Some(number) = stack.map(|stack| stack as usize) else {
            continue;
        };
        let call = shown
            .get(number)
            .and_then(|at| trace.stacks.get(number)?.get(*at));
        let Some(call) = call.filter(|_| !again.contains(&index)) else {
            continue;
        };
        let own = functions.entry(&call.function).or_default();
        match family(&operation.name) {
            Some(family) => own.families.insert(family),
            None => std::mem::replace(&mut own.other, true),
        };
        own.lines.insert(&call.at);
        own.objects.extend(operation.object);
    }
    let wraps = |(name, own): &(&str, Own<'_>)| {
        let one = own.families.len() == 1 && own.lines.len() == 1 && !own.other;
        one && (named_as_wrapper(name) || own.objects.len() > 1)
    };
    functions
        .into_iter()
        .filter(wraps)
        .map(|(name, _)| name)
        .collect()
}

/// Events that take a lock again at the end of a wait.
fn retaken(events: &[TraceEvent]) -> BTreeSet<usize> {
    let mut woken = BTreeSet::new();
    let mut retaken = BTreeSet::new();
    for (index, event) in events.iter().enumerate() {
        match event.operation.name.as_str() {
            "wake" => {
                woken.insert(event.thread);
            }
            "lock" if woken.remove(&event.thread) => {
                retaken.insert(index);
            }
            _ => {}
        }
    }
    retaken
}

impl Trace {
    /// The calls of a stack from the one that is shown on, without those of libraries.
    pub(crate) fn calls(&self, stack: u32, shown: usize) -> Vec<&CallEntry> {
        let stack = self.stacks.get(stack as usize);
        let calls = stack.into_iter().flatten().skip(shown);
        calls.filter(|call| !call.library).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_wrappers() {
        for name in [
            "uv_mutex_lock",
            "MutexGuard::MutexGuard",
            "Lock::~Lock",
            "sem_down",
            "do_signal",
        ] {
            assert!(named_as_wrapper(name), "{name}");
        }
        for name in [
            "transfer",
            "Queue<Lock>::push",
            "blocker",
            "unlockable",
            "main",
        ] {
            assert!(!named_as_wrapper(name), "{name}");
        }
    }
}
