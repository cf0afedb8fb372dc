//! What a cell's process has to say, and the line of text it says it in.

/// What one search of a tool counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Executions that went to the end.
    pub executions: u64,
    /// Executions that were given up half-way, where the tool tells.
    pub blocked: u64,
}

/// The result of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The search ended; `cpu_s` is the mean over repeated searches.
    Done {
        /// What each search counted.
        search: Search,
        /// CPU seconds of one search.
        cpu_s: f64,
    },
    /// The cap was reached first.
    Capped {
        /// Executions begun until then.
        started: u64,
        /// CPU seconds until then.
        cpu_s: f64,
    },
    /// The tool cannot run the program, and why.
    Refused(String),
}

/// First word of the line, so that what a tool prints itself is not taken for a result.
const MARK: &str = "@cell";

impl Outcome {
    /// The line for the parent.
    pub fn to_line(&self) -> String {
        match self {
            Outcome::Done { search, cpu_s } => format!(
                "{MARK} done {} {} {cpu_s:e}",
                search.executions, search.blocked
            ),
            Outcome::Capped { started, cpu_s } => format!("{MARK} capped {started} {cpu_s:e}"),
            Outcome::Refused(why) => format!("{MARK} refused {why}"),
        }
    }

    /// Reads the line back; `None` if the text is not such a line.
    pub fn from_line(line: &str) -> Option<Outcome> {
        let (kind, rest) = line.strip_prefix(MARK)?.trim_start().split_once(' ')?;
        let mut words = rest.split_whitespace();
        match kind {
            "done" => Some(Outcome::Done {
                search: Search {
                    executions: words.next()?.parse().ok()?,
                    blocked: words.next()?.parse().ok()?,
                },
                cpu_s: words.next()?.parse().ok()?,
            }),
            "capped" => Some(Outcome::Capped {
                started: words.next()?.parse().ok()?,
                cpu_s: words.next()?.parse().ok()?,
            }),
            "refused" => Some(Outcome::Refused(rest.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Search};

    #[test]
    fn lines_round_trip() {
        let search = Search {
            executions: 12,
            blocked: 3,
        };
        for outcome in [
            Outcome::Done {
                search,
                cpu_s: 0.125,
            },
            Outcome::Capped {
                started: 970_000,
                cpu_s: 5.0,
            },
            Outcome::Refused("at most 5 threads".to_owned()),
        ] {
            assert_eq!(Outcome::from_line(&outcome.to_line()), Some(outcome));
        }
        assert_eq!(Outcome::from_line("done 1 2 3"), None);
    }
}
