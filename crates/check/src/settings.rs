//! How settings are spelled, by whoever is asked for them.

use std::time::Duration;

/// `500ms`, `30s`, `10m`, `2h`.
pub fn duration(text: &str) -> Result<Duration, String> {
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
        _ => Err("a time such as 500ms, 30s, 10m or 2h is expected".into()),
    }
}
