//! Moments as people write them.

use std::time::{SystemTime, UNIX_EPOCH};

/// An element with a moment in universal time; the script shows the reader's own.
pub(super) fn element(moment: SystemTime) -> String {
    let seconds = moment
        .duration_since(UNIX_EPOCH)
        .map_or(0, |it| it.as_secs());
    let [year, month, day] = day(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = format!("{hour:02}:{minute:02}");
    format!("<time datetime=\"{date}T{time}:{second:02}Z\">{date} {time} UTC</time>")
}

/// Year, month and day of a number of days since 1970.
fn day(mut days: u64) -> [u64; 3] {
    let leaps = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leaps(year)) {
        days -= 365 + u64::from(leaps(year));
        year += 1;
    }
    let february = 28 + u64::from(leaps(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    [year, month, days + 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn moments_are_dates() {
        let at = |seconds| element(UNIX_EPOCH + Duration::from_secs(seconds));
        assert!(at(0).contains("1970-01-01 00:00 UTC"));
        assert!(at(951_782_399).contains("2000-02-28 23:59 UTC"));
        assert!(at(951_782_400).contains("2000-02-29 00:00 UTC"));
        assert!(at(4_107_542_400).contains("2100-03-01 00:00 UTC"));
        assert!(at(1_795_046_399).contains("datetime=\"2026-11-18T23:59:59Z\""));
    }
}
