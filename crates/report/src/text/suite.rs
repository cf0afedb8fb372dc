//! A suite as a table: one line a test, then what there is to say about those that are not as expected.

use super::{
    Large, Part, Style, clean, grouped,
    layout::{pad, width, wrap},
    summary::counted,
};
use crate::suite::{SuiteDocument, TestEntry, Verdict};

/// The whole suite.
pub fn render_suite(suite: &SuiteDocument, style: Style) -> String {
    let heads = [
        "test",
        "verdict",
        "executions",
        "of about",
        "covered",
        "time",
    ];
    let mut rows: Vec<[String; 6]> = vec![heads.map(String::from)];
    rows.extend(suite.tests.iter().map(row));
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            rows.iter()
                .map(|row| width(&row[column]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = pad(&row[0], widths[0] + 2);
        line += &pad(&row[1], widths[1]);
        for (cell, to) in row.iter().zip(&widths).skip(2) {
            line += &" ".repeat(2 + to - width(cell));
            line += cell;
        }
        let line = line.trim_end();
        let verdict = index.checked_sub(1).map(|test| suite.tests[test].verdict);
        out += &match verdict {
            None => style.dim(line),
            Some(Verdict::Failed | Verdict::Broken) => style.red(line),
            Some(_) => line.to_owned(),
        };
        out.push('\n');
    }
    out.push('\n');
    out += &style.bold(&headline(suite));
    out.push('\n');
    for test in &suite.tests {
        out += &remarks(test, style);
    }
    out
}

fn row(test: &TestEntry) -> [String; 6] {
    let result = test.result.as_ref();
    let executions = result.map_or_else(String::new, |result| grouped(result.executions));
    let time = result.map_or_else(String::new, |result| format!("{:.2} s", result.elapsed_s));
    let whole = result.is_some_and(|result| result.complete);
    let estimate = result.and_then(|result| result.estimate);
    let (about, covered) = match (estimate, whole) {
        (_, true) => (executions.clone(), "all".into()),
        (Some(size), false) => (
            Large(size.executions_log10).to_string(),
            Part(size.covered).to_string(),
        ),
        (None, false) => (String::new(), String::new()),
    };
    let verdict = test.verdict.name().into();
    [
        one_line(&test.name),
        verdict,
        executions,
        about,
        covered,
        time,
    ]
}

fn headline(suite: &SuiteDocument) -> String {
    let verdicts = Verdict::ALL.map(|verdict| (suite.count(verdict), verdict.name()));
    let verdicts = verdicts.iter().filter(|(count, _)| *count > 0);
    let verdicts: Vec<_> = verdicts
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let budget = suite.budget_s.map(|budget| format!(" of {budget} s"));
    format!(
        "{}: {}: {}; {:.1} s{}, {}, {}",
        clean(&suite.suite),
        counted(suite.tests.len() as u64, "test"),
        verdicts.join(", "),
        suite.elapsed_s,
        budget.unwrap_or_default(),
        counted(suite.workers.into(), "worker"),
        clean(&suite.policy),
    )
}

/// Why a test is not as expected, and where that can be looked at.
fn remarks(test: &TestEntry, style: Style) -> String {
    let Some(message) = test
        .message
        .as_ref()
        .filter(|_| test.verdict != Verdict::Ok)
    else {
        return String::new();
    };
    let said = format!("{}: {}", one_line(&test.name), clean(message));
    let mut out = wrap(&said, style.width, "");
    let errors = test.result.iter().flat_map(|result| &result.errors);
    for trace in errors.filter_map(|error| error.trace.as_ref()) {
        out += &format!("  reweave report {}\n", clean(trace));
    }
    out
}

/// A name that stays in its row.
fn one_line(name: &str) -> String {
    clean(name.replace(['\n', '\t'], " ").trim())
}
