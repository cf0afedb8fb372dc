//! What a search covered, as a part of a page: size, pairs of places, lines, and where it branches.
//!
//! *Called by:* the server, for a search; the overview of one result. *Owns:* nothing.

use super::{
    frame,
    list::{counted, header},
    shelf::Item,
};
use crate::document::escape;
use reweave_report::{
    Coverage, CoveredPlace, Large, LineCoverage, Met, Part, PlacePair, ResultDocument, summary,
};

/// Rows of a table; the document has the rest.
const MOST: usize = 500;

/// A page of its own.
pub(super) fn coverage(item: &Item<ResultDocument>) -> String {
    let title = format!("What {} covers", item.document.program);
    let mut body = header(&escape(&title));
    body += "<main class=\"list\">\n<p><a href=\"/\">All results</a></p>\n";
    body += &section(&item.document).unwrap_or_else(|| {
        "<p>Nothing is known of it: <code>reweave check --coverage</code> collects it.</p>\n".into()
    });
    body += "</main>\n";
    frame(&title, &body)
}

/// The sections; `None`: nothing was collected.
pub(super) fn section(result: &ResultDocument) -> Option<String> {
    let coverage = result.coverage.as_ref()?;
    let mut out = String::from("<section id=\"size\"><h2>Size</h2>\n<ul>");
    for fact in size(result) {
        out += &format!("<li>{}</li>", escape(&fact));
    }
    out += "</ul></section>\n";
    if let Some(lines) = &coverage.lines {
        out += &unreached(lines);
    }
    out += &pairs(coverage, result.complete);
    out += &places(coverage);
    Some(out)
}

fn size(result: &ResultDocument) -> Vec<String> {
    let mut facts = vec![
        summary(result),
        format!(
            "{} and at most {}",
            counted(result.events, "event"),
            counted(result.threads_max.into(), "thread")
        ),
    ];
    if let Some(estimate) = result.estimate.filter(|it| it.covered < 1.0) {
        facts.push(format!(
            "explored: {} of about {} executions",
            Part(estimate.covered),
            Large(estimate.executions_log10)
        ));
    }
    facts
}

fn unreached(lines: &LineCoverage) -> String {
    let mut out = format!(
        "<section id=\"lines\"><h2>Lines: {} of {} reached</h2>\n",
        lines.reached, lines.known
    );
    if lines.unreached.is_empty() {
        out += "<p class=\"good\">Every line with code was reached.</p>\n";
    } else {
        out += "<p>No execution reached:</p>\n<ul>";
        for file in &lines.unreached {
            out += &format!(
                "<li data-entry><code>{}</code></li>",
                escape(&file.spelled())
            );
        }
        out += "</ul>\n";
    }
    out + "</section>\n"
}

/// What a class of pairs means, and how its heading looks.
fn meaning(met: Met, complete: bool) -> (&'static str, &'static str, &'static str) {
    match (met, complete) {
        (Met::Never, true) => (
            "Never met",
            "wrong",
            "Both places are used with the same objects, and no execution has both on one object. The search is complete: for this input it cannot happen.",
        ),
        (Met::Never, false) => (
            "Never met",
            "wrong",
            "Both places are used with the same objects, and no execution so far has both on one object.",
        ),
        (Met::OneOrder, true) => (
            "In one order only",
            "",
            "Nothing but the meeting itself orders them. The search is complete: the other order is impossible, or makes no difference.",
        ),
        (Met::OneOrder, false) => (
            "In one order only",
            "wrong",
            "Nothing but the meeting itself orders them. The other order may be possible, and no execution so far has it.",
        ),
        (Met::Ordered, _) => (
            "In an order that something else gives them",
            "",
            "A creation, a join or other synchronisation had ordered them before they met.",
        ),
        (Met::Both, _) => ("In both orders", "good", "Executions have both orders."),
    }
}

fn pairs(coverage: &Coverage, complete: bool) -> String {
    let mut out = format!(
        "<section id=\"pairs\"><h2>Pairs of places on the same objects: {}</h2>\n",
        coverage.pairs.len()
    );
    for met in [Met::Never, Met::OneOrder, Met::Both, Met::Ordered] {
        let such: Vec<&PlacePair> = coverage.pairs.iter().filter(|it| it.met == met).collect();
        if such.is_empty() {
            continue;
        }
        let (title, class, sentence) = meaning(met, complete);
        out += &format!(
            "<h3 class=\"{class}\">{title}: {}</h3>\n<p class=\"message\">{sentence}</p>\n",
            such.len()
        );
        out += "<div class=\"wide\"><table><thead><tr><th scope=\"col\">first</th><th scope=\"col\">second</th>\
                <th scope=\"col\">executions in this order</th><th scope=\"col\">reversed</th></tr></thead><tbody>\n";
        for pair in such.iter().take(MOST) {
            out += &format!(
                "<tr data-entry><td><code>{}</code></td><td><code>{}</code></td><td class=\"count\">{}</td><td class=\"count\">{}</td></tr>\n",
                escape(&pair.first),
                escape(&pair.second),
                pair.in_order,
                pair.reversed
            );
        }
        out += "</tbody></table></div>\n";
        out += &left_out(such.len());
    }
    out + "</section>\n"
}

fn left_out(rows: usize) -> String {
    match rows.checked_sub(MOST) {
        None | Some(0) => String::new(),
        Some(left) => format!("<p>{left} more are in the result document.</p>\n"),
    }
}

fn places(coverage: &Coverage) -> String {
    let all = coverage.branches();
    let mut places: Vec<&CoveredPlace> = coverage.places.iter().collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.branches));
    let mut out = format!(
        "<section id=\"places\"><h2>Where executions branch: {}</h2>\n\
         <div class=\"wide\"><table><thead><tr><th scope=\"col\">place</th><th scope=\"col\">operations</th>\
         <th scope=\"col\">branches</th><th scope=\"col\">of all</th><th scope=\"col\">steps</th><th scope=\"col\">threads</th></tr></thead><tbody>\n",
        counted(all, "branch")
    );
    for place in places.iter().take(MOST) {
        let part = place.branches * 100 / all.max(1);
        out += &format!(
            "<tr data-entry><th scope=\"row\"><code>{}</code></th><td>{}</td><td class=\"count\">{}</td>\
             <td><meter min=\"0\" max=\"100\" value=\"{part}\">{part}%</meter> {part}%</td><td class=\"count\">{}</td><td class=\"count\">{}</td></tr>\n",
            escape(&place.location),
            escape(&place.operations.join(", ")),
            place.branches,
            place.steps,
            place.threads
        );
    }
    out + "</tbody></table></div>\n" + &left_out(places.len()) + "</section>\n"
}
