//! How settings are spelled.

use std::{fmt, time::Duration};

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
