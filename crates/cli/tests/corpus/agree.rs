//! What `optimal` and `rf` must agree on.

use crate::{
    brute::{self, Counted, Counts},
    command::words,
    expect::{Expected, Verdict},
    trial::Trial,
};
use reweave_model::Kind;
use reweave_report::{Finding, ResultDocument};
use std::collections::BTreeSet;

impl Trial<'_> {
    /// Whether the algorithm is open, so that several can be compared.
    pub fn compares_algorithms(expected: &Expected) -> bool {
        let decided = ["algorithm", "preemptions"];
        let mut decided = decided.iter();
        !decided.any(|name| expected.check.contains_key(*name))
    }

    /// `optimal` and `rf` come to the same errors; and, if the program is small enough, count the classes that there are.
    pub fn agree(&self, program: &str) -> Result<(), String> {
        let counts = self.brute_force(program)?;
        let mut options = self.options();
        if !self.expected.keeps_going() {
            options.extend(words(["--keep-going"]));
        }
        options.extend(words(["--workers", "1"]));
        if !self.expected.check.contains_key("max-executions") {
            options.extend(words(["--max-executions", "20000"]));
        }
        let program = [&words(["--", program]), &self.expected.args[..]].concat();
        let explore = |algorithm: &str, counted: Option<Counted>| {
            let algorithm = words(["--algorithm", algorithm]);
            let ran = self.check([&options[..], &algorithm, &program].concat());
            let document = ran.document()?;
            let is = Counted {
                executions: document.executions,
                blocked: document.blocked_by.assume,
            };
            match counted.filter(|counted| *counted != is) {
                Some(counted) => Err(ran.wrong(format!("{is:?}, but there are {counted:?}"))),
                None => Ok((document, ran)),
            }
        };
        let (optimal, _) = explore("optimal", counts.as_ref().map(|counts| counts.optimal))?;
        let (rf, ran) = explore("rf", counts.as_ref().and_then(|counts| counts.rf))?;
        same(&optimal, ("rf", &rf)).map_err(|what| ran.wrong(what))?;
        let (stateful, ran) = explore("stateful", None)?;
        same(&optimal, ("stateful", &stateful)).map_err(|what| ran.wrong(what))
    }

    /// What there is to count, if the program is small enough and does the same whenever its operations are in the same order.
    fn brute_force(&self, program: &str) -> Result<Option<Counts>, String> {
        let expected = self.expected;
        let usual = |option: &String| option == "keep-going" || option == "strict";
        // What a program does behind such an error may depend on more than the order of its operations.
        let undefined = matches!(
            expected.verdict,
            Verdict::Error(Kind::DataRace | Kind::Memory | Kind::Misuse)
        );
        if undefined || !expected.check.keys().all(usual) {
            return Ok(None);
        }
        let most = if self.slow { 100_000 } else { 1000 };
        brute::force(program, &expected.args, most)
    }
}

/// Whether two algorithms came to the same, as far as both looked.
fn same(optimal: &ResultDocument, (name, other): (&str, &ResultDocument)) -> Result<(), String> {
    let limited = |document: &ResultDocument| {
        let limit = |reason: &String| reason == "max-executions" || reason == "budget";
        document.incomplete.iter().any(limit)
    };
    let essence = |findings: &[Finding]| -> BTreeSet<_> {
        let one = |finding: &Finding| {
            let (rule, place) = (finding.rule.clone(), finding.location.clone());
            (finding.kind.name(), rule, place)
        };
        findings.iter().map(one).collect()
    };
    let missed = |these: &[Finding], those: &[Finding]| {
        let (these, those) = (essence(these), essence(those));
        these.difference(&those).next().cloned()
    };
    for (name, some, whole, others) in [
        (name, optimal, !limited(other), other),
        ("optimal", other, !limited(optimal), optimal),
    ] {
        let errors = missed(&some.errors, &others.errors);
        let missed = errors.or_else(|| missed(&some.warnings, &others.warnings));
        if let Some(missed) = missed.filter(|_| whole) {
            return Err(format!("{name} misses {missed:?}"));
        }
    }
    match limited(optimal) || optimal.incomplete == other.incomplete {
        true => Ok(()),
        false => Err(format!(
            "optimal is incomplete by {:?}, {name} by {:?}",
            optimal.incomplete, other.incomplete
        )),
    }
}
