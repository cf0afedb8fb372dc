//! The columns of the table and the executable behind each. Reweave's is this one, called again. The peers have one each: two of
//! them carry different versions of a library that cannot be linked twice (`generator`), one declares a newer compiler.

use std::{path::PathBuf, process::Command};

use reweave_bench_cell::Program;

/// A column.
pub(crate) struct Tool {
    /// The name and how it is driven.
    pub(crate) heading: &'static str,
    runner: Result<Runner, String>,
}

enum Runner {
    /// This executable, called again as `cell <program>`.
    #[cfg(feature = "reweave")]
    Own,
    Built(PathBuf),
}

/// Package suffix and heading of each peer.
const PEERS: [(&str, &str); 4] = [
    ("loom", "loom"),
    ("shuttle", "Shuttle DFS (no reduction)"),
    ("interweave", "interweave"),
    ("traceforge", "TraceForge"),
];

impl Tool {
    /// All columns, their executables built.
    pub(crate) fn all() -> Vec<Tool> {
        let own = [
            #[cfg(feature = "reweave")]
            Tool::own(),
        ];
        let peers = PEERS.map(|(name, heading)| Tool {
            heading,
            runner: build(name).map(Runner::Built),
        });
        own.into_iter().chain(peers).collect()
    }

    /// Reweave's.
    #[cfg(feature = "reweave")]
    pub(crate) fn own() -> Tool {
        Tool {
            heading: "Reweave, 1 worker",
            runner: Ok(Runner::Own),
        }
    }

    /// The command that fills a cell, or why there is none.
    pub(crate) fn command(&self, program: Program) -> Result<Command, String> {
        let mut command = match &self.runner {
            #[cfg(feature = "reweave")]
            Ok(Runner::Own) => {
                let mut this = Command::new(this_executable());
                this.arg("cell");
                this
            }
            Ok(Runner::Built(path)) => Command::new(path),
            Err(why) => return Err(why.clone()),
        };
        command.arg(program.to_string());
        Ok(command)
    }
}

/// This executable.
pub(crate) fn this_executable() -> PathBuf {
    std::env::current_exe().expect("Linux tells a process its executable")
}

/// Builds a peer's executable. interweave declares rustc 1.96 but builds with older ones, hence `--ignore-rust-version`.
fn build(peer: &str) -> Result<PathBuf, String> {
    let package = format!("reweave-bench-{peer}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--ignore-rust-version"])
        .args(["--package", &package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .map_err(|e| format!("cargo not started: {e}"))?;
    if !status.success() {
        return Err("does not build".to_owned());
    }
    // We are `<profile>/deps/peers-<hash>`; executables stand two levels up.
    let profile = this_executable();
    let profile = profile
        .parent()
        .and_then(|deps| deps.parent())
        .expect("cargo puts benches two levels below the target directory");
    Ok(profile.join(package))
}
