//! The file of a suite: tests in TOML. Mistakes are reported with their line.

use super::{expect::Expect, policy::Policy};
use crate::args::{CheckRequest, option_mistake};
use reweave_explore::Probing;
use reweave_report::{ReadError, load};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};
use toml::Spanned;

/// What was read.
pub struct SuiteFile {
    pub budget: Option<Duration>,
    pub policy: Option<Policy>,
    pub tests: Vec<Test>,
}

/// One test.
pub struct Test {
    pub name: String,
    pub check: CheckRequest,
    /// What the program reads; `None`: nothing.
    pub stdin: Option<PathBuf>,
    pub expect: Expect,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Whole {
    budget: Option<Spanned<String>>,
    policy: Option<Spanned<String>>,
    #[serde(default)]
    defaults: Table,
    /// These two are for `reweave check`, which reads them by itself.
    #[serde(default, rename = "check")]
    _check: Option<toml::Value>,
    #[serde(default, rename = "suppress")]
    _suppress: Option<toml::Value>,
    #[serde(default)]
    test: Vec<Spanned<Table>>,
}

/// A test as it is written, or what all of them have in common.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    name: Option<Spanned<String>>,
    files: Option<Spanned<Vec<String>>>,
    program: Option<Spanned<String>>,
    #[serde(default)]
    flags: Vec<String>,
    args: Option<Vec<String>>,
    stdin: Option<PathBuf>,
    expect: Option<Spanned<String>>,
    algorithm: Option<Spanned<String>>,
    races: Option<Spanned<String>>,
    restart: Option<Spanned<String>>,
    threads: Option<Spanned<String>>,
    preemptions: Option<Spanned<u32>>,
    max_steps: Option<Spanned<u32>>,
    max_executions: Option<Spanned<u64>>,
    keep_going: Option<bool>,
    strict: Option<bool>,
}

/// Where something is wrong, and what.
type Wrong = (Range<usize>, String);

/// Reads the file; an error is a sentence with the line.
pub fn read(path: &Path) -> Result<SuiteFile, String> {
    let text = load(path).map_err(|error| match error {
        ReadError::NotFound(_) => format!("{error}; `reweave suite --init` writes a first one"),
        _ => error.to_string(),
    })?;
    let text = String::from_utf8(text)
        .map_err(|error| format!("{}: cannot be read: {error}", path.display()))?;
    parse(&text).map_err(|(span, why)| {
        let before = &text.as_bytes()[..span.start.min(text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("{}:{line}: {why}", path.display())
    })
}

fn parse(text: &str) -> Result<SuiteFile, Wrong> {
    let whole: Whole = toml::from_str(text)
        .map_err(|error| (error.span().unwrap_or_default(), error.message().to_owned()))?;
    let misplaced = [&whole.defaults.name, &whole.defaults.program];
    if let Some(misplaced) = misplaced.into_iter().flatten().next() {
        return Err((
            misplaced.span(),
            "this is for one test, and not for all".into(),
        ));
    }
    if let Some(files) = &whole.defaults.files {
        return Err((files.span(), "files are of one test, and not of all".into()));
    }
    let budget = whole.budget.as_ref().map(|budget| {
        let read = reweave_check::duration(budget.as_ref());
        read.map_err(|why| (budget.span(), format!("budget: {why}")))
    });
    let policy = whole.policy.as_ref().map(|policy| {
        let read = policy.as_ref().parse::<Policy>();
        read.map_err(|why| (policy.span(), why))
    });
    let mut tests = Vec::new();
    let mut lines: BTreeMap<String, Range<usize>> = BTreeMap::new();
    for table in &whole.test {
        let test = test(&whole.defaults, table)?;
        if lines.insert(test.name.clone(), table.span()).is_some() {
            let why = format!(
                "another test is called `{}`; give this one a name",
                test.name
            );
            return Err((table.span(), why));
        }
        tests.push(test);
    }
    if tests.is_empty() {
        return Err((0..0, "there is no [[test]] in it".into()));
    }
    Ok(SuiteFile {
        budget: budget.transpose()?,
        policy: policy.transpose()?,
        tests,
    })
}

fn test(defaults: &Table, table: &Spanned<Table>) -> Result<Test, Wrong> {
    let here = table.span();
    let table = table.as_ref();
    let args = table.args.as_ref().or(defaults.args.as_ref());
    let mut words: Vec<OsString> = Vec::new();
    let what = match (&table.files, &table.program) {
        (Some(files), None) if files.as_ref().is_empty() => {
            return Err((
                files.span(),
                "`files` is empty: a test has at least one".into(),
            ));
        }
        (Some(files), None) => {
            words.extend(files.as_ref().iter().map(OsString::from));
            // Libraries are looked for by what stands in front of them.
            let flags = defaults.flags.iter().chain(&table.flags);
            words.extend(flags.map(OsString::from));
            words.push("--".into());
            files.as_ref().first().cloned().unwrap_or_default()
        }
        (None, Some(program)) => {
            words.extend(["--".into(), program.as_ref().into()]);
            program.as_ref().clone()
        }
        _ => return Err((here, "a test has either `files` or a `program`".into())),
    };
    words.extend(args.into_iter().flatten().map(OsString::from));
    let wrong = |why: String| (here.clone(), why);
    let mut options = defaults.option_words()?;
    options.extend(table.option_words()?);
    options.extend(words);
    let mut check = CheckRequest::from_words(options).map_err(wrong)?;
    check.search.probing = Probing::Often;
    let flag = |own: Option<bool>, all: Option<bool>| own.or(all).unwrap_or(false);
    check.options.keep_going = flag(table.keep_going, defaults.keep_going);
    check.options.strict = flag(table.strict, defaults.strict);
    let expect = table.expect.as_ref().or(defaults.expect.as_ref());
    let expect = expect.map(|expect| {
        let read = expect.as_ref().parse::<Expect>();
        read.map_err(|why| (expect.span(), why))
    });
    let name = Path::new(&what).file_stem().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    Ok(Test {
        name: table
            .name
            .as_ref()
            .map_or(name, |name| name.as_ref().clone()),
        check,
        stdin: table.stdin.clone().or(defaults.stdin.clone()),
        expect: expect.transpose()?.unwrap_or(Expect::Clean),
    })
}

impl Table {
    /// The options of this table as words of the command line; an error has the place of the option.
    fn option_words(&self) -> Result<Vec<OsString>, Wrong> {
        fn placed<T: ToString>(value: &Option<Spanned<T>>) -> Option<(Range<usize>, String)> {
            let value = value.as_ref()?;
            Some((value.span(), value.as_ref().to_string()))
        }
        let options = [
            ("--algorithm", placed(&self.algorithm)),
            ("--races", placed(&self.races)),
            ("--restart", placed(&self.restart)),
            ("--threads", placed(&self.threads)),
            ("--preemptions", placed(&self.preemptions)),
            ("--max-steps", placed(&self.max_steps)),
            ("--max-executions", placed(&self.max_executions)),
        ];
        let mut words = Vec::new();
        for (option, value) in options {
            if let Some((span, value)) = value {
                let word = format!("{option}={value}");
                if let Some(why) = option_mistake(&word) {
                    return Err((span, why));
                }
                words.push(word.into());
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ProgramSource, Races};
    use reweave_explore::AlgorithmName;

    fn sentence(text: &str) -> String {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s.toml");
        std::fs::write(&path, text).unwrap();
        let why = read(&path).err().unwrap_or_else(|| panic!("{text}"));
        let (_, rest) = why.split_once("s.toml:").unwrap_or_else(|| panic!("{why}"));
        rest.into()
    }

    #[test]
    fn tests_have_their_own_keys_and_those_of_all() {
        let text = r#"
            budget = "90s"
            policy = "even"
            [defaults]
            flags = ["-O2"]
            max-steps = 50
            races = "explore"
            [[test]]
            files = ["a/queue.c", "b.cc"]
            flags = ["-DN=3", "-lm"]
            args = ["1", "--help"]
            races = "ignore"
            algorithm = "dpor"
            preemptions = 2
            keep-going = true
            strict = true
            [[test]]
            name = "the other"
            program = "./queue_test"
            stdin = "input"
            expect = "misuse:relock"
            max-executions = 9
        "#;
        let suite = parse(text).unwrap_or_else(|(_, why)| panic!("{why}"));
        assert_eq!(suite.budget, Some(Duration::from_secs(90)));
        assert_eq!(suite.policy, Some(Policy::Even));
        let [queue, other] = &suite.tests[..] else {
            panic!("two tests")
        };
        let words = ["a/queue.c", "b.cc", "-O2", "-DN=3", "-lm"].map(OsString::from);
        assert_eq!(queue.check.source, ProgramSource::Files(words.to_vec()));
        assert_eq!(queue.check.args, ["1", "--help"].map(OsString::from));
        assert_eq!(
            (queue.name.as_str(), &queue.expect),
            ("queue", &Expect::Clean)
        );
        let options = &queue.check.search;
        assert_eq!((options.max_steps, options.preemptions), (50, Some(2)));
        assert_eq!(options.algorithm, AlgorithmName::Dpor);
        assert!(queue.check.options.keep_going && queue.check.options.strict);
        assert_eq!(queue.check.options.races, Races::Ignore);
        assert_eq!(
            other.check.source,
            ProgramSource::Program("./queue_test".into())
        );
        assert_eq!(
            (other.name.as_str(), other.check.options.races),
            ("the other", Races::Explore)
        );
        assert_eq!(other.stdin.as_deref(), Some(Path::new("input")));
        assert_eq!(other.check.search.samples, 9);
        assert!(!other.check.options.strict);
    }

    #[track_caller]
    fn assert_sentences(cases: &[(String, &str)]) {
        for (text, says) in cases {
            let sentence = sentence(text);
            assert!(sentence.starts_with(says), "{text}\n{sentence}");
        }
    }

    #[test]
    fn mistakes_have_lines_and_reasons() {
        let test = "[[test]]\nfiles = [\"a.c\"]\n";
        let cases = [
            (
                format!("{test}algoritm = \"dfs\"\n"),
                "3: unknown field `algoritm`",
            ),
            (
                format!("{test}\n\nalgorithm = \"quick\"\n"),
                "5: --algorithm quick: no algorithm is called",
            ),
            (
                format!("{test}races = \"maybe\""),
                "3: --races maybe: invalid value; one of report",
            ),
            (format!("{test}preemptions = -1"), "3: invalid value"),
            (format!("{test}preemptions = \"two\""), "3: invalid type"),
            (
                format!("{test}expect = \"fine\""),
                "3: nothing is expected by `fine`",
            ),
            (
                format!("{test}expect = \"deadlock:foo\""),
                "3: nothing is expected by `deadlock:foo`: only misuse",
            ),
        ];
        assert_sentences(&cases);
    }

    #[test]
    fn tests_that_cannot_be_have_lines_and_reasons() {
        let test = "[[test]]\nfiles = [\"a.c\"]\n";
        let cases = [
            ("[[test]]\nfiles = []\n".into(), "2: `files` is empty"),
            (
                format!("{test}flags = [\"-c\"]"),
                "1: -c: check makes a program of its own",
            ),
            (format!("{test}program = \"./a\""), "1: a test has either"),
            (
                format!("{test}[[test]]\nname = \"b\"\n"),
                "3: a test has either",
            ),
            (
                format!("{test}[[test]]\nfiles = [\"b/a.c\"]\n"),
                "3: another test is called `a`",
            ),
            (
                format!("budget = \"soon\"\n{test}"),
                "1: budget: a time such as",
            ),
            (
                format!("policy = \"fair\"\n{test}"),
                "1: no policy is called `fair`",
            ),
            (
                format!("[defaults]\nname = \"x\"\n{test}"),
                "2: this is for one test",
            ),
            (
                format!("[defaults]\nfiles = [\"x.c\"]\n{test}"),
                "2: files are of one test",
            ),
            (
                format!("{test}algorithm = \"pct\"\npreemptions = 1"),
                "1: a bound on preemptions",
            ),
            (
                "[[test]]\nfiles = [\"readme\"]\n".into(),
                "1: readme is no C or C++ file",
            ),
            (String::new(), "1: there is no [[test]]"),
            ("[[test]\n".into(), "1: "),
            (format!("{test}name = \"cut"), "3: "),
        ];
        assert_sentences(&cases);
    }
}
