//! gdb on the process that runs a recorded execution.
//!
//! *Called by:* `replay`. *Owns:* the files that gdb reads. The process runs on threads of the operating system, gdb is
//! attached to it, and a script (`gdb.py`) stops at the steps, which it knows from a file written here.

use reweave_model::ThreadId;
use reweave_report::{Story, Trace, clean};
use reweave_toolchain::temporary::TemporaryDirectory;
use serde::Serialize;
use std::{
    ffi::OsString,
    fmt, fs,
    io::{self, ErrorKind},
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

/// The exit code of the script when it cannot attach.
const REFUSED: i32 = 97;

const SCRIPT: &str = include_str!("gdb.py");

/// How to run gdb.
#[derive(Clone, Debug, Default)]
pub struct Gdb {
    /// The step to stop at; `None`: the first error, or the end.
    pub until: Option<u64>,
    /// Further arguments for gdb.
    pub args: Vec<OsString>,
}

/// Why gdb could not be used.
#[derive(Debug)]
pub enum GdbError {
    /// It is not installed.
    Missing,
    /// It cannot run scripts in Python.
    NoPython,
    /// It could not be started.
    Unusable(io::Error),
    /// It may not attach to the program.
    NotAllowed,
    /// The execution has no such step.
    NoStep {
        /// The step.
        step: u64,
        /// How many there are.
        steps: u64,
    },
}

impl fmt::Display for GdbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GdbError::Missing => "there is no gdb; install it (`apt-get install gdb`)",
            GdbError::NoPython => {
                "this gdb cannot run scripts in Python, which --gdb needs; install the full one (`apt-get install gdb`)"
            }
            GdbError::NotAllowed => {
                "gdb is not allowed to attach to the program (in a container, `--cap-add SYS_PTRACE` allows it)"
            }
            GdbError::Unusable(error) => return write!(f, "gdb cannot be started: {error}"),
            GdbError::NoStep { step, steps } => {
                return write!(f, "--until {step}: the execution has the steps 1 to {steps}");
            }
        })
    }
}

impl std::error::Error for GdbError {}

/// What the script knows of the execution.
#[derive(Serialize)]
struct Script {
    process: u32,
    until: u64,
    threads: Vec<Thread>,
    steps: Vec<Step>,
    errors: Vec<String>,
    end: String,
}

#[derive(Serialize)]
struct Thread {
    name: String,
    pending: Option<String>,
}

#[derive(Serialize)]
struct Step {
    thread: u32,
    what: String,
}

impl Gdb {
    /// Whether gdb can be used.
    pub fn available() -> Result<(), GdbError> {
        let asked = Command::new("gdb")
            .args(["-nx", "-batch", "-ex", "python print(\"well\")"])
            .stdin(Stdio::null())
            .output();
        match asked {
            Ok(asked) if asked.stdout == b"well\n" => Ok(()),
            Ok(_) => Err(GdbError::NoPython),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(GdbError::Missing),
            Err(error) => Err(GdbError::Unusable(error)),
        }
    }

    /// Whether the step to stop at is one of the trace's.
    pub fn fits(&self, trace: &Trace) -> Result<(), GdbError> {
        let steps = trace.events.len() as u64;
        match self.until {
            Some(step) if !(1..=steps).contains(&step) => Err(GdbError::NoStep { step, steps }),
            _ => Ok(()),
        }
    }

    /// Attaches gdb to the process, and waits until the user leaves it.
    pub(crate) fn run(&self, process: u32, trace: &Trace) -> Result<(), GdbError> {
        let status = self.start(process, trace).map_err(GdbError::Unusable)?;
        match status.code() == Some(REFUSED) {
            true => Err(GdbError::NotAllowed),
            false => Ok(()),
        }
    }

    fn start(&self, process: u32, trace: &Trace) -> io::Result<ExitStatus> {
        let place = TemporaryDirectory::new()?;
        let (story, script) = (place.path().join("story"), place.path().join("gdb.py"));
        fs::write(&story, serde_json::to_vec(&self.script(process, trace))?)?;
        fs::write(&script, SCRIPT)?;
        self.command(&story, &script).status()
    }

    fn command(&self, story: &Path, script: &Path) -> Command {
        let mut gdb = Command::new("gdb");
        gdb.arg("-q").arg("-x").arg(script).args(&self.args);
        gdb.env("REWEAVE_STORY", story);
        gdb
    }

    fn script(&self, process: u32, trace: &Trace) -> Script {
        let story = Story::by_path(trace);
        let steps = trace.events.iter().enumerate().map(|(index, event)| Step {
            thread: event.thread,
            what: plain(&story.event(index)),
        });
        let threads = trace.threads.iter().zip(0..).map(|(thread, index)| Thread {
            name: plain(thread.name.as_deref().unwrap_or(&thread.path)),
            pending: thread
                .pending
                .as_ref()
                .filter(|_| !story.failed(ThreadId(index)))
                .map(|it| plain(&story.pending(it))),
        });
        let errors = trace.errors.iter();
        Script {
            process,
            until: self.until.unwrap_or(0),
            threads: threads.collect(),
            steps: steps.collect(),
            errors: errors
                .map(|error| plain(&format!("{}: {}", error.kind.name(), error.message)))
                .collect(),
            end: plain(&trace.end),
        }
    }
}

/// One line without characters that control a terminal.
fn plain(text: &str) -> String {
    clean(text).replace(['\n', '\u{fffd}'], "?")
}
