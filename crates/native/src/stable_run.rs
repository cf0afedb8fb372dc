//! A program that runs once, with its threads synchronising in one fixed order, and that order as a file.
//!
//! *Decides:* which programs can be run so, and how they are started. The order itself is decided by the shared object that is loaded
//! into the program (`crates/stable`). *Called by:* the command's `run`. *Owns:* the directory in which the processes of a run get their
//! numbers, while the run lasts.

use crate::{errors::PrepareError, program::in_path};
use reweave_toolchain::{
    Kit,
    executable::{Executable, ExecutableError, Problem},
    temporary::TemporaryDirectory,
};
use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// A program that can be run in a fixed order.
#[derive(Debug)]
pub struct StableRun {
    program: PathBuf,
    arguments: Vec<OsString>,
    preload: OsString,
}

impl StableRun {
    /// Takes a program, which is looked up in `PATH` if it is named without a directory. Scripts are allowed: what they start is run in a
    /// fixed order as well.
    pub fn new(program: &Path, arguments: &[OsString]) -> Result<StableRun, PrepareError> {
        match Executable::inspect(&in_path(program)) {
            Ok(_) => {}
            Err(ExecutableError {
                problem: Problem::Script { .. },
                ..
            }) => {}
            Err(error) => return Err(PrepareError::Executable(error)),
        }
        let kit = Kit::unpack().map_err(PrepareError::Kit)?;
        let mut preload = kit.stable().into_os_string();
        if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        Ok(StableRun {
            program: program.into(),
            arguments: arguments.to_vec(),
            preload,
        })
    }

    /// The command that runs it. It can be extended before it is started.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.env("LD_PRELOAD", &self.preload);
        for name in [
            "REWEAVE_RUN_RECORD",
            "REWEAVE_RUN_FOLLOW",
            "REWEAVE_RUN_PROCESSES",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// The same, which writes its order to a file. Further processes of the program write to files with `.1`, `.2` and so on behind the
    /// name. The directory must outlive the run.
    pub fn recording(&self, file: &Path) -> io::Result<(Command, TemporaryDirectory)> {
        File::create(file)?;
        self.with_order("REWEAVE_RUN_RECORD", file)
    }

    /// The same, which keeps the order of such files.
    pub fn following(&self, file: &Path) -> io::Result<(Command, TemporaryDirectory)> {
        self.with_order("REWEAVE_RUN_FOLLOW", file)
    }

    fn with_order(&self, what: &str, file: &Path) -> io::Result<(Command, TemporaryDirectory)> {
        let numbers = TemporaryDirectory::new()?;
        let mut command = self.command();
        command.env(what, std::path::absolute(file)?);
        command.env("REWEAVE_RUN_PROCESSES", numbers.path().join("process"));
        Ok((command, numbers))
    }
}

/// The order in which the threads of a process synchronised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    text: String,
}

impl Order {
    const HEADER: &str = "reweave.schedule/1\n";

    /// Reads a file. What a process that was killed left behind its last step is removed from it.
    pub fn read(file: &Path) -> io::Result<Order> {
        let mut text = fs::read_to_string(file)?;
        let length = text.trim_end_matches('\0').len();
        if length < text.len() {
            text.truncate(length);
            File::options()
                .write(true)
                .open(file)?
                .set_len(length as u64)?;
        }
        match text.starts_with(Order::HEADER) {
            true => Ok(Order { text }),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is no schedule that `reweave run --schedule` wrote, or one of another version",
            )),
        }
    }

    /// Reads the files of all processes of a run.
    pub fn read_all(file: &Path) -> io::Result<Vec<Order>> {
        let mut orders = Vec::new();
        let mut next = file.to_owned();
        while next.exists() {
            orders.push(Order::read(&next)?);
            let mut name = file.as_os_str().to_owned();
            name.push(format!(".{}", orders.len()));
            next = name.into();
        }
        Ok(orders)
    }

    /// What was done: the number of a thread, and its step.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.text.lines().skip(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_process_leaves_zeros() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("order");
        fs::write(&file, "reweave.schedule/1\n1 lock\n2 wait\n\0\0\0").unwrap();
        let order = Order::read(&file).unwrap();
        assert_eq!(order.steps().collect::<Vec<_>>(), ["1 lock", "2 wait"]);
        assert_eq!(
            fs::read(&file).unwrap(),
            b"reweave.schedule/1\n1 lock\n2 wait\n"
        );
        fs::write(place.path().join("order.1"), "reweave.schedule/1\n").unwrap();
        assert_eq!(Order::read_all(&file).unwrap().len(), 2);
        fs::write(&file, "something else").unwrap();
        assert_eq!(
            Order::read(&file).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
}
