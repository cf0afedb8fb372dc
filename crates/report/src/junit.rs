//! Suites and results as JUnit XML, which CI servers read.
//!
//! A test that is not as expected is a failure, one that could not be run an error, one that was not explored to its end is skipped:
//! none of them passed. Names and messages come from programs and may hold anything; whatever XML cannot hold becomes
//! U+FFFD, and what turns the direction of text is spelled out.

use crate::{
    result::{ExitCode, Finding, ResultDocument},
    suite::{SuiteDocument, TestEntry, Verdict},
    text::{spelled, summary},
};
use std::fmt::Write;

/// A whole suite.
pub fn junit_suite(suite: &SuiteDocument) -> String {
    let count = |verdict| suite.count(verdict);
    let skipped = count(Verdict::Incomplete) + count(Verdict::Unfinished);
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        suite.tests.len(),
        count(Verdict::Failed),
        count(Verdict::Broken),
    );
    let (name, time) = (escaped(&suite.suite), suite.elapsed_s);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"{name}\" {counts} time=\"{time:.3}\">"
    );
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" {counts} skipped=\"{skipped}\" time=\"{time:.3}\">"
    );
    for test in &suite.tests {
        out += &case(test, &name);
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// One result, as a suite of one test that is expected to be clean.
pub fn junit_result(result: &ResultDocument) -> String {
    let mut suite = SuiteDocument::new(&result.program, &result.algorithm);
    suite.elapsed_s = result.elapsed_s;
    suite.tests.push(TestEntry {
        name: result.program.clone(),
        expected: "clean".into(),
        verdict: match result.exit_code(false) {
            ExitCode::Clean => Verdict::Ok,
            ExitCode::Incomplete => Verdict::Incomplete,
            _ => Verdict::Failed,
        },
        message: Some(summary(result)),
        result: Some(result.clone()),
    });
    junit_suite(&suite)
}

fn case(test: &TestEntry, suite: &str) -> String {
    let time = test.result.as_ref().map_or(0.0, |result| result.elapsed_s);
    let name = escaped(&test.name);
    let head = format!("    <testcase name=\"{name}\" classname=\"{suite}\" time=\"{time:.3}\"");
    let message = escaped(test.message.as_deref().unwrap_or_default());
    let findings = test.result.as_ref().map_or(&[][..], |it| &it.errors);
    let kind = findings.first().map_or("not-found", |it| it.kind.name());
    let (tag, kind) = match test.verdict {
        Verdict::Ok => return head + "/>\n",
        Verdict::Failed => ("failure", kind),
        Verdict::Broken => ("error", "broken"),
        Verdict::Incomplete | Verdict::Unfinished => {
            return format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n");
        }
    };
    let told: String = findings.iter().map(told).collect();
    format!(
        "{head}>\n      <{tag} type=\"{kind}\" message=\"{message}\">{}</{tag}>\n    </testcase>\n",
        escaped(&told)
    )
}

fn told(finding: &Finding) -> String {
    let rule = finding.rule.as_ref().map(|rule| format!(" ({rule})"));
    let at = finding.location.as_ref().map(|at| format!(" at {at}"));
    let trace = finding.trace.as_ref();
    let trace = trace.map(|trace| format!("reweave report {trace}\n"));
    format!(
        "{}{}{}\n{}\n{}",
        finding.kind.name(),
        rule.unwrap_or_default(),
        at.unwrap_or_default(),
        finding.message,
        trace.unwrap_or_default()
    )
}

/// Text that can stand in an attribute or between tags.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in spelled(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // A parser would make spaces of them in an attribute.
            '\n' => out += "&#10;",
            '\t' => out += "&#9;",
            '\r' => out += "&#13;",
            '\0'..='\x1f' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
