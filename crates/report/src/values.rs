//! Values of the tested program as its programmer would write them, and what a trace says about variables and sleeps.

use crate::position::Position;
use serde::{Deserialize, Serialize};

/// How the values of an object are written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ValueType {
    /// Numbers below zero are possible.
    Signed {
        /// Of this size.
        bytes: u32,
    },
    /// `true` and `false`.
    Bool,
    /// Numbers with names.
    Enum {
        /// The numbers and their names.
        names: Vec<(i64, String)>,
        /// Of this size.
        bytes: u32,
    },
}

impl ValueType {
    /// A value as it is written; `None`: as a plain number.
    pub fn told(&self, word: u64) -> Option<String> {
        match self {
            ValueType::Signed { bytes } => Some(signed(word, *bytes).to_string()),
            ValueType::Bool => match word {
                0 => Some("false".into()),
                1 => Some("true".into()),
                _ => None,
            },
            ValueType::Enum { names, bytes } => {
                let number = signed(word, *bytes);
                let mask = u64::MAX >> (64 - 8 * (*bytes).clamp(1, 8));
                let same = |known: i64| known == number || known.cast_unsigned() == word & mask;
                let found = names.iter().find(|(known, _)| same(*known));
                found.map(|(_, name)| name.clone())
            }
        }
    }
}

/// The low bytes of a word, with their sign.
fn signed(word: u64, bytes: u32) -> i64 {
    let unused = 64 - 8 * bytes.clamp(1, 8);
    (word << unused).cast_signed() >> unused
}

/// A variable that a failed condition names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariableEntry {
    /// As the condition names it.
    pub name: String,
    /// What it held at the failure.
    pub value: String,
    /// The thread that wrote it last, where that was seen, and after how many of its events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<(u32, u32)>,
    /// Where that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
}

/// A variable that no event is about, and what it held while the program ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WatchedEntry {
    /// What it is called.
    pub name: String,
    /// Its value before the changes.
    pub first: String,
    /// In the order in which they came.
    pub changes: Vec<ChangeEntry>,
}

/// A write to a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ChangeEntry {
    /// Whose, as an index into the thread table.
    pub thread: u32,
    /// After how many of its events.
    pub after: u32,
    /// What the variable held then.
    pub value: String,
}

/// A thread slept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SleepEntry {
    /// Which, as an index into the thread table.
    pub thread: u32,
    /// After how many of its events.
    pub after: u32,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Position>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_in_the_program() {
        let signed = ValueType::Signed { bytes: 4 };
        assert_eq!(signed.told(0xffff_fffe).as_deref(), Some("-2"));
        assert_eq!(signed.told(7).as_deref(), Some("7"));
        assert_eq!(ValueType::Bool.told(1).as_deref(), Some("true"));
        assert_eq!(ValueType::Bool.told(2), None);
        let names = vec![(0, "Idle".into()), (-1, "Gone".into())];
        let state = ValueType::Enum { names, bytes: 4 };
        assert_eq!(state.told(0xffff_ffff).as_deref(), Some("Gone"));
        assert_eq!(state.told(5), None);
    }
}
