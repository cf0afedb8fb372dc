//! `reweave replay`: builds and starts a program as its trace says, and runs that one execution again.

use crate::{
    args::{CheckRequest, ReplayOptions},
    check::{prepare, standard_input},
    output::{Failure, print, replay_line, say, style, usage},
    signals::leave_to_debugger,
};
use reweave_native::{Gdb, Replay, ReplayError};
use reweave_report::{ExitCode, Sources, Trace, render_trace};
use std::{env, ffi::OsString, path::Path};

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
    let replay = Replay::new(program, recorded).map_err(|error| failure(file, error))?;
    let trace = &replay.trace;
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
