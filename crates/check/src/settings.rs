//! What to check and how far, and how times are spelled.

use reweave_explore::Options;
use std::{fmt, path::PathBuf, time::Duration};

/// What to check, and how far.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to explore.
    pub options: Options,
    /// How many workers run executions at the same time.
    pub workers: usize,
    /// Stops after this time.
    pub budget: Option<Duration>,
    /// Stops after so many runs.
    pub max_executions: Option<u64>,
    /// Goes on after an error.
    pub keep_going: bool,
    /// Counts every race of an execution, and not only its first error, when it goes on after errors: a place that is never the first one
    /// to race would go unreported.
    pub every_race: bool,
    /// Whether the search goes on after a race as if there were none, and errors behind it count too.
    pub beyond_races: bool,
    /// Whether what a race can do beyond the order that was run is left unexplored.
    pub races_cut: bool,
    /// Whether a failing execution is made simpler before it is reported.
    pub minimise: bool,
    /// Where trace files go.
    pub directory: PathBuf,
    /// What they are called, before their number.
    pub name: String,
    /// Whether to collect what the search covers. It takes time.
    pub coverage: bool,
    /// Where the exploration is written down, event by event.
    pub log: Option<PathBuf>,
}

/// A text that is no time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotADuration;

impl fmt::Display for NotADuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as 500ms, 30s, 10m or 2h is expected")
    }
}

impl std::error::Error for NotADuration {}

/// `500ms`, `30s`, `10m`, `2h`.
pub fn duration(text: &str) -> Result<Duration, NotADuration> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    match count.parse::<u64>() {
        Ok(count) if unit_ms > 0 => Ok(Duration::from_millis(count.saturating_mul(unit_ms))),
        _ => Err(NotADuration),
    }
}
