//! Documents for other programs: code scanners and editors, continuous integration, pictures, timelines.
//!
//! Each format is one file and one function from traces to text. What a trace quotes from the checked program is escaped as the format
//! asks for.

mod chrome;
mod dot;
mod github;
mod sarif;
mod svg;

pub use chrome::chrome;
pub use dot::dot;
pub use github::github;
pub use sarif::sarif;
pub use svg::svg;

use crate::{
    position::Position,
    result::{Finding, ResultDocument},
    suite::{SuiteDocument, TestEntry, Verdict},
    trace::Trace,
};
use std::path::Path;

/// Something that went wrong, with the execution that shows it where that can be read.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What it is.
    pub finding: Finding,
    /// No error unless asked for.
    pub warning: bool,
    /// The execution.
    pub trace: Option<Trace>,
}

impl Shown {
    /// What a trace tells.
    pub fn of_trace(trace: &Trace, file: &Path) -> Vec<Shown> {
        let finding = |failure: &crate::trace::Failure| Finding {
            kind: failure.kind,
            rule: failure.rule.clone(),
            message: failure.message.clone(),
            location: trace.location(0).as_ref().map(Position::to_string),
            events: trace.events.len() as u64,
            trace: Some(file.display().to_string()),
            seen: 1,
            doubtful: false,
            because: None,
        };
        let told = trace.errors.iter().take(1).map(|failure| Shown {
            finding: finding(failure),
            warning: false,
            trace: Some(trace.clone()),
        });
        told.collect()
    }

    /// What a result tells, with the traces that are still where it says, from where the command runs or beside the result.
    pub fn of_result(result: &ResultDocument, file: &Path) -> Vec<Shown> {
        let told = |finding: &Finding, warning: bool| Shown {
            finding: finding.clone(),
            warning,
            trace: finding.trace.as_ref().and_then(|trace| {
                let beside = file.parent().map(|directory| directory.join(trace));
                let there = Trace::read(Path::new(trace));
                there
                    .or_else(|_| Trace::read(&beside.unwrap_or_default()))
                    .ok()
            }),
        };
        let errors = result.errors.iter().map(|finding| told(finding, false));
        let warnings = result.warnings.iter().map(|finding| told(finding, true));
        errors.chain(warnings).collect()
    }

    /// What the tests of a suite tell that are not as expected.
    pub fn of_suite(suite: &SuiteDocument, file: &Path) -> Vec<Shown> {
        let failed = |test: &&TestEntry| test.verdict == Verdict::Failed;
        let results = suite.tests.iter().filter(failed);
        let results = results.filter_map(|test| test.result.as_ref());
        results.flat_map(|it| Shown::of_result(it, file)).collect()
    }

    /// Kind and rule: `memory/leak`.
    fn rule(&self) -> String {
        match &self.finding.rule {
            Some(rule) => format!("{}/{rule}", self.finding.kind.name()),
            None => self.finding.kind.name().into(),
        }
    }

    /// All places that it is about, the first one first.
    fn places(&self) -> Vec<Position> {
        let finding = &self.finding;
        let first: Option<Position> = finding.location.as_ref().and_then(|at| at.parse().ok());
        let same = |(trace, index): &(&Trace, usize)| {
            let failure = &trace.errors[*index];
            (failure.kind, &failure.rule) == (finding.kind, &finding.rule)
                && (failure.places.first() == first.as_ref() || trace.location(*index) == first)
        };
        let traces = self.trace.iter();
        let mut errors =
            traces.flat_map(|trace| (0..trace.errors.len()).map(move |it| (trace, it)));
        let others = errors
            .find(same)
            .map(|(trace, index)| &trace.errors[index].places);
        let others = others.into_iter().flatten().cloned();
        let others: Vec<Position> = others.filter(|at| Some(at) != first.as_ref()).collect();
        first.into_iter().chain(others).collect()
    }
}
