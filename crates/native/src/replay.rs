//! Replays one recorded execution, also in a debugger.
//!
//! *Called by:* `reweave replay`. *Owns:* the program and its subject, for further runs.

use crate::{
    errors::StartError,
    gdb::{Gdb, GdbError},
    loaded_libraries::LoadedLibraries,
    notes::{stored_rules, stored_units},
    program::NativeProgram,
    subject::NativeSubject,
};
use reweave_check::Fault;
use reweave_report::Trace;
use std::fmt;

/// An execution that was replayed.
pub struct Replay {
    /// Its trace, as it is this time.
    pub trace: Trace,
    subject: NativeSubject,
    /// What was built is removed with it.
    _program: NativeProgram,
}

/// Why an execution could not be replayed.
#[derive(Debug)]
pub enum ReplayError {
    /// The program could not be started.
    Start(StartError),
    /// The execution differs from the recorded one; the first difference.
    Differs(String),
    /// The program could not be run to the end.
    Failed(String),
    /// The debugger could not be used.
    Gdb(GdbError),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Start(error) => error.fmt(f),
            ReplayError::Differs(what) | ReplayError::Failed(what) => f.write_str(what),
            ReplayError::Gdb(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReplayError {}

impl From<Fault> for ReplayError {
    fn from(fault: Fault) -> ReplayError {
        match fault {
            Fault::Differs(what) => ReplayError::Differs(what),
            Fault::Failed(why) => ReplayError::Failed(why),
            Fault::Late => ReplayError::Failed("there was no time left to run it".into()),
        }
    }
}

impl Replay {
    /// Runs the execution of a trace again. The program must be built and launched as the trace says; the memory and rules
    /// that the recorded runs observed are taken from the trace.
    pub fn new(mut program: NativeProgram, recorded: &Trace) -> Result<Replay, ReplayError> {
        let described = &recorded.program;
        program.description.clone_from(described);
        program.launch.units = stored_units(&described.visible);
        program.launch.rules = stored_rules(&described.rules, &described.visible);
        program.launch.libraries = LoadedLibraries::from_stored(&described.libraries);
        let subject = program.subject(recorded.options.max_steps);
        let subject = subject.map_err(ReplayError::Start)?;
        let seen = subject.observe(&recorded.plan())?;
        let mut trace = subject.trace(&seen);
        (trace.preemptions, trace.shortened) = (recorded.preemptions, recorded.shortened);
        trace.sources.clone_from(&recorded.sources);
        match recorded.differs(&trace) {
            Some(difference) => Err(ReplayError::Differs(difference.to_string())),
            None => Ok(Replay {
                trace,
                subject,
                _program: program,
            }),
        }
    }

    /// Runs it once more, in a debugger, and compares what happened there.
    pub fn debug(&self, gdb: &Gdb) -> Result<(), ReplayError> {
        let mut failed = None;
        let seen = self.subject.debug(&self.trace.plan(), |process| {
            failed = gdb.run(process, &self.trace).err();
        });
        if let Some(error) = failed {
            return Err(ReplayError::Gdb(error));
        }
        match self.trace.differs(&self.subject.trace(&seen?)) {
            Some(difference) => Err(ReplayError::Differs(difference.to_string())),
            None => Ok(()),
        }
    }
}
