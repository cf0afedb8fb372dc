//! The first page: errors by cause, searches with their counts, a form to compare two of them.

use super::{
    frame,
    request::encode,
    shelf::{Item, Shelf},
};
use crate::document::escape;
use reweave_model::Kind;
use reweave_report::{Finding, ResultDocument, summary};
use std::collections::{BTreeMap, BTreeSet};

/// All that there is.
pub(super) fn list(title: &str, shelf: &Shelf) -> String {
    let mut body = header(&escape(title));
    body += "<main class=\"list\">\n";
    if shelf.traces.is_empty() && shelf.results.is_empty() {
        body += "<p>There is nothing here yet: <code>reweave check</code> puts the traces of what it finds into <code>reweave-out</code>.</p>\n";
    } else {
        body += &errors(&causes(shelf));
        body += &searches(shelf);
    }
    body += &unreadable(shelf);
    body += "</main>\n";
    frame(title, &body)
}

/// The top of a page of the server's.
pub(super) fn header(title: &str) -> String {
    format!(
        "<header id=\"top\"><h1>{title}</h1><button id=\"theme\" type=\"button\" aria-label=\"Light or dark\">◐</button></header>\n"
    )
}

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
struct Cause {
    message: String,
    /// In how many executions of searches it came up.
    seen: u64,
    /// Names of traces with their numbers of steps.
    traces: BTreeMap<String, u64>,
    /// Names of results.
    results: Vec<String>,
}

fn causes(shelf: &Shelf) -> BTreeMap<Identity, Cause> {
    let mut causes = BTreeMap::new();
    let mut told = BTreeSet::new();
    // Results of earlier runs are there to be compared with, not to be mended.
    let current = shelf.results.iter().filter(|item| !is_previous(&item.name));
    for item in current {
        for finding in &item.document.errors {
            let identity = Identity::of(&item.document.program, finding);
            let cause = of(&mut causes, identity, &finding.message);
            cause.seen += finding.seen;
            cause.results.push(item.name.clone());
            if let Some(name) = trace_of(shelf, item, finding) {
                told.insert(name.clone());
                cause.traces.insert(name, finding.events);
            }
        }
    }
    for item in shelf
        .traces
        .iter()
        .filter(|item| !told.contains(&item.name))
    {
        let trace = &item.document;
        if let Some(error) = trace.errors.first() {
            let place = error.places.first().map(ToString::to_string);
            let (name, rule) = (&trace.program.name, error.rule.as_deref());
            let identity = Identity::new(name, error.kind, rule, place, &error.message);
            let cause = of(&mut causes, identity, &error.message);
            cause
                .traces
                .insert(item.name.clone(), trace.events.len() as u64);
        }
    }
    causes
}

/// The cause of this identity, as far as it is known.
fn of<'a>(
    causes: &'a mut BTreeMap<Identity, Cause>,
    identity: Identity,
    message: &str,
) -> &'a mut Cause {
    causes.entry(identity).or_insert_with(|| Cause {
        message: message.into(),
        seen: 0,
        traces: BTreeMap::new(),
        results: Vec::new(),
    })
}

pub(super) fn is_previous(name: &str) -> bool {
    name.ends_with(ResultDocument::PREVIOUS)
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

fn errors(causes: &BTreeMap<Identity, Cause>) -> String {
    let mut out = String::from("<section><h2>Errors by cause</h2>\n");
    if causes.is_empty() {
        return out + "<p class=\"good\">No error was found.</p></section>\n";
    }
    for (identity, cause) in causes {
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
        out += &format!(
            "<article><h3><span class=\"badge\">{}{}</span> {}{}</h3>\n<p class=\"message\">{}</p>\n<ul>",
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
        out += "</ul></article>\n";
    }
    out + "</section>\n"
}

fn searches(shelf: &Shelf) -> String {
    let mut out = String::from("<section><h2>Searches</h2>\n");
    if shelf.results.is_empty() {
        return out
            + "<p>No result document is here. <code>reweave check</code> leaves one beside its traces.</p></section>\n";
    }
    out += "<div class=\"wide\"><table><thead><tr><th scope=\"col\">program</th><th scope=\"col\">result</th>\
            <th scope=\"col\">executions</th><th scope=\"col\">given up</th><th scope=\"col\">events</th>\
            <th scope=\"col\">threads</th><th scope=\"col\">seconds</th><th scope=\"col\">how</th>\
            <th scope=\"col\">document</th></tr></thead><tbody>\n";
    for item in &shelf.results {
        let it = &item.document;
        let wrong = if it.errors.is_empty() {
            ""
        } else {
            " class=\"wrong\""
        };
        out += &format!(
            "<tr><th scope=\"row\">{}</th><td{wrong}>{}</td><td class=\"count\">{}</td><td class=\"count\">{}</td>\
             <td class=\"count\">{}</td><td class=\"count\">{}</td><td class=\"count\">{:.3}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&it.program),
            escape(&summary(it)),
            it.executions,
            it.blocked,
            it.events,
            it.threads_max,
            it.elapsed_s,
            escape(&it.algorithm),
            escape(&item.name)
        );
    }
    out += "</tbody></table></div>\n";
    out + &form(shelf) + "</section>\n"
}

/// Two runs to compare: the newest, and the one before it where there is one.
fn form(shelf: &Shelf) -> String {
    if shelf.results.len() < 2 {
        return String::new();
    }
    let newest = shelf
        .results
        .iter()
        .position(|item| !is_previous(&item.name));
    let newest = newest.unwrap_or(0);
    let program = &shelf.results[newest].document.program;
    let same = |item: &Item<ResultDocument>| item.document.program == *program;
    let mut others = (0..shelf.results.len()).filter(|index| *index != newest);
    let before = others.clone().find(|index| same(&shelf.results[*index]));
    let before = before.or_else(|| others.next()).unwrap_or(newest);
    let options = |chosen: usize| {
        let option = |(index, item): (usize, &Item<ResultDocument>)| {
            let selected = if index == chosen { " selected" } else { "" };
            let name = escape(&item.name);
            format!("<option value=\"{name}\"{selected}>{name}</option>")
        };
        shelf
            .results
            .iter()
            .enumerate()
            .map(option)
            .collect::<String>()
    };
    format!(
        "<form action=\"/compare\"><label>From <select name=\"a\">{}</select></label> \
         <label>to <select name=\"b\">{}</select></label> <button>Compare</button></form>\n",
        options(before),
        options(newest)
    )
}

fn unreadable(shelf: &Shelf) -> String {
    let mut out = String::new();
    if !shelf.unreadable.is_empty() {
        out += "<section><h2>Not readable</h2><ul>\n";
        for why in &shelf.unreadable {
            out += &format!("<li>{}</li>\n", escape(why));
        }
        out += "</ul></section>\n";
    }
    if shelf.cut {
        out += "<p>There are more files than are shown here.</p>\n";
    }
    out
}

pub(super) fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
