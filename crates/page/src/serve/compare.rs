//! Two runs beside each other: errors that are new, gone or the same, and the counts.

use super::{
    causes::{Identity, without},
    frame,
    list::header,
    shelf::Item,
};
use crate::document::escape;
use reweave_report::{Finding, ResultDocument, summary};

/// From one run to another.
pub(super) fn compare(before: &Item<ResultDocument>, after: &Item<ResultDocument>) -> String {
    let (a, b) = (&before.document, &after.document);
    let new = without(b, a);
    let gone = without(a, b);
    let same: Vec<&Finding> = b.errors.iter().filter(|it| !new.contains(it)).collect();
    let mut body = header("Two runs");
    body += "<main class=\"list\">\n<p><a href=\"/\">All results</a></p>\n";
    for (title, class, findings) in [
        ("New errors", "wrong", &new),
        ("Errors that are gone", "good", &gone),
        ("The same errors", "", &same),
    ] {
        body += &group(title, class, findings);
    }
    body += &counts(before, after);
    body += "</main>\n";
    frame("Two runs", &body)
}

fn group(title: &str, class: &str, findings: &[&Finding]) -> String {
    let mut out = format!(
        "<section><h2 class=\"{class}\">{title}: {}</h2>\n<ul>",
        findings.len()
    );
    for finding in findings {
        let Identity {
            kind, rule, place, ..
        } = Identity::of("", finding);
        let rule = rule.map(|rule| format!(" ({})", escape(&rule)));
        let place = place.map(|place| format!(" at <code>{}</code>", escape(&place)));
        out += &format!(
            "<li><strong>{}{}</strong>{}<p class=\"message\">{}</p></li>\n",
            escape(kind),
            rule.unwrap_or_default(),
            place.unwrap_or_default(),
            escape(&finding.message)
        );
    }
    out + "</ul></section>\n"
}

fn counts(before: &Item<ResultDocument>, after: &Item<ResultDocument>) -> String {
    let (a, b) = (&before.document, &after.document);
    let words = |text: &dyn Fn(&ResultDocument) -> String| [text(a), text(b), String::new()];
    let number = |count: &dyn Fn(&ResultDocument) -> u64| {
        let (a, b) = (count(a), count(b));
        let more = i128::from(b) - i128::from(a);
        let more = if more == 0 {
            String::new()
        } else {
            format!("{more:+}")
        };
        [a.to_string(), b.to_string(), more]
    };
    let rows = [
        ("program", words(&|it| it.program.clone())),
        ("result", words(&|it| summary(it))),
        ("algorithm", words(&|it| it.algorithm.clone())),
        ("executions", number(&|it| it.executions)),
        ("given up", number(&|it| it.blocked)),
        ("events", number(&|it| it.events)),
        ("threads at most", number(&|it| it.threads_max.into())),
        ("errors", number(&|it| it.errors.len() as u64)),
        ("warnings", number(&|it| it.warnings.len() as u64)),
        ("seconds", words(&|it| format!("{:.3}", it.elapsed_s))),
        ("workers", number(&|it| it.workers.into())),
    ];
    let mut out = format!(
        "<section><h2>Counts</h2><div class=\"wide\"><table><thead><tr><td></td><th scope=\"col\">{}</th><th scope=\"col\">{}</th>\
         <th scope=\"col\">difference</th></tr></thead><tbody>\n",
        escape(&before.name),
        escape(&after.name)
    );
    for (name, [a, b, more]) in rows {
        let changed = if a == b { "" } else { " class=\"changed\"" };
        out += &format!(
            "<tr{changed}><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{more}</td></tr>\n",
            escape(&a),
            escape(&b)
        );
    }
    out + "</tbody></table></div></section>\n"
}
