//! A search on a cluster over time, as a part of a page: a picture, and the same in numbers.
//!
//! *Called by:* the server, for a search; the overview of one result. *Owns:* nothing.

use super::{
    frame,
    list::{counted, header},
    shelf::Item,
};
use crate::document::escape;
use reweave_report::{FleetSample, ResultDocument, summary, svg};

/// A page of its own.
pub(super) fn fleet(item: &Item<ResultDocument>) -> String {
    let title = format!("The workers of {}", item.document.program);
    let mut body = header(&escape(&title));
    body += "<main class=\"list\">\n<p><a href=\"/\">All results</a></p>\n";
    body += &section(&item.document).unwrap_or_else(|| {
        "<p>It was explored by one machine: <code>reweave check --cluster URL</code> uses many.</p>\n".into()
    });
    body += "</main>\n";
    frame(&title, &body)
}

/// The section; `None`: no cluster explored it.
pub(super) fn section(result: &ResultDocument) -> Option<String> {
    let samples = &result.fleet.as_ref()?.samples;
    let picture = result.fleet.as_ref().and_then(svg).unwrap_or_default();
    let mut out = format!(
        "<section id=\"fleet\"><h2>Workers over time</h2>\n<p>{}</p>\n{picture}<ul>",
        escape(&summary(result))
    );
    for fact in facts(samples) {
        out += &format!("<li>{}</li>", escape(&fact));
    }
    out += "</ul>\n<details><summary>In numbers</summary><div class=\"wide\"><table><thead><tr>";
    for name in [
        "seconds",
        "workers there",
        "active",
        "pieces",
        "executions",
        "reports",
        "repeated",
        "lost",
    ] {
        out += &format!("<th scope=\"col\">{name}</th>");
    }
    out += "</tr></thead><tbody>\n";
    for it in samples {
        out += &format!("<tr><td class=\"count\">{:.2}</td>", it.at_s);
        for count in [
            it.slots,
            it.busy,
            it.pieces,
            it.executions,
            it.reports,
            it.repeated,
            it.lost,
        ] {
            out += &format!("<td class=\"count\">{count}</td>");
        }
        out += "</tr>\n";
    }
    Some(out + "</tbody></table></div></details></section>\n")
}

fn facts(samples: &[FleetSample]) -> Vec<String> {
    let Some(last) = samples.last() else {
        return Vec::new();
    };
    let most = samples.iter().map(|it| it.busy).max().unwrap_or_default();
    let mut facts = vec![
        format!("at most {} active", counted(most, "worker")),
        format!("{} taken in", counted(last.reports, "report")),
    ];
    if last.repeated > 0 {
        let again = counted(last.repeated, "report");
        facts.push(format!("{again} came again or too late, and did not count"));
    }
    if last.lost > 0 {
        facts.push(format!("{} fell silent", counted(last.lost, "worker")));
    }
    facts
}
