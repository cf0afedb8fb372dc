//! Why a native program could not be started or run.
//!
//! A bug of the program is never one of these: crashes, endless loops and exits are parts of executions.

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
                write!(f, "no memory can be shared with the program's runtime: {error}")
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
        RunError::Start(error)
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
            RunError::AlwaysDies => "the program's process ends in a run, and nothing prevents that",
            RunError::EndedInDebugger => "it was ended there",
            RunError::Late => "there is no time left",
        })
    }
}

impl std::error::Error for RunError {}
