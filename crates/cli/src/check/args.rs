//! What `reweave check` was asked for: our options, a compiler's options mixed in with them, files or a program.
//!
//! *Called by:* `check`, `suite`, and `replay`, whose traces say in the same words how a program was built and started.

use crate::args::Format;
use reweave_drive::{
    Limits,
    compile::{Language, takes_value},
};
use reweave_explore::{AlgorithmName as Algorithm, Options};
use std::{
    ffi::{OsStr, OsString},
    num::NonZeroUsize,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

/// One check.
#[derive(Clone, Debug)]
pub struct Check {
    /// What to explore.
    pub what: What,
    /// The program's arguments.
    pub args: Vec<OsString>,
    /// How to explore it.
    pub options: Options,
    pub workers: Option<NonZeroUsize>,
    pub budget: Option<Duration>,
    pub max_executions: Option<u64>,
    pub keep_going: bool,
    /// Whether failing executions are made simpler.
    pub minimise: bool,
    pub races: Races,
    pub strict: bool,
    pub threads: Threads,
    pub restart: Restart,
    /// What the program may use.
    pub limits: Limits,
    pub format: Format,
    /// Whether every step is shown.
    pub full: bool,
    /// Whether it is told in sentences.
    pub plain: bool,
    /// Where the exploration is written down, event by event.
    pub log: Option<PathBuf>,
    /// Where trace files go.
    pub output: PathBuf,
}

impl Check {
    /// What the program may use, in words of the command line: runs depend on it.
    pub fn limits(&self) -> Vec<String> {
        let (set, usual) = (&self.limits, Limits::default());
        let mut words = Vec::new();
        if set.time != usual.time {
            let milliseconds = set.time.as_millis();
            words.extend(["--max-time".into(), format!("{milliseconds}ms")]);
        }
        if set.memory != usual.memory {
            words.extend(["--max-memory".into(), set.memory.to_string()]);
        }
        if set.output != usual.output {
            words.extend(["--max-output".into(), set.output.to_string()]);
        }
        words
    }
}

/// What is explored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Files, with options for their compiler, as they were typed.
    Files(Vec<OsString>),
    /// A program as it is.
    Program(PathBuf),
}

/// What is done about plain accesses that nothing orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Races {
    #[default]
    Report,
    Explore,
    Interleave,
    Ignore,
}

/// How the program's threads are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    #[default]
    Fiber,
    Os,
}

/// How to run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Restart {
    #[default]
    Auto,
    Warm,
    Fork,
    Exec,
}

impl Races {
    const NAMES: [(&'static str, Races); 4] = [
        ("report", Races::Report),
        ("explore", Races::Explore),
        ("interleave", Races::Interleave),
        ("ignore", Races::Ignore),
    ];

    /// As users spell it.
    pub fn name(self) -> &'static str {
        let named = Races::NAMES.iter().find(|(_, other)| *other == self);
        named.expect("all are listed").0
    }
}

const THREADS: [(&str, Threads); 2] = [("fiber", Threads::Fiber), ("os", Threads::Os)];

const RESTARTS: [(&str, Restart); 4] = [
    ("auto", Restart::Auto),
    ("warm", Restart::Warm),
    ("fork", Restart::Fork),
    ("exec", Restart::Exec),
];

const FORMATS: [(&str, Format); 2] = [("text", Format::Text), ("json", Format::Json)];

/// What can be typed, for people.
pub const HELP: &str = "\
Explore a C or C++ file, or a program, in every interleaving that matters

Usage: reweave check [OPTIONS] FILE.c|.cc|.cpp ... [-- ARGS...]   compile with instrumentation, then explore
       reweave check [OPTIONS] -- PROGRAM [ARGS...]               explore a program as it is

Options:
  --algorithm auto|dfs|dpor|optimal|rf|random|pct how to explore; auto needs the fewest executions
  --workers N                  how many explore at once; one for each core unless said otherwise
  --budget TIME                stop after 500ms, 30s, 10m, 2h
  --max-executions N           stop after so many executions
  --max-steps N                stop a thread after so many of its steps
  --max-time TIME              how long a thread may go on without an operation that others could see; 10s unless said otherwise
  --max-memory BYTES           how much each thread can allocate, such as 500K, 64M, 2G; 1G unless said otherwise
  --max-output BYTES           how much of a run's output is kept; 1M unless said otherwise
  --preemptions N              only schedules with at most so many preemptions
  --keep-going                 go on after an error, and report every distinct one
  --no-minimise                tell a failing execution as it was found, not the simplest one that fails so
  --races report|explore|interleave|ignore
                               report: a race is an error; explore: and what it can do is explored too;
                               interleave: racy accesses are explored like atomics; ignore: not looked at
  --strict                     warnings are errors
  --threads fiber|os           how the program's threads are run; os is slower, as real threads one at a time
  --restart auto|warm|fork|exec    how the program is run again
  --format text|json           for people, or one JSON document
  --full                       show every step of a failing execution, not only those that the failure depends on
  --plain                      tell it in sentences, one after the other, for a screen reader
  --output DIR                 where trace files go; reweave-out unless said otherwise
  --log FILE                   write down the exploration, for `reweave evaluate`
  -D -U -I -L -l -O -f -m -W -g -x -std= -include ...    handed to the compiler, anywhere before --

Exit codes: 0 complete and no error, 1 error found, 2 wrong usage, 3 no error but incomplete, 4 fault or a program that \
does not behave the same again
";

/// Options of ours, and whether they have a value.
const OPTIONS: [(&str, bool); 20] = [
    ("--algorithm", true),
    ("--budget", true),
    ("--format", true),
    ("--full", false),
    ("--keep-going", false),
    ("--log", true),
    ("--max-executions", true),
    ("--max-memory", true),
    ("--max-output", true),
    ("--max-steps", true),
    ("--max-time", true),
    ("--no-minimise", false),
    ("--output", true),
    ("--plain", false),
    ("--preemptions", true),
    ("--races", true),
    ("--restart", true),
    ("--strict", false),
    ("--threads", true),
    ("--workers", true),
];

/// Reads a command line; an error is a sentence about what to do. `None`: help was asked for.
pub fn parse(args: Vec<OsString>) -> Result<Option<Check>, String> {
    let mut check = Check {
        what: What::Files(Vec::new()),
        args: Vec::new(),
        options: Options::default(),
        workers: None,
        budget: None,
        max_executions: None,
        keep_going: false,
        minimise: true,
        races: Races::default(),
        strict: false,
        threads: Threads::default(),
        restart: Restart::default(),
        limits: Limits::default(),
        format: Format::Text,
        full: false,
        plain: false,
        log: None,
        output: "reweave-out".into(),
    };
    let mut words = args.into_iter();
    let mut compiler = Vec::new();
    let mut files = false;
    let mut language = false;
    let mut rest = None;
    while let Some(word) = words.next() {
        if word == "--" {
            rest = Some(words.collect::<Vec<_>>());
            break;
        }
        if word == "--help" || word == "-h" {
            return Ok(None);
        }
        let text = word.to_string_lossy().into_owned();
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text.as_str(), None),
        };
        if let Some((_, valued)) = OPTIONS.iter().find(|(known, _)| *known == name) {
            let value = match (valued, joined) {
                (true, Some(value)) => value,
                (true, None) => match words.next() {
                    Some(value) => value.to_string_lossy().into_owned(),
                    None => return Err(format!("{name} needs a value; {SEE_HELP}")),
                },
                (false, None) => String::new(),
                (false, Some(_)) => return Err(format!("{name} has no value")),
            };
            set(&mut check, name, &value)?;
        } else if word.as_bytes().starts_with(b"-") && word.len() > 1 {
            is_for_compilers(&word)?;
            let valued = word == "-x" || takes_value(&word);
            language |= text.starts_with("-x");
            compiler.push(word);
            if valued {
                let value = words.next();
                compiler.push(value.ok_or_else(|| format!("{text} needs a value"))?);
            }
        } else {
            files |= is_file(&word, language)?;
            compiler.push(word);
        }
    }
    match (files, rest) {
        (true, args) => {
            check.what = What::Files(compiler);
            check.args = args.unwrap_or_default();
        }
        (false, Some(program)) => {
            if let Some(option) = compiler.first() {
                return Err(format!(
                    "{} is for a compiler, and a program after `--` is explored as it is; name files before `--` to have them compiled",
                    option.to_string_lossy()
                ));
            }
            let mut words = program.into_iter();
            let program = words.next().ok_or("which program? It stands after `--`")?;
            check.what = What::Program(program.into());
            check.args = words.collect();
        }
        (false, None) => {
            return Err(format!(
                "what is to be explored? Name a C or C++ file; {SEE_HELP}"
            ));
        }
    }
    agree(&check)?;
    Ok(Some(check))
}

/// Whether the options agree with each other.
pub fn agree(check: &Check) -> Result<(), String> {
    if check.options.preemptions.is_some() && check.options.algorithm.samples() {
        return Err("a bound on preemptions goes through all schedules within it: it has no use for random ones".into());
    }
    if check.threads == Threads::Os && check.restart == Restart::Fork {
        return Err("--threads os goes with --restart warm or exec: a forked process has only the thread that forked".into());
    }
    Ok(())
}

const SEE_HELP: &str = "`--help` lists all that can be typed";

fn duration(text: &str) -> Result<Duration, String> {
    reweave_check::duration(text).map_err(|error| error.to_string())
}

/// Takes in one of [`OPTIONS`].
pub fn set(check: &mut Check, name: &str, value: &str) -> Result<(), String> {
    let wrong = |why: String| format!("{name} {value}: {why}");
    match name {
        "--algorithm" => match value {
            "stateful" => return Err(wrong(missing())),
            _ => {
                check.options.algorithm = value
                    .parse::<Algorithm>()
                    .map_err(|it| wrong(it.to_string()))?
            }
        },
        "--budget" => check.budget = Some(duration(value).map_err(wrong)?),
        "--format" => check.format = one_of(&FORMATS, value).map_err(wrong)?,
        "--full" => check.full = true,
        "--keep-going" => check.keep_going = true,
        "--log" => check.log = Some(value.into()),
        "--max-executions" => {
            let most = number(value).map_err(wrong)?;
            check.max_executions = Some(most);
            check.options.samples = most;
        }
        "--max-memory" => check.limits.memory = bytes(value).map_err(wrong)?,
        "--max-output" => check.limits.output = bytes(value).map_err(wrong)?,
        "--max-time" => check.limits.time = duration(value).map_err(wrong)?,
        "--max-steps" => check.options.max_steps = number(value).map_err(wrong)?,
        "--no-minimise" => check.minimise = false,
        "--output" => check.output = value.into(),
        "--plain" => check.plain = true,
        "--preemptions" => check.options.preemptions = Some(number(value).map_err(wrong)?),
        "--races" => check.races = one_of(&Races::NAMES, value).map_err(wrong)?,
        "--restart" => check.restart = one_of(&RESTARTS, value).map_err(wrong)?,
        "--strict" => check.strict = true,
        "--threads" => check.threads = one_of(&THREADS, value).map_err(wrong)?,
        "--workers" => check.workers = Some(number(value).map_err(wrong)?),
        _ => unreachable!("listed above"),
    }
    Ok(())
}

/// For what the contract has and this version does not.
pub fn missing() -> String {
    format!(
        "not in this version (reweave {})",
        env!("CARGO_PKG_VERSION")
    )
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    let number = text.parse();
    number.map_err(|_| "a number is expected, and not so large or small a one".into())
}

/// A number of bytes, or of thousands, millions or milliards of them as computers count.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let unit = units.iter().find_map(|(unit, bits)| {
        let digits = text.strip_suffix(unit)?;
        Some((digits, *bits))
    });
    let (digits, bits) = unit.unwrap_or((text, 0));
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    let bytes = number.and_then(|number| number.checked_mul(1 << bits));
    bytes.ok_or_else(|| "a number of bytes is expected, such as 500K, 64M or 2G".into())
}

fn one_of<T: Copy>(names: &[(&str, T)], text: &str) -> Result<T, String> {
    let named = names.iter().find(|(name, _)| *name == text);
    named.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        format!("one of {} is expected", names.join(", "))
    })
}

/// Whether an option is one that a compiler may get.
fn is_for_compilers(option: &OsStr) -> Result<(), String> {
    let text = option.to_string_lossy();
    let own_step = [
        "-c",
        "-S",
        "-E",
        "-M",
        "-MM",
        "-shared",
        "-r",
        "-static",
        "-fsyntax-only",
    ];
    if own_step.contains(&&*text) || text.starts_with("-o") {
        return Err(format!(
            "{text}: check makes a program of its own, explores it and throws it away; `reweave cc` is the compiler itself"
        ));
    }
    let families = [
        "-B",
        "-D",
        "-I",
        "-L",
        "-O",
        "-U",
        "-W",
        "-X",
        "-f",
        "-g",
        "-i",
        "-l",
        "-m",
        "-pedantic",
        "-std=",
        "-x",
        "--param",
        "--sysroot",
    ];
    let words = [
        "-ansi",
        "-pipe",
        "-pthread",
        "-rdynamic",
        "-s",
        "-trigraphs",
        "-undef",
        "-w",
        "-no-pie",
        "-pie",
        "-nostdinc",
        "-nostdinc++",
        "-z",
        "-u",
        "-T",
    ];
    let known = words.contains(&&*text) || families.iter().any(|family| text.starts_with(family));
    if known {
        return Ok(());
    }
    let mut close: Vec<_> = OPTIONS
        .iter()
        .map(|(name, _)| {
            (
                distance(name, text.split('=').next().unwrap_or(&text)),
                *name,
            )
        })
        .collect();
    close.sort();
    match close[0] {
        (0..=3, name) if text.starts_with("--") => {
            Err(format!("there is no option {text}; did you mean {name}?"))
        }
        _ => Err(format!("there is no option {text}; {SEE_HELP}")),
    }
}

/// Whether a word names something to compile or link.
fn is_file(word: &OsStr, language: bool) -> Result<bool, String> {
    // What is in a response file is the compiler's business.
    let response = word.as_bytes().starts_with(b"@");
    let extension = Path::new(word).extension().and_then(OsStr::to_str);
    let linked = ["a", "o", "s", "so", "S"];
    let linked = extension.is_some_and(|name| linked.contains(&name));
    if response || linked || language || Language::of(word, None).is_some() {
        return Ok(true);
    }
    let text = word.to_string_lossy();
    Err(format!(
        "{text} is no C or C++ file by its name; `reweave check -- {text}` explores a program as it is"
    ))
}

/// How many letters must be put in, taken out or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for (at, other) in to.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[at + 1];
            row[at + 1] = changed.min(corner + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Option<Check>, String> {
        parse(words.split_whitespace().map(OsString::from).collect())
    }

    fn check(words: &str) -> Check {
        let check = read(words).unwrap_or_else(|why| panic!("{words}: {why}"));
        check.expect("no help")
    }

    fn words(words: &str) -> Vec<OsString> {
        words.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn options_of_ours_and_of_compilers_mix() {
        let it = check(
            "-DN=3 --workers 2 queue.c -I inc -O2 --budget=1m -x c++ other --races explore -lm -include a.h -- 1 --workers -x",
        );
        let compiler = "-DN=3 queue.c -I inc -O2 -x c++ other -lm -include a.h";
        assert_eq!(it.what, What::Files(words(compiler)));
        assert_eq!(it.args, words("1 --workers -x"));
        assert_eq!(it.workers.map(NonZeroUsize::get), Some(2));
        assert_eq!(it.budget, Some(Duration::from_secs(60)));
        assert_eq!(it.races, Races::Explore);
    }

    #[test]
    fn joined_and_separate_values() {
        for line in [
            "-D N=1 a.c",
            "-DN=1 a.c",
            "-I dir a.c",
            "-Idir a.c",
            "-l m a.c",
            "-lm a.c",
            "-L . a.c",
            "-U N a.c",
            "-std=c11 a.c",
            "-fno-inline a.c",
            "-march=native a.c",
            "-Wall a.c",
            "-Wl,-z,now a.c",
            "-g3 a.c",
            "-x c a.c",
            "-xc a.c",
            "-isystem dir a.c",
            "-Xlinker -v a.c",
            "--param x=1 a.c",
            "a.cc b.cpp c.o libd.a -pthread",
            "@args",
        ] {
            assert_eq!(check(line).what, What::Files(words(line)), "{line}");
        }
    }

    #[test]
    fn every_option_is_set() {
        let it = check(
            "--algorithm dfs --workers 3 --budget 500ms --max-executions 7 --max-steps 8 --max-time 2s --max-memory 64M --max-output=500 --preemptions 2 --keep-going --no-minimise --races ignore \
             --strict --threads os --restart warm --format json --full --plain --output out a.c",
        );
        assert_eq!(it.options.algorithm, Algorithm::Dfs);
        assert_eq!(it.budget, Some(Duration::from_millis(500)));
        assert_eq!((it.max_executions, it.options.samples), (Some(7), 7));
        assert_eq!((it.options.max_steps, it.options.preemptions), (8, Some(2)));
        assert_eq!((it.limits.memory, it.limits.output), (64 << 20, 500));
        assert_eq!(it.limits.time, Duration::from_secs(2));
        let again = "--max-time 2000ms --max-memory 67108864 --max-output 500";
        assert_eq!(it.limits().join(" "), again);
        assert!(it.keep_going && it.strict && !it.minimise && it.full && it.plain);
        assert_eq!((it.races, it.restart), (Races::Ignore, Restart::Warm));
        assert_eq!(it.threads, Threads::Os);
        assert_eq!((it.format, it.output), (Format::Json, "out".into()));
    }

    #[test]
    fn a_program_stands_after_two_dashes() {
        let it = check("--workers 1 -- ./a.out -x --workers 3");
        assert_eq!(it.what, What::Program("./a.out".into()));
        assert_eq!(it.args, words("-x --workers 3"));
        assert_eq!(it.workers.map(NonZeroUsize::get), Some(1));
    }

    #[test]
    fn mistakes_have_sentences() {
        let cases = [
            ("", "what is to be explored?"),
            ("--", "which program?"),
            ("-DN -- ./a.out", "-DN is for a compiler"),
            ("./a.out", "`reweave check -- ./a.out` explores"),
            ("--bugdet 3s a.c", "did you mean --budget?"),
            ("--keepgoing a.c", "did you mean --keep-going?"),
            ("--worker=3 a.c", "did you mean --workers?"),
            (
                "--completely-else a.c",
                "there is no option --completely-else;",
            ),
            ("-q a.c", "there is no option -q;"),
            ("a.c -o a", "-o: check makes a program of its own"),
            ("a.c -c", "-c: check makes a program of its own"),
            ("a.c -I", "-I needs a value"),
            ("a.c --budget", "--budget needs a value"),
            ("a.c --strict=yes", "--strict has no value"),
            ("a.c --budget 30", "--budget 30: a time such as"),
            ("a.c --max-memory 2T", "a number of bytes is expected"),
            ("a.c --max-output 0", "a number of bytes is expected"),
            ("a.c --workers 0", "--workers 0: a number"),
            (
                "a.c --max-executions many",
                "--max-executions many: a number",
            ),
            (
                "a.c --races maybe",
                "one of report, explore, interleave, ignore",
            ),
            ("a.c --format xml", "one of text, json"),
            ("a.c --algorithm quick", "no algorithm is called `quick`"),
            (
                "a.c --algorithm stateful",
                "--algorithm stateful: not in this version",
            ),
            ("a.c --threads green", "one of fiber, os"),
            (
                "a.c --threads os --restart fork",
                "--threads os goes with --restart warm or exec",
            ),
            (
                "a.c --algorithm pct --preemptions 2",
                "a bound on preemptions",
            ),
        ];
        for (line, says) in cases {
            let sentence = read(line).expect_err(line);
            assert!(sentence.contains(says), "{line}: {sentence}");
        }
    }

    #[test]
    fn help_may_be_asked_for_but_not_by_the_program() {
        assert!(matches!(read("--help"), Ok(None)));
        assert!(matches!(read("a.c -h"), Ok(None)));
        assert_eq!(check("a.c -- --help").args, words("--help"));
    }
}
