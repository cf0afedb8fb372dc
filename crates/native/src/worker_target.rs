//! The target of one worker: a process, with its notes forwarded to the subject.
//!
//! *Decides:* whether a run showed accesses or rules that the search must restart for. *Called by:* the engine, for each
//! worker of a check. *Owns:* one process, which it returns to the subject's idle ones when the worker is done.

use crate::{notes::Notes, target::NativeTarget};
use reweave_explore::Target;
use reweave_model::{Choice, Divergence, Execution, Mark, OpKind, Plan, Site, Step, ThreadId};
use reweave_wire::{Note, Races, Unit};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Processes that wait for the next worker.
pub(crate) type IdleProcesses = Arc<Mutex<Vec<NativeTarget>>>;

/// A target that leaves word of what it notes, and its process for others.
pub struct WorkerTarget {
    /// `None`: it could not be started.
    native: Option<NativeTarget>,
    idle: IdleProcesses,
    notes: Arc<Mutex<Notes>>,
    /// What is explored beyond operations so far: racy memory, and what rules are about.
    visible: Vec<Unit>,
    races: Races,
    /// Notes looked at.
    known: usize,
    anew: Arc<AtomicBool>,
}

impl WorkerTarget {
    /// Whether something turned out that is not explored yet, as it has to be: accesses that raced, a rule that matters.
    fn races(&mut self) {
        let (visible, explores) = (&self.visible, explores(self.races));
        let Some(native) = &self.native else {
            return;
        };
        let notes = native.notes();
        if notes.len() == self.known {
            return;
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
            _ => None,
        });
        let missing = notes.iter().filter_map(|note| match note {
            Note::Missing(unit) => Some(*unit),
            _ => None,
        });
        let racy: Vec<Unit> = racy.filter(hidden).collect();
        let missing: Vec<Unit> = missing.filter(hidden).collect();
        if !racy.is_empty() || !missing.is_empty() {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            // Accesses that are to count as operations are none yet: a loop that waits by them goes on for ever.
            notes.lacking |= !missing.is_empty() || self.races == Races::Interleave;
            notes.hidden.extend(racy);
            notes.hidden.extend(missing);
            self.anew.store(true, Relaxed);
        }
    }
}

impl Target for WorkerTarget {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
        let native = self.native.as_mut().ok_or_else(meaningless)?;
        let known = native.leftover();
        native.run(plan)?;
        if native.leftover() != known {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.leftover = native.leftover();
        }
        self.races();
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
        let Some(native) = self.native.take() else {
            return;
        };
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.notes.extend(native.notes().iter().cloned());
        match native.fault() {
            Some(why) => {
                notes.fault.get_or_insert_with(|| why.into());
            }
            None => {
                let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
                idle.push(native);
            }
        }
    }
}

/// For a target that cannot run; the fault says why.
fn meaningless() -> Divergence {
    Divergence {
        step: 0,
        expected: Step {
            choice: Choice {
                thread: ThreadId::MAIN,
                outcome: 0,
            },
            kind: OpKind(0),
            site: Site::ANY,
            ok: None,
            mark: Mark::Default,
        },
        actual: None,
    }
}
