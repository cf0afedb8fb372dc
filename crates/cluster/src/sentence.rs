//! Reasons for people.

use std::{error::Error, fmt};

/// Why something cannot be done, in a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence(pub String);

impl Sentence {
    /// What something else says.
    pub fn of(error: impl fmt::Display) -> Sentence {
        Sentence(error.to_string())
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Sentence {
        Sentence(text)
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Sentence {
        Sentence(text.into())
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Sentence {}
