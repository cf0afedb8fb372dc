//! The command line: what can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::{ffi::OsString, path::PathBuf};

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
    /// A trace (`.rwt`) or a result document
    pub file: PathBuf,
    /// Show every step, object and line of output
    #[arg(long)]
    pub full: bool,
    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write a page to look at (not in this version)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct Replay {
    /// The trace to run again
    pub trace: PathBuf,
    /// Under a debugger (not in this version)
    #[arg(long)]
    pub gdb: bool,
}

#[derive(Args, Debug)]
pub struct Evaluate {
    /// What `check --log` wrote
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
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
