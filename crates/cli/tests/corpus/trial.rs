//! The tests of one program: each is a search that its expectations ask for, and what that search must come to.
//!
//! The first search, of the source file itself on a warm restart, is the reference: searches on other rungs, with more workers or on threads of the operating
//! system must come to the same result. A test that needs the reference or the compiled program takes it from the store (`store.rs`) or makes it.

use crate::{
    command::{Ran, words},
    expect::{Count, Expected, Mistake, NoError, Verdict, Word, defines},
    store::Store,
};
use reweave_model::Kind;
use reweave_report::{Failure, Finding, Position, ResultDocument, Trace};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// How a program is run: a word for how it is run again, or for real threads.
const EXEC: [&str; 2] = ["--restart", "exec"];
const FORK: [&str; 2] = ["--restart", "fork"];
const WARM: [&str; 2] = ["--restart", "warm"];
const OS: [&str; 2] = ["--threads", "os"];

/// Searches that are repeated in slow ways: on `fork` an execution takes a hundred times as long, on `exec` a thousand times, on threads of
/// the operating system ten times. When there is time, more of them are.
fn most(way: [&str; 2], slow: bool) -> u64 {
    let patient = std::env::var_os("REWEAVE_RUNGS").is_some();
    match way {
        FORK if patient => 1_000_000,
        EXEC if patient => 20_000,
        EXEC => 32,
        OS if slow => u64::MAX,
        FORK | OS => 10_000,
        _ => u64::MAX,
    }
}

/// What this version cannot explore with yet.
const LATER: [&str; 1] = ["stateful"];

/// One test of a program. They are listed in this order, so that tests of one program rarely wait for each other's builds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The source file on a warm restart and one worker; every trace is shown, and replayed twice.
    Verdict,
    /// The compiled program by itself, without the command.
    Alone,
    /// On `fork`, with one worker and with two.
    Fork,
    /// On a warm restart with two workers.
    TwoWorkers,
    /// On threads of the operating system, with one worker and with two.
    OsThreads,
    /// On `exec`.
    Exec,
    /// With errors made simple.
    Minimised,
    /// By `optimal`, `rf` and, if it is small enough, brute force.
    Agree,
    /// A count that is written down, by its place in the file.
    Count(usize),
}

impl Part {
    /// The tests that these expectations ask for.
    pub fn all(expected: &Expected) -> Vec<Part> {
        let clean = matches!(expected.verdict, Verdict::None(NoError::Clean));
        let error = matches!(expected.verdict, Verdict::Error(_));
        let mut parts = vec![
            Part::Verdict,
            Part::Fork,
            Part::TwoWorkers,
            Part::OsThreads,
            Part::Exec,
        ];
        parts.extend((clean && expected.tsan.is_none()).then_some(Part::Alone));
        parts.extend(error.then_some(Part::Minimised));
        parts.extend(Trial::compares_algorithms(expected).then_some(Part::Agree));
        let counts = expected.count.iter().enumerate();
        let counts = counts.filter(|(_, count)| !LATER.contains(&&*count.algorithm));
        parts.extend(counts.map(|(index, _)| Part::Count(index)));
        parts.sort();
        parts
    }

    /// What stands behind the name of the program in the name of the test.
    pub fn suffix(self, expected: &Expected) -> String {
        match self {
            Part::Verdict => String::new(),
            Part::Alone => "@alone".into(),
            Part::Fork => "@fork".into(),
            Part::TwoWorkers => "@two-workers".into(),
            Part::OsThreads => "@os-threads".into(),
            Part::Exec => "@exec".into(),
            Part::Minimised => "@minimised".into(),
            Part::Agree => "@agree".into(),
            Part::Count(index) => {
                let count = &expected.count[index];
                let defines = count.define.iter();
                let defines = defines.map(|(name, value)| format!(",{name}={value}"));
                let defines: String = defines.collect();
                format!("@count:{}{defines}", count.algorithm)
            }
        }
    }

    /// Whether it takes too long for every run of the tests.
    pub fn is_slow(self, expected: &Expected) -> bool {
        match self {
            Part::Count(index) => expected.slow || expected.count[index].slow,
            _ => expected.slow,
        }
    }
}

/// What a test came to: an error is a sentence about the first thing that is not as expected.
pub type Outcome = Result<Done, String>;

/// Whether there was something to do.
#[derive(PartialEq, Eq, Debug)]
pub enum Done {
    Checked,
    /// The searches that this test repeats are too large for it, for this reason.
    Skipped(String),
}

pub struct Trial<'a> {
    directory: PathBuf,
    sources: Vec<String>,
    pub expected: &'a Expected,
    /// For traces and documents of this test.
    output: PathBuf,
    /// What tests of this program share.
    store: Store,
    /// Whether to take one's time.
    pub slow: bool,
}

/// Runs one test of a program; what tests share is kept below `stores`.
pub fn of(
    programs: &Path,
    stores: &Path,
    (name, expected): (&str, &Expected),
    part: Part,
    slow: bool,
) -> Outcome {
    let path = programs.join(name);
    let directory: PathBuf = path.parent().expect("a program has a group").into();
    let expectations = path.with_extension("toml");
    let sources = expected.sources(&expectations);
    let mut inputs: Vec<PathBuf> = sources.iter().map(|file| directory.join(file)).collect();
    inputs.push(expectations);
    let output = tempfile::tempdir().expect("there is a directory for temporary files");
    let trial = Trial {
        slow,
        store: Store::open(stores, name, &inputs),
        directory,
        sources,
        expected,
        output: output.path().into(),
    };
    match part {
        Part::Verdict => trial.verdict()?,
        Part::Alone => trial.alone()?,
        Part::Fork => return trial.repeats(&[(FORK, 1), (FORK, 2)]),
        Part::TwoWorkers => return trial.repeats(&[(WARM, 2)]),
        Part::OsThreads => return trial.repeats(&[(OS, 1), (OS, 2)]),
        Part::Exec => return trial.repeats(&[(EXEC, 1)]),
        Part::Minimised => trial.simple()?,
        Part::Agree => trial.agree(&trial.program()?)?,
        Part::Count(index) => trial.count(&expected.count[index])?,
    }
    Ok(Done::Checked)
}

impl Trial<'_> {
    fn words_of_the_verdict(&self) -> Vec<String> {
        self.compiler_words(&defines(&self.expected.define, &Default::default()))
    }

    /// The program as the verdict is about, compiled.
    fn program(&self) -> Result<String, String> {
        self.build(&self.words_of_the_verdict())
    }

    /// The reference: the source file on a warm restart and one worker. Its document is left in the store.
    fn search_the_source(&self) -> Result<(ResultDocument, Ran), String> {
        let check = [
            &self.options()[..],
            &mode(WARM, 1),
            &self.words_of_the_verdict(),
            &words(["--"]),
            &self.expected.args,
        ]
        .concat();
        let ran = self.check(check);
        let document = self.as_expected(&ran)?;
        self.store.put("result.json", &ran.out);
        Ok((document, ran))
    }

    fn verdict(&self) -> Result<(), String> {
        let (document, ran) = self.search_the_source()?;
        self.traces(&document, &ran)
    }

    /// What the reference came to.
    fn reference(&self) -> Result<ResultDocument, String> {
        let _alone = self.store.lock("result.json");
        let Some(text) = self.store.get("result.json") else {
            return Ok(self.search_the_source()?.0);
        };
        let name = PathBuf::from("result.json");
        ResultDocument::parse(&name, &text).map_err(|error| error.to_string())
    }

    /// The compiled program, in other ways and with so many workers each.
    fn repeats(&self, ways: &[([&str; 2], u32)]) -> Outcome {
        let first = self.reference()?;
        let explored = first.errors.is_empty() || self.expected.keeps_going();
        let runs = first.executions + first.blocked;
        if ways.iter().all(|(way, _)| runs > most(*way, self.slow)) {
            return Ok(Done::Skipped(format!("{runs} executions are too many")));
        }
        let program = self.program()?;
        let (options, args) = (self.options(), &self.expected.args);
        for (way, workers) in ways.iter().copied() {
            if runs > most(way, self.slow) {
                continue;
            }
            let mode = mode(way, workers);
            let ran = self.check([&options[..], &mode, &words(["--", &program]), args].concat());
            let document = self.as_expected(&ran)?;
            // Where several workers stop at an error, it is not always the same one.
            if explored || workers == 1 {
                same(&first, &document).map_err(|what| ran.wrong(what))?;
            }
        }
        Ok(Done::Checked)
    }

    /// A program without an error runs by itself as if it had not been instrumented.
    fn alone(&self) -> Result<(), String> {
        let program = self.program()?;
        let place = tempfile::tempdir().expect("there is a directory for temporary files");
        Ran::of(place.path(), &program, &program, &self.expected.args).exits(0)
    }

    /// Errors made simple are the same errors, with no more preemptions and steps than they were found with, nor more preemptions than the
    /// best known.
    fn simple(&self) -> Result<(), String> {
        let (found, program) = (self.reference()?, self.program()?);
        let mut options = self.options();
        options.retain(|option| option != "--no-minimise");
        let mode = mode(WARM, 1);
        let ran = self.check(
            [
                &options[..],
                &mode,
                &words(["--", &program]),
                &self.expected.args,
            ]
            .concat(),
        );
        let simple = self.as_expected(&ran)?;
        self.traces(&simple, &ran)?;
        let wrong = |what: String| Err(ran.wrong(what));
        if simple.errors.len() != found.errors.len() {
            return wrong("another number of errors than without making them simple".into());
        }
        for (error, found) in simple.errors.iter().zip(&found.errors) {
            let file = error.trace.as_deref().unwrap_or_default();
            let trace = Trace::read(Path::new(file)).map_err(|error| error.to_string())?;
            let preemptions = trace.preemptions.ok_or("preemptions were not counted")?;
            let first = trace
                .shortened
                .map_or(preemptions, |first| first.preemptions);
            if error.events > found.events || preemptions > first {
                return wrong(format!("{file} is not simpler"));
            }
            if self
                .expected
                .preemptions
                .is_some_and(|best| preemptions > best)
            {
                return wrong(format!("{file} has {preemptions} preemptions"));
            }
        }
        Ok(())
    }

    fn count(&self, count: &Count) -> Result<(), String> {
        let program =
            self.build(&self.compiler_words(&defines(&self.expected.define, &count.define)))?;
        let mut options = self.options();
        options.extend(words(["--algorithm", &count.algorithm]));
        if !self.expected.keeps_going() {
            options.extend(words(["--keep-going"]));
        }
        let search = [&words(["--", &program]), &self.expected.args[..]].concat();
        let mut first: Option<ResultDocument> = None;
        let runs = count.executions + count.blocked + count.discarded.unwrap_or(0);
        for (way, workers) in [(WARM, 1), (FORK, 1), (WARM, 2), (OS, 1), (EXEC, 1)] {
            if runs > most(way, self.slow) {
                continue;
            }
            let ran = self.check([&options[..], &mode(way, workers), &search].concat());
            let document = ran.document()?;
            let redundant = match count.discarded {
                Some(_) => document.blocked_by.redundant,
                None => 0,
            };
            if redundant > count.discarded.unwrap_or(0) {
                return Err(ran.wrong(format!("{}: {redundant} discarded", count.algorithm)));
            }
            let counted = (document.executions, document.blocked - redundant);
            if counted != (count.executions, count.blocked) {
                return Err(ran.wrong(format!(
                    "{}: {} executions and {} blocked instead of {} and {}",
                    count.algorithm, counted.0, counted.1, count.executions, count.blocked
                )));
            }
            let errors = document.errors.len();
            let wanted = match (count.errors, self.expected.verdict) {
                (Some(wanted), _) => errors == wanted,
                (None, Verdict::Error(_)) => errors > 0,
                (None, _) => errors == 0,
            };
            if !wanted {
                let errors = told(&document.errors);
                return Err(ran.wrong(format!("{}: errors are {errors}", count.algorithm)));
            }
            let races = |reason: &String| reason == "races";
            if !document.incomplete.iter().all(races) && self.expected.incomplete.is_none() {
                let reasons = document.incomplete.join(", ");
                return Err(ran.wrong(format!("counted, but incomplete: {reasons}")));
            }
            match &first {
                Some(first) => same(first, &document).map_err(|what| ran.wrong(what))?,
                None => first = Some(document),
            }
        }
        Ok(())
    }

    /// Options of `check`. Executions are told as they were found: how far they are made simpler may depend on how fast they run.
    pub fn options(&self) -> Vec<String> {
        let mut options = words(["--no-minimise"]);
        for (name, value) in &self.expected.check {
            match value {
                Word::Flag(true) => options.push(format!("--{name}")),
                Word::Flag(false) => {}
                value => options.extend([format!("--{name}"), value.to_string()]),
            }
        }
        options
    }

    fn compiler_words(&self, defines: &[String]) -> Vec<String> {
        let standard = if self.cxx() { "-std=c++20" } else { "-std=c11" };
        [
            &words([standard, "-O1"]),
            &self.expected.flags[..],
            defines,
            &self.sources,
        ]
        .concat()
    }

    fn cxx(&self) -> bool {
        self.sources.iter().any(|source| source.ends_with(".cc"))
    }

    /// The program, compiled.
    fn build(&self, compiled: &[String]) -> Result<String, String> {
        let name: Vec<_> = compiled
            .iter()
            .filter(|word| word.starts_with("-D"))
            .cloned()
            .collect();
        let name = format!("program{}", name.concat());
        let _alone = self.store.lock(&name);
        let program = self.store.path(&name).display().to_string();
        if !Path::new(&program).exists() {
            let made = self.store.draft(&name).display().to_string();
            let compiler = if self.cxx() { "c++" } else { "cc" };
            let command = [&words([compiler]), compiled, &words(["-o", &made])].concat();
            let ran = Ran::new(&self.directory, &command);
            ran.exits(0)?;
            if !ran.err.is_empty() {
                return Err(ran.wrong("compiles with a warning"));
            }
            self.store.keep(&name);
        }
        Ok(program)
    }

    pub fn check(&self, rest: Vec<String>) -> Ran {
        let output = self.output.display().to_string();
        let front = words(["check", "--format", "json", "--output", &output]);
        Ran::new(&self.directory, &[front, rest].concat())
    }

    /// Whether a check came out as it should.
    fn as_expected(&self, ran: &Ran) -> Result<ResultDocument, String> {
        let document = ran.document()?;
        self.compare(&document).map_err(|what| ran.wrong(what))?;
        let code = match self.expected.verdict {
            Verdict::None(NoError::Clean) => 0,
            Verdict::None(NoError::Incomplete) => 3,
            Verdict::Error(_) => 1,
        };
        ran.exits(self.expected.exit.unwrap_or(code))?;
        Ok(document)
    }

    fn compare(&self, document: &ResultDocument) -> Result<(), String> {
        let expected = self.expected;
        let seen: Vec<Seen> = document
            .errors
            .iter()
            .map(Seen::new)
            .collect::<Result<_, _>>()?;
        match (expected.verdict, seen.first()) {
            (Verdict::None(_), None) => {}
            (Verdict::None(_), Some(_)) => {
                return Err(format!(
                    "no error is expected, but {}",
                    told(&document.errors)
                ));
            }
            (Verdict::Error(kind), None) => {
                let reasons = document.incomplete.join(", ");
                return Err(format!(
                    "{kind:?} is expected, but there is no error (incomplete: {reasons})"
                ));
            }
            (Verdict::Error(kind), Some(first)) => first
                .is(&Mistake {
                    kind,
                    rule: expected.rule.clone(),
                    location: expected.location.clone(),
                    message: expected.message.clone(),
                })
                .map_err(|what| format!("{what}: {}", told(&document.errors)))?,
        }
        let unmatched = expected
            .error
            .as_ref()
            .filter(|mistakes| !matched(mistakes, &seen.iter().collect::<Vec<_>>()));
        if unmatched.is_some() {
            return Err(format!(
                "other errors are expected than {}",
                told(&document.errors)
            ));
        }
        let clean = expected.verdict == Verdict::None(NoError::Clean);
        let error = matches!(expected.verdict, Verdict::Error(_));
        let rule = |finding: &Finding| finding.rule.clone().unwrap_or_default();
        let warnings: BTreeSet<String> = document.warnings.iter().map(rule).collect();
        let warnings: Vec<String> = warnings.into_iter().collect();
        let wanted = expected.warnings.clone().or_else(|| clean.then(Vec::new));
        if wanted.as_ref().is_some_and(|wanted| *wanted != warnings) {
            let (wanted, told) = (wanted.unwrap_or_default(), told(&document.warnings));
            return Err(format!(
                "warnings {wanted:?} are expected, there are {told}"
            ));
        }
        let complete = expected.complete.or((!error).then_some(clean));
        if complete.is_some_and(|complete| complete != document.complete) {
            let (complete, reasons) = (document.complete, document.incomplete.join(", "));
            return Err(format!("complete is {complete} (incomplete: {reasons})"));
        }
        if let Some(reasons) = &expected.incomplete {
            let wanted: BTreeSet<&String> = reasons.iter().collect();
            let reasons: BTreeSet<&String> = document.incomplete.iter().collect();
            if wanted != reasons {
                return Err(format!("incomplete is {reasons:?} instead of {wanted:?}"));
            }
        }
        Ok(())
    }

    /// The document and every trace can be shown, and every trace comes to the same error again, twice.
    fn traces(&self, document: &ResultDocument, ran: &Ran) -> Result<(), String> {
        let file = self.output.join("result.json").display().to_string();
        fs::write(&file, &ran.out).expect("a file can be written");
        self.show(&file)?;
        for error in &document.errors {
            let Some(trace) = &error.trace else {
                return Err(ran.wrong("an error has no trace"));
            };
            let shown = self.show(trace)?;
            for _ in 0..2 {
                let again = Ran::new(&self.directory, &words(["replay", trace]));
                again.exits(1)?;
                if again.out != shown.out {
                    return Err(again.wrong("the replay does not look like the recorded execution"));
                }
            }
        }
        Ok(())
    }

    fn show(&self, file: &str) -> Result<Ran, String> {
        let shown = Ran::new(&self.directory, &words(["report", file]));
        shown.exits(0)?;
        match shown.err.is_empty() && !shown.out.is_empty() {
            true => Ok(shown),
            false => Err(shown.wrong("is not shown without fault")),
        }
    }
}

/// An error that was reported, and all places that it is about.
struct Seen<'a> {
    finding: &'a Finding,
    places: Vec<String>,
}

impl Seen<'_> {
    fn new(finding: &Finding) -> Result<Seen<'_>, String> {
        let file = finding.trace.as_ref().ok_or("an error has no trace")?;
        let trace = Trace::read(Path::new(file)).map_err(|error| error.to_string())?;
        let same = |(number, failure): &(usize, &Failure)| {
            let place = trace.location(*number).as_ref().map(Position::to_string);
            (failure.kind, &failure.message, place)
                == (finding.kind, &finding.message, finding.location.clone())
        };
        let failure = trace.errors.iter().enumerate().find(same);
        let failure = failure.map(|(_, failure)| failure);
        let places = failure
            .ok_or("an error is not the one in its trace")?
            .places
            .iter();
        Ok(Seen {
            finding,
            places: places.map(short).collect(),
        })
    }

    /// Whether it is this error; else what differs.
    fn is(&self, mistake: &Mistake) -> Result<(), String> {
        let error = self.finding;
        let ruled = mistake.rule.is_some() || matches!(mistake.kind, Kind::Memory | Kind::Misuse);
        if error.kind != mistake.kind || (ruled && error.rule != mistake.rule) {
            let of = mistake
                .rule
                .as_ref()
                .map_or_else(String::new, |rule| format!(" ({rule})"));
            return Err(format!("{:?}{of} is expected", mistake.kind));
        }
        if let Some(places) = &mistake.location {
            let other = self.places.iter().find(|place| !places.contains(place));
            if self.places.is_empty() || other.is_some() {
                let (expected, are) = (places.join(" or "), self.places.join(" and "));
                return Err(format!("{expected} is expected, and not {are}"));
            }
        }
        match mistake
            .message
            .as_ref()
            .filter(|part| !error.message.contains(*part))
        {
            Some(part) => Err(format!("a message with `{part}` is expected")),
            None => Ok(()),
        }
    }
}

/// `file:line`, without a directory.
fn short(place: &Position) -> String {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    format!("{file}:{}", place.line)
}

/// Whether each mistake is one of the errors, and each error one of the mistakes.
fn matched(mistakes: &[Mistake], errors: &[&Seen]) -> bool {
    let Some((first, rest)) = mistakes.split_first() else {
        return errors.is_empty();
    };
    (0..errors.len())
        .filter(|index| errors[*index].is(first).is_ok())
        .any(|index| {
            let mut others = errors.to_vec();
            others.remove(index);
            matched(rest, &others)
        })
}

fn mode(way: [&str; 2], workers: u32) -> Vec<String> {
    words([way[0], way[1], "--workers", &workers.to_string()])
}

/// Findings in a few words.
fn told(findings: &[Finding]) -> String {
    let one = |finding: &Finding| {
        let rule = finding
            .rule
            .as_ref()
            .map_or_else(String::new, |rule| format!(" ({rule})"));
        let place = finding.location.as_deref().unwrap_or("no place");
        format!("{:?}{rule} at {place}: {}", finding.kind, finding.message)
    };
    let all: Vec<_> = findings.iter().map(one).collect();
    match all.is_empty() {
        true => "none".into(),
        false => all.join("; "),
    }
}

/// Whether two searches came to the same, but for what has to do with how they were run.
fn same(first: &ResultDocument, other: &ResultDocument) -> Result<(), String> {
    let essence = |document: &ResultDocument| {
        let mut it = document.clone();
        (it.elapsed_s, it.estimate) = (0.0, None);
        (it.workers, it.restart, it.program) = (0, String::new(), String::new());
        for error in &mut it.errors {
            error.trace = None;
        }
        it.errors.sort_by_key(|error| {
            (
                error.kind.name(),
                error.rule.clone(),
                error.location.clone(),
                error.message.clone(),
            )
        });
        it.to_json()
    };
    let (first, other) = (essence(first), essence(other));
    let differs = first.lines().zip(other.lines()).find(|(was, is)| was != is);
    match differs {
        Some((was, is)) => Err(format!(
            "the result is not the same in every mode\n  - {was}\n  + {is}"
        )),
        None if first != other => Err("the result is not the same in every mode".into()),
        None => Ok(()),
    }
}
