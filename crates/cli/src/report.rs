//! `reweave report`: shows a trace, a result or a suite.

use crate::{
    args::{ReportFormat, ReportOptions},
    output::{print, replay_line, style, usage},
    pages,
};
use reweave_report::{
    Document, ExitCode, Shown, Sources, chrome, dot, github, junit_result, junit_suite,
    render_result, render_suite, render_trace, sarif, save, svg,
};
use std::path::Path;

/// Runs the command and returns its exit code.
pub fn run(options: &ReportOptions) -> ExitCode {
    if options.serve {
        return pages::serve(options);
    }
    let file = options.file.as_deref().unwrap_or(Path::new(""));
    let document = match Document::read(file) {
        Ok(document) => document,
        Err(error) => return usage(&error.to_string()),
    };
    if let Some(to) = &options.html {
        return pages::write(document, file, to);
    }
    if let Some(path) = &options.junit {
        let xml = match &document {
            Document::Result(result) => junit_result(result),
            Document::Suite(suite) => junit_suite(suite),
            Document::Trace(_) => {
                return usage("--junit is for results and suites, and this is a trace");
            }
        };
        if let Err(error) = save(path, &xml) {
            return usage(&error.to_string());
        }
    }
    let style = style(options.full, options.plain);
    let shown = || match &document {
        Document::Trace(trace) => Shown::of_trace(trace, file),
        Document::Result(result) => Shown::of_result(result, file),
        Document::Suite(suite) => Shown::of_suite(suite, file),
    };
    print(&match (&document, options.format) {
        (_, ReportFormat::Sarif) => sarif(&shown()),
        (_, ReportFormat::Github) => github(&shown()),
        (Document::Trace(_), ReportFormat::Junit) => {
            return usage("JUnit is for results and suites, and this is a trace");
        }
        (Document::Result(result), ReportFormat::Junit) => junit_result(result),
        (Document::Suite(suite), ReportFormat::Junit) => junit_suite(suite),
        (Document::Trace(trace), ReportFormat::Json) => trace.to_json(),
        (Document::Trace(trace), ReportFormat::Dot) => dot(trace),
        (Document::Trace(trace), ReportFormat::Chrome) => chrome(trace),
        (Document::Trace(trace), ReportFormat::Text) => {
            let again = replay_line(&trace.program, file);
            render_trace(trace, again.as_deref(), &Sources::of(trace), style)
        }
        (Document::Result(result), ReportFormat::Json) => result.to_json(),
        (Document::Result(result), ReportFormat::Text) => render_result(result, style),
        (Document::Suite(suite), ReportFormat::Json) => suite.to_json(),
        (Document::Suite(suite), ReportFormat::Text) => render_suite(suite, style),
        (Document::Result(result), ReportFormat::Svg) => {
            match result.fleet.as_ref().and_then(svg) {
                Some(picture) => picture,
                None => {
                    return usage(
                        "the picture is of a search on a cluster (`reweave check --cluster`), and this was explored by one machine",
                    );
                }
            }
        }
        (Document::Trace(_) | Document::Suite(_), ReportFormat::Svg) => {
            return usage("the picture is of a whole search on a cluster; name its result");
        }
        (Document::Result(_) | Document::Suite(_), ReportFormat::Dot | ReportFormat::Chrome) => {
            return usage(&format!(
                "{}: this is about many executions, and the picture is one of a single one; name a trace",
                file.display()
            ));
        }
    })
}
