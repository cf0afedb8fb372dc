//! One native program being checked: explored in slices of time, begun anew with a process for each run where that is needed, told.
//!
//! *Called by:* `check` with one slice, `suite` with many. *Owns:* the program that was built and its processes.

use super::{Ending, Prepared, args::Check, native::Checked, noticed::StoredNotes};
use crate::say;
use reweave_check::{Control, Fault, Outcome, Settings, StoredCheck};
use reweave_drive::Restart;
use reweave_report::ResultDocument;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// See the module.
pub struct Session {
    check: Check,
    prepared: Prepared,
    settings: Settings,
    under_way: reweave_check::Check<Checked>,
}

/// What came out.
pub struct Told {
    pub outcome: Outcome,
    pub result: ResultDocument,
}

/// A session as plain data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredSession {
    /// How it is run again.
    restart: String,
    notes: StoredNotes,
    check: StoredCheck,
}

impl Session {
    /// A check that has not begun. An error is about why the program cannot be started.
    pub fn new(check: Check, prepared: Prepared, settings: Settings) -> Result<Session, Ending> {
        let subject = checked(&check, &prepared)?;
        Ok(Session {
            under_way: reweave_check::Check::new(subject, settings.clone()),
            check,
            prepared,
            settings,
        })
    }

    /// Goes on where it stopped; an error is about why it cannot, and it begins from the beginning then.
    pub fn resume(&mut self, stored: StoredSession) -> Result<(), String> {
        let restart = self.prepared.launch.restart;
        if let Some(stored) = named(&stored.restart) {
            self.prepared.launch.restart = stored.max(restart);
        }
        let resumed = checked(&self.check, &self.prepared).and_then(|mut subject| {
            subject.restore(stored.notes);
            let settings = self.settings.clone();
            let resumed = reweave_check::Check::resume(subject, settings, stored.check);
            resumed.map_err(|error| error.to_string())
        });
        if resumed.is_err() {
            self.prepared.launch.restart = restart;
        }
        self.under_way = resumed?;
        Ok(())
    }

    /// As plain data. Before it is concluded.
    pub fn store(&mut self) -> StoredSession {
        let check = self.under_way.store();
        StoredSession {
            restart: name(self.prepared.launch.restart).into(),
            notes: self.under_way.subject().store(),
            check,
        }
    }

    /// How many explore at once from here on.
    pub fn set_workers(&mut self, workers: usize) {
        self.under_way.set_workers(workers);
    }

    /// Ends its processes until it is advanced again.
    pub fn rest(&self) {
        self.under_way.subject().rest();
    }

    /// The check itself.
    pub fn under_way(&self) -> &reweave_check::Check<Checked> {
        &self.under_way
    }

    /// Explores until then, and says whether there is more to do.
    pub fn advance(&mut self, control: &Control, until: Option<Instant>) -> Result<bool, Ending> {
        loop {
            let more = self.under_way.advance(control, until);
            match (more, self.under_way.subject().left()) {
                (Err(fault), _) => self.step_down(fault)?,
                (Ok(_), Some(left)) => {
                    let what = format!("{left} were left behind");
                    self.step_down(Fault::Differs(what))?;
                }
                (Ok(more), None) => return Ok(more),
            }
        }
    }

    /// Says what came out; `None`: it was begun anew, and has to be advanced again.
    pub fn conclude(&mut self) -> Result<Option<Told>, Ending> {
        let outcome = match self.under_way.conclude() {
            Ok(outcome) => outcome,
            Err(fault) => return self.step_down(fault).map(|()| None),
        };
        let subject = self.under_way.subject();
        let mut result = outcome.document(&self.prepared.program.name);
        result.restart = name(self.prepared.launch.restart).into();
        result.weak_orders = subject.weak_orders();
        result.warnings = subject.warnings();
        Ok(Some(Told { outcome, result }))
    }

    /// Begins anew with a process for each run, forked or started, if that may mend it.
    fn step_down(&mut self, fault: Fault) -> Result<(), Ending> {
        let lower = self.prepared.lower(&self.check);
        match (fault, lower) {
            (Fault::Differs(what), Some(lower)) => {
                let name = &self.prepared.program.name;
                let instead = match lower {
                    Restart::Exec => "every run gets a process that was started for it",
                    _ => "every run gets a process of its own",
                };
                say(&format!(
                    "{name}: the program is not as it was when it is run again; {instead} from here on ({what})"
                ));
                self.prepared.launch.restart = lower;
                let subject = checked(&self.check, &self.prepared)?;
                self.under_way = reweave_check::Check::new(subject, self.settings.clone());
                Ok(())
            }
            (fault, _) => Err(fault.into()),
        }
    }
}

const NAMES: [(&str, Restart); 3] = [
    ("warm", Restart::Warm),
    ("fork", Restart::Fork),
    ("exec", Restart::Exec),
];

fn name(restart: Restart) -> &'static str {
    let known = NAMES.iter().find(|(_, known)| *known == restart);
    known.expect("all are listed").0
}

fn named(name: &str) -> Option<Restart> {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, restart)| *restart)
}

fn checked(check: &Check, prepared: &Prepared) -> Result<Checked, String> {
    let (launch, program) = (prepared.launch.clone(), prepared.program.clone());
    let checked = Checked::new(launch, program, check.options.max_steps)?;
    Ok(checked.tidy(prepared.lower(check).is_some()))
}
