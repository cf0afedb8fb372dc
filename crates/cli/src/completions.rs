//! Scripts that complete words in a shell, and manual pages, both from the definition of the command line.
//!
//! *Called by:* `main`. *Owns:* nothing.

use crate::{
    args::Cli,
    output::{print, usage},
};
use clap::{Arg, Command, CommandFactory, ValueHint};
use clap_complete::Shell;
use reweave_report::ExitCode;
use std::{fs, io, path::Path};

/// The command line with what clap does not parse itself: the files and the program of a check.
fn definition() -> Command {
    let words = |name| Arg::new(name).num_args(0..);
    let mut command = Cli::command();
    for verb in ["check", "estimate"] {
        command = command.mut_subcommand(verb, |verb| {
            verb.arg(words("FILE").value_hint(ValueHint::FilePath)).arg(
                words("PROGRAM")
                    .last(true)
                    .value_hint(ValueHint::CommandWithArguments),
            )
        });
    }
    command
}

/// Prints the script for a shell.
pub fn print_script(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "reweave", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Writes a page for the command and for each verb that has help.
pub fn write_pages(directory: &Path) -> ExitCode {
    let written = fs::create_dir_all(directory).and_then(|()| {
        let mut command = definition();
        command.build();
        page(directory, "reweave", command.clone())?;
        for verb in command.get_subcommands() {
            let name = verb.get_name();
            if !verb.is_hide_set() && name != "help" {
                let full = format!("reweave-{name}");
                page(directory, &full, verb.clone().display_name(full.clone()))?;
            }
        }
        Ok(())
    });
    match written {
        Ok(()) => ExitCode::Clean,
        Err(error) => usage(&format!(
            "{}: manual pages cannot be written: {error}",
            directory.display()
        )),
    }
}

fn page(directory: &Path, name: &str, command: Command) -> io::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).render(&mut text)?;
    fs::write(directory.join(format!("{name}.1")), text)
}
