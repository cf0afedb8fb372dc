//! Strings of the checked program, made harmless to a terminal and to a browser.

use crate::{position::Position, presented::presented, trace::Trace, values::ValueType};
use std::fmt::Write;

/// Whether a character is acted upon instead of being shown: it changes the direction of the text around it, or is invisible. (Joiners,
/// which some scripts need, only act on their neighbours.)
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Text for a terminal: without control characters other than line ends, and with characters that are invisible or turn the
/// direction of text spelled out, as in `\u{202e}`.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            '\u{2028}' | '\u{2029}' => spell(c, &mut out),
            c if is_unseen(c) => spell(c, &mut out),
            c => out.push(c),
        }
    }
    out
}

/// Text with characters that are invisible or turn the direction of text spelled out, and all others as they are.
pub fn spelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unseen(c) {
            true => spell(c, &mut out),
            false => out.push(c),
        }
    }
    out
}

fn spell(c: char, out: &mut String) {
    out.extend(c.escape_unicode());
}

/// JSON with the same meaning in which a terminal finds nothing to act upon. What is escaped can only stand in strings.
pub(crate) fn harmless_json(text: &str) -> String {
    let acts = |c: char| (c.is_control() && c != '\n') || is_unseen(c);
    if !text.contains(acts) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match acts(c) {
            true => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            false => out.push(c),
        }
    }
    out
}

/// The trace as it is [`presented`], with every string of it made harmless to a terminal.
pub(crate) fn harmless(trace: &Trace) -> Trace {
    let mut trace = presented(trace);
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
        for access in &mut error.accesses {
            line(&mut access.access);
            access.value.iter_mut().for_each(line);
        }
        for variable in &mut error.variables {
            line(&mut variable.name);
            line(&mut variable.value);
            place(&mut variable.at);
        }
    }
    for thread in &mut trace.threads {
        thread.name.iter_mut().for_each(line);
        thread.start.iter_mut().for_each(line);
        if let Some(pending) = &mut thread.pending {
            place(&mut pending.at);
        }
    }
    for object in &mut trace.objects {
        line(&mut object.name);
        object.label.iter_mut().for_each(line);
        if let Some(ValueType::Enum { names, .. }) = &mut object.values {
            names.iter_mut().for_each(|(_, name)| line(name));
        }
        place(&mut object.first_used);
        place(&mut object.allocated);
    }
    for call in trace.stacks.iter_mut().flatten() {
        line(&mut call.function);
        place(&mut call.at);
    }
    trace.sleeps.iter_mut().for_each(|it| place(&mut it.at));
    for variable in &mut trace.watched {
        line(&mut variable.name);
        line(&mut variable.first);
        let values = variable.changes.iter_mut().map(|change| &mut change.value);
        values.for_each(line);
    }
    for event in &mut trace.events {
        place(&mut event.at);
    }
    trace
}
