//! A directory to work in, and what the command says there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use tempfile::TempDir;

/// With a cache of its own.
pub struct Bench {
    pub place: TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let place = tempfile::tempdir().unwrap();
        Bench { place }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        command
            .args(args)
            .current_dir(self.place.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env_remove("CC")
            .env_remove("CXX");
        command
    }

    #[allow(dead_code, reason = "not every test program uses it")]
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The one directory with the runtime.
    #[allow(dead_code, reason = "not every test program looks at it")]
    pub fn kit(&self, cache: &Path) -> PathBuf {
        let mut kits = fs::read_dir(cache).unwrap();
        let kit = kits.next().unwrap().unwrap().path();
        assert!(kits.next().is_none(), "one runtime, one directory");
        kit
    }
}

/// What was said about it.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// It went well.
#[allow(dead_code, reason = "some test programs only see failures")]
pub fn fine(output: &Output) {
    assert!(output.status.success(), "{}", err(output));
}
