//! Places in the source, and how they are spelled.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};

/// A place in the source, written `file:line:column`, or `file:line` where the column is not known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// As the compiler names it.
    pub file: String,
    /// From 1; 0: the file is no source but a place in a program without debug information.
    pub line: u32,
    /// From 1; 0: not known.
    pub column: u32,
}

impl Position {
    /// `file:line`, or the file alone where it is no source.
    pub(crate) fn line(&self) -> String {
        let column = 0;
        Position {
            column,
            ..self.clone()
        }
        .to_string()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => write!(f, "{}", self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, column) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

/// A text that does not name a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAPosition(String);

impl fmt::Display for NotAPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not file:line:column", self.0)
    }
}

impl std::error::Error for NotAPosition {}

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Position, NotAPosition> {
        let wrong = || NotAPosition(text.into());
        let (rest, last) = text.rsplit_once(':').ok_or_else(wrong)?;
        let last: u32 = last.parse().map_err(|_| wrong())?;
        let split = rest
            .rsplit_once(':')
            .and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
        let (file, line, column) = match split {
            Some((file, line)) => (file, line, last),
            None => (rest, last, 0),
        };
        Ok(Position {
            file: file.into(),
            line,
            column,
        })
    }
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.line {
            0 => serializer.collect_str(&format_args!("{}:0", self.file)),
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
