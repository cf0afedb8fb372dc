//! What is expected of a test, and whether it came to that.

use reweave_model::Kind;
use reweave_report::{Finding, ResultDocument, Verdict};
use std::{fmt, str::FromStr};

/// What a test is to come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expect {
    /// Everything explored, no error.
    Clean,
    /// No error within the limits that the test sets itself.
    NoError,
    /// An error of this kind, and of this rule if there is one.
    Error(Kind, Option<String>),
}

const KINDS: [Kind; 8] = [
    Kind::DataRace,
    Kind::Deadlock,
    Kind::Assertion,
    Kind::Crash,
    Kind::ExitStatus,
    Kind::Memory,
    Kind::Misuse,
    Kind::Livelock,
];

impl FromStr for Expect {
    type Err = String;

    fn from_str(text: &str) -> Result<Expect, String> {
        let (kind, rule) = match text.split_once(':') {
            Some((kind, rule)) => (kind, Some(rule.to_owned())),
            None => (text, None),
        };
        let ruled = |kind: Kind| matches!(kind, Kind::Misuse | Kind::Memory);
        match (text, KINDS.iter().find(|known| known.name() == kind)) {
            ("clean", _) => Ok(Expect::Clean),
            ("no-error", _) => Ok(Expect::NoError),
            (_, Some(kind)) if rule.is_some() && !ruled(*kind) => Err(format!(
                "nothing is expected by `{text}`: only misuse and memory errors have rules"
            )),
            (_, Some(kind)) => Ok(Expect::Error(*kind, rule)),
            (_, None) => Err(format!(
                "nothing is expected by `{text}`; there are clean, no-error, {}, and kind:rule",
                KINDS.map(Kind::name).join(", ")
            )),
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expect::Clean => f.write_str("clean"),
            Expect::NoError => f.write_str("no-error"),
            Expect::Error(kind, None) => f.write_str(kind.name()),
            Expect::Error(kind, Some(rule)) => write!(f, "{}:{rule}", kind.name()),
        }
    }
}

impl Expect {
    /// Whether a search came to it; if not, why.
    pub fn judge(&self, result: &ResultDocument, strict: bool) -> (Verdict, Option<String>) {
        let warnings: &[Finding] = if strict { &result.warnings } else { &[] };
        let mut found = result.errors.iter().chain(warnings);
        let reasons = result.incomplete.join(", ");
        let unfinished = result
            .incomplete
            .iter()
            .any(|why| ["budget", "interrupted"].contains(&why.as_str()));
        let (verdict, message) = match self {
            Expect::Error(kind, rule) => {
                let same = |it: &Finding| {
                    it.kind == *kind && (rule.is_none() || it.rule.as_ref() == rule.as_ref())
                };
                let other = found.clone().find(|finding| !same(finding));
                match (found.any(same), other) {
                    (true, None) => (Verdict::Ok, String::new()),
                    (_, Some(other)) => {
                        let other = told(other);
                        (
                            Verdict::Failed,
                            format!("{self} was expected, and not {other}"),
                        )
                    }
                    (false, None) if unfinished => (
                        Verdict::Unfinished,
                        format!("the time was up before any {self} was found"),
                    ),
                    (false, None) if result.complete => (
                        Verdict::Failed,
                        format!("{self} was expected, and there is none"),
                    ),
                    (false, None) => (
                        Verdict::Failed,
                        format!("{self} was expected, and none was found (incomplete: {reasons})"),
                    ),
                }
            }
            Expect::Clean | Expect::NoError => match found.next() {
                Some(finding) => (Verdict::Failed, told(finding)),
                None if unfinished => {
                    let why = "the time was up; a larger budget goes on, or --state next time";
                    (Verdict::Unfinished, why.into())
                }
                None if result.complete || *self == Expect::NoError => (Verdict::Ok, String::new()),
                None => (
                    Verdict::Incomplete,
                    format!("no error, but not everything was explored: {reasons}"),
                ),
            },
        };
        (verdict, Some(message).filter(|message| !message.is_empty()))
    }
}

/// An error in one line.
fn told(finding: &Finding) -> String {
    let rule = finding.rule.as_ref().map(|rule| format!(":{rule}"));
    let at = finding.location.as_ref().map(|at| format!(" at {at}"));
    let message = finding.message.lines().next().unwrap_or_default();
    format!(
        "{}{}{}: {message}",
        finding.kind.name(),
        rule.unwrap_or_default(),
        at.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: Kind, rule: Option<&str>) -> Finding {
        Finding {
            kind,
            rule: rule.map(String::from),
            message: "it went wrong".into(),
            location: Some("queue.c:7".into()),
            events: 3,
            trace: None,
            seen: 1,
            doubtful: false,
            because: None,
        }
    }

    fn result(found: &[(Kind, Option<&str>)], incomplete: &[&str]) -> ResultDocument {
        let mut result = ResultDocument::new("queue.c", "optimal", "mazurkiewicz");
        result.errors = found
            .iter()
            .map(|&(kind, rule)| finding(kind, rule))
            .collect();
        result.incomplete = incomplete.iter().map(|why| (*why).into()).collect();
        result.complete = incomplete.is_empty();
        result
    }

    #[test]
    fn every_case_has_its_verdict() {
        let deadlock = (Kind::Deadlock, None);
        let relock = (Kind::Misuse, Some("relock"));
        let stopped = ["stopped-at-error"];
        let cases = [
            ("clean", result(&[], &[]), Verdict::Ok),
            ("clean", result(&[], &["budget"]), Verdict::Unfinished),
            ("clean", result(&[], &["max-steps"]), Verdict::Incomplete),
            ("clean", result(&[deadlock], &stopped), Verdict::Failed),
            ("no-error", result(&[], &["preemptions"]), Verdict::Ok),
            (
                "no-error",
                result(&[], &["budget", "races-unchecked"]),
                Verdict::Unfinished,
            ),
            ("no-error", result(&[deadlock], &stopped), Verdict::Failed),
            ("deadlock", result(&[deadlock], &stopped), Verdict::Ok),
            ("deadlock", result(&[], &[]), Verdict::Failed),
            ("deadlock", result(&[], &["preemptions"]), Verdict::Failed),
            ("deadlock", result(&[], &["budget"]), Verdict::Unfinished),
            ("deadlock", result(&[relock], &stopped), Verdict::Failed),
            (
                "deadlock",
                result(&[deadlock, relock], &[]),
                Verdict::Failed,
            ),
            ("misuse:relock", result(&[relock], &stopped), Verdict::Ok),
            ("misuse", result(&[relock], &stopped), Verdict::Ok),
            (
                "misuse:unjoined",
                result(&[relock], &stopped),
                Verdict::Failed,
            ),
        ];
        for (expect, result, verdict) in cases {
            let expect: Expect = expect.parse().unwrap();
            let (judged, message) = expect.judge(&result, false);
            assert_eq!(judged, verdict, "{expect}: {:?}", result.incomplete);
            assert_eq!(message.is_none(), verdict == Verdict::Ok, "{expect}");
        }
    }

    #[test]
    fn warnings_count_where_they_are_errors() {
        let mut result = result(&[], &[]);
        result.warnings = vec![finding(Kind::Misuse, Some("unjoined"))];
        let clean = Expect::Clean;
        assert_eq!(clean.judge(&result, false).0, Verdict::Ok);
        assert_eq!(clean.judge(&result, true).0, Verdict::Failed);
        let unjoined = Expect::Error(Kind::Misuse, Some("unjoined".into()));
        assert_eq!(unjoined.judge(&result, true).0, Verdict::Ok);
    }

    #[test]
    fn what_nobody_can_expect() {
        let why = "dedlock".parse::<Expect>().unwrap_err();
        assert!(
            why.contains("`dedlock`") && why.contains("livelock"),
            "{why}"
        );
    }
}
