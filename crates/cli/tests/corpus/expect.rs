//! What is expected of a program: `<name>.toml`, as `programs/README.md` describes it.

use reweave_model::Kind;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
};

/// The file as it is written.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expected {
    pub source: Option<Vec<String>>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub define: Defines,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub check: BTreeMap<String, Word>,
    pub verdict: Verdict,
    pub rule: Option<String>,
    pub location: Option<Vec<String>>,
    pub message: Option<String>,
    pub error: Option<Vec<Mistake>>,
    pub warnings: Option<Vec<String>>,
    pub complete: Option<bool>,
    pub incomplete: Option<Vec<String>>,
    pub exit: Option<i32>,
    pub preemptions: Option<u32>,
    /// Why it is not run as it is, with or without a sanitizer.
    pub tsan: Option<String>,
    #[serde(default)]
    pub slow: bool,
    #[serde(default)]
    pub count: Vec<Count>,
}

pub type Defines = BTreeMap<String, Word>;

/// The value of an option or a macro.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Word {
    Flag(bool),
    Number(i64),
    Text(String),
}

/// What a search comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
pub enum Verdict {
    Error(Kind),
    None(NoError),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoError {
    Clean,
    Incomplete,
}

/// One of several errors.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Mistake {
    pub kind: Kind,
    pub rule: Option<String>,
    pub location: Option<Vec<String>>,
    pub message: Option<String>,
}

/// What an algorithm counts.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Count {
    pub algorithm: String,
    #[serde(default)]
    pub define: Defines,
    pub executions: u64,
    #[serde(default)]
    pub blocked: u64,
    /// At most so many redundant runs, which are not among the blocked ones then: their number depends on workers.
    pub discarded: Option<u64>,
    pub errors: Option<usize>,
    #[serde(default)]
    pub slow: bool,
}

impl Expected {
    /// Reads `<name>.toml`; an error is a sentence about what is wrong with it.
    pub fn read(programs: &Path, name: &str) -> Result<Expected, String> {
        let path = programs.join(format!("{name}.toml"));
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot be read: {error}"))?;
        let expected = Expected::parse(&text)?;
        for source in expected.sources(&path) {
            if !path.with_file_name(&source).is_file() {
                return Err(format!(
                    "the expectations are of {source}, which is not there"
                ));
            }
        }
        Ok(expected)
    }

    pub fn parse(text: &str) -> Result<Expected, String> {
        let wrong = |why: &str| format!("the expectations make no sense: {why}");
        let expected: Expected = toml::from_str(text).map_err(|error| wrong(error.message()))?;
        let error = matches!(expected.verdict, Verdict::Error(_));
        if !error && (expected.rule.is_some() || expected.location.is_some()) {
            return Err(wrong("no error is expected, but its rule or location is"));
        }
        if !error && expected.preemptions.is_some() {
            return Err(wrong("no error is expected, but its preemptions are"));
        }
        if !error && expected.error.is_some() {
            return Err(wrong("no error is expected, but errors are listed"));
        }
        if expected.error.is_some() && !expected.keeps_going() {
            return Err(wrong(
                "all errors are listed, but the search stops at the first",
            ));
        }
        for count in &expected.count {
            let errors = count.errors.unwrap_or(usize::from(error));
            if (errors > 0) != error {
                return Err(wrong("the verdict and the errors of a count do not agree"));
            }
        }
        Ok(expected)
    }

    /// Its files, as they are named in its directory.
    pub fn sources(&self, path: &Path) -> Vec<String> {
        if let Some(sources) = &self.source {
            return sources.clone();
        }
        let of = |extension: &str| {
            PathBuf::from(path.file_name().expect("a file")).with_extension(extension)
        };
        let cxx = of("cc");
        let source = match path.with_file_name(&cxx).is_file() {
            true => cxx,
            false => of("c"),
        };
        vec![source.display().to_string()]
    }

    pub fn keeps_going(&self) -> bool {
        self.check.get("keep-going") == Some(&Word::Flag(true))
    }
}

/// `-DN=3 ...`, the second table on top of the first.
pub fn defines(below: &Defines, above: &Defines) -> Vec<String> {
    let mut all = below.clone();
    all.extend(above.clone());
    let word = |(name, value): (&String, &Word)| format!("-D{name}={value}");
    all.iter().map(word).collect()
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Flag(flag) => flag.fmt(f),
            Word::Number(number) => number.fmt(f),
            Word::Text(text) => text.fmt(f),
        }
    }
}
