//! What the page's script is given: one JSON value. Rows are short arrays, since a page may have many thousands.

use crate::{
    arrows::arrows,
    document::Links,
    rows::{Access, Kind, Row, accesses, rows},
    sources::{Source, Sources},
    timeline::timeline,
};
use reweave_report::{Position, Shortened, Story, Trace, Walk, mattering};
use serde::Serialize;
use std::collections::HashMap;

#[derive(Serialize)]
pub(crate) struct Data<'a> {
    program: &'a str,
    version: &'a str,
    end: &'a str,
    preemptions: Option<u32>,
    shortened: Option<Shortened>,
    again: Option<String>,
    home: Option<&'a str>,
    output: Option<&'a str>,
    threads: Vec<Thread<'a>>,
    objects: Vec<Thing<'a>>,
    failures: Vec<Failure<'a>>,
    /// Why it failed, in words.
    cause: Option<Because>,
    /// What each unfinished thread waits for at the end.
    stuck: Vec<Stuck>,
    /// Kind, thread, object, text, file, line, stack; numbers of tables, -1 for none.
    rows: Vec<Short>,
    texts: Vec<String>,
    /// How the program came to a place, the innermost call first.
    stacks: Vec<Vec<String>>,
    /// From, to, kind.
    arrows: Vec<(usize, usize, &'static str)>,
    /// Row, object, its holders and its value from there on.
    changes: Vec<(usize, u32, Vec<u32>, String)>,
    /// Variables that the failure is about.
    variables: Vec<Watched<'a>>,
    /// Thread, first and last row, the object and the thread that it waits for.
    waits: Vec<(u32, usize, usize, i64, i64)>,
    known: usize,
    /// Rows of the steps that the failure can depend on; `None`: nothing tells them apart.
    matter: Option<Vec<usize>>,
    sources: Vec<Source>,
}

#[derive(Serialize)]
struct Thread<'a> {
    /// What it is called.
    path: String,
    /// Its path, where that is something else.
    name: Option<&'a str>,
    /// The row that created it.
    born: usize,
}

#[derive(Serialize)]
struct Thing<'a> {
    name: &'a str,
    kind: &'static str,
    first: Option<String>,
    allocated: Option<String>,
}

#[derive(Serialize)]
struct Failure<'a> {
    kind: &'static str,
    rule: Option<&'a str>,
    message: &'a str,
    places: Vec<Spot>,
    stacks: &'a [Vec<String>],
    accesses: Option<[Access; 2]>,
    /// Variables that the failed condition names, with their values.
    variables: Vec<String>,
    /// For each place, the thread of the access there.
    threads: Vec<Option<u32>>,
    row: Option<usize>,
}

/// A variable, with its values from these rows on.
#[derive(Serialize)]
struct Watched<'a> {
    name: &'a str,
    values: Vec<(usize, &'a str)>,
}

/// Why an execution failed, and the rows that the sentence names.
#[derive(Serialize)]
struct Because {
    text: String,
    rows: Vec<usize>,
}

/// A place by the number of its file.
#[derive(Serialize)]
struct Spot {
    file: usize,
    line: u32,
}

#[derive(Serialize)]
struct Stuck {
    thread: u32,
    text: String,
    row: usize,
    /// For what.
    object: Option<u32>,
    /// Who would have to go on first.
    on: Vec<u32>,
    /// The rows that are to blame: where it was taken, a notification that came too early.
    because: Vec<usize>,
}

pub(crate) fn data<'a>(trace: &'a Trace, links: &Links<'a>) -> Data<'a> {
    let story = Story::new(trace);
    let rows = rows(&story);
    let timeline = timeline(&story, &rows);
    let changes = timeline.changes.into_iter();
    let changes = changes.map(|it| (it.row, it.object, it.state.holders, it.state.value));
    let waits = timeline.waits.iter();
    let waits = waits.map(|it| {
        (
            it.thread,
            it.first,
            it.last,
            number(it.object),
            number(it.of),
        )
    });
    let mut sources = Sources::new(trace);
    let (rows_short, texts) = shorten(&rows, &mut sources);
    let failures = failures(&story, &rows, &mut sources);
    let arrows = arrows(trace, &rows);
    Data {
        program: &trace.program.name,
        version: &trace.version,
        end: &trace.end,
        preemptions: trace.preemptions,
        shortened: trace.shortened,
        again: links.again.map(String::from),
        home: links.home,
        output: trace.output.as_deref(),
        cause: because(&story, &rows),
        threads: threads(&story, &rows),
        stacks: stacks(&story),
        objects: objects(trace),
        failures,
        stuck: stuck(&story, &rows),
        rows: rows_short,
        texts,
        arrows: arrows.iter().map(|a| (a.from, a.to, a.kind)).collect(),
        changes: changes.collect(),
        variables: variables(&story, &rows),
        waits: waits.collect(),
        known: timeline.known,
        matter: matter(&story, &rows),
        sources: sources.list,
    }
}

fn variables<'a>(story: &Story<'a>, rows: &[Row]) -> Vec<Watched<'a>> {
    let row_of = |thread: u32, after: u32| {
        let step = story.step_after(thread, after);
        let kind = step.map_or(Kind::Spawn(thread), Kind::Step);
        rows.iter().position(|row| row.kind == kind).unwrap_or(0)
    };
    let watched = story.trace.watched.iter().map(|variable| {
        let mut values = vec![(0, variable.first.as_str())];
        for change in &variable.changes {
            let row = row_of(change.thread, change.after);
            match values.last_mut() {
                // Between two steps only the last value is seen. Writes come in their order.
                Some(last) if row <= last.0 => last.1 = &change.value,
                _ => values.push((row, &change.value)),
            }
        }
        Watched {
            name: &variable.name,
            values,
        }
    });
    watched.collect()
}

fn because(story: &Story<'_>, rows: &[Row]) -> Option<Because> {
    let cause = story.cause()?;
    let steps = cause.steps.iter();
    let rows = steps.filter_map(|step| rows.iter().position(|row| row.kind == Kind::Step(*step)));
    Some(Because {
        rows: rows.collect(),
        text: cause.text,
    })
}

fn stacks(story: &Story<'_>) -> Vec<Vec<String>> {
    let numbers = 0..story.trace.stacks.len() as u32;
    let calls = numbers.map(|stack| story.calls(Some(stack)));
    let told = calls.map(|calls| calls.iter().map(|call| call.told()).collect());
    told.collect()
}

fn threads<'a>(story: &Story<'a>, rows: &[Row]) -> Vec<Thread<'a>> {
    let trace = story.trace;
    let mut born = vec![0; trace.threads.len()];
    for (index, row) in rows.iter().enumerate() {
        if let Kind::Spawn(child) = row.kind {
            born[child as usize] = index;
        }
    }
    let threads = (0..).zip(&trace.threads).zip(born);
    let threads = threads.map(|((number, thread), born)| {
        let path = story.thread(number).to_owned();
        Thread {
            name: Some(thread.path.as_str()).filter(|own| *own != path),
            path,
            born,
        }
    });
    threads.collect()
}

fn objects(trace: &Trace) -> Vec<Thing<'_>> {
    let state = Walk::new(trace);
    let kinds = state.machine().objects().iter();
    let objects = trace
        .objects
        .iter()
        .zip(kinds)
        .map(|(entry, object)| Thing {
            name: &entry.name,
            kind: object.kind_name(),
            first: entry.first_used.as_ref().map(Position::to_string),
            allocated: entry.allocated.as_ref().map(Position::to_string),
        });
    objects.collect()
}

fn number(number: Option<u32>) -> i64 {
    number.map_or(-1, i64::from)
}

type Short = (&'static str, i64, i64, usize, i64, u32, i64);

fn shorten(rows: &[Row], sources: &mut Sources) -> (Vec<Short>, Vec<String>) {
    let mut numbers = HashMap::new();
    let mut texts = Vec::new();
    let mut short = Vec::with_capacity(rows.len());
    for row in rows {
        let text = *numbers.entry(row.text.as_str()).or_insert_with(|| {
            texts.push(row.text.clone());
            texts.len() - 1
        });
        let file = row.at.as_ref().map(|at| sources.number(at) as i64);
        let line = row.at.as_ref().map_or(0, |at| at.line);
        short.push((
            row.kind.name(),
            number(row.thread),
            number(row.object),
            text,
            file.unwrap_or(-1),
            line,
            number(row.stack),
        ));
    }
    (short, texts)
}

fn failures<'a>(story: &Story<'a>, rows: &[Row], sources: &mut Sources) -> Vec<Failure<'a>> {
    let trace = story.trace;
    let failure = |(index, failure): (usize, &'a reweave_report::Failure)| {
        let spot = |at: &Position| Spot {
            file: sources.number(at),
            line: at.line,
        };
        Failure {
            kind: failure.kind.name(),
            rule: failure.rule.as_deref(),
            message: &failure.message,
            places: failure.places.iter().map(spot).collect(),
            stacks: &failure.stacks,
            threads: threads_of_stacks(failure, accesses(trace, failure)),
            accesses: accesses(trace, failure),
            variables: failure
                .variables
                .iter()
                .map(|it| story.variable(it))
                .collect(),
            row: rows.iter().position(|row| row.kind == Kind::Failure(index)),
        }
    };
    trace.errors.iter().enumerate().map(failure).collect()
}

/// The thread of the access at each place. Two accesses may be at one place.
fn threads_of_stacks(
    failure: &reweave_report::Failure,
    accesses: Option<[Access; 2]>,
) -> Vec<Option<u32>> {
    let mut left: Vec<Access> = accesses.into_iter().flatten().collect();
    let mut find = |place: &Position| {
        let found = left.iter().position(|it| it.at.as_ref() == Some(place))?;
        Some(left.remove(found).thread)
    };
    failure.places.iter().map(&mut find).collect()
}

fn matter(story: &Story<'_>, rows: &[Row]) -> Option<Vec<usize>> {
    let steps = mattering(story)?;
    let matters = |(_, row): &(usize, &Row)| match row.kind {
        Kind::Step(step) => steps.contains(&step),
        _ => true,
    };
    let rows = rows.iter().enumerate().filter(matters);
    Some(rows.map(|(index, _)| index).collect())
}

fn stuck(story: &Story<'_>, rows: &[Row]) -> Vec<Stuck> {
    let position = |kind: Kind| rows.iter().position(|row| row.kind == kind);
    let unfinished = story.unfinished().filter_map(|(thread, pending)| {
        let wait = story.wait(thread.0, pending)?;
        let mine = |row: &Row| row.kind == Kind::Pending && row.thread == Some(thread.0);
        let object = pending.operation.object;
        let because = wait.steps.iter().map(|step| position(Kind::Step(*step)));
        Some(Stuck {
            thread: thread.0,
            text: wait.text(),
            row: rows.iter().position(mine)?,
            object,
            on: wait.on.iter().map(|(thread, _)| *thread).collect(),
            because: because.flatten().collect(),
        })
    });
    unfinished.collect()
}
