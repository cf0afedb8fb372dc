//! What the command prints, and the exit codes of failures.
//!
//! *Called by:* every verb. *Invariants:* results go to standard output, everything else to standard error in sentences.

use crate::args::ColorChoice;
use reweave_native::{CheckError, PrepareError, StartError};
use reweave_report::{ExitCode, Program, Style, clean};
use std::{
    env,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{Mutex, OnceLock, PoisonError},
};

/// Why there is no result: the exit code, and a sentence that says what to do.
#[derive(Debug)]
pub struct Failure {
    pub code: ExitCode,
    pub sentence: String,
}

impl Failure {
    /// Of reweave itself, or of a program that does not behave the same again.
    pub fn fault(sentence: String) -> Failure {
        Failure {
            code: ExitCode::Fault,
            sentence,
        }
    }

    /// Prints the sentence and returns the code.
    pub fn report(&self) -> ExitCode {
        say(&self.sentence);
        self.code
    }
}

/// Wrong usage.
impl From<String> for Failure {
    fn from(sentence: String) -> Failure {
        Failure {
            code: ExitCode::Usage,
            sentence,
        }
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Failure {
        error.to_string().into()
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Failure {
        error.to_string().into()
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Failure {
        match error {
            CheckError::Start(error) => error.into(),
            CheckError::Fault(_) => Failure::fault(error.to_string()),
        }
    }
}

/// The command line that replays the trace in this file.
pub fn replay_line(program: &Program, file: &Path) -> Option<String> {
    let file = quoted(&file.display().to_string());
    Some(program.replay.as_ref()?.replace("{trace}", &file))
}

static COLOR: OnceLock<ColorChoice> = OnceLock::new();

/// What `--color` says, once for the command.
pub fn set_color(choice: ColorChoice) {
    let _ = COLOR.set(choice);
}

/// Whether a variable is set to something.
fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Whether there is colour: the option decides, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether it is for a terminal.
pub fn colored(terminal: bool) -> bool {
    let forced = || is_set("CLICOLOR_FORCE") && env::var_os("CLICOLOR_FORCE") != Some("0".into());
    match COLOR.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set("NO_COLOR") => false,
        ColorChoice::Auto => forced() || (terminal && has_escapes()),
    }
}

/// Whether the terminal understands escape sequences.
pub fn has_escapes() -> bool {
    env::var_os("TERM") != Some("dumb".into())
}

/// As wide as the terminal, coloured as asked for.
pub fn style(full: bool, plain: bool) -> Style {
    let width = terminal_size::terminal_size_of(io::stdout());
    let width = width.map(|(width, _)| usize::from(width.0));
    Style {
        colour: !plain && colored(io::stdout().is_terminal()),
        width: width.map_or(Style::default().width, |width| width.clamp(40, 200)),
        full,
        plain,
    }
}

/// Writes to standard output, and returns the code for having shown something. A closed pipe (`| head`) is no error.
pub fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::Clean,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::Clean,
        Err(error) => usage(&format!("standard output cannot be written: {error}")),
    }
}

/// Reports wrong usage.
pub fn usage(sentence: &str) -> ExitCode {
    say(sentence);
    ExitCode::Usage
}

/// A sentence on standard error. If that is closed, the exit code still reports the problem.
pub fn say(sentence: &str) {
    // It may quote the program, or a name that somebody else chose.
    with_line(|line| {
        let before = if std::mem::take(line) { ERASE } else { "" };
        format!("{before}reweave: {}\n", clean(sentence))
    });
}

/// Whether the last line of the terminal is a progress line.
static LINE: Mutex<bool> = Mutex::new(false);

/// Goes to the beginning of a line and removes what is there.
const ERASE: &str = "\r\x1b[K";

fn with_line(text: impl FnOnce(&mut bool) -> String) {
    let mut line = LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = text(&mut line);
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Shows a progress line in place of the one before.
pub fn show_line(text: &str) {
    with_line(|line| {
        *line = true;
        format!("{ERASE}{text}")
    });
}

/// Removes the progress line.
pub fn remove_line() {
    with_line(|line| match std::mem::take(line) {
        true => ERASE.into(),
        false => String::new(),
    });
}

/// The width of the terminal that sentences go to.
pub fn width_of_errors() -> usize {
    let width = terminal_size::terminal_size_of(io::stderr());
    width.map_or(80, |(width, _)| usize::from(width.0))
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
