//! Other checkers, run beside ours on the same sources where they are installed: `genmc` (0.11) and `nidhuggc` (0.4) on the search path.

use crate::{processor_time, root};
use std::process::{Command, Stdio};

/// One of them, in the mode in which it is compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Peer {
    Genmc,
    NidhuggRf,
    NidhuggOptimal,
}

/// Processor seconds that one may take.
pub const PATIENCE: f64 = 60.0;

/// Where GenMC ends with an error of its own unless told not to revisit in place.
const NOT_IN_PLACE: &[&str] = &["parker", "approxds-append"];

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

/// The fastest one and its processor seconds from source to result; `None` if all take too long. The one that is expected to be fastest
/// is first, the others are given no more time than it took.
pub fn fastest(expected: Peer, name: &str, size: u32) -> Option<(Peer, f64)> {
    let all = [Peer::Genmc, Peer::NidhuggRf, Peer::NidhuggOptimal];
    let others = all.into_iter().filter(|peer| *peer != expected);
    let mut best = None;
    for peer in std::iter::once(expected).chain(others) {
        let limit = best.map_or(PATIENCE, |(_, seconds)| seconds);
        let seconds = peer.measure(name, size, limit);
        best = seconds.map(|seconds| (peer, seconds)).or(best);
    }
    best
}

impl Peer {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Genmc => "GenMC",
            Peer::NidhuggRf => "rfsc",
            Peer::NidhuggOptimal => "optimal",
        }
    }

    /// Processor seconds, if it finds no error in less than so many.
    fn measure(self, name: &str, size: u32, limit: f64) -> Option<f64> {
        let used = processor_time();
        let output = self.command(name, size, limit).output();
        let seconds = processor_time() - used;
        let text = String::from_utf8_lossy(&output.expect("prlimit is there").stdout).into_owned();
        let clean = text.contains("No errors were detected");
        (clean && seconds < limit).then_some(seconds)
    }

    fn command(self, name: &str, size: u32, limit: f64) -> Command {
        let define = format!("-DN={size}");
        let compiler = [&define, "-Dreweave_assume=__VERIFIER_assume", "-I"];
        let include = root().join("crates/toolchain/include");
        let source = root().join(format!("programs/papers/{name}.c"));
        let mut command = Command::new("prlimit");
        command.arg(format!("--cpu={}", limit.ceil() + 1.0));
        match self {
            Peer::Genmc => {
                command.args(["genmc", "--sc", "--disable-estimation"]);
                if NOT_IN_PLACE.contains(&name) {
                    command.arg("--disable-ipr");
                }
                command.arg("--").args(compiler).arg(include).arg(source);
            }
            Peer::NidhuggRf | Peer::NidhuggOptimal => {
                command.arg("nidhuggc").args(compiler).arg(include);
                let mode = match self {
                    Peer::NidhuggRf => "--rf",
                    _ => "--optimal",
                };
                command.args(["--", "--sc", mode]).arg(source);
            }
        }
        command.stderr(Stdio::null());
        command
    }
}
