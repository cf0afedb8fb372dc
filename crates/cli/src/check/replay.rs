//! `reweave replay` of a native program: builds and starts it as the trace says, and runs that one execution.

use super::{
    Ending, args,
    debugger::{self, Debugging},
    native::Checked,
    noticed, prepare, stdin,
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
    prepared.launch.rules = noticed::rules(&recorded.program.rules);
    prepared.launch.libraries = noticed::named(&recorded.program.libraries);
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
        debug(&subject, &now, debugging)?;
    }
    Ok(code)
}

/// Runs an execution in a debugger: how it ends there is known to whoever was there, but that it went another way is worth a word.
fn debug(subject: &Checked, trace: &Trace, debugging: &Debugging) -> Result<(), Ending> {
    let mut failed = None;
    let seen = subject.debug(&trace.plan(), |process| {
        failed = debugging.run(process, trace).err();
    });
    if let Some(sentence) = failed {
        return Err(sentence.into());
    }
    let another = |what: String| {
        let sentence = format!("it went another way in gdb\n  {what}");
        Ending(ExitCode::Fault, sentence)
    };
    match seen {
        Ok(seen) => match trace.differs(&subject.trace(&seen)) {
            Some(difference) => Err(another(difference.to_string())),
            None => Ok(()),
        },
        Err(Fault::Differs(what)) => Err(another(what)),
        Err(Fault::Failed(why)) => {
            say(&format!("it did not come to its end in gdb: {why}"));
            Ok(())
        }
    }
}
