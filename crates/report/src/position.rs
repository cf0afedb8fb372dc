//! Places in the source, and how they are spelled.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};

/// A place in the source, written `file:line:column`, or `file:line` where the column is not known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// As the compiler names it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0: not known.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Position, String> {
        let wrong = || format!("`{text}` is not file:line:column");
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
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Position, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
