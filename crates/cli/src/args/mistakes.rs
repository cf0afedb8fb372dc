//! Wrong usage as one sentence that says what to do.

use clap::{
    Parser,
    error::{ContextKind, ContextValue, ErrorKind},
};
use std::error::Error;

pub(super) const SEE_HELP: &str = "`--help` shows the usage";

/// What is wrong with a command line, in one line.
pub fn sentence(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::StyledStr(text)) => text.to_string(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        Some(ContextValue::StyledStrs(texts)) => {
            let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
            texts.join(", ")
        }
        _ => String::new(),
    };
    // Of `--budget <TIME>`, the option.
    let arguments = text(ContextKind::InvalidArg);
    let argument = arguments.split(' ').next().unwrap_or_default();
    let value = text(ContextKind::InvalidValue);
    let usage = text(ContextKind::Usage);
    let meant = |kind: ContextKind, otherwise: &str| match nearest(error, kind) {
        None => otherwise.to_owned(),
        Some(name) => format!("did you mean {name}?"),
    };
    match error.kind() {
        ErrorKind::ValueValidation => {
            let why = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{argument} {value}: {why}")
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{argument} needs a value; {SEE_HELP}")
        }
        ErrorKind::InvalidValue => {
            let values = text(ContextKind::ValidValue);
            format!("{argument} {value}: invalid value; one of {values} is expected")
        }
        ErrorKind::TooManyValues => format!("{argument} takes no value"),
        ErrorKind::MissingRequiredArgument => {
            let name: String = arguments.replace(['<', '>'], "").replace("...", "");
            match usage.contains(&format!("-- {arguments}")) {
                true => format!("{name} is missing: it stands after `--`; {SEE_HELP}"),
                false => format!("{name} is missing; {SEE_HELP}"),
            }
        }
        ErrorKind::UnknownArgument if !argument.starts_with('-') => {
            let advice = match usage.contains("-- <") {
                true => "is `--` missing before it?",
                false => SEE_HELP,
            };
            format!("unexpected argument `{argument}`; {advice}")
        }
        ErrorKind::UnknownArgument => {
            let meant = meant(ContextKind::SuggestedArg, SEE_HELP);
            format!("there is no option {argument}; {meant}")
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand);
            // `reweave help chekc` has no suggestion of clap's.
            let near = near_verb(&name).map(|verb| format!("did you mean {verb}?"));
            let otherwise = near.as_deref().unwrap_or(SEE_HELP);
            let meant = meant(ContextKind::SuggestedSubcommand, otherwise);
            format!("there is no command `{name}`; {meant}")
        }
        _ => flattened(error),
    }
}

/// The command whose own sentence for this misspelling names it.
fn near_verb(name: &str) -> Option<String> {
    let error = super::Cli::try_parse_from(["reweave", name]).err()?;
    nearest(&error, ContextKind::SuggestedSubcommand)
}

/// The best of clap's suggestions, which is its last.
fn nearest(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) => names.last().cloned(),
        _ => None,
    }
}

/// Clap's own text, without usage and hints.
fn flattened(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let lines: Vec<&str> = lines.collect();
    format!("{}; {SEE_HELP}", lines.join(" "))
}
