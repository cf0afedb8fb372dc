//! What `cargo` is asked for: which packages and targets, which tests, and how they are checked.
//!
//! *Called by:* `cargo`. *Owns:* nothing.

use clap::{Args, Subcommand};
use std::{ffi::OsString, path::PathBuf};

/// Options of `cargo`.
#[derive(Args, Debug)]
pub struct CargoOptions {
    /// What to build and check.
    #[command(subcommand)]
    pub command: CargoCommand,
}

#[derive(Subcommand, Debug)]
pub enum CargoCommand {
    /// Check each #[test] function in every interleaving that matters
    Test(CargoTest),
    /// Check a program in every interleaving that matters
    Run(CargoRun),
}

#[derive(Args, Debug)]
pub struct CargoTest {
    /// Only tests with this in their names
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,
    /// Only the test with exactly this name
    #[arg(long, requires = "filter")]
    pub exact: bool,
    /// Only print the names of the tests
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub build: CargoBuild,
    /// Only the unit tests of the library
    #[arg(long)]
    pub lib: bool,
    /// Only this file of tests/
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
}

#[derive(Args, Debug)]
pub struct CargoRun {
    #[command(flatten)]
    pub build: CargoBuild,
    /// The program
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// The example
    #[arg(long, value_name = "NAME", conflicts_with = "bin")]
    pub example: Option<String>,
    /// Arguments of the program, after `--`
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

/// What is passed to cargo, and what to `reweave check`.
#[derive(Args, Debug)]
pub struct CargoBuild {
    /// The package
    #[arg(short, long, value_name = "NAME")]
    pub package: Option<String>,
    /// Where its Cargo.toml is
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "NAMES")]
    pub features: Vec<String>,
    /// Activate all of them
    #[arg(long)]
    pub all_features: bool,
    /// Leave out the default ones
    #[arg(long)]
    pub no_default_features: bool,
    /// Build with the profile `release`
    #[arg(short, long)]
    pub release: bool,
    /// Options of `reweave check`, such as "--budget 10s"
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub check: Option<String>,
}

impl CargoBuild {
    /// As cargo understands it.
    pub fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(package) = &self.package {
            words.extend(["--package".into(), package.into()]);
        }
        for features in &self.features {
            words.extend(["--features".into(), features.into()]);
        }
        let flags = [
            (self.all_features, "--all-features"),
            (self.no_default_features, "--no-default-features"),
            (self.release, "--release"),
        ];
        let given = flags.into_iter().filter(|(given, _)| *given);
        words.extend(given.map(|(_, flag)| flag.into()));
        words
    }
}
