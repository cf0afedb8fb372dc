//! `reweave estimate`: explores for a moment in each way there is, and says how large each search would be.

use super::{
    Ending, Prepared, Session,
    args::{self, Check},
    prepare, progress, stdin,
};
use crate::{args::Format, print, say, usage};
use reweave_check::{Control, Outcome};
use reweave_explore::{Algorithm, Options};
use reweave_report::{ExitCode, Large, Part, Span};
use serde::Serialize;
use std::{
    ffi::OsString,
    num::NonZeroUsize,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

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
    match sizes(&check) {
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

fn sizes(check: &Check) -> Result<Sizes, Ending> {
    let prepared = prepare(check, stdin::read()?)?;
    let control = Control::default();
    let interrupted = progress::interrupts(&control)?;
    // Errors are of no interest here, so neither are their traces.
    let nowhere = tempfile::tempdir();
    let nowhere = nowhere.map_err(|error| format!("no directory for traces: {error}"))?;
    let all = Algorithm::NAMES.iter().map(|(_, algorithm)| *algorithm);
    let ways = all.filter(|way| *way != Algorithm::Auto && !way.samples());
    let ways = ways.map(|way| (way, None));
    let bounds = BOUNDS.map(|bound| (Algorithm::Dfs, Some(bound)));
    let mut estimates = Vec::new();
    for (algorithm, preemptions) in ways.chain(bounds) {
        let options = Options {
            algorithm,
            preemptions,
            ..check.options
        };
        let way = Check {
            options,
            workers: NonZeroUsize::new(1),
            keep_going: true,
            output: nowhere.path().into(),
            ..check.clone()
        };
        let outcome = look(way, prepared.clone(), &control)?;
        if interrupted.load(Relaxed) {
            break;
        }
        // Where it cannot be explored in this way, it was in another.
        if outcome.because.is_none() {
            estimates.extend(size(&outcome, preemptions));
        }
    }
    Ok(Sizes {
        schema: "reweave.estimate/1",
        program: prepared.program.name,
        estimates,
    })
}

/// Explores for a moment.
fn look(way: Check, prepared: Prepared, control: &Control) -> Result<Outcome, Ending> {
    let until = Instant::now().checked_add(way.budget.unwrap_or(MOMENT));
    let mut session = Session::new(way, prepared, "estimate".into())?;
    loop {
        session.advance(control, until)?;
        if let Some(told) = session.conclude()? {
            return Ok(told.outcome);
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
