//! The command line: what can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::{
    ffi::OsString,
    num::{NonZeroU32, NonZeroUsize},
    path::PathBuf,
};

/// Runs a concurrent program in every interleaving that matters.
#[derive(Parser, Debug)]
#[command(name = "reweave", version, after_help = CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

const CODES: &str = "Exit codes: 0 complete and no error, 1 error found, 2 wrong usage, \
                     3 no error but incomplete, 4 fault or a program that does not behave the same again";

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show a trace file or a result document
    Report(Report),
    /// Run one recorded execution again
    Replay(Replay),
    /// Explore a C or C++ file, or a program
    Check(Rest),
    /// Explore many of them within one budget
    Suite(Suite),
    /// Say how large a search would be, in each way there is
    Estimate(Rest),
    /// Hold estimates against recorded searches
    Evaluate(Evaluate),
    /// Run a build (make, cmake, ninja) with instrumenting compilers
    Build(Build),
    /// The instrumenting C compiler
    Cc(Rest),
    /// The instrumenting C++ compiler
    #[command(name = "c++")]
    Cxx(Rest),
}

#[derive(Args, Debug)]
pub struct Report {
    /// A trace (`.rwt`) or a result document; with `--serve`, a directory of them [default: reweave-out]
    #[arg(required_unless_present = "serve")]
    pub file: Option<PathBuf>,
    /// Show every step, object and line of output
    #[arg(long)]
    pub full: bool,
    /// One sentence after the other, for a screen reader
    #[arg(long)]
    pub plain: bool,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Shape::Text)]
    pub format: Shape,
    /// Writes JUnit XML as well, of a result or a suite
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
        default_value_t = 0,
        hide_default_value = true
    )]
    pub port: u16,
}

#[derive(Args, Debug)]
pub struct Replay {
    /// The trace to run again
    pub trace: PathBuf,
    /// Show every step, object and line of output
    #[arg(long)]
    pub full: bool,
    /// One sentence after the other, for a screen reader
    #[arg(long)]
    pub plain: bool,
    /// Run it in gdb, with its threads as real ones, and stop at the failure
    #[arg(long)]
    pub gdb: bool,
    /// The step to stop at
    #[arg(long, value_name = "STEP", requires = "gdb")]
    pub until: Option<u64>,
    /// Further arguments for gdb, after `--`
    #[arg(last = true, requires = "gdb", value_name = "ARGS")]
    pub debugger: Vec<OsString>,
}

#[derive(Args, Debug)]
pub struct Evaluate {
    /// What `check --log` wrote
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Suite {
    /// The tests
    #[arg(default_value = "reweave.toml")]
    pub file: PathBuf,
    /// Stop after 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Which test goes on next: finish-most (the one that is done soonest), even (the one that is covered least), round-robin
    #[arg(long)]
    pub policy: Option<String>,
    /// How many explore at once; one for each core unless said otherwise
    #[arg(long, value_name = "N")]
    pub workers: Option<NonZeroUsize>,
    /// Remembers what was left: that goes first next time, and goes on where it stopped
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Writes JUnit XML as well
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Where trace files go
    #[arg(long, value_name = "DIR", default_value = "reweave-out")]
    pub output: PathBuf,
    /// Writes the file, with the programs that are found here
    #[arg(long)]
    pub init: bool,
    /// Explores every test to its end, and tells what each policy would have done in less time
    #[arg(long, conflicts_with = "init")]
    pub simulate: bool,
    /// With --simulate: explores every test so many times, by other dice, and tells means
    #[arg(long, value_name = "N", default_value = "1", requires = "simulate")]
    pub seeds: NonZeroU32,
}

#[derive(Args, Debug)]
pub struct Build {
    /// The build and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Arguments that are read elsewhere; here so that help lists the command.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub args: Vec<OsString>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people
    Text,
    /// The document itself, checked
    Json,
}

/// How `report` can write.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
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
}
