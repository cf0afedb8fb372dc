//! The `reweave` command: turns arguments into calls, results into output and an exit code.
//!
//! The only crate that prints or ends the process. Every expected mistake ends with one sentence on standard error that
//! says what to do, and with the code of the contract.
#![forbid(unsafe_code)]

mod args;
mod cargo;
mod check;
mod cluster;
mod compilers;
mod completions;
mod config;
mod estimate;
mod evaluate;
mod fingerprint;
mod output;
mod pages;
mod progress;
mod replay;
mod report;
mod run;
mod search_file;
mod signals;
mod suite;
mod verdict_cache;

use args::{Cli, Verb};
use clap::error::ErrorKind;
use reweave_report::ExitCode;
use reweave_toolchain::compile::Language;
use std::process;

fn main() -> process::ExitCode {
    signals::install();
    let code = match Cli::read(std::env::args_os().collect()) {
        Ok(cli) => {
            output::set_color(cli.color);
            run(cli.verb)
        }
        Err(error) => mistake(&error).code(),
    };
    process::ExitCode::from(code)
}

/// Runs a verb and returns the exit code.
fn run(verb: Verb) -> u8 {
    let code = match verb {
        Verb::Report(options) => report::run(&options),
        Verb::Replay(options) => replay::run(&options),
        Verb::Check(options) => check::run(options),
        Verb::Suite(options) => suite::run(&options),
        Verb::Estimate(options) => estimate::run(options),
        Verb::Worker(options) => cluster::work(&options),
        Verb::Cluster(options) => cluster::manage(&options),
        Verb::Simulate(options) => cluster::simulate(&options),
        Verb::Run(options) => return run::run(&options),
        Verb::Evaluate(options) => evaluate::run(&options.logs),
        Verb::Build(options) => compilers::build(&options.command),
        Verb::Cargo(options) => cargo::run(&options),
        Verb::RustLinker(given) => return cargo::link(given.words),
        Verb::Completions(options) => completions::print_script(options.shell),
        Verb::Man(options) => completions::write_pages(&options.directory),
        Verb::Cc(given) => return compilers::compile(Language::C, given.words),
        Verb::Assembler(given) => return compilers::assemble(&given.words),
        Verb::Cxx(given) => return compilers::compile(Language::Cxx, given.words),
    };
    code.code()
}

/// Reports a command line that asks for help or cannot be understood.
fn mistake(error: &clap::Error) -> ExitCode {
    match error.kind() {
        // A closed pipe is no error.
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::Clean
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::Usage
        }
        _ => output::usage(&args::sentence(error)),
    }
}
