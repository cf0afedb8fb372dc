//! `reweave replay --gdb`: gdb on the process that runs a recorded execution.
//!
//! *Called by:* `replay`. The process runs by itself, on threads of the operating system; gdb is attached to it, and a script of ours
//! (`debugger.py`) stops at the steps, which it knows from a story that is written for it here.

use reweave_model::ThreadId;
use reweave_report::{Story, Trace};
use serde::Serialize;
use signal_hook::{consts::SIGINT, flag};
use std::{
    ffi::OsString,
    fs,
    io::{self, ErrorKind},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
};

/// How the script says that it cannot attach.
const REFUSED: i32 = 97;

const SCRIPT: &str = include_str!("debugger.py");

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Debugging {
    /// The step to stop at; `None`: the first error, or the end.
    pub until: Option<u64>,
    /// Further arguments of gdb's.
    pub args: Vec<OsString>,
}

/// What the script knows.
#[derive(Serialize)]
struct Told {
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

/// Whether there is a gdb that can be used; an error is a sentence about what to do.
pub fn available() -> Result<(), String> {
    let asked = Command::new("gdb")
        .args(["-nx", "-batch", "-ex", "python print(\"well\")"])
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(asked) if asked.stdout == b"well\n" => Ok(()),
        Ok(_) => Err("this gdb cannot run scripts in Python, which --gdb needs; install a whole one (`apt-get install gdb`)".into()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err("there is no gdb; install it (`apt-get install gdb`)".into())
        }
        Err(error) => Err(format!("gdb cannot be started: {error}")),
    }
}

impl Debugging {
    /// Whether the step to stop at is one of the trace's.
    pub fn fits(&self, trace: &Trace) -> Result<(), String> {
        let steps = trace.events.len() as u64;
        match self.until {
            Some(step) if !(1..=steps).contains(&step) => Err(format!(
                "--until {step}: the execution has the steps 1 to {steps}"
            )),
            _ => Ok(()),
        }
    }

    /// Has gdb attached to the process, and waits until somebody leaves it. An error is a sentence about why not.
    pub fn run(&self, process: u32, trace: &Trace) -> Result<(), String> {
        let status = self.start(process, trace);
        let status = status.map_err(|error| format!("gdb cannot be started: {error}"))?;
        match status.code() == Some(REFUSED) {
            true => Err("gdb is not allowed to attach to the program (in a container, `--cap-add SYS_PTRACE` allows it)".into()),
            false => Ok(()),
        }
    }

    fn start(&self, process: u32, trace: &Trace) -> io::Result<ExitStatus> {
        // Ctrl-C is for gdb.
        flag::register(SIGINT, Arc::default())?;
        let place = tempfile::tempdir()?;
        let (story, script) = (place.path().join("story"), place.path().join("debugger.py"));
        fs::write(&story, serde_json::to_vec(&self.told(process, trace))?)?;
        fs::write(&script, SCRIPT)?;
        self.command(&story, &script).status()
    }

    fn command(&self, story: &Path, script: &Path) -> Command {
        let mut gdb = Command::new("gdb");
        gdb.arg("-q").arg("-x").arg(script).args(&self.args);
        gdb.env("REWEAVE_STORY", story);
        gdb
    }

    fn told(&self, process: u32, trace: &Trace) -> Told {
        let story = Story::new(trace);
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
        Told {
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

/// Without characters that control a terminal.
fn plain(text: &str) -> String {
    let harmless = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(harmless).collect()
}
