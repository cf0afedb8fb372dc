//! Checks on a cluster: real brokers, workers and coordinators on this machine, which are killed in the middle.
//!
//! Each test has a broker of its own on a free port, in a temporary directory. `REWEAVE_SEED` decides when faults happen.

mod balance;
mod brokers;
mod counts;
mod faults;
mod mistakes;
mod refusals;
mod security;
mod suites;
mod takeover;

use brokers::Broker;
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// The command, in a directory.
fn reweave(directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(words).current_dir(directory);
    command.env_remove("REWEAVE_CLUSTER");
    command.stdin(Stdio::null());
    command
}

fn run(directory: &Path, words: &[&str]) -> Output {
    let done = reweave(directory, words).output();
    done.expect("the command can be started")
}

/// The result document of a check, with its exit code.
fn checked(directory: &Path, words: &[&str]) -> (Value, i32) {
    let done = run(directory, &[&["check", "--format", "json"], words].concat());
    let text = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    let document = serde_json::from_str(&text);
    let document = document.unwrap_or_else(|error| panic!("{words:?}: {error}: {text}{said}"));
    (document, done.status.code().expect("it ended by itself"))
}

fn program(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let file: PathBuf = root.join(name);
    file.canonicalize().expect(name).display().to_string()
}

/// A worker process. Ends with its value.
struct Worker(Child);

impl Worker {
    fn start(broker: &Broker, directory: &Path) -> Worker {
        Worker::of(&broker.url, directory)
    }

    fn of(url: &str, directory: &Path) -> Worker {
        let words = ["worker", "--cluster", url, "--workers", "1"];
        let mut command = reweave(directory, &words);
        command.stderr(Stdio::null()).stdout(Stdio::null());
        Worker(command.spawn().expect("the command can be started"))
    }

    /// As `kill -9` does.
    fn kill(mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
