//! What `check` and `estimate` are asked for: options, and files or a program.
//!
//! *Called by:* `check`, `estimate` and `suite`, and `replay`, whose traces store the words that build and start a
//! program. *Owns:* nothing.

use super::{
    Format,
    mistakes::{SEE_HELP, sentence},
    word_groups::WordGroups,
};
use crate::config::Suppress;
use clap::{Args, CommandFactory, Parser, ValueEnum};
use reweave_explore::{AlgorithmName, Balance, Options};
use reweave_native::{
    Fault, Ladder, Limits, Restart, Sends, Threads, name_of_files, name_of_program,
};
use std::{
    ffi::OsString,
    num::{IntErrorKind, NonZeroUsize, ParseIntError},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

/// Options of `check`.
#[derive(Args, Clone, Debug)]
pub struct CheckOptions {
    /// How to explore; auto needs the fewest executions
    #[arg(long, value_name = AlgorithmName::CHOICES, default_value = "auto", hide_default_value = true, value_parser = algorithm)]
    pub algorithm: AlgorithmName,
    /// How many workers explore at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = number::<NonZeroUsize>)]
    pub workers: Option<NonZeroUsize>,
    /// Stop after 500ms, 30s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = reweave_check::duration)]
    pub budget: Option<Duration>,
    /// Stop after so many executions
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    pub max_executions: Option<u64>,
    /// Stop a thread after so many of its steps
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub max_steps: Option<u32>,
    /// How long a thread may go on without a visible operation
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = reweave_check::duration)]
    pub max_time: Duration,
    /// How much each thread can allocate, such as 500K, 64M, 2G
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    pub max_memory: u64,
    /// How much of a run's output is kept
    #[arg(long, value_name = "BYTES", default_value = "1M", value_parser = bytes)]
    pub max_output: u64,
    /// Only schedules with at most so many preemptions
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    pub preemptions: Option<u32>,
    /// Go on after an error, and report every distinct one
    #[arg(long)]
    pub keep_going: bool,
    /// Show a failing execution as it was found, not the simplest one that fails so
    #[arg(long)]
    pub no_minimise: bool,
    /// What of a program is seen
    #[arg(long, value_enum, default_value = "accesses")]
    pub granularity: Granularity,
    /// How races of plain accesses are treated
    #[arg(long, value_enum, default_value = "report")]
    pub races: Races,
    /// What else may happen, such as waits that end without a notification
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    pub faults: Vec<FaultKind>,
    /// Run the program as so many ranks of MPI
    #[arg(long, value_name = "N", value_parser = ranks)]
    pub ranks: Option<u32>,
    /// Whether a standard send of MPI waits for its receive
    #[arg(long, value_enum, default_value = "both", requires = "ranks")]
    pub sends: SendKind,
    /// Warnings are errors
    #[arg(long)]
    pub strict: bool,
    /// How the program's threads are run
    #[arg(long, value_enum, default_value = "fiber")]
    pub threads: ThreadKind,
    /// How the program is run again
    #[arg(long, value_enum, default_value = "auto")]
    pub restart: RestartChoice,
    /// The format to write
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// Show every step of a failing execution, not only those that the failure depends on
    #[arg(long)]
    pub full: bool,
    /// Write sentences, for a screen reader
    #[arg(long)]
    pub plain: bool,
    /// Continue a search of the same program and options that was interrupted or stopped
    #[arg(long)]
    pub resume: bool,
    /// Explore even if nothing has changed since a complete check without an error
    #[arg(long)]
    pub no_cache: bool,
    /// Show which places met in which orders, which lines were never reached, and where the search branches
    #[arg(long, conflicts_with_all = ["resume", "cluster"])]
    pub coverage: bool,
    /// Where trace files go
    #[arg(long, value_name = "DIR", default_value = "reweave-out")]
    pub output: PathBuf,
    /// Explore on the workers of a cluster: the address of its broker, such as nats://host:4222
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,
    /// What to show the broker, and the key to sign the program with
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub credentials: Option<PathBuf>,
    /// How long a worker explores a piece, always; if not given, the shorter the fewer are busy, at most 10s
    #[arg(long, value_name = "TIME", requires = "cluster", value_parser = reweave_check::duration)]
    pub slice: Option<Duration>,
    /// How the parts of a search by dpor hang together on a cluster: owners (nothing is run twice), or Inspect's way, for comparison
    #[arg(
        long,
        value_name = "owners|inspect|inspect-lazy",
        requires = "cluster",
        default_value = "owners",
        hide_default_value = true
    )]
    pub balance: Balance,
    /// So many executions are explored here before the rest goes to workers
    #[arg(long, value_name = "N", requires = "cluster", value_parser = number::<u64>, hide = true)]
    pub first: Option<u64>,
    /// Record the exploration, for `reweave evaluate`
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Races that are known, by `reweave.toml`.
    #[arg(skip)]
    pub suppress: Vec<Suppress>,
    /// All other words of the command line.
    #[arg(skip)]
    pub groups: WordGroups,
}

/// How plain accesses that nothing orders are treated.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Races {
    /// A race is an error
    #[default]
    Report,
    /// A race is an error, and what it can do is explored too
    Explore,
    /// Racy accesses are explored like atomics
    Interleave,
    /// Not looked at
    Ignore,
}

/// What of a program is seen.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Granularity {
    /// Its accesses to memory, too: the program is built by reweave
    #[default]
    Accesses,
    /// Calls of libraries only: any dynamically linked program
    Calls,
}

/// What is explored only on request.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultKind {
    /// Waits on condition variables may end without a notification
    SpuriousWakeups,
    /// Calls on pipes and streams may move one byte only
    ShortIo,
    /// Calls that wait may be interrupted by a signal
    Eintr,
    /// Datagrams of UDP may get lost
    Loss,
}

/// Whether a standard send of MPI waits for its receive.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SendKind {
    /// It may wait or not, and both are explored
    #[default]
    Both,
    /// Every message is buffered
    Eager,
    /// No message is
    Rendezvous,
}

/// How the program's threads are run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThreadKind {
    /// On one thread, switched in user space
    #[default]
    Fiber,
    /// As real threads, one at a time; slower
    Os,
}

/// How the program is run again.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RestartChoice {
    /// Start warm, step down if state leaks between runs
    #[default]
    Auto,
    /// Restore memory in place
    Warm,
    /// Fork a process for each run
    Fork,
    /// Start a process for each run
    Exec,
}

/// What is explored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProgramSource {
    /// Files, with options for their compiler, as they were typed.
    Files(Vec<OsString>),
    /// A program as it is.
    Program(PathBuf),
}

/// One check as it was asked for.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// What to explore.
    pub source: ProgramSource,
    /// The program's arguments.
    pub args: Vec<OsString>,
    /// How to explore it.
    pub search: Options,
    /// All options.
    pub options: CheckOptions,
}

/// The words of a check, without a verb in front.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, args_override_self = true)]
struct StoredCheck {
    #[command(flatten)]
    options: CheckOptions,
}

impl CheckRequest {
    /// What a command line asks for; an error is a sentence about what to do.
    pub fn new(options: CheckOptions) -> Result<CheckRequest, String> {
        let groups = options.groups.clone();
        if let Some(mistake) = groups.mistake {
            return Err(mistake);
        }
        let (source, args) = match (groups.files, groups.program) {
            (true, args) => (
                ProgramSource::Files(groups.compiler),
                args.unwrap_or_default(),
            ),
            (false, Some(program)) => {
                if let Some(option) = groups.compiler.first() {
                    return Err(format!(
                        "{} is for a compiler, and a program after `--` is explored as it is; name files before `--` to have them compiled",
                        option.to_string_lossy()
                    ));
                }
                let mut words = program.into_iter();
                let program = words.next().ok_or("which program? It stands after `--`")?;
                (ProgramSource::Program(program.into()), words.collect())
            }
            (false, None) => {
                return Err(format!(
                    "what is to be explored? Name a C or C++ file, or a program after `--`; {SEE_HELP}"
                ));
            }
        };
        let usual = Options::default();
        let request = CheckRequest {
            source,
            args,
            search: Options {
                algorithm: options.chosen_algorithm(),
                preemptions: options.preemptions,
                max_steps: options.max_steps.unwrap_or(usual.max_steps),
                samples: options.max_executions.unwrap_or(usual.samples),
                balance: options.balance,
                ..usual
            },
            options,
        };
        request.agree()?;
        Ok(request)
    }

    /// Reads a check that is stored as words, in a trace or by a suite.
    pub fn from_words(words: Vec<OsString>) -> Result<CheckRequest, String> {
        let groups = WordGroups::of(words.into_iter(), &StoredCheck::command());
        if groups
            .ours
            .iter()
            .any(|word| word == "--help" || word == "-h")
        {
            return Err("it asks for help".into());
        }
        let read = StoredCheck::try_parse_from(&groups.ours);
        let mut options = read.map_err(|error| sentence(&error))?.options;
        options.groups = groups;
        CheckRequest::new(options)
    }

    /// What the program is called.
    pub fn program_name(&self) -> String {
        match &self.source {
            ProgramSource::Files(words) => name_of_files(words),
            ProgramSource::Program(program) => name_of_program(program),
        }
    }

    /// How races are treated. What a known one can do is explored: it must not hide other errors.
    pub fn races(&self) -> Races {
        match self.options.races {
            Races::Report if !self.options.suppress.is_empty() => Races::Explore,
            races => races,
        }
    }

    /// Whether the options agree with each other.
    fn agree(&self) -> Result<(), String> {
        if self.search.preemptions.is_some() && self.search.algorithm.samples() {
            return Err("a bound on preemptions goes through all schedules within it: it has no use for random ones".into());
        }
        let options = &self.options;
        if options.granularity == Granularity::Calls {
            self.agrees_with_calls()?;
        }
        if options.cluster.is_some() && options.log.is_some() {
            return Err(
                "--log records the exploration of this process, and a cluster's workers are others"
                    .into(),
            );
        }
        if options.cluster.is_some() && !self.search.algorithm.splits() {
            return Err("--algorithm stateful has one table of states, and a cluster's workers have no memory in common: explore with --workers on one machine".into());
        }
        let dpor =
            self.search.algorithm == AlgorithmName::Dpor && self.search.preemptions.is_none();
        if options.balance.copies() && !dpor {
            return Err(format!(
                "--balance {} is about the backtrack sets of --algorithm dpor; the others run nothing twice",
                options.balance.name()
            ));
        }
        if options.threads == ThreadKind::Os && options.restart == RestartChoice::Fork {
            return Err("--threads os goes with --restart warm or exec: a forked process has only the thread that forked".into());
        }
        Ok(())
    }

    /// Whether the options agree with an unmodified program.
    fn agrees_with_calls(&self) -> Result<(), String> {
        let reorders = matches!(
            self.search.algorithm,
            AlgorithmName::Rf | AlgorithmName::Optimal | AlgorithmName::Stateful
        );
        let races = matches!(self.options.races, Races::Explore | Races::Interleave);
        Err(match &self.source {
            ProgramSource::Files(_) => "--granularity calls is for a program after `--`: files are compiled with hooks, and then more is seen".into(),
            ProgramSource::Program(_) if reorders => format!(
                "--algorithm {} has to see all that threads share, and --granularity calls does not show their memory: use dpor, dfs, random or pct",
                self.search.algorithm.name()
            ),
            ProgramSource::Program(_) if races => format!(
                "--races {} needs accesses to memory, which --granularity calls does not show",
                spelled(self.options.races)
            ),
            ProgramSource::Program(_) => return Ok(()),
        })
    }

    /// The words that build and start the program again, for a trace: [`CheckRequest::from_words`] reads them.
    pub fn to_words(&self) -> Vec<String> {
        let options = &self.options;
        let mut words = Vec::new();
        if options.granularity == Granularity::Calls {
            words.extend(["--granularity".into(), "calls".into()]);
        }
        if self.races() != Races::default() {
            words.extend(["--races".into(), spelled(self.races())]);
        }
        for fault in &options.faults {
            words.extend(["--faults".into(), spelled(*fault)]);
        }
        if let Some(ranks) = options.ranks {
            words.extend(["--ranks".into(), ranks.to_string()]);
            words.extend(["--sends".into(), spelled(options.sends)]);
        }
        if options.threads == ThreadKind::Os {
            words.extend(["--threads".into(), "os".into()]);
        }
        words.extend(options.limit_words());
        let mut add = |more: &[OsString]| {
            words.extend(more.iter().map(|word| word.to_string_lossy().into_owned()));
        };
        match &self.source {
            ProgramSource::Files(files) => {
                add(files);
                add(&["--".into()]);
            }
            ProgramSource::Program(program) => add(&["--".into(), program.into()]),
        }
        add(&self.args);
        words
    }
}

impl CheckOptions {
    /// The algorithm to explore with. Without hooks, operations that look independent may be ordered by memory that is not seen: `dpor` never
    /// plans an execution that depends on such an order.
    fn chosen_algorithm(&self) -> AlgorithmName {
        match (self.granularity, self.algorithm) {
            (Granularity::Calls, AlgorithmName::Auto) => AlgorithmName::Dpor,
            (_, algorithm) => algorithm,
        }
    }

    /// The limits of the program.
    pub fn limits(&self) -> Limits {
        Limits {
            memory: self.max_memory,
            output: self.max_output,
            time: self.max_time,
            ..Limits::default()
        }
    }

    /// Limits that are not the usual ones, as words: runs depend on them.
    fn limit_words(&self) -> Vec<String> {
        let (set, usual) = (self.limits(), Limits::default());
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

/// What is wrong with one option by itself, in a sentence.
pub fn option_mistake(word: &str) -> Option<String> {
    let error = StoredCheck::try_parse_from([word]).err()?;
    Some(sentence(&error))
}

impl From<Races> for reweave_native::Races {
    fn from(races: Races) -> reweave_native::Races {
        match races {
            Races::Report => reweave_native::Races::Report,
            Races::Explore => reweave_native::Races::Explore,
            Races::Interleave => reweave_native::Races::Interleave,
            Races::Ignore => reweave_native::Races::Ignore,
        }
    }
}

impl FaultKind {
    /// As the runtime has it. Spurious wakeups belong to the model.
    pub fn injected(self) -> Option<Fault> {
        match self {
            FaultKind::SpuriousWakeups => None,
            FaultKind::ShortIo => Some(Fault::ShortIo),
            FaultKind::Eintr => Some(Fault::Interrupts),
            FaultKind::Loss => Some(Fault::Loss),
        }
    }
}

impl From<SendKind> for Sends {
    fn from(kind: SendKind) -> Sends {
        match kind {
            SendKind::Both => Sends::Both,
            SendKind::Eager => Sends::Eager,
            SendKind::Rendezvous => Sends::Rendezvous,
        }
    }
}

/// The most ranks that a program can have: each is a process of the run.
const MOST_RANKS: u32 = 64;

fn ranks(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(ranks @ 1..=MOST_RANKS) => Ok(ranks),
        _ => Err(format!("a program has 1 to {MOST_RANKS} ranks")),
    }
}

impl From<ThreadKind> for Threads {
    fn from(kind: ThreadKind) -> Threads {
        match kind {
            ThreadKind::Fiber => Threads::Fiber,
            ThreadKind::Os => Threads::Os,
        }
    }
}

impl From<RestartChoice> for Ladder {
    fn from(choice: RestartChoice) -> Ladder {
        match choice {
            RestartChoice::Auto => Ladder::Auto,
            RestartChoice::Warm => Ladder::Only(Restart::Warm),
            RestartChoice::Fork => Ladder::Only(Restart::Fork),
            RestartChoice::Exec => Ladder::Only(Restart::Exec),
        }
    }
}

/// The way to run a program again that is called so.
pub fn restart_named(name: &str) -> Result<RestartChoice, String> {
    RestartChoice::from_str(name, false)
}

/// As users spell it.
fn spelled(value: impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn algorithm(text: &str) -> Result<AlgorithmName, String> {
    text.parse::<AlgorithmName>()
        .map_err(|error| error.to_string())
}

pub(super) fn number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| {
        let size = match error.kind() {
            IntErrorKind::PosOverflow => ", and this one is too large",
            IntErrorKind::NegOverflow | IntErrorKind::Zero => ", and this one is too small",
            _ => "",
        };
        format!("a number is expected{size}")
    })
}

/// A number of bytes, or of KiB, MiB or GiB.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<CheckRequest, String> {
        CheckRequest::from_words(words(line))
    }

    fn check(line: &str) -> CheckRequest {
        read(line).unwrap_or_else(|why| panic!("{line}: {why}"))
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
        assert_eq!(it.source, ProgramSource::Files(words(compiler)));
        assert_eq!(it.args, words("1 --workers -x"));
        assert_eq!(it.options.workers.map(NonZeroUsize::get), Some(2));
        assert_eq!(it.options.budget, Some(Duration::from_secs(60)));
        assert_eq!(it.options.races, Races::Explore);
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
            assert_eq!(
                check(line).source,
                ProgramSource::Files(words(line)),
                "{line}"
            );
        }
    }

    #[test]
    fn every_option_is_set() {
        let it = check(
            "--algorithm dfs --workers 3 --budget 500ms --max-executions 7 --max-steps 8 --max-time 2s --max-memory 64M --max-output=500 --preemptions 2 --keep-going --no-minimise --races ignore \
             --strict --threads os --restart warm --format json --full --plain --output out a.c",
        );
        assert_eq!(it.search.algorithm, AlgorithmName::Dfs);
        assert_eq!(it.options.budget, Some(Duration::from_millis(500)));
        assert_eq!((it.options.max_executions, it.search.samples), (Some(7), 7));
        assert_eq!((it.search.max_steps, it.search.preemptions), (8, Some(2)));
        assert_eq!(
            (it.options.max_memory, it.options.max_output),
            (64 << 20, 500)
        );
        assert_eq!(it.options.max_time, Duration::from_secs(2));
        let again = "--max-time 2000ms --max-memory 67108864 --max-output 500";
        assert_eq!(it.options.limit_words().join(" "), again);
        let options = &it.options;
        assert!(options.keep_going && options.strict && options.no_minimise);
        assert!(options.full && options.plain);
        assert_eq!(
            (options.races, options.restart),
            (Races::Ignore, RestartChoice::Warm)
        );
        assert_eq!(options.threads, ThreadKind::Os);
        assert_eq!(
            (options.format, options.output.as_path()),
            (Format::Json, std::path::Path::new("out"))
        );
    }

    #[test]
    fn a_program_stands_after_two_dashes() {
        let it = check("--workers 1 -- ./a.out -x --workers 3");
        assert_eq!(it.source, ProgramSource::Program("./a.out".into()));
        assert_eq!(it.args, words("-x --workers 3"));
        assert_eq!(it.options.workers.map(NonZeroUsize::get), Some(1));
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
            ("a.c --strict=yes", "--strict takes no value"),
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
    fn the_last_of_two_values_counts() {
        let it = check("a.c --workers 2 --strict --workers 3 --strict");
        assert_eq!(it.options.workers.map(NonZeroUsize::get), Some(3));
    }

    #[test]
    fn stored_words_come_back() {
        let line = "--races explore --threads os --max-time 2000ms -DN=3 a.c -lm -- 1 --help";
        assert_eq!(check(line).to_words().join(" "), line);
        let line = "-- ./a.out -x --workers 3";
        assert_eq!(check(line).to_words().join(" "), line);
    }

    #[test]
    fn help_may_be_asked_for_but_not_by_the_program() {
        let asks = |line: &str| {
            let line = format!("reweave check {line}");
            let error = super::super::Cli::read(words(&line)).err();
            error.is_some_and(|error| error.kind() == clap::error::ErrorKind::DisplayHelp)
        };
        assert!(asks("--help") && asks("a.c -h"));
        assert!(!asks("a.c -- --help"));
        assert_eq!(check("a.c -- --help").args, words("--help"));
    }
}
