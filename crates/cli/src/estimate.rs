//! `reweave estimate`: explores for a moment in each way there is, and says how large each search would be.

use crate::{
    args::{CheckOptions, CheckRequest, Format},
    check::{prepare, settings, standard_input, stopped},
    output::{Failure, print, usage},
    signals::interrupts,
};
use reweave_check::{Control, Outcome, Settings};
use reweave_explore::{AlgorithmName, Options, Probing};
use reweave_native::NativeProgram;
use reweave_report::{ExitCode, Large, Part, Span, clean};
use reweave_toolchain::temporary::TemporaryDirectory;
use serde::Serialize;
use std::time::Duration;

/// How long each search is looked at, unless said otherwise.
const MOMENT: Duration = Duration::from_secs(1);

/// Bounds on preemptions that are looked at.
const BOUNDS: [u32; 3] = [0, 1, 2];

/// Runs the command and returns its exit code. The options are those of `check`.
pub fn run(options: CheckOptions) -> ExitCode {
    let request = match CheckRequest::new(options) {
        Ok(request) => request,
        Err(sentence) => return usage(&sentence),
    };
    let program = standard_input().and_then(|stdin| prepare(&request, stdin));
    match program.and_then(|program| sizes(&request, program)) {
        Ok(document) => print(&match request.options.format {
            Format::Json => document.json(),
            Format::Text => document.text(),
        }),
        Err(failure) => failure.report(),
    }
}

/// All ways of one program.
#[derive(Serialize)]
struct Sizes {
    schema: &'static str,
    program: String,
    estimates: Vec<Size>,
}

/// How large one search is.
#[derive(Serialize)]
struct Size {
    algorithm: &'static str,
    preemptions: Option<u32>,
    /// Whether it was explored to its end.
    exact: bool,
    /// `None`: more than a floating-point number can hold.
    executions: Option<f64>,
    executions_log10: f64,
    /// On one worker, at the rate of the moment.
    seconds: Option<f64>,
    covered: f64,
}

fn sizes(request: &CheckRequest, mut program: NativeProgram) -> Result<Sizes, Failure> {
    let control = Control::default();
    let interrupted = interrupts(&control);
    let all = AlgorithmName::NAMES.iter().map(|(_, algorithm)| *algorithm);
    let ways = all.filter(|way| *way != AlgorithmName::Auto && !way.samples() && way.splits());
    let ways = ways.map(|way| (way, None));
    let bounds = BOUNDS.map(|bound| (AlgorithmName::Dfs, Some(bound)));
    let mut estimates = Vec::new();
    for (algorithm, preemptions) in ways.chain(bounds) {
        let options = Options {
            algorithm,
            preemptions,
            probing: Probing::Often,
            ..request.search
        };
        let outcome = look(request, options, &mut program, &control)?;
        if stopped(&interrupted) {
            break;
        }
        estimates.extend(size(&outcome, preemptions));
    }
    Ok(Sizes {
        schema: "reweave.estimate/1",
        program: program.name().to_owned(),
        estimates,
    })
}

/// Explores for a moment. Errors do not matter here, so their traces are removed.
fn look(
    request: &CheckRequest,
    options: Options,
    program: &mut NativeProgram,
    control: &Control,
) -> Result<Outcome, Failure> {
    let nowhere = TemporaryDirectory::new()
        .map_err(|error| format!("no directory can be made for traces: {error}"))?;
    let settings = Settings {
        options,
        workers: 1,
        budget: request.options.budget.or(Some(MOMENT)),
        keep_going: true,
        coverage: false,
        directory: nowhere.path().into(),
        ..settings(request, program)
    };
    Ok(program.explore(&settings, control)?)
}

fn size(outcome: &Outcome, preemptions: Option<u32>) -> Option<Size> {
    let estimate = outcome.estimate?;
    let document = outcome.document("").estimate?;
    Some(Size {
        algorithm: outcome.algorithm.name(),
        preemptions,
        exact: estimate.covered() >= 1.0,
        executions: document.executions,
        executions_log10: document.executions_log10,
        seconds: document.seconds,
        covered: document.covered,
    })
}

impl Sizes {
    fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{}: executions in all, and how long they would take one worker\n",
            clean(&self.program)
        );
        for size in &self.estimates {
            let name = match size.preemptions {
                None => size.algorithm.to_owned(),
                Some(bound) => format!("preemptions={bound}"),
            };
            let number = Large(size.executions_log10).to_string();
            let time = Span(size.seconds.unwrap_or(f64::INFINITY)).to_string();
            let seen = match size.exact {
                true => "counted".to_owned(),
                false => format!("estimated after {} of it", Part(size.covered)),
            };
            text += &format!("  {name:<14} {number:>14} {time:>12}  {seen}\n");
        }
        text
    }
}
