//! `reweave replay` of a native program: builds and starts it as the trace says, and runs that one execution.

use super::{
    Ending, args,
    debugger::{self, Debugging},
    native::Checked,
    prepare, stdin,
};
use crate::{print, say};
use reweave_check::Fault;
use reweave_drive::Unit;
use reweave_report::{ExitCode, Sources, Style, Trace, render_trace};
use std::{env, ffi::OsString, path::Path};

/// Runs the execution of a trace again, and says with which code to exit: 1 when its error comes up again, 0 when it is clean
/// again, 4 when it went another way. Then, if asked for, in a debugger.
pub fn replay(
    file: &Path,
    recorded: &Trace,
    style: Style,
    debugging: Option<&Debugging>,
) -> ExitCode {
    match again(file, recorded, style, debugging) {
        Ok(code) => code,
        Err(Ending(code, sentence)) => {
            say(&sentence);
            code
        }
    }
}

fn again(
    file: &Path,
    recorded: &Trace,
    style: Style,
    debugging: Option<&Debugging>,
) -> Result<ExitCode, Ending> {
    if let Some(debugging) = debugging {
        debugger::available()?;
        debugging.fits(recorded)?;
    }
    let again = crate::again(&recorded.program, file);
    let words = recorded
        .program
        .command
        .iter()
        .map(OsString::from)
        .collect();
    let damaged = |why: String| {
        format!(
            "{}: how it was started makes no sense: {why}",
            file.display()
        )
    };
    let check = args::parse(words).map_err(damaged)?;
    let check = check.ok_or_else(|| damaged("it asks for help".into()))?;
    // Files are named from where they were compiled. Where that is gone they may be here.
    if let Some(directory) = &recorded.program.directory {
        let _ = env::set_current_dir(directory);
    }
    let mut prepared = prepare(&check, stdin::read()?)?;
    prepared.program.clone_from(&recorded.program);
    let visible = recorded.program.visible.iter();
    prepared.launch.units = visible
        .map(|&(place, bytes)| Unit { place, bytes })
        .collect();
    let max_steps = recorded.options.max_steps;
    let subject = Checked::new(prepared.launch.clone(), recorded.program.clone(), max_steps)?;
    let changed = |what: String| {
        let sentence = format!(
            "{} went another way when it was run again: the program has changed, or is not deterministic\n  {what}",
            file.display()
        );
        Ending(ExitCode::Fault, sentence)
    };
    let ending = |fault: Fault| match fault {
        Fault::Differs(what) => changed(what),
        Fault::Failed(why) => Ending(ExitCode::Fault, why),
    };
    let seen = subject.observe(&recorded.plan()).map_err(ending)?;
    let mut now = subject.trace(&seen);
    (now.preemptions, now.shortened) = (recorded.preemptions, recorded.shortened);
    now.sources.clone_from(&recorded.sources);
    if let Some(difference) = recorded.differs(&now) {
        return Err(changed(difference.to_string()));
    }
    let shown = render_trace(&now, again.as_deref(), &Sources::of(&now), style);
    let code = match print(&shown) {
        ExitCode::Clean if now.errors.is_empty() => ExitCode::Clean,
        ExitCode::Clean => ExitCode::Found,
        failed => return Ok(failed),
    };
    if let Some(debugging) = debugging {
        debug(&subject, &now, debugging).map_err(ending)?;
    }
    Ok(code)
}

/// Runs an execution in a debugger. What happens there is between the two, but for one thing: whoever only looks at it sees it come to the same end.
fn debug(subject: &Checked, trace: &Trace, debugging: &Debugging) -> Result<(), Fault> {
    let mut failed = None;
    let seen = subject.debug(&trace.plan(), |process| {
        failed = debugging.run(process, trace).err();
    });
    if let Some(error) = failed {
        return Err(Fault::Failed(format!("gdb cannot be started: {error}")));
    }
    match trace.differs(&subject.trace(&seen?)) {
        Some(difference) => Err(Fault::Differs(difference.to_string())),
        None => Ok(()),
    }
}
