//! Why a native program could not be prepared, started, run, checked or replayed.
//!
//! A bug of the program is never one of these: crashes, endless loops and exits are parts of executions.

use reweave_check::Fault;
use reweave_toolchain::{compile::CompileError, executable::ExecutableError, kit::KitError};
use std::{fmt, io, path::PathBuf, process::ExitStatus};

/// Why a program could not be started.
#[derive(Debug)]
pub enum StartError {
    /// No memory can be shared with the program.
    SharedMemory(io::Error),
    /// The shared memory cannot be mapped.
    Mapping(io::Error),
    /// There is no memory for the program's output.
    OutputMemory(io::Error),
    /// The program's standard input cannot be opened.
    StandardInput(io::Error),
    /// The limit on open files is too low.
    OpenFiles {
        /// The limit.
        limit: u64,
        /// What the runtime needs.
        needed: u64,
    },
    /// The operating system cannot start it.
    Spawn(PathBuf, io::Error),
    /// It ended before `main`.
    EndedEarly(PathBuf, ExitStatus),
    /// It does not reach `main`.
    NoMain(PathBuf),
    /// There was no time left before it reached `main`.
    Late(PathBuf),
    /// The runtime refuses it, with this sentence.
    Refused(String),
    /// Its process cannot be watched.
    Unwatchable(io::Error),
    /// The shared memory holds no valid greeting.
    MalformedReport,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::SharedMemory(error) => {
                write!(
                    f,
                    "no memory can be shared with the program's runtime: {error}"
                )
            }
            StartError::Mapping(error) => write!(f, "the shared memory cannot be mapped: {error}"),
            StartError::OutputMemory(error) => {
                write!(f, "there is no memory for the program's output: {error}")
            }
            StartError::StandardInput(error) => {
                write!(f, "the program's standard input cannot be opened: {error}")
            }
            StartError::OpenFiles { limit, needed } => write!(
                f,
                "the limit on open files is {limit}, and the program's runtime needs {needed} (`ulimit -Hn`)"
            ),
            StartError::Spawn(program, error) => {
                write!(f, "{}: cannot be started: {error}", program.display())
            }
            StartError::EndedEarly(program, status) => write!(
                f,
                "{}: ended before its `main` ({status}); if only its libraries are instrumented, build it with `reweave build -- make` or `reweave cc` too",
                program.display()
            ),
            StartError::NoMain(program) => {
                write!(f, "{}: does not reach its `main`", program.display())
            }
            StartError::Late(program) => write!(
                f,
                "{}: did not reach its `main` before the time was over",
                program.display()
            ),
            StartError::Refused(sentence) => f.write_str(sentence),
            StartError::Unwatchable(error) => error.fmt(f),
            StartError::MalformedReport => f.write_str(MALFORMED),
        }
    }
}

impl std::error::Error for StartError {}

const MALFORMED: &str = "the program overwrote the memory through which its runs are reported, or its runtime has a bug";

/// Why a program that was started could not be run.
#[derive(Debug)]
pub enum RunError {
    /// Another process of it could not be started.
    Start(StartError),
    /// A plan does not fit into the shared memory.
    PlanTooLong,
    /// The report cannot be read.
    MalformedReport,
    /// Its process ends in the run, at the same place whatever is done.
    AlwaysDies,
    /// The runtime refuses the run, with this sentence.
    Refused(String),
    /// It was ended in the debugger.
    EndedInDebugger,
    /// Its process cannot be watched.
    Unwatchable(io::Error),
    /// There is no time left. The only error that is no fault.
    Late,
}

impl From<StartError> for RunError {
    fn from(error: StartError) -> RunError {
        match error {
            StartError::Late(_) => RunError::Late,
            error => RunError::Start(error),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunError::Start(error) => return error.fmt(f),
            RunError::Unwatchable(error) => return error.fmt(f),
            RunError::Refused(sentence) => sentence,
            RunError::PlanTooLong => "a plan is too long",
            RunError::MalformedReport => MALFORMED,
            RunError::AlwaysDies => {
                "the program's process ends in a run, and nothing prevents that"
            }
            RunError::EndedInDebugger => "it was ended there",
            RunError::Late => "there is no time left",
        })
    }
}

impl std::error::Error for RunError {}

/// Why there is no program to start.
#[derive(Debug)]
pub enum PrepareError {
    /// The runtime and headers could not be unpacked.
    Kit(KitError),
    /// It could not be compiled or linked.
    Compile(CompileError),
    /// Its file cannot be explored.
    Executable(ExecutableError),
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrepareError::Kit(error) => error.fmt(f),
            PrepareError::Compile(error) => error.fmt(f),
            PrepareError::Executable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PrepareError {}

/// Why a check has no result.
#[derive(Debug)]
pub enum CheckError {
    /// The program could not be started.
    Start(StartError),
    /// It does not behave the same when run again, or could not be run.
    Fault(Fault),
}

impl From<StartError> for CheckError {
    fn from(error: StartError) -> CheckError {
        CheckError::Start(error)
    }
}

impl From<Fault> for CheckError {
    fn from(fault: Fault) -> CheckError {
        CheckError::Fault(fault)
    }
}

const NOT_DETERMINISTIC: &str = "the program does not do the same when it is run the same way again (does it depend on \
    addresses, on random numbers, on something outside that changes?)";

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Start(error) => error.fmt(f),
            CheckError::Fault(Fault::Differs(what)) => write!(f, "{NOT_DETERMINISTIC}\n  {what}"),
            CheckError::Fault(Fault::Failed(why)) => f.write_str(why),
            CheckError::Fault(Fault::Late) => f.write_str("there was no time left to run it"),
        }
    }
}

impl std::error::Error for CheckError {}
