//! The first page: totals, errors by cause, searches with their counts, a form to compare two of them.

use super::{
    causes::{self, Causes, is_previous},
    coverage, dates, fleet, frame,
    request::encode,
    shelf::{Item, Shelf},
};
use crate::document::escape;
use reweave_report::{ResultDocument, summary};
use std::collections::BTreeSet;

/// All that there is.
pub(super) fn list(title: &str, shelf: &Shelf) -> String {
    let more = |item: &Item<ResultDocument>| {
        let (name, document) = (encode(&item.name), &item.document);
        let link = |here: bool, page: &str, words: &str| match here {
            true => format!(" (<a href=\"/{page}?of={name}\">{words}</a>)"),
            false => String::new(),
        };
        link(document.coverage.is_some(), "coverage", "what it covers")
            + &link(document.fleet.is_some(), "fleet", "its workers")
    };
    all(title, shelf, more, String::new())
}

/// The same as one file, which has everything in it.
pub(super) fn overview(title: &str, shelf: &Shelf) -> String {
    let sections = shelf.results.iter().flat_map(|item| {
        let name = escape(&item.document.program);
        let covered = coverage::section(&item.document);
        let covered = covered.map(|it| format!("<h2>What {name} covers</h2>\n{it}"));
        [covered, fleet::section(&item.document)]
    });
    let sections: Vec<String> = sections.flatten().collect();
    all(title, shelf, |_| String::new(), sections.join("\n"))
}

/// The page: `beside` has the links of a search, `more` comes at the end.
fn all(
    title: &str,
    shelf: &Shelf,
    beside: impl Fn(&Item<ResultDocument>) -> String,
    more: String,
) -> String {
    let mut body = header(&escape(title));
    body += "<main class=\"list\">\n";
    if shelf.traces.is_empty() && shelf.results.is_empty() {
        body += "<p>There is nothing here yet: <code>reweave check</code> puts the traces of what it finds into <code>reweave-out</code>.</p>\n";
    } else {
        let causes = Causes::of(shelf);
        body += &totals(shelf, &causes);
        body += FILTER;
        body += &causes::section(&causes);
        body += &searches(shelf, beside);
        body += &more;
    }
    body += &unreadable(shelf);
    body += "</main>\n";
    frame(title, &body)
}

/// Shown by the script, which does the work.
const FILTER: &str = "<form id=\"filter\" role=\"search\" hidden><label>Show only <input id=\"words\" type=\"search\" \
    placeholder=\"program, place, message\"></label> <label><input id=\"news\" type=\"checkbox\"> new and fixed</label> \
    <output id=\"shown\"></output></form>\n";

/// How much there is. What was found before the newest search of a program does not count.
fn totals(shelf: &Shelf, causes: &Causes) -> String {
    let current: Vec<&ResultDocument> = shelf
        .results
        .iter()
        .filter(|item| !is_previous(&item.name))
        .map(|item| &item.document)
        .collect();
    let of_traces = shelf.traces.iter().map(|it| &it.document.program.name);
    let programs = current.iter().map(|it| &it.program).chain(of_traces);
    let programs = programs.collect::<BTreeSet<_>>().len() as u64;
    let (all, clean) = (current.len() as u64, |it: &&&ResultDocument| {
        it.complete && it.errors.is_empty()
    });
    let clean = current.iter().filter(clean).count();
    let executions = current.iter().map(|it| it.executions).sum();
    let (new, fixed) = (causes.count_new() as u64, causes.fixed.len() as u64);
    let mut facts = vec![
        counted(programs, "program"),
        format!(
            "{}, {clean} of them complete without an error",
            counted(all, "search")
        ),
        counted(executions, "execution"),
        format!("{} by cause", counted(causes.known.len() as u64, "error")),
    ];
    if new > 0 {
        facts.push(format!("<span class=\"wrong\">{new} new</span>"));
    }
    if fixed > 0 {
        facts.push(format!("<span class=\"good\">{fixed} fixed</span>"));
    }
    format!("<p id=\"totals\">{}</p>\n", facts.join("; "))
}

/// The top of a page of the server's.
pub(super) fn header(title: &str) -> String {
    format!(
        "<header id=\"top\"><h1>{title}</h1><button id=\"theme\" type=\"button\" aria-label=\"Light or dark\">◐</button></header>\n"
    )
}

fn searches(shelf: &Shelf, beside: impl Fn(&Item<ResultDocument>) -> String) -> String {
    let mut out = String::from("<section><h2>Searches</h2>\n");
    if shelf.results.is_empty() {
        return out
            + "<p>No result document is here. <code>reweave check</code> leaves one beside its traces.</p></section>\n";
    }
    out += "<div class=\"wide\"><table><thead><tr><th scope=\"col\">program</th><th scope=\"col\">result</th>\
            <th scope=\"col\">executions</th><th scope=\"col\">given up</th><th scope=\"col\">events</th>\
            <th scope=\"col\">threads</th><th scope=\"col\">seconds</th><th scope=\"col\">how</th>\
            <th scope=\"col\">when</th><th scope=\"col\">document</th></tr></thead><tbody>\n";
    for item in &shelf.results {
        let it = &item.document;
        let wrong = if it.errors.is_empty() {
            ""
        } else {
            " class=\"wrong\""
        };
        out += &format!(
            "<tr data-entry><th scope=\"row\">{}</th><td{wrong}>{}{}</td><td class=\"count\">{}</td><td class=\"count\">{}</td>\
             <td class=\"count\">{}</td><td class=\"count\">{}</td><td class=\"count\">{:.3}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&it.program),
            escape(&summary(it)),
            beside(item),
            it.executions,
            it.blocked,
            it.events,
            it.threads_max,
            it.elapsed_s,
            escape(&it.algorithm),
            dates::element(item.changed),
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
    let end = match what {
        _ if n == 1 => "",
        "search" | "branch" => "es",
        _ => "s",
    };
    format!("{n} {what}{end}")
}
