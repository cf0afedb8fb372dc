//! Strings of the checked program, made harmless to a terminal.

use crate::{position::Position, trace::Trace};

/// Without control characters other than line ends.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => c,
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The trace with every string of it made harmless to a terminal.
pub(crate) fn harmless(trace: &Trace) -> Trace {
    let mut trace = trace.clone();
    let fix = |text: &mut String| *text = clean(text);
    let line = |text: &mut String| *text = clean(text).replace('\n', " ");
    let place = |at: &mut Option<Position>| {
        if let Some(at) = at {
            line(&mut at.file);
        }
    };
    line(&mut trace.program.name);
    trace.program.replay.iter_mut().for_each(line);
    trace.output.iter_mut().for_each(fix);
    for error in &mut trace.errors {
        fix(&mut error.message);
        error.rule.iter_mut().for_each(line);
        error.places.iter_mut().for_each(|at| line(&mut at.file));
        error.stacks.iter_mut().flatten().for_each(line);
    }
    for thread in &mut trace.threads {
        thread.name.iter_mut().for_each(line);
        if let Some(pending) = &mut thread.pending {
            place(&mut pending.at);
        }
    }
    for object in &mut trace.objects {
        line(&mut object.name);
        place(&mut object.first_used);
        place(&mut object.allocated);
    }
    for event in &mut trace.events {
        place(&mut event.at);
    }
    trace
}
