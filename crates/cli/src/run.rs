//! `reweave run`: a program whose threads synchronise in one fixed order.
//!
//! *Decides:* with `--verify`, whether the runs of a program are equal. *Called by:* `main`. *Owns:* nothing.

use crate::{
    args::RunOptions,
    output::{Failure, say},
};
use reweave_native::{Order, StableRun, copy_standard_input};
use reweave_report::ExitCode;
use reweave_toolchain::temporary::TemporaryDirectory;
use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
};

/// Runs the program. The exit code is the program's, unless its runs are compared.
pub fn run(options: &RunOptions) -> u8 {
    let ran = prepared(options).and_then(|program| match options.verify {
        Some(times) => verify(&program, times.get()),
        None => once(options, &program),
    });
    ran.unwrap_or_else(|failure| failure.report().code())
}

fn prepared(options: &RunOptions) -> Result<StableRun, Failure> {
    let (program, arguments) = options.command.split_first().expect("clap requires it");
    Ok(StableRun::new(Path::new(program), arguments)?)
}

fn once(options: &RunOptions, program: &StableRun) -> Result<u8, Failure> {
    match (&options.schedule, &options.replay) {
        (Some(file), _) => {
            let run = program.recording(file);
            let (command, _numbers) = run.map_err(|error| about(file, &error))?;
            let status = status(command)?;
            Order::read_all(file).map_err(|error| about(file, &error))?;
            Ok(code(status))
        }
        (None, Some(file)) => {
            Order::read(file).map_err(|error| about(file, &error))?;
            let run = program.following(file);
            let (command, _numbers) = run.map_err(|error| about(file, &error))?;
            Ok(code(status(command)?))
        }
        // Nothing is left to do afterwards, so signals and terminals are the program's.
        (None, None) => Err(cannot_start(&program.command().exec())),
    }
}

/// What one run did.
struct Outcome {
    status: ExitStatus,
    output: Vec<u8>,
    /// The order of each of its processes.
    orders: Vec<Order>,
}

fn verify(program: &StableRun, times: u32) -> Result<u8, Failure> {
    let slow = || say("reading standard input to its end");
    let input = copy_standard_input(slow).map_err(|error| format!("standard input: {error}"))?;
    let first = observe(program, input.as_ref())?;
    // The reader of the output may be gone, which changes no verdict.
    let _ = io::stdout().write_all(&first.output);
    for number in 2..=times {
        let other = observe(program, input.as_ref())?;
        if let Some(difference) = difference(&first, &other) {
            say(&format!("run {number} differs from run 1: {difference}"));
            if first
                .orders
                .iter()
                .flat_map(Order::steps)
                .any(|step| step.ends_with(" leave"))
            {
                say(
                    "it waits for something outside of its process, and that does not always come at the same moment",
                );
            }
            return Ok(ExitCode::Fault.code());
        }
    }
    let steps: usize = first.orders.iter().map(|order| order.steps().count()).sum();
    let (status, runs) = (ended(first.status), if times == 1 { "run" } else { "runs" });
    say(&format!(
        "the same order in {times} of {times} {runs}, {steps} steps each; {status}"
    ));
    Ok(ExitCode::Clean.code())
}

/// Runs the program once, and keeps what it writes.
fn observe(program: &StableRun, input: Option<&Arc<File>>) -> Result<Outcome, Failure> {
    let failed = |error: io::Error| format!("the order of a run: {error}");
    let place = TemporaryDirectory::new().map_err(failed)?;
    let file = place.path().join("order");
    let (mut command, _numbers) = program.recording(&file).map_err(failed)?;
    // Opened once more: every run reads from the beginning.
    let again = |file: &Arc<File>| {
        use std::os::fd::AsRawFd;
        File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    };
    match input.map(again).transpose().map_err(failed)? {
        Some(input) => command.stdin(input),
        None => command.stdin(Stdio::null()),
    };
    // A file and no pipe: nobody has to read it in time.
    let output = place.path().join("output");
    command.stdout(File::create(&output).map_err(failed)?);
    let status = status(command)?;
    Ok(Outcome {
        status,
        output: fs::read(&output).map_err(failed)?,
        orders: Order::read_all(&file).map_err(failed)?,
    })
}

/// The first thing in which two runs differ.
fn difference(one: &Outcome, other: &Outcome) -> Option<String> {
    for (process, (one, other)) in one.orders.iter().zip(&other.orders).enumerate() {
        let (mut left, mut right) = (one.steps(), other.steps());
        for step in 1.. {
            let (one, other) = (left.next(), right.next());
            if one != other {
                let place = match process {
                    0 => format!("step {step}"),
                    _ => format!("step {step} of process {}", process + 1),
                };
                let of = |step: Option<&str>| {
                    step.map_or("nothing".into(), |step| format!("thread {step}"))
                };
                return Some(format!(
                    "at {place} there is {} instead of {}",
                    of(other),
                    of(one)
                ));
            }
            if one.is_none() {
                break;
            }
        }
    }
    let (processes, others) = (one.orders.len(), other.orders.len());
    if processes != others {
        return Some(format!("it has {others} processes instead of {processes}"));
    }
    if one.status != other.status {
        return Some(format!(
            "{} instead of {}",
            ended(other.status),
            ended(one.status)
        ));
    }
    (one.output != other.output).then(|| "another output, with the same order of steps".into())
}

fn status(mut command: Command) -> Result<ExitStatus, Failure> {
    let status = command.status();
    status.map_err(|error| cannot_start(&error))
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::from(format!("the program cannot be started: {error}"))
}

fn about(file: &Path, error: &io::Error) -> Failure {
    Failure::from(format!("{}: {error}", file.display()))
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().unwrap_or_default();
    status.code().unwrap_or(128 + signal) as u8
}

/// How a process ended, in words.
fn ended(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}
