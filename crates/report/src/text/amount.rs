//! Amounts as people read them: numbers of any size, spans of time, parts of a whole.

use std::fmt;

/// A number known by its decimal logarithm: `912`, `40,320`, `3.1 million`, `10^41`, `10^2000`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Large(pub f64);

/// Decimal logarithms and names.
const SCALES: [(f64, &str); 3] = [(12.0, "trillion"), (9.0, "billion"), (6.0, "million")];

/// From here on a power of ten says more than a name.
const POWERS: f64 = 15.0;

impl fmt::Display for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= POWERS {
            return write!(f, "10^{:.0}", self.0);
        }
        // A number that is rounded up to the next scale is one of that scale.
        let scale = SCALES.iter().find(|(log10, _)| self.0 >= log10 - 0.0002);
        let (log10, name) = match scale {
            Some(scale) => scale,
            None => return write!(f, "{}", grouped(10f64.powf(self.0).round() as u64)),
        };
        match 10f64.powf(self.0 - log10) {
            few if few < 99.5 => write!(f, "{few:.1} {name}"),
            many => write!(f, "{many:.0} {name}"),
        }
    }
}

/// Seconds: `0.4 s`, `38 s`, `12 min`, `5.1 h`, `3.2 days`, `41 years`, `10^9 years`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span(pub f64);

const YEAR: f64 = 365.25 * DAY;
const DAY: f64 = 86400.0;

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            seconds if seconds < 9.95 => write!(f, "{seconds:.1} s"),
            seconds if seconds < 99.5 => write!(f, "{seconds:.0} s"),
            seconds if seconds < 5970.0 => write!(f, "{:.0} min", seconds / 60.0),
            seconds if seconds < 2.0 * DAY => write!(f, "{:.1} h", seconds / 3600.0),
            seconds if seconds < YEAR => write!(f, "{:.1} days", seconds / DAY),
            seconds if seconds.is_finite() => {
                write!(f, "{} years", Large((seconds / YEAR).log10()))
            }
            _ => f.write_str("longer than any number of years"),
        }
    }
}

/// A part of a whole, from 0 to 1: `37%`, `2.4%`, `0.13%`, `less than 0.01%`. All of it only if it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Part(pub f64);

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 * 100.0 {
            percent if percent < 0.01 => f.write_str("less than 0.01%"),
            percent if percent < 0.995 => write!(f, "{percent:.2}%"),
            percent if percent < 9.95 => write!(f, "{percent:.1}%"),
            percent if percent >= 100.0 => f.write_str("100%"),
            percent => write!(f, "{:.0}%", percent.min(99.0)),
        }
    }
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size() {
        let texts = [
            (1.0, "1"),
            (912.0, "912"),
            (40320.0, "40,320"),
            (999_999.0, "1.0 million"),
            (3.14e6, "3.1 million"),
            (250e6, "250 million"),
            (2.03e9, "2.0 billion"),
            (999.9e9, "1.0 trillion"),
            (1.1e41, "10^41"),
        ];
        for (number, text) in texts {
            assert_eq!(Large(f64::log10(number)).to_string(), text);
        }
        assert_eq!(Large(2000.0).to_string(), "10^2000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn spans_and_parts() {
        let spans = [
            (0.42, "0.4 s"),
            (38.4, "38 s"),
            (99.6, "2 min"),
            (720.0, "12 min"),
            (18360.0, "5.1 h"),
            (3.2 * DAY, "3.2 days"),
            (41.0 * YEAR, "41 years"),
            (1e30 * YEAR, "10^30 years"),
            (f64::INFINITY, "longer than any number of years"),
        ];
        for (seconds, text) in spans {
            assert_eq!(Span(seconds).to_string(), text);
        }
        let parts = [
            (0.0, "less than 0.01%"),
            (0.0013, "0.13%"),
            (0.024, "2.4%"),
            (0.37, "37%"),
            (0.9999, "99%"),
            (1.0, "100%"),
        ];
        for (part, text) in parts {
            assert_eq!(Part(part).to_string(), text);
        }
    }
}
