//! A trace as a reader sees it: names of threads and objects that say what they are, and places outside of lock wrappers.
//!
//! *Decides:* how threads and objects are called. The names by which runs are compared (creation paths, kinds and numbers) stay in the
//! trace; these are a layer on top of it. *Called by:* everything that shows a trace. *Owns:* nothing.

use crate::{
    position::Position,
    stacks::{shown, without_arguments},
    text::{Story, circle},
    trace::Trace,
};
use reweave_model::Kind;
use std::collections::BTreeMap;

/// Longest name of a thread.
const NAME: usize = 24;

/// The trace with places and objects as they are shown. Threads keep their paths, which say where they come from; [`thread_names`] has the names.
pub fn presented(trace: &Trace) -> Trace {
    let shown = shown(trace);
    let mut out = trace.clone();
    let place = |stack: Option<u32>| {
        let number = stack? as usize;
        let call = trace.stacks.get(number)?.get(*shown.get(number)?)?;
        call.at.clone()
    };
    for event in &mut out.events {
        event.at = place(event.stack).or(event.at.take());
    }
    for pending in out.threads.iter_mut().filter_map(|it| it.pending.as_mut()) {
        pending.at = place(pending.stack).or(pending.at.take());
    }
    for object in &mut out.objects {
        if let Some(label) = object.label.take() {
            object.name = label;
        }
    }
    let names = thread_names(trace);
    for error in &mut out.errors {
        error.message = renamed(&error.message, trace, &names);
        // How `std::thread` calls the program is of no interest to a reader.
        for stack in &mut error.stacks {
            let library = |call: &String| call.contains(" at /usr/");
            let own = stack.iter().position(|call| !library(call));
            let mut nth = 0;
            stack.retain(|call| {
                nth += 1;
                own.is_none_or(|own| nth <= own || !library(call))
            });
        }
    }
    out
}

impl Trace {
    /// The one place that an error is about: of a deadlock, where the first thread of the cycle waits.
    pub fn location(&self, error: usize) -> Option<Position> {
        let failure = self.errors.get(error)?;
        let first = failure.places.first();
        if failure.kind != Kind::Deadlock {
            return first.cloned();
        }
        let trace = presented(self);
        let circle = circle(&Story::new(&trace));
        let thread = circle.iter().min().map(|thread| *thread as usize);
        let pending = thread.and_then(|thread| trace.threads.get(thread)?.pending.as_ref());
        pending
            .and_then(|pending| pending.at.clone())
            .or(first.cloned())
    }
}

/// What threads are called: by the name that the program gave them, or else by the function they began with; with a number where several
/// would be called the same.
pub fn thread_names(trace: &Trace) -> Vec<String> {
    let wish = |(index, thread): (usize, &crate::trace::ThreadEntry)| {
        let given = thread.name.as_deref().filter(|name| *name != thread.path);
        let given = given.map(str::trim).filter(|name| !name.is_empty());
        let start = thread.start.as_deref().and_then(short);
        match index {
            0 => None,
            _ => given.map(str::to_owned).or(start),
        }
    };
    let wishes: Vec<Option<String>> = trace.threads.iter().enumerate().map(wish).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for wish in wishes.iter().flatten() {
        *counts.entry(wish).or_default() += 1;
    }
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let named = wishes.iter().zip(&trace.threads).map(|(wish, thread)| {
        let Some(wish) = wish.as_deref() else {
            return thread.path.clone();
        };
        let number = numbers.entry(wish).or_default();
        *number += 1;
        match counts[wish] {
            1 if wish != "main" => wish.to_owned(),
            _ => format!("{wish}.{number}"),
        }
    });
    named.collect()
}

/// The name of a function without scopes and arguments; a lambda is called after the function around it.
fn short(function: &str) -> Option<String> {
    let plain = without_arguments(function);
    let mut parts = plain.rsplit("::").filter(|part| !part.is_empty());
    let mut last = parts.next()?;
    let mut lambda = false;
    while last.starts_with('{') || last == "operator()" {
        lambda = true;
        last = parts.next().unwrap_or("main");
    }
    let name = match (lambda, last) {
        (true, "main") => "lambda".to_owned(),
        (true, around) => format!("{around}.lambda"),
        // `run` says little without its class.
        (false, own) => match parts.next() {
            Some(class) if class.starts_with(char::is_uppercase) && class != own => {
                format!("{class}::{own}")
            }
            _ => own.to_owned(),
        },
    };
    Some(name.chars().take(NAME).collect())
}

/// A message with the names of threads in the place of their paths.
fn renamed(message: &str, trace: &Trace, names: &[String]) -> String {
    let part = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    // Messages of Rust tests have the given name behind the path.
    let mut message = message.to_owned();
    for thread in trace.threads.iter().skip(1) {
        if let Some(given) = &thread.name {
            message = message.replace(&format!("{} \"{given}\"", thread.path), &thread.path);
        }
    }
    let mut out = String::with_capacity(message.len());
    let mut word = String::new();
    let end = |word: &mut String, out: &mut String| {
        // A sentence may end behind it.
        let path = word.trim_end_matches('.');
        let index = trace.threads.iter().position(|it| it.path == path);
        match index.filter(|_| path.contains('.')) {
            Some(index) => {
                *out += &names[index];
                *out += &word[path.len()..];
            }
            None => *out += word,
        }
        word.clear();
    };
    for c in message.chars() {
        match part(c) {
            true => word.push(c),
            false => {
                end(&mut word, &mut out);
                out.push(c);
            }
        }
    }
    end(&mut word, &mut out);
    out
}
