//! A check of one native program: explored in slices of time, restarted on a lower rung when state leaks, reported.
//!
//! *Decides:* when a check steps down the ladder. *Called by:* `reweave check` with one slice, `reweave suite` with many,
//! [`check_program`]. *Owns:* the program and its processes. *Invariants:* after a step down the check starts over, so all
//! executions of a result were run on one rung.

use crate::{
    errors::{CheckError, StartError},
    ladder::{rung_name, rung_named},
    notes::StoredNotes,
    program::NativeProgram,
    subject::NativeSubject,
    surroundings::{self, Surroundings},
};
use reweave_check::{Check, Control, Fault, Outcome, Settings, StoredCheck};
use reweave_report::ResultDocument;
use reweave_wire::Restart;
use serde::{Deserialize, Serialize};
use std::{
    cell::OnceCell,
    fmt,
    time::{Instant, SystemTime},
};

/// See the module.
pub struct Session {
    pub(crate) program: NativeProgram,
    settings: Settings,
    pub(crate) check: Check<NativeSubject>,
    deadline: Option<Instant>,
    /// The libraries with which the program starts.
    libraries: Vec<String>,
    /// Computed once: all libraries are read for it.
    surroundings: OnceCell<String>,
    begun: SystemTime,
}

/// The result of a check.
pub struct Finished {
    /// With the trace of each error.
    pub outcome: Outcome,
    /// The result document.
    pub result: ResultDocument,
}

/// A step down the ladder: state leaked between runs, so the check starts over on another rung.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepDown {
    /// The program.
    pub program: String,
    /// The rung from here on.
    pub rung: Restart,
    /// What differed or was left behind.
    pub because: String,
}

impl fmt::Display for StepDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instead = match self.rung {
            Restart::Exec => "a newly started process",
            _ => "a process of its own",
        };
        let (program, because) = (&self.program, &self.because);
        write!(
            f,
            "{program}: state leaked between runs; from here on every run gets {instead} ({because})"
        )
    }
}

/// A session as plain data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredSession {
    /// The name of its rung.
    pub(crate) restart: String,
    pub(crate) notes: StoredNotes,
    pub(crate) check: StoredCheck,
    /// What the program's behaviour depends on beside the program; a piece for another machine has its own.
    #[serde(default)]
    pub(crate) surroundings: Option<String>,
}

/// Why a stored session cannot be continued.
#[derive(Debug)]
pub enum ResumeError {
    /// The program cannot be started.
    Start(StartError),
    /// The stored search does not fit, for this reason.
    Mismatch(String),
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeError::Start(error) => error.fmt(f),
            ResumeError::Mismatch(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ResumeError {}

/// Checks a program from beginning to end, within the budget of its settings. `stepped_down` is called for each step down.
pub fn check_program(
    mut program: NativeProgram,
    settings: Settings,
    control: &Control,
    mut stepped_down: impl FnMut(&StepDown),
) -> Result<Finished, CheckError> {
    program.stopped_by(control);
    let until = settings
        .budget
        .and_then(|it| Instant::now().checked_add(it));
    let mut session = Session::new(program, settings, until)?;
    loop {
        session.advance(control, until, &mut stepped_down)?;
        if let Some(finished) = session.conclude(&mut stepped_down)? {
            return Ok(finished);
        }
    }
}

impl Session {
    /// A check that has not begun. After the deadline none of its runs goes on.
    pub fn new(
        program: NativeProgram,
        settings: Settings,
        deadline: Option<Instant>,
    ) -> Result<Session, StartError> {
        program.launch.limits.deadline.set(deadline);
        let begun = SystemTime::now();
        let subject = subject(&program, &settings)?;
        let mut check = Check::new(subject, settings.clone());
        check.set_deadline(deadline);
        let modules = program.launch.libraries.modules().into_iter();
        Ok(Session {
            libraries: modules.map(|module| module.path).collect(),
            surroundings: OnceCell::new(),
            begun,
            check,
            program,
            settings,
            deadline,
        })
    }

    /// Continues a stored check. After an error, the check starts from the beginning.
    pub fn resume(&mut self, stored: StoredSession) -> Result<(), ResumeError> {
        let other = |stored: &String| stored != self.surroundings();
        if stored.surroundings.as_ref().is_some_and(other) {
            let why = "a library, an environment variable or the working directory has changed";
            return Err(ResumeError::Mismatch(why.into()));
        }
        let restart = self.program.launch.restart;
        if let Some(stored) = rung_named(&stored.restart) {
            self.program.launch.restart = stored.max(restart);
        }
        let resumed = subject(&self.program, &self.settings)
            .map_err(ResumeError::Start)
            .and_then(|mut subject| {
                subject.restore(stored.notes);
                let check = Check::resume(subject, self.settings.clone(), stored.check);
                check.map_err(|error| ResumeError::Mismatch(error.to_string()))
            });
        if resumed.is_err() {
            self.program.launch.restart = restart;
        }
        self.check = resumed?;
        self.check.set_deadline(self.deadline);
        Ok(())
    }

    /// The check as plain data. Before it is concluded.
    pub fn store(&mut self) -> StoredSession {
        StoredSession {
            surroundings: Some(self.surroundings().to_owned()),
            ..self.store_for_others()
        }
    }

    /// The same for another machine, where the libraries and the environment are its own.
    pub fn store_for_others(&mut self) -> StoredSession {
        StoredSession {
            restart: rung_name(self.program.launch.restart).into(),
            check: self.check.store(),
            notes: self.check.subject().store(),
            surroundings: None,
        }
    }

    fn surroundings(&self) -> &String {
        self.surroundings
            .get_or_init(|| surroundings::digest(&self.program.launch.program, &self.libraries))
    }

    /// What the program's behaviour depends on beside the program; `None`: also on files, which are not compared, or on something
    /// that has changed since the check began.
    pub fn dependencies(&self) -> Option<Surroundings> {
        if self.check.subject().names_files() {
            return None;
        }
        let modules = self.program.launch.libraries.modules().into_iter();
        let libraries: Vec<String> = modules.map(|module| module.path).collect();
        Surroundings::new(&self.program.launch.program, libraries, self.begun)
    }

    /// The number of workers from here on.
    pub fn set_workers(&mut self, workers: usize) {
        self.check.set_workers(workers);
    }

    /// So many executions as its settings allow, beyond those of a check that it continues.
    pub fn allow_more(&mut self) {
        self.check.allow_more();
    }

    /// Ends its processes until it is advanced again.
    pub fn end_processes(&self) {
        self.check.subject().end_processes();
    }

    /// The program.
    pub fn program(&self) -> &NativeProgram {
        &self.program
    }

    /// How it is checked, as it was asked for.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The check itself.
    pub fn check(&self) -> &Check<NativeSubject> {
        &self.check
    }

    /// Explores until then, and returns whether there is more to do.
    pub fn advance(
        &mut self,
        control: &Control,
        until: Option<Instant>,
        stepped_down: &mut dyn FnMut(&StepDown),
    ) -> Result<bool, CheckError> {
        loop {
            let more = self.check.advance(control, until);
            match self.unless_left_behind(more) {
                Ok(more) => return Ok(more),
                Err(fault) => stepped_down(&self.step_down(fault)?),
            }
        }
    }

    /// A fault if a run left something behind in its process.
    pub(crate) fn unless_left_behind<T>(&self, done: Result<T, Fault>) -> Result<T, Fault> {
        match (done, self.check.subject().leftover()) {
            (Ok(_), Some(what)) => Err(Fault::Differs(format!("{what} were left behind"))),
            (done, _) => done,
        }
    }

    /// The result; `None`: the check was restarted and must be advanced again.
    pub fn conclude(
        &mut self,
        stepped_down: &mut dyn FnMut(&StepDown),
    ) -> Result<Option<Finished>, CheckError> {
        let outcome = match self.check.conclude() {
            Ok(outcome) => outcome,
            Err(fault) => {
                stepped_down(&self.step_down(fault)?);
                return Ok(None);
            }
        };
        let subject = self.check.subject();
        let mut result = outcome.document(self.program.name());
        result.restart = rung_name(self.program.launch.restart).into();
        result.weak_orders = subject.weak_orders();
        result.warnings = subject.warnings();
        result.unexplored = subject.unexplored();
        result.unseen = subject.unseen_code();
        if let Some(coverage) = &mut result.coverage {
            coverage.lines = subject.lines();
        }
        Ok(Some(Finished { outcome, result }))
    }

    /// Restarts the check on the next rung, if there is one that could help.
    pub(crate) fn step_down(&mut self, fault: Fault) -> Result<StepDown, CheckError> {
        let (Fault::Differs(because), Some(rung)) = (&fault, self.program.rung_below()) else {
            return Err(fault.into());
        };
        self.program.launch.restart = rung;
        // It has been started before. If no time is left now, the result says so.
        self.program.launch.limits.deadline.set(None);
        let subject = subject(&self.program, &self.settings)?;
        self.check = Check::new(subject, self.settings.clone());
        self.check.set_deadline(self.deadline);
        Ok(StepDown {
            program: self.program.name().into(),
            rung,
            because: because.clone(),
        })
    }
}

fn subject(program: &NativeProgram, settings: &Settings) -> Result<NativeSubject, StartError> {
    let subject = program.subject(settings.options.max_steps)?;
    Ok(subject.steps_down(program.rung_below().is_some()))
}
