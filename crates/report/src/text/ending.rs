//! Why an execution came to its end: who waits for whom, drawn as a cycle where it is one, and the last steps that matter for it.

use super::{Style, layout::width, layout::wrap, phrase::Story, summary::table, waits::Wait};
use crate::trace::{Failure, PendingEntry, Trace};
use reweave_model::Kind;
use std::collections::BTreeSet;

/// Most waiting threads that are listed unless asked for all.
pub(crate) const WAITS: usize = 12;

/// Whether it ended because nobody could go on.
pub(crate) fn stuck(trace: &Trace) -> bool {
    let wrong = |error: &Failure| matches!(error.kind, Kind::Deadlock | Kind::Livelock);
    match trace.errors.first() {
        Some(error) => wrong(error),
        None => trace.end == "deadlock" || trace.end == "livelock",
    }
}

/// Steps that the failure is about; all that matters comes before them.
pub(crate) fn last_steps(story: &Story<'_>) -> BTreeSet<usize> {
    let trace = story.trace;
    let errors = trace.errors.iter().filter_map(|error| error.after);
    // How a thread came to an access that another's failed with matters too.
    let accesses = trace.errors.iter().flat_map(|error| &error.accesses);
    let accesses = accesses.filter_map(|access| Some((access.thread, access.after?)));
    let mut last: BTreeSet<usize> = errors
        .chain(accesses)
        .filter_map(|after| story.walked.after(Some(after)))
        .collect();
    if stuck(trace) {
        for (thread, pending) in story.unfinished() {
            let Some(wait) = story.wait(thread.0, pending) else {
                continue;
            };
            last.extend(&wait.steps);
            // Who waits for no lock and no thread waits because of what it did or saw itself.
            if wait.on.is_empty() {
                last.extend(story.walked.steps[thread.index()].last());
            }
        }
    }
    last
}

/// A thread that waits.
struct Waiting<'a> {
    thread: u32,
    pending: &'a PendingEntry,
    wait: Option<Wait>,
}

/// Who waits for what at the end, the cycle first; `None`: that is not what went wrong.
pub(crate) fn ending(story: &Story<'_>, style: Style) -> Option<String> {
    let trace = story.trace;
    let heading = match trace.end.as_str() {
        _ if stuck(trace) => "Why nobody can go on:",
        "max-steps" => "Cut by the limit on steps. At that moment:",
        "blocked" if trace.errors.is_empty() => {
            "At the end, with an assumption that does not hold:"
        }
        _ if style.full => "Not at their end:",
        _ => return None,
    };
    let waiting = waiting(story);
    if waiting.is_empty() {
        return None;
    }
    let cycle = cycle(&waiting);
    let mut out = style.bold(heading) + "\n";
    out += &drawn(story, &waiting, &cycle, style);
    let rest = waiting
        .iter()
        .enumerate()
        .filter(|(index, _)| !cycle.contains(index));
    let mut rest: Vec<&Waiting<'_>> = rest.map(|(_, it)| it).collect();
    // Who waits for another's end is no part of the reason.
    rest.sort_by_key(|it| it.pending.operation.name == "join");
    let shown = if style.full { rest.len() } else { WAITS };
    let line = |it: &&Waiting<'_>| (story.thread(it.thread).to_owned(), told(story, it));
    let mut rows: Vec<_> = rest.iter().take(shown).map(line).collect();
    if rest.len() > shown {
        rows.push(("...".into(), format!("{} more threads", rest.len() - shown)));
    }
    out += &table(&rows, style.width);
    Some(out)
}

/// Threads that wait for each other in a circle.
pub(crate) fn circle(story: &Story<'_>) -> Vec<u32> {
    let waiting = waiting(story);
    let cycle = cycle(&waiting);
    cycle.iter().map(|index| waiting[*index].thread).collect()
}

fn waiting<'a>(story: &'a Story<'_>) -> Vec<Waiting<'a>> {
    let waiting = story.unfinished().map(|(thread, pending)| Waiting {
        thread: thread.0,
        pending,
        wait: story.wait(thread.0, pending),
    });
    waiting.collect()
}

fn told(story: &Story<'_>, it: &Waiting<'_>) -> String {
    let mut text = match &it.wait {
        Some(wait) => wait.text(),
        None => format!("was about to {}", story.pending(it.pending)),
    };
    if let Some(at) = &it.pending.at {
        text += &format!("\nat {at}");
    }
    if let Some(way) = story.way(it.pending.stack) {
        text += &format!("\n{way}");
    }
    text
}

/// Waiting threads of which each waits for the next, and the last for the first, as indices.
fn cycle(waiting: &[Waiting<'_>]) -> Vec<usize> {
    let next = |index: usize| {
        let wait = waiting[index].wait.as_ref();
        let on = wait.into_iter().flat_map(|wait| &wait.on);
        let mut found = on.filter_map(|(on, _)| waiting.iter().position(|it| it.thread == *on));
        found.next()
    };
    for start in 0..waiting.len() {
        let mut path = vec![start];
        while let Some(index) = next(path[path.len() - 1]) {
            if index == start {
                return path;
            }
            if path.contains(&index) {
                break;
            }
            path.push(index);
        }
    }
    Vec::new()
}

/// The cycle, closed by a line at its left.
fn drawn(story: &Story<'_>, waiting: &[Waiting<'_>], cycle: &[usize], style: Style) -> String {
    let Some(first) = cycle.first() else {
        return String::new();
    };
    let mut lines = Vec::new();
    for (place, index) in cycle.iter().enumerate() {
        let it = &waiting[*index];
        let next = &waiting[cycle[(place + 1) % cycle.len()]];
        let at = it.pending.at.as_ref();
        let at = at.map_or_else(String::new, |at| format!(" at {at}"));
        let what = it.wait.as_ref().map_or("waits", |wait| &wait.what);
        let way = story.way(it.pending.stack);
        let way = way.map_or_else(String::new, |way| format!(" {way},"));
        lines.push((
            false,
            format!("{} {what}{at},{way}", story.thread(it.thread)),
        ));
        let mut on = it.wait.iter().flat_map(|wait| &wait.on);
        let since = on.find(|(on, _)| *on == next.thread);
        let since = since.and_then(|(_, since)| *since);
        let held = match since {
            Some(step) => {
                let at = story.trace.events[step].at.as_ref();
                let at = at.map_or_else(String::new, |at| format!(" ({})", at.line()));
                let way = story.way(story.trace.events[step].stack);
                let way = way.map_or_else(String::new, |way| format!(" {way},"));
                format!("held since step {}{at}{way} by", step + 1)
            }
            None => "which does not come, since".into(),
        };
        lines.push((true, held));
    }
    lines.push((false, story.thread(waiting[*first].thread).to_owned()));
    let last = lines.len() - 1;
    let mut out = String::new();
    for (number, (inner, text)) in lines.iter().enumerate() {
        let front = match number {
            _ if style.plain => "  ",
            0 => "  +-> ",
            number if number == last => "  +-- ",
            _ => "  |   ",
        };
        let rest = if style.plain { "  " } else { "  |   " };
        let inner = if *inner { "  " } else { "" };
        let room = style.width.saturating_sub(width(front) + width(inner));
        for (line, part) in wrap(text, room, "").lines().enumerate() {
            let front = if line == 0 { front } else { rest };
            out += &format!("{front}{inner}{part}\n");
        }
    }
    out
}
