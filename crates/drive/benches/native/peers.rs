//! Other checkers, run beside ours on the same sources where they are installed: `genmc` (0.11) and `nidhuggc` (0.4) on the search path.

use crate::{processor_time, root};
use std::process::{Command, Stdio};

/// One of them, in the mode in which it is compared.
#[derive(Clone, Copy, Debug)]
pub enum Peer {
    Genmc,
    /// Without in-place revisiting, with which it fails on some programs by an error of its own.
    GenmcPlain,
    NidhuggRf,
    NidhuggOptimal,
}

/// Processor seconds that one may take.
pub const PATIENCE: f64 = 60.0;

/// The first one that is not installed.
pub fn missing() -> Option<&'static str> {
    let answers = |program: &&str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    ["genmc", "nidhuggc"]
        .into_iter()
        .find(|program| !answers(program))
}

impl Peer {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Genmc | Peer::GenmcPlain => "GenMC",
            Peer::NidhuggRf => "rfsc",
            Peer::NidhuggOptimal => "optimal",
        }
    }

    /// Processor seconds from source to result; `None` if it takes too long.
    pub fn measure(self, name: &str, size: u32) -> Option<f64> {
        let used = processor_time();
        let mut command = Command::new("prlimit");
        command.arg(format!("--cpu={PATIENCE}"));
        let define = format!("-DN={size}");
        let compiler = [define.as_str(), "-Dreweave_assume=__VERIFIER_assume", "-I"];
        let include = root().join("crates/cli/include");
        let source = root().join(format!("programs/papers/{name}.c"));
        match self {
            Peer::Genmc | Peer::GenmcPlain => {
                command.args(["genmc", "--sc", "--disable-estimation"]);
                if matches!(self, Peer::GenmcPlain) {
                    command.arg("--disable-ipr");
                }
                command.arg("--").args(compiler).arg(include).arg(source);
            }
            Peer::NidhuggRf | Peer::NidhuggOptimal => {
                command.arg("nidhuggc").args(compiler).arg(include);
                command.args(["--", "--sc"]);
                command.arg(match self {
                    Peer::NidhuggRf => "--rf",
                    _ => "--optimal",
                });
                command.arg(source);
            }
        }
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.expect("prlimit is there");
        let seconds = processor_time() - used;
        (seconds < PATIENCE).then_some(seconds)
    }
}
