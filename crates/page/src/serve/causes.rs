//! Errors by cause: those of the newest searches, which of them are new, and those that are fixed.
//!
//! *Called by:* `list` and `compare`. Where code has moved, an error is the same as one of its kind in the same file, if both searches
//! have but one more of these.

use super::{
    dates,
    list::counted,
    request::encode,
    shelf::{Item, Shelf},
};
use crate::document::escape;
use reweave_model::Kind;
use reweave_report::{Finding, ResultDocument, Trace};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

/// What makes two errors one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    program: String,
    pub kind: &'static str,
    pub rule: Option<String>,
    pub place: Option<String>,
    /// Of a deadlock the first place says little: what its threads wait for, whatever the steps.
    waits: Option<String>,
}

impl Identity {
    pub fn new(
        program: &str,
        kind: Kind,
        rule: Option<&str>,
        place: Option<String>,
        message: &str,
    ) -> Identity {
        Identity {
            program: program.into(),
            kind: kind.name(),
            rule: rule.map(String::from),
            place,
            waits: matches!(kind, Kind::Deadlock | Kind::Livelock).then(|| without_steps(message)),
        }
    }

    pub fn of(program: &str, finding: &Finding) -> Identity {
        let (kind, place) = (finding.kind, finding.location.clone());
        Identity::new(
            program,
            kind,
            finding.rule.as_deref(),
            place,
            &finding.message,
        )
    }
}

/// A message without the numbers of steps, which another execution of the same error may have otherwise.
fn without_steps(message: &str) -> String {
    let mut parts = message.split("step ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "step ";
        out += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out
}

/// One cause, with everything that shows it.
pub(super) struct Cause {
    message: String,
    /// In how many executions of searches it came up.
    seen: u64,
    /// Names of traces with their numbers of steps.
    traces: BTreeMap<String, u64>,
    /// Names of results.
    results: Vec<String>,
    /// The search before did not find it.
    new: bool,
    /// When it was found last.
    when: SystemTime,
}

/// Errors by what makes them one.
pub(super) struct Causes {
    pub known: BTreeMap<Identity, Cause>,
    /// Those that only the search before the newest one found.
    pub fixed: BTreeMap<Identity, Cause>,
}

impl Causes {
    /// Of all that there is.
    pub fn of(shelf: &Shelf) -> Causes {
        let mut known = BTreeMap::new();
        let mut told = BTreeSet::new();
        let (previous, current): (Vec<_>, Vec<_>) = shelf
            .results
            .iter()
            .partition(|item| is_previous(&item.name));
        for item in &current {
            for finding in &item.document.errors {
                let cause = of(&mut known, item, finding);
                if let Some(name) = trace_of(shelf, item, finding) {
                    told.insert(name.clone());
                    cause.traces.insert(name, finding.events);
                }
            }
        }
        let mut fixed = BTreeMap::new();
        for before in previous {
            let told_of = |item: &&&Item<ResultDocument>| {
                latest(&before.name) == Some(item.name.as_str().into())
            };
            let Some(now) = current.iter().find(told_of) else {
                continue;
            };
            // A search that stopped at one error may not have come to another.
            if now.document.complete {
                for finding in without(&before.document, &now.document) {
                    told.extend(trace_of(shelf, before, finding));
                    of(&mut fixed, before, finding);
                }
            }
            for finding in without(&now.document, &before.document) {
                let identity = Identity::of(&now.document.program, finding);
                if let Some(cause) = known.get_mut(&identity) {
                    cause.new = true;
                }
            }
        }
        fixed.retain(|identity, _| !known.contains_key(identity));
        for item in shelf
            .traces
            .iter()
            .filter(|item| !told.contains(&item.name))
        {
            of_trace(&mut known, item);
        }
        Causes { known, fixed }
    }

    /// How many the search before did not find.
    pub fn count_new(&self) -> usize {
        self.known.values().filter(|cause| cause.new).count()
    }
}

/// The cause of a finding, which is added to it.
fn of<'a>(
    causes: &'a mut BTreeMap<Identity, Cause>,
    item: &Item<ResultDocument>,
    finding: &Finding,
) -> &'a mut Cause {
    let identity = Identity::of(&item.document.program, finding);
    let cause = causes
        .entry(identity)
        .or_insert_with(|| Cause::new(&finding.message));
    cause.seen += finding.seen;
    cause.results.push(item.name.clone());
    cause.when = cause.when.max(item.changed);
    cause
}

/// The cause of a trace that no result names.
fn of_trace(causes: &mut BTreeMap<Identity, Cause>, item: &Item<Trace>) {
    let trace = &item.document;
    let Some(error) = trace.errors.first() else {
        return;
    };
    let place = error.places.first().map(ToString::to_string);
    let (name, rule) = (&trace.program.name, error.rule.as_deref());
    let identity = Identity::new(name, error.kind, rule, place, &error.message);
    let cause = causes
        .entry(identity)
        .or_insert_with(|| Cause::new(&error.message));
    cause
        .traces
        .insert(item.name.clone(), trace.events.len() as u64);
    cause.when = cause.when.max(item.changed);
}

impl Cause {
    fn new(message: &str) -> Cause {
        Cause {
            message: message.into(),
            seen: 0,
            traces: BTreeMap::new(),
            results: Vec::new(),
            new: false,
            when: SystemTime::UNIX_EPOCH,
        }
    }
}

/// Errors of one search that another does not have.
pub(super) fn without<'a>(one: &'a ResultDocument, other: &'a ResultDocument) -> Vec<&'a Finding> {
    let (own, others) = (exactly_without(one, other), exactly_without(other, one));
    let same_kind = |all: &[&Finding], finding: &Finding| {
        let kind = kind_and_file(finding);
        all.iter().filter(|it| kind_and_file(it) == kind).count()
    };
    let moved = |it: &&Finding| same_kind(&own, it) == 1 && same_kind(&others, it) == 1;
    own.iter().filter(|it| !moved(it)).copied().collect()
}

/// The same by identity alone.
fn exactly_without<'a>(one: &'a ResultDocument, other: &ResultDocument) -> Vec<&'a Finding> {
    let known = other.errors.iter().map(|it| Identity::of("", it));
    let known: Vec<Identity> = known.collect();
    let new = |finding: &&Finding| !known.contains(&Identity::of("", finding));
    one.errors.iter().filter(new).collect()
}

/// What stays when lines move.
fn kind_and_file(finding: &Finding) -> (Kind, Option<String>, Option<String>) {
    let file = finding.location.as_deref();
    let file = file.map(|at| at.rsplit_once(':').map_or(at, |(file, _)| file).to_owned());
    (finding.kind, finding.rule.clone(), file)
}

pub(super) fn is_previous(name: &str) -> bool {
    name.ends_with(ResultDocument::PREVIOUS)
}

/// The name of the newest result of the same search.
fn latest(previous: &str) -> Option<String> {
    let name = previous.strip_suffix(ResultDocument::PREVIOUS)?;
    Some(format!("{name}{}", ResultDocument::LATEST))
}

/// The trace of an error, which lies beside the result that names it.
fn trace_of(shelf: &Shelf, item: &Item<ResultDocument>, finding: &Finding) -> Option<String> {
    let file = finding.trace.as_ref()?.rsplit('/').next()?;
    let beside = match item.name.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{file}"),
        None => file.to_owned(),
    };
    shelf.trace(&beside).map(|_| beside)
}

/// What the page says about them.
pub(super) fn section(causes: &Causes) -> String {
    let mut out = String::from("<section><h2>Errors by cause</h2>\n");
    if causes.known.is_empty() {
        out += "<p class=\"good\">No error was found.</p>\n";
    }
    for (identity, cause) in &causes.known {
        let news = if cause.new { "new" } else { "" };
        out += &article(identity, cause, news);
    }
    out += "</section>\n";
    if !causes.fixed.is_empty() {
        out += "<section><h2>Fixed since the search before</h2>\n";
        for (identity, cause) in &causes.fixed {
            out += &article(identity, cause, "fixed");
        }
        out += "</section>\n";
    }
    out
}

fn article(identity: &Identity, cause: &Cause, news: &str) -> String {
    let Identity {
        program,
        kind,
        rule,
        place,
        ..
    } = identity;
    let rule = rule.as_ref().map(|rule| format!(" ({})", escape(rule)));
    let place = place
        .as_ref()
        .map(|place| format!(" at <code>{}</code>", escape(place)));
    let badge = match news {
        "" => String::new(),
        news => format!("<span class=\"badge {news}\">{news}</span> "),
    };
    let mut out = format!(
        "<article data-entry data-news=\"{news}\"><h3>{badge}<span class=\"badge kind\">{}{}</span> {}{}</h3>\n\
         <p class=\"message\">{}</p>\n<ul>",
        escape(kind),
        rule.unwrap_or_default(),
        escape(program),
        place.unwrap_or_default(),
        escape(&cause.message)
    );
    for (name, steps) in &cause.traces {
        let (link, name) = (encode(name), escape(name));
        out += &format!(
            "<li><a href=\"/trace/{link}\">{name}</a>, {}</li>",
            counted(*steps, "step")
        );
    }
    if cause.seen > 0 {
        let results: Vec<String> = cause.results.iter().map(|name| escape(name)).collect();
        let runs = counted(cause.seen, "execution");
        out += &format!("<li>seen in {runs} ({})</li>", results.join(", "));
    }
    out += &format!("<li>{}</li></ul></article>\n", dates::element(cause.when));
    out
}
