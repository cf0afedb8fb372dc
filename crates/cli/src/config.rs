//! `reweave.toml` for `check`: options that always hold in a directory, and races that are known and accepted.
//!
//! *Decides:* what the file adds to a command line, and which errors it accepts. *Called by:* `main` before a check is
//! parsed, `check` at its end; `suite` reads the other parts of the file. *Owns:* nothing. *Invariants:* what a known race
//! can do is explored all the same, so accepting it hides no other error.

use crate::args::CheckOptions;
use clap::{Args, Command};
use reweave_model::Kind;
use reweave_report::{Failure, Finding, Position, ReadError, ResultDocument, Suppressed, load};
use serde::Deserialize;
use std::{collections::BTreeMap, ffi::OsString, ops::Range, path::Path};
use toml::Spanned;

/// The file, in the directory where the command is started.
pub const FILE: &str = "reweave.toml";

/// What it says about checks. Other tables are those of suites.
#[derive(Deserialize, Default)]
struct Whole {
    #[serde(default)]
    check: BTreeMap<String, Spanned<toml::Value>>,
    #[serde(default)]
    suppress: Vec<Spanned<Suppress>>,
}

/// A race that is known.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Suppress {
    kind: String,
    /// `file:line`, or `file` for all of its lines. Both accesses have to be at one of them.
    places: Vec<String>,
    reason: String,
}

/// What a check takes from the file.
#[derive(Default, Debug)]
pub struct Config {
    /// Options, in front of those of the command line, which win.
    pub words: Vec<OsString>,
    /// Options for the compiler.
    pub flags: Vec<OsString>,
    /// Known races.
    pub suppress: Vec<Suppress>,
}

impl Config {
    /// Reads the file, if there is one; an error is a sentence with the line.
    pub fn read() -> Result<Config, String> {
        match load(Path::new(FILE)) {
            Ok(text) => Config::parse(&String::from_utf8_lossy(&text)),
            Err(ReadError::NotFound(_)) => Ok(Config::default()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn parse(text: &str) -> Result<Config, String> {
        let placed = |span: Range<usize>, why: &str| {
            let before = &text.as_bytes()[..span.start.min(text.len())];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            format!("{FILE}:{line}: {why}")
        };
        let whole: Whole = toml::from_str(text)
            .map_err(|error| placed(error.span().unwrap_or_default(), error.message()))?;
        let mut config = Config::default();
        let options = CheckOptions::augment_args(Command::new("check"));
        for (key, value) in whole.check {
            let (span, value) = (value.span(), value.into_inner());
            let added = match key.as_str() {
                "flags" => strings(&value).map(|flags| config.flags.extend(flags)),
                _ => words(&options, &key, &value).map(|words| config.words.extend(words)),
            };
            added.map_err(|why| placed(span, &why))?;
        }
        for known in whole.suppress {
            let (span, known) = (known.span(), known.into_inner());
            known.usable().map_err(|why| placed(span, &why))?;
            config.suppress.push(known);
        }
        Ok(config)
    }
}

/// An option and its value as words.
fn words(options: &Command, key: &str, value: &toml::Value) -> Result<Vec<OsString>, String> {
    let mut known = options.get_arguments();
    let option = known.find(|option| option.get_long() == Some(key));
    let option = option.ok_or_else(|| format!("`reweave check` has no option --{key}"))?;
    let valued = option.get_action().takes_values();
    let word = match value {
        toml::Value::Boolean(set) if !valued => {
            return Ok(set.then(|| format!("--{key}").into()).into_iter().collect());
        }
        toml::Value::String(text) if valued => text.clone(),
        toml::Value::Integer(number) if valued => number.to_string(),
        _ if valued => return Err(format!("{key}: a text or a number is expected")),
        _ => return Err(format!("{key}: true or false is expected")),
    };
    let word = format!("--{key}={word}");
    match crate::args::option_mistake(&word) {
        Some(why) => Err(why),
        None => Ok(vec![word.into()]),
    }
}

fn strings(value: &toml::Value) -> Result<Vec<OsString>, String> {
    let texts = value
        .as_array()
        .map(|texts| texts.iter().map(toml::Value::as_str));
    let texts = texts.and_then(|texts| texts.collect::<Option<Vec<&str>>>());
    let texts = texts.ok_or("flags: a list of texts is expected")?;
    Ok(texts.into_iter().map(OsString::from).collect())
}

impl Suppress {
    fn usable(&self) -> Result<(), String> {
        if self.kind != Kind::DataRace.name() {
            return Err(format!(
                "kind `{}`: only races (`data-race`) can be known; other errors are fixed, or expected in a suite",
                self.kind
            ));
        }
        if self.places.is_empty() || self.reason.trim().is_empty() {
            return Err("a known race has `places` and a `reason`".into());
        }
        Ok(())
    }

    /// Whether both accesses of a race are at its places.
    fn covers(&self, kind: Kind, places: &[Position]) -> bool {
        let known = |at: &Position| self.places.iter().any(|place| is_at(place, at));
        kind == Kind::DataRace && !places.is_empty() && places.iter().all(known)
    }
}

/// Whether a place that was written by hand (`stats.c:12`, `src/stats.c`) names this position.
fn is_at(place: &str, at: &Position) -> bool {
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) => (file, line.parse::<u32>().ok()),
        None => (place, None),
    };
    let named = Path::new(&at.file).ends_with(file);
    named && line.is_none_or(|line| line == at.line) && (line.is_some() || !place.contains(':'))
}

/// Whether an error of an execution is a known race.
pub fn is_known(known: &[Suppress], error: &Failure) -> bool {
    known
        .iter()
        .any(|known| known.covers(error.kind, &error.places))
}

/// Takes known races out of a result. Says for each error whether it stays.
pub fn accept(
    known: &[Suppress],
    places: &[Vec<Position>],
    result: &mut ResultDocument,
) -> Vec<bool> {
    let errors = std::mem::take(&mut result.errors);
    let mut stays = Vec::new();
    for (index, error) in errors.into_iter().enumerate() {
        let at = places.get(index).map_or(&[][..], Vec::as_slice);
        let accepted = known.iter().find(|known| known.covers(error.kind, at));
        stays.push(accepted.is_none());
        match accepted {
            Some(known) => result.suppressed.push(suppressed(error, known)),
            None => result.errors.push(error),
        }
    }
    stays
}

fn suppressed(error: Finding, known: &Suppress) -> Suppressed {
    Suppressed {
        kind: error.kind,
        location: error.location,
        reason: known.reason.clone(),
        seen: error.seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &str) -> String {
        Config::parse(text).expect_err(text)
    }

    #[test]
    fn options_become_words() {
        let text = "[check]\nbudget = \"60s\"\nworkers = 2\nkeep-going = true\nstrict = false\nflags = [\"-O2\"]\n";
        let config = Config::parse(text).unwrap();
        let words = ["--budget=60s", "--keep-going", "--workers=2"];
        assert_eq!(config.words, words.map(OsString::from));
        assert_eq!(config.flags, ["-O2"].map(OsString::from));
    }

    #[test]
    fn mistakes_have_lines() {
        let says = |text: &str, why: &str| {
            let sentence = mistake(text);
            assert!(sentence.starts_with(why), "{sentence}");
        };
        says(
            "[check]\n\nbugdet = \"3s\"",
            "reweave.toml:3: `reweave check` has no option --bugdet",
        );
        says(
            "[check]\nbudget = \"soon\"",
            "reweave.toml:2: --budget soon: a time",
        );
        says(
            "[check]\nstrict = 3",
            "reweave.toml:2: strict: true or false",
        );
        says("[check]\nflags = \"-O2\"", "reweave.toml:2: flags: a list");
        says("[check\n", "reweave.toml:1: ");
        says(
            "[[suppress]]\nkind = \"deadlock\"\nplaces = [\"a.c\"]\nreason = \"x\"",
            "reweave.toml:1: kind `deadlock`",
        );
        says(
            "[[suppress]]\nkind = \"data-race\"\nplaces = [\"a.c\"]\nreason = \" \"",
            "reweave.toml:1: a known race has",
        );
    }

    #[test]
    fn places_are_files_or_lines() {
        let at = Position {
            file: "project/src/stats.c".into(),
            line: 12,
            column: 3,
        };
        for place in ["stats.c", "stats.c:12", "src/stats.c", "src/stats.c:12"] {
            assert!(is_at(place, &at), "{place}");
        }
        for place in ["tats.c", "stats.c:1", "stats.c:x", "other.c:12", ""] {
            assert!(!is_at(place, &at) || place.is_empty(), "{place}");
        }
    }
}
