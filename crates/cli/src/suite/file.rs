//! The file of a suite: tests in TOML. Whatever is wrong with it is told with its line.

use super::{expect::Expect, policy::Policy};
use crate::check::args::{self, Check};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
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
    pub check: Check,
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
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "{}: no such file; `reweave suite --init` writes a first one",
            path.display()
        ),
        _ => format!("{}: cannot be read: {error}", path.display()),
    })?;
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
    let check = args::parse(words).map_err(wrong)?;
    let mut check = check.ok_or_else(|| wrong("--help has no place in a suite".into()))?;
    defaults.set(&mut check)?;
    table.set(&mut check)?;
    args::agree(&check).map_err(wrong)?;
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
    /// What stands here in words of the command line, each with where it stands.
    fn set(&self, check: &mut Check) -> Result<(), Wrong> {
        let texts = [
            ("--algorithm", &self.algorithm),
            ("--races", &self.races),
            ("--restart", &self.restart),
        ];
        let texts = texts.map(|(option, value)| {
            let value = value.as_ref();
            (option, value.map(|it| (it.span(), it.as_ref().clone())))
        });
        let small = [
            ("--preemptions", &self.preemptions),
            ("--max-steps", &self.max_steps),
        ];
        let small = small.map(|(option, value)| {
            let value = value.as_ref();
            (option, value.map(|it| (it.span(), it.as_ref().to_string())))
        });
        let most = self.max_executions.as_ref();
        let most = most.map(|it| (it.span(), it.as_ref().to_string()));
        let options = texts.into_iter().chain(small);
        for (option, value) in options.chain([("--max-executions", most)]) {
            if let Some((span, value)) = value {
                args::set(check, option, &value).map_err(|why| (span, why))?;
            }
        }
        check.keep_going = self.keep_going.unwrap_or(check.keep_going);
        check.strict = self.strict.unwrap_or(check.strict);
        Ok(())
    }
}
