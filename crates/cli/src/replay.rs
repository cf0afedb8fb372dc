//! `reweave replay`: builds and starts a program as its trace says, and runs that one execution again.

use crate::{
    args::{CheckRequest, ReplayOptions},
    check::{prepare, standard_input},
    output::{Failure, print, quoted, replay_line, say, style, usage},
    signals::leave_to_debugger,
};
use reweave_native::{Gdb, NativeProgram, Replay, ReplayError};
use reweave_report::{ExitCode, Sources, Trace, render_trace};
use std::{
    env,
    ffi::OsString,
    path::Path,
    time::{Duration, Instant},
};

/// Runs the command and returns its exit code: 1 if the recorded error occurs again, 0 if a clean execution is clean again,
/// 4 if the execution differs.
pub fn run(options: &ReplayOptions) -> ExitCode {
    let trace = match Trace::read(&options.trace) {
        Ok(trace) => trace,
        Err(error) => return usage(&error.to_string()),
    };
    if trace.program.kind != "native" {
        return elsewhere(options, &trace);
    }
    match native(options, &trace) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// A test is part of its own test program: only `cargo test` can run it again.
fn elsewhere(options: &ReplayOptions, trace: &Trace) -> ExitCode {
    let kind = &trace.program.kind;
    let mut sentence = format!("{}: ", options.trace.display());
    if options.gdb {
        sentence += &format!(
            "--gdb is for native programs: the threads of a {kind} are fibers, which gdb does not see; "
        );
    }
    sentence += &match replay_line(&trace.program, &options.trace) {
        Some(again) => format!("a {kind} is run again by its own test program; type\n  {again}"),
        None => format!("this version cannot run a `{kind}` again, and the trace does not say how"),
    };
    usage(&sentence)
}

fn native(options: &ReplayOptions, recorded: &Trace) -> Result<ExitCode, Failure> {
    let file = &options.trace;
    let gdb = options.gdb.then(|| Gdb {
        until: options.until,
        args: options.debugger.clone(),
    });
    if let Some(gdb) = &gdb {
        let usable = Gdb::available().and_then(|()| gdb.fits(recorded));
        usable.map_err(|error| error.to_string())?;
    }
    let line = replay_line(&recorded.program, file);
    let words = recorded.program.command.iter().map(OsString::from);
    let request = CheckRequest::from_words(words.collect()).map_err(|why| {
        let file = file.display();
        format!("{file}: how it was started makes no sense: {why}")
    })?;
    // Files are named from where they were compiled. If that is gone, they may be here.
    if let Some(directory) = &recorded.program.directory {
        let _ = env::set_current_dir(directory);
    }
    let program = prepare(&request, standard_input()?)?;
    let digests = (&recorded.program.digest, &program.description.digest);
    let changed = matches!(digests, (Some(was), Some(is)) if was != is);
    let replay = match changed {
        true => follow(program, recorded, file)?,
        false => Replay::new(program, recorded).map_err(|error| failure(file, error))?,
    };
    let trace = &replay.trace;
    if changed {
        say(&comparison(recorded, trace, file));
        if trace.errors.is_empty() && gdb.is_none() {
            return Ok(ExitCode::Clean);
        }
    }
    let style = style(options.full, options.plain);
    let shown = render_trace(trace, line.as_deref(), &Sources::of(trace), style);
    let code = match print(&shown) {
        ExitCode::Clean if trace.errors.is_empty() => ExitCode::Clean,
        ExitCode::Clean => ExitCode::Found,
        failed => return Ok(failed),
    };
    if let Some(gdb) = &gdb {
        debug(&replay, gdb)?;
    }
    Ok(code)
}

/// How long the schedule of a changed program is followed.
const FOLLOW: Duration = Duration::from_secs(10);

/// Runs the recorded schedule in a program that has changed since.
fn follow(program: NativeProgram, recorded: &Trace, file: &Path) -> Result<Replay, Failure> {
    let followed = Replay::follow(program, recorded, Instant::now() + FOLLOW);
    let replay = followed.map_err(|error| failure(file, error))?;
    let ended = |replay: &Replay| {
        let trace = &replay.trace;
        !trace.errors.is_empty() || !CUT.contains(&trace.end.as_str())
    };
    replay.filter(ended).ok_or_else(|| {
        Failure::fault(format!(
            "{}: the program has changed, and its schedule cannot be followed any more; check it from the beginning\n  {}",
            file.display(),
            check_line(recorded)
        ))
    })
}

/// How executions without an error end that say nothing about the recorded one.
const CUT: [&str; 3] = ["blocked", "redundant", "max-steps"];

/// What a changed program does in the recorded schedule, in a sentence.
fn comparison(recorded: &Trace, now: &Trace, file: &Path) -> String {
    let file = file.display();
    let cause = |trace: &Trace| trace.errors.first().map(|it| (it.kind, it.rule.clone()));
    match (cause(recorded), cause(now)) {
        (Some(was), Some(is)) if was == is => {
            format!("{file} still fails: the program has changed, and this is its execution now")
        }
        (Some((was, _)), Some((is, _))) => format!(
            "{file}: the program has changed: instead of the recorded {} there is now this {}",
            was.name(),
            is.name()
        ),
        (None, Some(_)) => format!("{file}: the program has changed, and now it fails"),
        (_, None) => format!(
            "{file} no longer fails: the program has changed, and the recorded schedule, as far as it can be followed, ends without an error; this checks all others\n  {}",
            check_line(recorded)
        ),
    }
}

/// The command line that checks the program of a trace.
fn check_line(recorded: &Trace) -> String {
    let words = recorded.program.command.iter().map(|word| quoted(word));
    format!("reweave check {}", words.collect::<Vec<_>>().join(" "))
        .trim_end_matches(" --")
        .to_owned()
}

fn failure(file: &Path, error: ReplayError) -> Failure {
    match error {
        ReplayError::Start(error) => error.into(),
        ReplayError::Differs(what) => Failure::fault(format!(
            "{} went another way when it was run again: the program has changed, or is not deterministic\n  {what}",
            file.display()
        )),
        ReplayError::Failed(why) => Failure::fault(why),
        ReplayError::Gdb(error) => error.to_string().into(),
    }
}

/// Runs the execution in gdb. The user saw there how it ended, but not whether it was the recorded one.
fn debug(replay: &Replay, gdb: &Gdb) -> Result<(), Failure> {
    // Ctrl-C is for gdb.
    leave_to_debugger();
    match replay.debug(gdb) {
        Ok(()) => Ok(()),
        Err(ReplayError::Differs(what)) => Err(Failure::fault(format!(
            "it went another way in gdb\n  {what}"
        ))),
        Err(ReplayError::Failed(why)) => {
            say(&format!("it did not come to its end in gdb: {why}"));
            Ok(())
        }
        Err(error) => Err(error.to_string().into()),
    }
}
