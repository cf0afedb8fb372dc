//! The command line: every verb and its options, parsed by clap.
//!
//! *Decides:* which words are ours, which a compiler's and which the program's, and how mistakes are reported. *Called
//! by:* `main`; by `suite` and `replay` for checks that are stored as words. *Owns:* nothing.

mod cargo;
mod check;
mod cluster;
mod mistakes;
mod word_groups;

pub use cargo::{CargoBuild, CargoCommand, CargoOptions, CargoRun, CargoTest};
pub use check::{
    CheckOptions, CheckRequest, FaultKind, Granularity, ProgramSource, Races, option_mistake,
    restart_named,
};
pub use cluster::{ClusterCommand, ClusterOptions, SimulateOptions, WorkerOptions};
pub use mistakes::sentence;

use crate::config::Config;
use check::number;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::{
    ffi::OsString,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};
use word_groups::WordGroups;

/// Runs a concurrent program in every interleaving that matters.
#[derive(Parser, Debug)]
#[command(name = "reweave", bin_name = "reweave", version, after_help = CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// When to use colour; NO_COLOR and CLICOLOR_FORCE are honoured
    #[arg(
        long,
        value_enum,
        global = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub color: ColorChoice,
}

/// When output has colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ColorChoice {
    /// On a terminal
    #[default]
    Auto,
    /// Also in pipes and files
    Always,
    /// Nowhere
    Never,
}

const CODES: &str = "Exit codes: 0 complete and no error, 1 error found, 2 wrong usage, \
                     3 no error but incomplete, 4 fault or a program that does not behave the same again";

impl Cli {
    /// Parses the words of the command line, the first of which is the command itself.
    pub fn read(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        let colors = colors(&words);
        let mut words = words.into_iter();
        let mut front: Vec<OsString> = words.by_ref().take(2 + colors).collect();
        match front.get(1 + colors).and_then(|verb| verb.to_str()) {
            // Compilers' options and programs' arguments stand among ours; clap parses ours.
            Some(name @ ("check" | "estimate")) => {
                let mut command = Cli::command();
                command.build();
                let verb = command.find_subcommand_mut(name);
                let groups = WordGroups::of(words, verb.expect("it is a verb"));
                let mut groups = groups;
                let config = match name {
                    "check" => Config::read(),
                    _ => Ok(Config::default()),
                };
                let config = config.unwrap_or_else(|why| {
                    groups.mistake.get_or_insert(why);
                    Config::default()
                });
                if groups.files {
                    groups.compiler.splice(0..0, config.flags);
                }
                front.extend(config.words);
                front.extend(groups.ours.iter().cloned());
                let mut cli = Cli::try_parse_from(front)?;
                if let Verb::Check(options) | Verb::Estimate(options) = &mut cli.verb {
                    options.groups = groups;
                    options.suppress = config.suppress;
                }
                Ok(cli)
            }
            // All words are the compiler's, also `--help` and `--`.
            Some("cc" | "mpicc" | "c++" | "mpicxx" | "mpic++" | "rust-link") => {
                front.push("--".into());
                Cli::try_parse_from(front.into_iter().chain(words))
            }
            _ => Cli::try_parse_from(front.into_iter().chain(words)),
        }
    }
}

/// How many words between the command and its verb are about colour.
fn colors(words: &[OsString]) -> usize {
    let joined = |word: &OsString| word.as_encoded_bytes().starts_with(b"--color=");
    let mut count = 0;
    loop {
        count += match words.get(1 + count) {
            Some(word) if joined(word) => 1,
            Some(word) if word == "--color" => 2,
            _ => return count,
        };
    }
}

#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Show a trace file or a result document
    Report(ReportOptions),
    /// Run one recorded execution again
    Replay(ReplayOptions),
    /// Explore a C or C++ file, or a program, in every interleaving that matters
    #[command(override_usage = CHECK_USAGE, after_help = CHECK_HELP, args_override_self = true)]
    Check(CheckOptions),
    /// Explore many of them within one budget
    Suite(SuiteOptions),
    /// Explore a program for a moment in each way there is, and say how large each search would be
    #[command(override_usage = ESTIMATE_USAGE, after_help = ESTIMATE_HELP, args_override_self = true)]
    Estimate(CheckOptions),
    /// Compare estimates with recorded searches
    Evaluate(EvaluateOptions),
    /// Explore pieces of searches that others began on a cluster
    Worker(WorkerOptions),
    /// Searches on a cluster: look at them, stop and resume them
    Cluster(ClusterOptions),
    /// Say how fast a search would be on a cluster of any size, with faults
    Simulate(SimulateOptions),
    /// Run a program with its threads synchronising in one fixed order
    #[command(after_help = RUN_HELP)]
    Run(RunOptions),
    /// Check the tests of a package in Rust, or its program, with no change to the source: `cargo reweave`
    // Cargo calls a link of the name `cargo-reweave` with this word in front.
    #[command(alias = "reweave")]
    Cargo(CargoOptions),
    /// Run a build (make, cmake, ninja) with instrumenting compilers
    Build(BuildOptions),
    /// The instrumenting C compiler, for programs with MPI too
    #[command(disable_help_flag = true, visible_alias = "mpicc")]
    Cc(CompilerWords),
    /// The instrumenting C++ compiler
    #[command(name = "c++", disable_help_flag = true, visible_aliases = ["mpicxx", "mpic++"])]
    Cxx(CompilerWords),
    /// Print a script that completes this command's words in a shell
    Completions(CompletionsOptions),
    /// Write the manual pages of all commands
    Man(ManOptions),
    /// The assembler that these compilers call
    #[command(name = "as", disable_help_flag = true, hide = true)]
    Assembler(CompilerWords),
    /// The linker that rustc calls
    #[command(name = "rust-link", disable_help_flag = true, hide = true)]
    RustLinker(CompilerWords),
}

const CHECK_USAGE: &str = "\
reweave check [OPTIONS] FILE.c|.cc|.cpp ... [-- ARGS...]   compile with instrumentation, then explore
       reweave check [OPTIONS] -- PROGRAM [ARGS...]               explore a program as it is";

const CHECK_HELP: &str = "  \
  -D -U -I -L -l -O -f -m -W -g -x -std= -include ...    passed to the compiler, anywhere before --

Exit codes: 0 complete and no error, 1 error found, 2 wrong usage, 3 no error but incomplete, 4 fault or a program that \
does not behave the same again";

const ESTIMATE_USAGE: &str = "\
reweave estimate [OPTIONS] FILE.c|.cc|.cpp ... [-- ARGS...]
       reweave estimate [OPTIONS] -- PROGRAM [ARGS...]";

const ESTIMATE_HELP: &str = "Options and arguments are those of `reweave check`; --budget is the time for each way, 1s by default.";

const RUN_HELP: &str = "\
The exit code is the program's; with --verify 0 if all runs had the same order, output and status, 4 if not.";

/// Options of `run`.
#[derive(Args, Debug)]
pub struct RunOptions {
    /// Write the order to a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "verify"])]
    pub schedule: Option<PathBuf>,
    /// Keep the order of such a file
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    pub replay: Option<PathBuf>,
    /// Run it so many times, and compare orders, outputs and exit statuses
    #[arg(long, value_name = "N", value_parser = number::<NonZeroU32>)]
    pub verify: Option<NonZeroU32>,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// Options of `report`.
#[derive(Args, Debug)]
pub struct ReportOptions {
    /// A trace (`.rwt`) or a result document; with `--serve`, a directory of them [default: reweave-out]
    #[arg(required_unless_present = "serve")]
    pub file: Option<PathBuf>,
    /// Show every step, object and line of output
    #[arg(long)]
    pub full: bool,
    /// Write sentences, for a screen reader
    #[arg(long)]
    pub plain: bool,
    /// The format to write
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Write JUnit XML as well, of a result or a suite
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a page for the browser instead: one file that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Show all results of a directory in the browser, from this machine only, until it is interrupted
    #[arg(long, conflicts_with_all = ["html", "format", "full", "junit"])]
    pub serve: bool,
    /// The port to serve at; any free one if not given
    #[arg(
        long,
        requires = "serve",
        default_value = "0",
        value_parser = number::<u16>,
        hide_default_value = true
    )]
    pub port: u16,
}

/// Options of `replay`.
#[derive(Args, Debug)]
pub struct ReplayOptions {
    /// The trace to run again
    pub trace: PathBuf,
    /// Show every step, object and line of output
    #[arg(long)]
    pub full: bool,
    /// Write sentences, for a screen reader
    #[arg(long)]
    pub plain: bool,
    /// Run it in gdb, with its threads as real ones, and stop at the failure
    #[arg(long)]
    pub gdb: bool,
    /// The step to stop at
    #[arg(long, value_name = "STEP", requires = "gdb", value_parser = number::<u64>)]
    pub until: Option<u64>,
    /// Further arguments for gdb, after `--`
    #[arg(last = true, requires = "gdb", value_name = "ARGS")]
    pub debugger: Vec<OsString>,
}

/// Options of `evaluate`.
#[derive(Args, Debug)]
pub struct EvaluateOptions {
    /// Files that `check --log` wrote
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
}

/// Options of `suite`.
#[derive(Args, Debug)]
pub struct SuiteOptions {
    /// The tests
    #[arg(default_value = "reweave.toml")]
    pub file: PathBuf,
    /// Stop after 30s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = reweave_check::duration)]
    pub budget: Option<Duration>,
    /// Which test goes on next: finish-most (the one that is done soonest), even (the one that is covered least), round-robin
    #[arg(long)]
    pub policy: Option<String>,
    /// How many workers explore at once [default: one for each core]; with --cluster, how many tests are explored at once
    #[arg(long, value_name = "N", value_parser = number::<NonZeroUsize>)]
    pub workers: Option<NonZeroUsize>,
    /// Explore on the workers of a cluster: the address of its broker, such as nats://host:4222
    #[arg(long, value_name = "URL", conflicts_with_all = ["init", "simulate"])]
    pub cluster: Option<String>,
    /// What to show the broker, and the key to sign programs with
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub credentials: Option<PathBuf>,
    /// Remember unfinished tests: next time they go first, and continue where they stopped
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// The format to write
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write JUnit XML as well
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Where trace files go
    #[arg(long, value_name = "DIR", default_value = "reweave-out")]
    pub output: PathBuf,
    /// Write the file, with the programs that are found here
    #[arg(long)]
    pub init: bool,
    /// Explore every test to its end, and report what each policy would have done in less time
    #[arg(long, conflicts_with = "init")]
    pub simulate: bool,
    /// With --simulate: explore every test so many times, with other seeds, and report means
    #[arg(long, value_name = "N", default_value = "1", requires = "simulate", value_parser = number::<NonZeroU32>)]
    pub seeds: NonZeroU32,
}

/// Options of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub struct ManOptions {
    /// Where the files go: reweave.1, reweave-check.1, ...
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// Options of `build`.
#[derive(Args, Debug)]
pub struct BuildOptions {
    /// The build and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Words of `cc` and `c++`.
#[derive(Args, Debug)]
pub struct CompilerWords {
    /// Arguments of the compiler
    #[arg(value_name = "ARGS", allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// How checks and suites are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// How `report` can write.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    /// For people
    Text,
    /// The document itself, checked
    Json,
    /// For editors and code scanning: SARIF 2.1.0
    Sarif,
    /// Annotations for GitHub's runners
    Github,
    /// Results and suites as JUnit XML
    Junit,
    /// The execution graph, for Graphviz
    Dot,
    /// Trace events, for Perfetto
    Chrome,
    /// A search on a cluster over time, as a picture
    Svg,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn compilers_get_all_their_words() {
        let line = "reweave cc --help -c a.c -- --version -Wl,-z";
        let words = line.split(' ').map(OsString::from).collect();
        let Verb::Cc(given) = Cli::read(words).unwrap().verb else {
            panic!("another verb")
        };
        let expected: Vec<_> = line.split(' ').skip(2).map(OsString::from).collect();
        assert_eq!(given.words, expected);
    }

    #[test]
    fn mistakes_of_every_verb_have_sentences() {
        let cases = [
            ("chek", "there is no command `chek`; did you mean check?"),
            ("report", "FILE is missing; `--help` shows the usage"),
            (
                "report a b",
                "unexpected argument `b`; `--help` shows the usage",
            ),
            ("report a --port x", "--port x: a number is expected"),
            (
                "report --serve --port 70000",
                "--port 70000: a number is expected, and this one is too large",
            ),
            (
                "report a --port 1",
                "--serve is missing; `--help` shows the usage",
            ),
            ("replay", "TRACE is missing; `--help` shows the usage"),
            ("evaluate", "LOG is missing; `--help` shows the usage"),
            (
                "suite --workers 0",
                "--workers 0: a number is expected, and this one is too small",
            ),
            (
                "build",
                "COMMAND is missing: it stands after `--`; `--help` shows the usage",
            ),
            (
                "build --",
                "COMMAND is missing: it stands after `--`; `--help` shows the usage",
            ),
            (
                "build make",
                "unexpected argument `make`; is `--` missing before it?",
            ),
            (
                "build --fast -- make",
                "there is no option --fast; `--help` shows the usage",
            ),
        ];
        for (line, says) in cases {
            let words = std::iter::once("reweave").chain(line.split(' '));
            let error = Cli::read(words.map(OsString::from).collect()).expect_err(line);
            assert_eq!(sentence(&error), says, "{line}");
        }
    }
}
