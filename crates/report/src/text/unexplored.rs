//! What a search left out, one thing a line: why it is incomplete, where, and what to do about it.
//!
//! *Called by:* `summary`. *Owns:* nothing.

use super::{Style, clean, grouped, layout::wrap, summary::counted};
use crate::result::{ResultDocument, Unexplored, UnseenCode};

/// Reasons that name things of one kind, with the word for several of them.
const KINDS: [(&str, &str); 2] = [("unsupported", "calls"), ("uninstrumented", "places")];

/// Places of one reason that are listed.
const PLACES: usize = 6;

/// The reasons in one short line: several of one kind are counted.
pub(super) fn reasons(result: &ResultDocument) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut counted: Vec<&str> = Vec::new();
    for why in &result.incomplete {
        let kind = KINDS.iter().find(|(kind, _)| is_of(why, kind));
        let Some((kind, things)) = kind else {
            shown.push(clean(why));
            continue;
        };
        let all = result
            .incomplete
            .iter()
            .filter(|other| is_of(other, kind))
            .count();
        match all {
            1 => shown.push(clean(why)),
            _ if counted.contains(kind) => {}
            many => {
                counted.push(kind);
                shown.push(format!("{kind}: {} {things}", grouped(many as u64)));
            }
        }
    }
    shown.join(", ")
}

fn is_of(why: &str, kind: &str) -> bool {
    why.strip_prefix(kind)
        .is_some_and(|rest| rest.starts_with(": "))
}

/// Lines about what was met and not explored; the reasons that they are about come first.
pub(super) fn lines(result: &ResultDocument, style: Style) -> String {
    let mut groups: Vec<(String, Vec<&Unexplored>)> = Vec::new();
    for entry in &result.unexplored {
        // Places without hooks stand together by file.
        let title = match is_of(&entry.reason, "uninstrumented") {
            true => format!("uninstrumented: {}", file(entry)),
            false => entry.reason.clone(),
        };
        match groups.iter_mut().find(|(known, _)| *known == title) {
            Some((_, entries)) => entries.push(entry),
            None => groups.push((title, vec![entry])),
        }
    }
    let mut out = String::new();
    let mut last = None;
    for (index, (title, entries)) in groups.iter().enumerate() {
        let text = format!("not explored: {title}{}", places(title, entries));
        out += &wrap(&clean(&text), style.width, "  ");
        for call in entries.iter().flat_map(|entry| &entry.stack).take(PLACES) {
            out += &wrap(&format!("called by {}", clean(call)), style.width, "    ");
        }
        // One that several in a row share stands behind the last of them.
        let remedy = entries[0].remedy.as_ref();
        let next = groups
            .get(index + 1)
            .and_then(|(_, entries)| entries[0].remedy.as_ref());
        if remedy != next && remedy.is_some() && remedy != last {
            let text = format!("to do: {}", clean(remedy.map_or("", String::as_str)));
            out += &wrap(&text, style.width, "    ");
            last = remedy;
        }
    }
    out
}

/// What a disassembler found in code that was explored by its library calls alone.
pub(super) fn unseen(result: &ResultDocument, style: Style) -> String {
    let counted_in = |what: &str, count: fn(&UnseenCode) -> u64| {
        let files = result.unseen.iter().filter(|code| count(code) > 0);
        let named = files.map(|code| format!("{} in {}", grouped(count(code)), code.file));
        let named: Vec<String> = named.collect();
        let all: u64 = result.unseen.iter().map(count).sum();
        (all > 0).then(|| format!("{}: {}", counted(all, what), named.join(", ")))
    };
    let atomics = counted_in("atomic instruction", |code| code.atomics);
    let calls = counted_in("system call past the C library", |code| code.system_calls);
    let lines = atomics.into_iter().chain(calls);
    let lines = lines.map(|line| wrap(&clean(&format!("not seen: {line}")), style.width, "  "));
    lines.collect()
}

/// Whether a reason has lines of its own.
pub(super) fn is_listed(result: &ResultDocument, why: &str) -> bool {
    result.unexplored.iter().any(|entry| entry.reason == why)
}

fn file(entry: &Unexplored) -> &str {
    let place = entry.location.as_deref().unwrap_or("?");
    place.split_once(':').map_or(place, |(file, _)| file)
}

/// Where it is, as far as the title does not say so.
fn places(title: &str, entries: &[&Unexplored]) -> String {
    let mut places: Vec<&str> = Vec::new();
    for entry in entries {
        let place = entry.location.as_deref().unwrap_or("?");
        let place = match is_of(title, "uninstrumented") {
            true => place.split_once(':').map_or("", |(_, line)| line),
            false => place,
        };
        if !place.is_empty() && !places.contains(&place) {
            places.push(place);
        }
    }
    let more = places.len().saturating_sub(PLACES);
    places.truncate(PLACES);
    let more = match more {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    match (places.is_empty(), is_of(title, "uninstrumented")) {
        (true, _) => String::new(),
        (false, true) => format!(", line {}{more}", places.join(", ")),
        (false, false) => format!(", at {}{more}", places.join(", ")),
    }
}
