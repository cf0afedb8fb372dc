//! The target of one worker: a process, with its notes forwarded to the subject.
//!
//! *Decides:* whether a run showed accesses or rules that the search must restart for. *Called by:* the engine, for each
//! worker of a check. *Owns:* one process, which it returns to the subject's idle ones when the worker is done.

use crate::{
    errors::StartError, launch::Launch, notes::Notes, target::NativeTarget, unexplored::refused,
};
use reweave_explore::{Target, TargetError};
use reweave_model::{Execution, Plan};
use reweave_wire::{Note, Races, Rules, Unit};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Processes that wait for the next worker.
pub(crate) type IdleProcesses = Arc<Mutex<Vec<NativeTarget>>>;

/// See the module.
pub struct WorkerTarget {
    /// `None`: it could not be started, for this reason.
    native: Option<NativeTarget>,
    unavailable: Option<StartError>,
    idle: IdleProcesses,
    notes: Arc<Mutex<Notes>>,
    /// Memory whose plain accesses are explored so far.
    visible: Vec<Unit>,
    /// Rules that its runs follow.
    rules: Rules,
    races: Races,
    /// How many notes were looked at.
    known: usize,
    must_restart: Arc<AtomicBool>,
}

impl WorkerTarget {
    /// For a program launched in this way. `must_restart` is set when the search has to restart.
    pub(crate) fn new(
        started: Result<NativeTarget, StartError>,
        launch: &Launch,
        idle: IdleProcesses,
        notes: Arc<Mutex<Notes>>,
        must_restart: Arc<AtomicBool>,
    ) -> WorkerTarget {
        let (native, unavailable) = match started {
            Ok(native) => (Some(native), None),
            Err(error) => (None, Some(error)),
        };
        WorkerTarget {
            native,
            unavailable,
            idle,
            notes,
            visible: launch.units.clone(),
            rules: launch.rules,
            races: launch.races,
            known: 0,
            must_restart,
        }
    }

    /// Looks for what has to be explored and is not yet: accesses that raced, a rule that matters.
    fn look_for_omissions(&mut self) {
        let explores = matches!(self.races, Races::Explore | Races::Interleave);
        let visible = &self.visible;
        let Some(native) = &self.native else {
            return;
        };
        let notes = native.notes();
        if notes.len() == self.known {
            return;
        }
        for key in notes.iter().filter_map(refused) {
            let mut all = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            all.met.entry(key).or_insert_with(|| native.last().clone());
        }
        self.known = notes.len();
        let covered = |unit: &Unit| {
            let mut visible = visible.iter();
            visible.any(|known| {
                known.place <= unit.place && unit.place + unit.bytes <= known.place + known.bytes
            })
        };
        let hidden = |unit: &Unit| !covered(unit);
        let racy = notes.iter().filter_map(|note| match note {
            Note::Racy(unit) if explores => Some(*unit),
            Note::Returns(unit) => Some(*unit),
            _ => None,
        });
        let missing = notes.iter().filter_map(|note| match note {
            Note::Missing(unit) => Some(*unit),
            _ => None,
        });
        let needed = notes.iter().filter_map(|note| match note {
            Note::Needs(rule) => Some(*rule),
            _ => None,
        });
        let followed = self.rules;
        let needed: Rules = needed.filter(|rule| !followed.contains(*rule)).collect();
        let racy: Vec<Unit> = racy.filter(hidden).collect();
        let missing: Vec<Unit> = missing.filter(hidden).collect();
        let lacking = !missing.is_empty() || !needed.is_empty();
        if !racy.is_empty() || lacking {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            // Accesses that shall be operations are none yet, so a loop that waits by them never ends.
            notes.lacking |= lacking || self.races == Races::Interleave;
            notes.hidden.extend(racy);
            notes.hidden.extend(missing);
            notes.needed.extend(needed.iter());
            self.must_restart.store(true, Relaxed);
        }
    }
}

impl Target for WorkerTarget {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        let Some(native) = &mut self.native else {
            return Err(match &self.unavailable {
                Some(StartError::Late(_)) => TargetError::Late,
                why => {
                    let why = why.as_ref().map(StartError::to_string);
                    TargetError::Unavailable(why.unwrap_or_default())
                }
            });
        };
        let known = native.leftover();
        native.run(plan)?;
        if native.leftover() != known {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.leftover = native.leftover();
        }
        self.look_for_omissions();
        Ok(self.native.as_ref().expect("it has just run").last())
    }

    fn batch(&self) -> usize {
        self.native.as_ref().map_or(1, Target::batch)
    }

    fn prepare(&mut self, plans: &[Plan]) {
        if let Some(native) = &mut self.native {
            native.prepare(plans);
        }
    }
}

impl Drop for WorkerTarget {
    fn drop(&mut self) {
        let Some(mut native) = self.native.take() else {
            return;
        };
        native.end_if_it_forked();
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.all.extend(native.notes().iter().cloned());
        if native.fault().is_none() {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(native);
        }
    }
}
