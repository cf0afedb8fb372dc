//! `reweave estimate`: explores for a moment in each way there is, and says how large each search would be.

use super::{
    Ending, Prepared, args, args::Check, native::Checked, prepare, progress, stdin, stopped,
};
use crate::{args::Format, print, say, usage};
use reweave_check::{Control, Fault, Outcome, Settings};
use reweave_explore::{AlgorithmName as Algorithm, Options, Probing};
use reweave_report::{ExitCode, Large, Part, Span};
use serde::Serialize;
use std::{ffi::OsString, time::Duration};

/// How long each search is looked at, unless said otherwise.
const MOMENT: Duration = Duration::from_secs(1);

/// Bounds on preemptions that are looked at.
const BOUNDS: [u32; 3] = [0, 1, 2];

/// Runs the command and says with which code to exit. The arguments are those of `check`.
pub fn estimate(args: Vec<OsString>) -> ExitCode {
    let check = match args::parse(args) {
        Ok(Some(check)) => check,
        Ok(None) => return print(HELP),
        Err(sentence) => return usage(&sentence),
    };
    let prepared = stdin::read().map_err(Ending::from);
    let prepared = prepared.and_then(|stdin| prepare(&check, stdin));
    match prepared.and_then(|prepared| sizes(&check, prepared)) {
        Ok(document) => print(&match check.format {
            Format::Json => document.json(),
            Format::Text => document.text(),
        }),
        Err(Ending(code, sentence)) => {
            say(&sentence);
            code
        }
    }
}

/// What can be typed, for people.
const HELP: &str = "\
Explore a program for a moment in each way there is, and say how large each search would be

Usage: reweave estimate [OPTIONS] FILE.c|.cc|.cpp ... [-- ARGS...]
       reweave estimate [OPTIONS] -- PROGRAM [ARGS...]

Options and arguments are those of `reweave check`; --budget is the time for each way, 1s unless said otherwise.
";

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

fn sizes(check: &Check, mut prepared: Prepared) -> Result<Sizes, Ending> {
    let control = Control::default();
    let interrupted = progress::interrupts(&control)?;
    let all = Algorithm::NAMES.iter().map(|(_, algorithm)| *algorithm);
    let ways = all.filter(|way| *way != Algorithm::Auto && !way.samples());
    let ways = ways.map(|way| (way, None));
    let bounds = BOUNDS.map(|bound| (Algorithm::Dfs, Some(bound)));
    let mut estimates = Vec::new();
    for (algorithm, preemptions) in ways.chain(bounds) {
        let options = Options {
            algorithm,
            preemptions,
            probing: Probing::Often,
            ..check.options
        };
        let outcome = look(check, options, &mut prepared, &control)?;
        if stopped(&interrupted) {
            break;
        }
        estimates.extend(size(&outcome, preemptions));
    }
    Ok(Sizes {
        schema: "reweave.estimate/1",
        program: prepared.program.name,
        estimates,
    })
}

/// Explores for a moment. Errors are of no interest here, so neither are their traces.
fn look(
    check: &Check,
    options: Options,
    prepared: &mut Prepared,
    control: &Control,
) -> Result<Outcome, Ending> {
    let nowhere = tempfile::tempdir()
        .map_err(|error| format!("no directory can be made for traces: {error}"))?;
    let settings = Settings {
        options,
        workers: 1,
        budget: check.budget.or(Some(MOMENT)),
        max_executions: check.max_executions,
        keep_going: true,
        directory: nowhere.path().into(),
        ..super::settings(check, &prepared.program)
    };
    loop {
        let (launch, program) = (prepared.launch.clone(), prepared.program.clone());
        let mut subject = Checked::new(launch, program, options.max_steps)?;
        match (
            reweave_check::check(&mut subject, &settings, control),
            prepared.lower(check),
        ) {
            (Ok(outcome), _) => return Ok(outcome),
            (Err(Fault::Differs(_)), Some(lower)) => prepared.launch.restart = lower,
            (Err(fault), _) => return Err(Ending::from(fault)),
        }
    }
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
            self.program
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
