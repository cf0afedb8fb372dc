//! Documents for people: plain text for a terminal or a log.
//!
//! [`render_trace`] tells one execution: what went wrong, what every thread did in which order and where, what each
//! unfinished thread waits for, how to run it again. [`summary`] and [`render_result`] tell of a search, [`render_suite`] of many. Nothing here
//! prints; colour is added only when asked for, and control characters of the program never reach the terminal.

mod amount;
mod layout;
mod phrase;
mod suite;
mod summary;

use crate::{
    position::Position,
    trace::{Failure, PendingEntry, Trace},
};
pub use amount::{Large, Part, Span, grouped};
use layout::{Row, listing, width, wrap};
use phrase::Story;
use reweave_model::{Kind, ThreadId};
use std::collections::BTreeSet;
pub use suite::render_suite;
use summary::table;
pub use summary::{render_result, summary};

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// With colours, for a terminal.
    pub colour: bool,
    /// Columns of the page.
    pub width: usize,
    /// Long listings are not folded.
    pub full: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            colour: false,
            width: 80,
            full: false,
        }
    }
}

/// Colours of the threads' columns: those that read well on dark and on light ground.
const THREADS: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.trim().is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.into()
        }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn thread(self, index: usize, text: &str) -> String {
        self.paint(THREADS[index % THREADS.len()], text)
    }
}

/// Most waiting threads, objects and lines of output that are shown unless asked for all.
const WAITS: usize = 12;
const OBJECTS: usize = 12;
const OUTPUT: usize = 20;

/// One execution. `again`: the line that runs it again; without it, the one that the trace brings along.
pub fn render_trace(trace: &Trace, again: Option<&str>, style: Style) -> String {
    let trace = &harmless(trace);
    let story = Story::new(trace);
    let mut keep = BTreeSet::new();
    let waits = waits(&story, &mut keep, style);
    let mut sections = vec![headline(trace, style)];
    sections.push(listing(&headers(trace), &rows(&story), &keep, style));
    if !waits.is_empty() {
        let how = match trace.end.as_str() {
            "done" => "Not at their end:",
            // The thread that failed goes no further; that is no assumption of the program's.
            "blocked" if !trace.errors.is_empty() => "Not at their end:",
            "max-steps" => "Cut by the limit on steps. At that moment:",
            "livelock" => "At the end nobody can go on, and some spin:",
            "blocked" => "At the end, with an assumption that does not hold:",
            _ => "At the end nobody can go on:",
        };
        sections.push(format!(
            "{}\n{}",
            style.bold(how),
            table(&waits, style.width)
        ));
    }
    sections.extend(objects(&story, style));
    sections.extend(output(trace, style));
    // The line that a trace brings along has a gap for the file's own path, which only the caller knows.
    let own = trace.program.replay.clone();
    let own = own.filter(|line| !line.contains("{trace}"));
    if let Some(again) = again.map(clean).or(own) {
        // Not broken into lines: it is there to be copied.
        let title = style.bold("To run exactly this execution again:");
        sections.push(format!("{title}\n  {again}\n"));
    }
    sections.join("\n")
}

fn headline(trace: &Trace, style: Style) -> String {
    let program = &trace.program.name;
    let steps = trace.events.len();
    let Some(first) = trace.errors.first() else {
        let line = format!(
            "{program}: no error in this execution ({steps} steps, end: {})",
            trace.end
        );
        return style.bold(&line) + "\n";
    };
    let mut out = failure(first, program, style);
    for other in distinct(&trace.errors).skip(1) {
        out += "\n";
        out += &failure(other, "the same execution", style);
    }
    out
}

/// Errors without those that are the same as one before: a race of a read, and then of a write, on one line.
fn distinct(errors: &[Failure]) -> impl Iterator<Item = &Failure> {
    let places = |error: &Failure| {
        let mut places = error.places.clone();
        places.sort();
        places
    };
    errors.iter().enumerate().filter_map(move |(index, error)| {
        let same = |other: &&Failure| {
            (other.kind, &other.rule) == (error.kind, &error.rule)
                && places(other) == places(error)
                && (!error.places.is_empty() || other.message == error.message)
        };
        let known = errors[..index].iter().find(same);
        known.is_none().then_some(error)
    })
}

fn failure(failure: &Failure, program: &str, style: Style) -> String {
    let rule = failure.rule.as_ref().map(|rule| format!(" ({rule})"));
    let name = failure.kind.name();
    let head = format!("{name}{} in {program}", rule.unwrap_or_default());
    let mut out = style.red(&head) + "\n";
    out += &wrap(&failure.message, style.width, "  ");
    let tells = |place: &Position| failure.message.contains(&place.to_string());
    match (failure.kind, failure.places.as_slice()) {
        // The message tells who did what where.
        (Kind::DataRace, places) if places.iter().all(&tells) => {}
        (Kind::DataRace, [one, two, rest @ ..]) => {
            out += &format!("  one access:   {one}\n  the other:    {two}\n");
            for place in rest {
                out += &format!("  and:          {place}\n");
            }
        }
        // What each thread waits for is told at the end, with its place.
        (Kind::Deadlock | Kind::Livelock, _) => {}
        (_, places) => {
            for place in places.iter().filter(|place| !tells(place)) {
                out += &format!("  at {place}\n");
            }
        }
    }
    for (place, stack) in failure.places.iter().zip(&failure.stacks) {
        out += &format!("\n  how it came to {place}:\n");
        for call in stack {
            out += &format!("    in {call}\n");
        }
    }
    out
}

/// What each thread that is not at its end waits for, a line for each: what is wrong with a deadlock.
pub fn waiting(trace: &Trace) -> String {
    let story = Story::new(trace);
    let line = |(thread, pending): (ThreadId, &PendingEntry)| {
        let at = pending.at.as_ref().map(|at| format!(", at {at},"));
        let what = match story.wait(thread.0, pending) {
            Some(wait) => wait.text,
            None => format!("was about to {}", story.pending(pending)),
        };
        let name = story.thread(thread.0);
        format!("{name}{} {what}", at.unwrap_or_default())
    };
    let lines: Vec<String> = story.unfinished().map(line).collect();
    lines.join("\n")
}

fn headers(trace: &Trace) -> Vec<String> {
    let named = |thread: &crate::trace::ThreadEntry| match &thread.name {
        Some(name) if *name != thread.path => format!("{} \"{name}\"", thread.path),
        _ => thread.path.clone(),
    };
    trace.threads.iter().map(named).collect()
}

/// Longest place that is shown whole.
const PLACE: usize = 26;

/// `file:line`, with the first directories left out when it is long.
fn place(at: Option<&Position>) -> String {
    let Some(at) = at else {
        return String::new();
    };
    let whole = format!("{}:{}", at.file, at.line);
    if width(&whole) <= PLACE {
        return whole;
    }
    let shorter = whole
        .match_indices('/')
        .map(|(slash, _)| format!("..{}", &whole[slash..]));
    let mut fitting = shorter.filter(|text| width(text) <= PLACE);
    fitting.next().unwrap_or_else(|| {
        let tail: Vec<char> = whole.chars().rev().take(PLACE - 2).collect();
        format!("..{}", tail.into_iter().rev().collect::<String>())
    })
}

fn rows(story: &Story<'_>) -> Vec<Row> {
    let trace = story.trace;
    let mut done = vec![0; trace.threads.len()];
    let mut rows = Vec::new();
    let line = |thread: u32, place: String, text: String| Row {
        step: None,
        sign: "",
        thread: thread as usize,
        place,
        text,
    };
    // What is no event comes right after its thread's event of that number.
    let beside = |rows: &mut Vec<Row>, thread: u32, count: u32| {
        for (index, child) in trace.threads.iter().enumerate().skip(1) {
            if child.parent == thread && child.born_after == count {
                let name = story.thread(index as u32);
                rows.push(line(thread, String::new(), format!("spawn {name}")));
            }
        }
        for error in distinct(&trace.errors).filter(|error| error.after == Some((thread, count))) {
            let text = format!("{} here", error.kind.name());
            let place = place(error.places.first());
            rows.push(Row {
                sign: "!",
                ..line(thread, place, text)
            });
        }
    };
    for thread in 0..trace.threads.len() as u32 {
        beside(&mut rows, thread, 0);
    }
    for (index, event) in trace.events.iter().enumerate() {
        rows.push(Row {
            step: Some(index),
            ..line(event.thread, place(event.at.as_ref()), story.event(index))
        });
        done[event.thread as usize] += 1;
        beside(&mut rows, event.thread, done[event.thread as usize]);
    }
    for (thread, pending) in story.unfinished() {
        let text = format!("{} ...", story.pending(pending));
        rows.push(Row {
            sign: "-",
            ..line(thread.0, place(pending.at.as_ref()), text)
        });
    }
    rows
}

fn waits(story: &Story<'_>, keep: &mut BTreeSet<usize>, style: Style) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let all = story.unfinished().count();
    let shown = if style.full { all } else { WAITS };
    for (thread, pending) in story.unfinished().take(shown) {
        let mut text = match story.wait(thread.0, pending) {
            Some(wait) => {
                keep.extend(&wait.steps);
                wait.text
            }
            None => format!("was about to {}", story.pending(pending)),
        };
        if let Some(at) = &pending.at {
            text += &format!("\nat {at}");
        }
        rows.push((story.thread(thread.0).to_owned(), text));
    }
    if all > shown {
        rows.push(("...".into(), format!("{} more threads", all - shown)));
    }
    rows
}

/// Where the objects of the listing come from.
fn objects(story: &Story<'_>, style: Style) -> Option<String> {
    let known = story.trace.objects.iter().filter_map(|object| {
        let at = object.first_used.as_ref()?;
        let allocated = object.allocated.as_ref();
        let allocated = allocated.map(|at| format!("allocated at {at}, "));
        let text = format!("{}first used at {at}", allocated.unwrap_or_default());
        Some((object.name.clone(), text))
    });
    let mut rows: Vec<_> = known.collect();
    if rows.is_empty() {
        return None;
    }
    let more = rows.len().saturating_sub(OBJECTS);
    if more > 0 && !style.full {
        rows.truncate(OBJECTS);
        rows.push(("...".into(), format!("{more} more objects")));
    }
    Some(format!(
        "{}\n{}",
        style.bold("Objects:"),
        table(&rows, style.width)
    ))
}

fn output(trace: &Trace, style: Style) -> Option<String> {
    let output = trace
        .output
        .as_deref()
        .filter(|text| !text.trim().is_empty())?;
    let lines: Vec<&str> = output.lines().collect();
    let skipped = if style.full {
        0
    } else {
        lines.len().saturating_sub(OUTPUT)
    };
    let mut out = style.bold("The program printed:") + "\n";
    if skipped > 0 {
        out += &format!("  ... {skipped} lines before\n");
    }
    for line in &lines[skipped..] {
        out += &format!("  | {line}\n");
    }
    Some(out)
}

/// Without control characters other than line ends.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => c,
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The trace with every string of it made harmless to a terminal.
fn harmless(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    let fix = |text: &mut String| *text = clean(text);
    let line = |text: &mut String| *text = clean(text).replace('\n', " ");
    let place = |at: &mut Option<Position>| {
        if let Some(at) = at {
            line(&mut at.file);
        }
    };
    line(&mut trace.program.name);
    trace.program.replay.iter_mut().for_each(line);
    trace.output.iter_mut().for_each(fix);
    for error in &mut trace.errors {
        fix(&mut error.message);
        error.rule.iter_mut().for_each(line);
        error.places.iter_mut().for_each(|at| line(&mut at.file));
        error.stacks.iter_mut().flatten().for_each(line);
    }
    for thread in &mut trace.threads {
        thread.name.iter_mut().for_each(line);
        if let Some(pending) = &mut thread.pending {
            place(&mut pending.at);
        }
    }
    for object in &mut trace.objects {
        line(&mut object.name);
        place(&mut object.first_used);
        place(&mut object.allocated);
    }
    for event in &mut trace.events {
        place(&mut event.at);
    }
    trace
}
