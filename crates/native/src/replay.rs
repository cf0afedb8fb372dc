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
use reweave_check::{Fault, RecordedStep, Subject};
use reweave_report::{PlanStep, Program, Trace, TraceEvent, parse_path, record_sources};
use reweave_wire::Restart;
use std::{fmt, time::Instant};

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

    /// Follows the schedule of a trace in a program that has changed since, as far as it still can be followed. `None`: it
    /// could not be followed before the time was over.
    pub fn follow(
        mut program: NativeProgram,
        recorded: &Trace,
        until: Instant,
    ) -> Result<Option<Replay>, ReplayError> {
        let described = &recorded.program;
        let digest = program.description.digest.take();
        program.description = Program {
            digest,
            // Memory is at other places now.
            visible: Vec::new(),
            ..described.clone()
        };
        program.launch.rules = stored_rules(&described.rules, &described.visible);
        // No run can explain what another one does.
        program.launch.restart = Restart::Exec;
        let max_steps = recorded.options.max_steps;
        let mut subject = program.subject(max_steps).map_err(ReplayError::Start)?;
        let steps = recorded_steps(recorded);
        loop {
            subject.begin();
            let execution = reweave_check::follow(&subject, &steps, max_steps, until)?;
            let Some(execution) = execution else {
                return Ok(None);
            };
            // The changed program may need rules that the recorded one did not.
            if !subject.must_restart() {
                let mut trace = subject.confirm(&execution)?;
                record_sources(&mut trace);
                return Ok(Some(Replay {
                    trace,
                    subject,
                    _program: program,
                }));
            }
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

/// What each thread of a trace did, in their order.
fn recorded_steps(recorded: &Trace) -> Vec<RecordedStep> {
    let steps = recorded.plan.iter().zip(&recorded.events);
    let step = |(step, event): (&PlanStep, &TraceEvent)| {
        let thread = recorded.threads.get(event.thread as usize)?;
        Some(RecordedStep {
            path: parse_path(&thread.path)?,
            outcome: step.1,
            operation: event.operation.name.clone(),
        })
    };
    steps.filter_map(step).collect()
}
