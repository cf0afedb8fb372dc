//! Documents for people: plain text for a terminal or a log.
//!
//! [`render_trace`] tells one execution: what went wrong, what every thread did in which order and where, what each
//! unfinished thread waits for, how to run it again. [`summary()`] and [`render_result`] report a search, [`render_suite`] of many. Nothing here
//! prints; colour is added only when asked for, and control characters of the program never reach the terminal.

mod amount;
mod covered;
mod ending;
mod harmless;
mod layout;
mod phrase;
mod prose;
mod suite;
mod summary;
mod unexplored;
mod waits;

use crate::{
    cause::Cause,
    happens_before::{arrows, matter},
    position::Position,
    presented::presented,
    sources::Sources,
    trace::{Failure, PendingEntry, Trace},
};
pub use amount::{Large, Part, Span, grouped};
pub(crate) use ending::circle;
use ending::{WAITS, ending, last_steps, stuck};
pub use harmless::{clean, is_unseen, spelled};
pub(crate) use harmless::{harmless, harmless_json};
use layout::{Row, cut, listing, width, wrap};
pub use phrase::Story;
use prose::prose;
use reweave_model::{Kind, ThreadId};
use std::collections::BTreeSet;
pub use suite::render_suite;
use summary::{counted, table};
pub use summary::{render_result, render_untold, summary};
pub use waits::Wait;

/// How to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// With colours, for a terminal.
    pub colour: bool,
    /// Columns of the page.
    pub width: usize,
    /// Every step, and all that is known.
    pub full: bool,
    /// One sentence after the other, without columns and drawings: for a screen reader.
    pub plain: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            colour: false,
            width: 80,
            full: false,
            plain: false,
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

/// Most objects and lines of output that are shown unless asked for all.
const OBJECTS: usize = 12;
const OUTPUT: usize = 20;

/// One execution. `again`: the line that runs it again; without it, the one that the trace brings along.
pub fn render_trace(trace: &Trace, again: Option<&str>, sources: &Sources, style: Style) -> String {
    let trace = &harmless(trace);
    let story = Story::new(trace);
    let cause = story.cause();
    let rows = rows(&story, cause.as_ref(), sources, style);
    let mut sections = vec![headline(&story, sources, style)];
    sections.extend(cause.map(|cause| {
        let text = wrap(&format!("Cause: {}", cause.text), style.width, "");
        text.replacen("Cause:", &style.bold("Cause:"), 1)
    }));
    sections.extend(ending(&story, style));
    let (listing, hidden) = match style.plain {
        true => (prose(&headers(&story), &rows, style), 0),
        false => listing(&headers(&story), &rows, style),
    };
    let notes = notes(trace, sources, hidden, style);
    sections.push(listing + &notes);
    sections.extend(objects(&story, &rows, style));
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

/// What a reader should know of the listing.
fn notes(trace: &Trace, sources: &Sources, hidden: usize, style: Style) -> String {
    let mut notes = Vec::new();
    if hidden > 0 {
        let text = "Steps in which no threads meet are folded; `reweave report --full` shows them.";
        notes.push(text.to_owned());
    }
    if let Some(first) = &trace.shortened {
        notes.push(format!(
            "Shortened from {}, {} and {} to {}, {} and {}, by {}.",
            counted(first.steps.into(), "step"),
            match first.switches {
                1 => "1 switch".into(),
                switches => format!("{switches} switches"),
            },
            counted(first.preemptions.into(), "preemption"),
            trace.events.len(),
            trace.switches(),
            trace.preemptions.unwrap_or(first.preemptions),
            counted(first.runs.into(), "run"),
        ));
    }
    notes.extend(sources.notes().iter().map(|note| clean(note)));
    let mut out = String::new();
    for note in notes {
        for line in wrap(&note, style.width, "").lines() {
            out += &(style.dim(line) + "\n");
        }
    }
    out
}

fn headline(story: &Story<'_>, sources: &Sources, style: Style) -> String {
    let trace = story.trace;
    let program = &trace.program.name;
    let steps = trace.events.len();
    let Some(first) = trace.errors.first() else {
        let line = format!(
            "{program}: no error in this execution ({steps} steps, end: {})",
            trace.end
        );
        return style.bold(&line) + "\n";
    };
    let mut out = failure(story, first, program, sources, style);
    for other in distinct(&trace.errors).skip(1) {
        out += "\n";
        out += &failure(story, other, "the same execution", sources, style);
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

fn failure(
    story: &Story<'_>,
    failure: &Failure,
    program: &str,
    sources: &Sources,
    style: Style,
) -> String {
    let rule = failure.rule.as_ref().map(|rule| format!(" ({rule})"));
    let name = failure.kind.name();
    let head = format!("{name}{} in {program}", rule.unwrap_or_default());
    let mut out = style.red(&head) + "\n";
    // What each thread waits for is reported separately, as far as it is known.
    if matches!(failure.kind, Kind::Deadlock | Kind::Livelock) && !failure.places.is_empty() {
        return out;
    }
    out += &wrap(&failure.message, style.width, "  ");
    out += &variables(story, failure, style);
    let race = failure.kind == Kind::DataRace;
    for (number, place) in failure.places.iter().enumerate() {
        let which = match (failure.accesses.get(number), number) {
            (Some(access), _) => {
                let thread = story.thread(access.thread);
                let value = access.value.as_ref();
                let value = value.map_or_else(String::new, |value| format!(" ({value})"));
                format!("{} by {thread}{value}: ", access.access)
            }
            (None, 0) if race => "one access: ".into(),
            (None, 1) if race => "the other:  ".into(),
            (None, _) if race => "and:        ".into(),
            _ => String::new(),
        };
        let at = format!("  {which}at {place}");
        let room = style.width.saturating_sub(width(&at) + 2);
        let source = sources.line(place).map(clean).unwrap_or_default();
        out += &at;
        if !source.is_empty() && room >= width(&source).min(20) {
            out += &format!("  {}", style.dim(&cut(&source, room)));
        }
        out.push('\n');
        let stack = failure.stacks.get(number).map_or(&[][..], Vec::as_slice);
        // The place itself is no stack.
        for call in stack.iter().take(if stack.len() > 1 || race {
            stack.len()
        } else {
            0
        }) {
            out += &format!("    in {call}\n");
        }
    }
    out
}

/// The variables that a failed condition names, and which step wrote them.
fn variables(story: &Story<'_>, failure: &Failure, style: Style) -> String {
    let mut out = String::new();
    for variable in &failure.variables {
        let text = story.variable(variable);
        out += &wrap(&text, style.width, "    ");
    }
    out
}

/// What each thread that is not at its end waits for, a line for each: what is wrong with a deadlock.
pub fn waiting(trace: &Trace) -> String {
    let trace = presented(trace);
    let story = Story::new(&trace);
    let line = |(thread, pending): (ThreadId, &PendingEntry)| {
        let at = pending.at.as_ref().map(|at| format!(", at {at},"));
        let what = match story.wait(thread.0, pending) {
            Some(wait) => wait.text(),
            None => format!("was about to {}", story.pending(pending)),
        };
        let name = story.thread(thread.0);
        format!("{name}{} {what}", at.unwrap_or_default())
    };
    let lines: Vec<String> = story.unfinished().map(line).collect();
    lines.join("\n")
}

fn headers(story: &Story<'_>) -> Vec<String> {
    let threads = 0..story.trace.threads.len() as u32;
    threads
        .map(|thread| story.thread(thread).to_owned())
        .collect()
}

/// Longest place that is shown whole.
const PLACE: usize = 26;

/// `file:line` without the directory that all have in common, and with the first directories left out when it is still long.
fn place(at: Option<&Position>, common: &str) -> String {
    let Some(at) = at else {
        return String::new();
    };
    let line = at.line();
    let whole = line.strip_prefix(common).unwrap_or(&line).to_string();
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

/// Longest name of a file that keeps its directory.
const NAME: usize = 16;

/// The directory in which all files are, with its slash, where their names are long.
fn common_directory(files: &BTreeSet<String>) -> String {
    let (Some(first), Some(last)) = (files.first(), files.last()) else {
        return String::new();
    };
    if files.iter().all(|file| width(file) <= NAME) {
        return String::new();
    }
    // What the first and the last in order have in common, all have.
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b);
    let same = same.count();
    match first.as_bytes()[..same]
        .iter()
        .rposition(|byte| *byte == b'/')
    {
        Some(slash) => first[..=slash].into(),
        None => String::new(),
    }
}

fn rows(story: &Story<'_>, cause: Option<&Cause>, sources: &Sources, style: Style) -> Vec<Row> {
    let trace = story.trace;
    let mut matter = mattering(story);
    let named = cause.map_or(&[][..], |cause| &cause.steps);
    if let Some(matter) = &mut matter {
        matter.extend(named);
    }
    let last = last_steps(story);
    let stuck = stuck(trace);
    let circle = circle(story);
    let common = common_directory(&crate::sources::named(trace));
    let mut done = vec![0; trace.threads.len()];
    let mut rows = Vec::new();
    let line = |thread: u32, at: Option<&Position>, text: String| Row {
        step: None,
        sign: "",
        thread: thread as usize,
        place: place(at, &common),
        text,
        source: at.and_then(|at| sources.line(at)).map(clean),
        matters: true,
        key: true,
    };
    let beside = |rows: &mut Vec<Row>, thread: u32, count: u32| {
        let mut all = Vec::new();
        besides(story, thread, count, style.full, &mut all);
        rows.extend(all.into_iter().map(|it| Row {
            sign: it.sign,
            ..line(it.thread, it.at, it.text)
        }));
    };
    beside(&mut rows, 0, 0);
    for (index, event) in trace.events.iter().enumerate() {
        rows.push(Row {
            step: Some(index),
            matters: matter.as_ref().is_none_or(|matter| matter.contains(&index)),
            key: named.contains(&index) || last.contains(&index),
            ..line(event.thread, event.at.as_ref(), story.event(index))
        });
        done[event.thread as usize] += 1;
        beside(&mut rows, event.thread, done[event.thread as usize]);
    }
    for (number, (thread, pending)) in story.unfinished().enumerate() {
        let wait = story.wait(thread.0, pending);
        let joins = pending.operation.name == "join" && !circle.contains(&thread.0);
        if style.full || (stuck && !joins) || trace.end == "max-steps" {
            let why = wait.map_or_else(|| "...".into(), |wait| wait.brief);
            let text = format!("{}: {why}", story.pending(pending));
            rows.push(Row {
                sign: if stuck { "x" } else { "-" },
                matters: number <= WAITS,
                ..line(thread.0, pending.at.as_ref(), text)
            });
        }
    }
    rows
}

/// What is no event.
struct Beside<'a> {
    thread: u32,
    sign: &'static str,
    at: Option<&'a Position>,
    text: String,
}

/// What a thread does after so many of its events and before the next: it creates others, which run on to their first events at
/// once; it accesses memory; it fails.
fn besides<'a>(
    story: &'a Story<'_>,
    thread: u32,
    count: u32,
    full: bool,
    out: &mut Vec<Beside<'a>>,
) {
    for (index, child) in story.trace.threads.iter().enumerate().skip(1) {
        if child.parent == thread && child.born_after == count {
            let child = index as u32;
            if full {
                out.push(Beside {
                    thread,
                    sign: "",
                    at: None,
                    text: format!("spawn {}", story.thread(child)),
                });
            }
            besides(story, child, 0, full, out);
        }
    }
    for error in distinct(&story.trace.errors) {
        let failing = story.thread(error.after.map_or(0, |(thread, _)| thread));
        out.extend(error.earlier(thread, count).map(|(access, at)| Beside {
            thread,
            sign: "*",
            at,
            text: error.told_earlier(access, failing),
        }));
        if error.after == Some((thread, count)) {
            let access = error.failing().map(|index| &error.accesses[index].access);
            let access = access.map_or_else(String::new, |access| format!(": {access}"));
            out.push(Beside {
                thread,
                sign: "!",
                at: error.place(),
                text: format!("{} here{access}", error.kind.name()),
            });
        }
    }
}

/// The steps that matter; `None`: all, since nothing tells them apart.
pub fn mattering(story: &Story<'_>) -> Option<BTreeSet<usize>> {
    let last = last_steps(story);
    let moment = story.trace.errors.iter().any(|error| error.after.is_some());
    let known = (moment || !last.is_empty()) && story.walked.machine.is_some();
    let arrows = arrows(story.trace, &story.walked);
    known.then(|| matter(story.trace, &story.walked, &arrows, &last))
}

/// Where the objects of the listing come from: those whose name does not tell.
fn objects(story: &Story<'_>, rows: &[Row], style: Style) -> Option<String> {
    let mentioned = |name: &str| {
        rows.iter()
            .any(|row| row.matters && row.text.contains(name))
    };
    let known = story.trace.objects.iter().filter_map(|object| {
        let at = object.first_used.as_ref()?;
        let allocated = object.allocated.as_ref();
        let nameless = object.name.contains('#') || allocated.is_some();
        let wanted = style.full || (nameless && mentioned(&object.name));
        if !wanted {
            return None;
        }
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
