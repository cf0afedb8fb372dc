//! A native program as the subject of a check: how workers run it, and how its executions are confirmed and shown.
//!
//! *Decides:* when the search restarts because accesses or rules turned out to matter. *Called by:* `session`, `replay`
//! and the crate `check`. *Owns:* the notes of all workers, the program's names and its idle processes. *Invariants:* an
//! error is confirmed in a process started for that one run, so no earlier run can explain it.

use crate::{
    errors::StartError,
    launch::Launch,
    named_trace::named_trace,
    notes::{Notes, StoredNotes},
    program_names::ProgramNames,
    target::{NativeTarget, Observation},
    unexplored::refused,
    worker_target::{IdleProcesses, WorkerTarget},
};
use reweave_check::{Fault, Subject, plan_of};
use reweave_model::{Event, Execution, Plan, Site};
use reweave_report::{Finding, LineCoverage, Position, Program, Trace, UnseenCode};
use reweave_wire::{Note, Races, Restart, Threads, Unit};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use std::time::Instant;

/// See the module.
pub struct NativeSubject {
    launch: Launch,
    /// For traces.
    program: Program,
    max_steps: u32,
    names: Mutex<ProgramNames>,
    notes: Arc<Mutex<Notes>>,
    /// Accesses raced that are to be explored and are not yet.
    must_restart: Arc<AtomicBool>,
    /// Processes that wait for the next worker.
    idle: IdleProcesses,
    /// What an earlier part of the check notes.
    restored: Option<StoredNotes>,
    /// Whether to run no more once a run has left something behind in its process.
    steps_down: bool,
}

impl NativeSubject {
    /// Starts the program once, to find out whether it can be started. If the time ends meanwhile, so will the check.
    pub fn new(
        launch: Launch,
        program: Program,
        max_steps: u32,
    ) -> Result<NativeSubject, StartError> {
        let idle = match NativeTarget::start(&launch) {
            Ok(first) => vec![first],
            Err(StartError::Late(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(NativeSubject {
            names: Mutex::new(ProgramNames::new(&launch.program)),
            launch,
            program,
            max_steps,
            notes: Arc::default(),
            must_restart: Arc::default(),
            idle: Arc::new(Mutex::new(idle)),
            restored: None,
            steps_down: false,
        })
    }

    /// Whether the check can step down: if so, it runs no more after a run that left something behind in its process.
    #[must_use]
    pub fn steps_down(mut self, steps_down: bool) -> NativeSubject {
        self.steps_down = steps_down;
        self
    }

    /// What a run left behind, if the check can step down because of it.
    pub fn leftover(&self) -> Option<&'static str> {
        self.notes().leftover.filter(|_| self.steps_down)
    }

    /// Ends the idle processes. The next worker starts new ones.
    pub fn end_processes(&self) {
        self.idle().clear();
    }

    /// Which lines were reached; `None`: that was not asked for, or is not known. Ends the idle processes.
    pub fn lines(&self) -> Option<LineCoverage> {
        let lines = self.launch.lines.as_ref()?;
        self.end_processes();
        lines.coverage()
    }

    /// The notes as plain data.
    pub fn store(&self) -> StoredNotes {
        let launch = &self.launch;
        self.notes()
            .store(&launch.units, launch.rules, launch.libraries.stored())
    }

    /// As [`NativeSubject::store`], but only how runs are modelled.
    pub fn outline(&self) -> StoredNotes {
        let launch = &self.launch;
        Notes::default().store(&launch.units, launch.rules, launch.libraries.stored())
    }

    /// Restores the notes, before a check begins.
    pub fn restore(&mut self, stored: StoredNotes) {
        self.launch.units = stored.units();
        self.launch.rules = stored.rules();
        self.launch.libraries = stored.libraries();
        self.restored = Some(stored);
        self.end_processes();
    }

    /// Adds what was noted in other processes, in runs of the same kind.
    pub fn absorb(&self, stored: StoredNotes) {
        for library in stored.libraries().wanted() {
            self.launch.libraries.want(library);
        }
        self.notes().all.extend(Notes::from(stored).all);
    }

    /// Runs a plan once, in full detail, in a process started for it.
    pub fn observe(&self, plan: &Plan) -> Result<Observation, Fault> {
        let launch = Launch {
            restart: Restart::Exec,
            limits: self.launch.limits.without_stop(),
            ..self.launch.clone()
        };
        let mut native = NativeTarget::start(&launch).map_err(|error| match error {
            StartError::Late(_) => Fault::Late,
            error => Fault::Failed(error.to_string()),
        })?;
        native.observe(plan).map_err(|error| Fault::of(self, error))
    }

    /// As [`NativeSubject::observe`], with a debugger: see [`NativeTarget::debug`].
    pub fn debug(&self, plan: &Plan, debugger: impl FnOnce(u32)) -> Result<Observation, Fault> {
        let launch = Launch {
            restart: Restart::Warm,
            threads: Threads::Os,
            debugged: true,
            limits: self.launch.limits.without_end(),
            ..self.launch.clone()
        };
        let mut native =
            NativeTarget::start(&launch).map_err(|error| Fault::Failed(error.to_string()))?;
        let seen = native.debug(plan, debugger);
        seen.map_err(|error| Fault::of(self, error))
    }

    /// An execution as a trace with names.
    pub fn trace(&self, seen: &Observation) -> Trace {
        let description = Program {
            libraries: self.launch.libraries.stored(),
            ..self.program.clone()
        };
        let output = self.launch.limits.kept(&seen.detail.output);
        named_trace(&self.names(), seen, description, self.max_steps, output)
    }

    /// Places that ask for less than sequential consistency.
    pub fn weak_orders(&self) -> u64 {
        self.notes().weak_orders()
    }

    /// The code of an unmodified program that only a disassembler sees into.
    pub(crate) fn unseen_code(&self) -> Vec<UnseenCode> {
        match self.launch.preload {
            Some(_) => self.names().unseen_code(),
            None => Vec::new(),
        }
    }

    /// Whether a run named a file.
    pub(crate) fn names_files(&self) -> bool {
        self.notes().names_files()
    }

    /// Calls that were refused, with an execution that came there, if it is known.
    pub(crate) fn refused(&self) -> Vec<(String, Site, Option<Execution>)> {
        let notes = self.notes();
        let refused = notes.all.iter().filter_map(refused);
        let refused = refused.map(|key| {
            let execution = notes.met.get(&key).cloned();
            (key.0, key.1, execution)
        });
        refused.collect()
    }

    /// The calls of a stack.
    pub(crate) fn calls(&self, stack: &[Site]) -> Vec<String> {
        self.names().calls(stack)
    }

    /// What is no error but worth a look.
    pub fn warnings(&self) -> Vec<Finding> {
        let (notes, names) = (self.notes(), self.names());
        notes.warnings(|site| names.position(site))
    }

    /// A target for a worker, in an idle process or a new one.
    fn worker(&self, notes: Arc<Mutex<Notes>>, must_restart: Arc<AtomicBool>) -> WorkerTarget {
        let idle = self.idle().pop();
        let native = idle.map_or_else(|| NativeTarget::start(&self.launch), Ok);
        WorkerTarget::new(native, &self.launch, self.idle.clone(), notes, must_restart)
    }

    fn names(&self) -> MutexGuard<'_, ProgramNames> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.learn(&self.launch.libraries.modules());
        names
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<NativeTarget>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subject for NativeSubject {
    type Target = WorkerTarget;

    fn begin(&mut self) {
        let (hidden, needed) = {
            let mut notes = self.notes();
            let hidden = std::mem::take(&mut notes.hidden);
            (hidden, std::mem::take(&mut notes.needed))
        };
        let known = self.launch.units.iter().copied();
        if !hidden.is_empty() || !needed.is_empty() {
            self.launch.units = Unit::merged(known.chain(hidden));
            self.launch.rules.extend(needed.iter());
            self.end_processes();
        }
        let visible = self.launch.units.iter();
        self.program.visible = visible.map(|unit| (unit.place, unit.bytes)).collect();
        let rules = self.launch.rules.iter();
        self.program.rules = rules.map(|rule| rule.name().into()).collect();
        // Notes from before a pause count once: a search that restarts makes them again.
        let restored = self.restored.take().map(Notes::from);
        self.notes = Arc::new(Mutex::new(restored.unwrap_or_default()));
        self.must_restart.store(false, Relaxed);
    }

    fn must_restart(&self) -> bool {
        self.must_restart.load(Relaxed)
    }

    fn lacks_steps(&self) -> bool {
        self.must_restart() && self.notes().lacking
    }

    fn target(&self) -> WorkerTarget {
        self.worker(self.notes.clone(), self.must_restart.clone())
    }

    fn trial(&self) -> WorkerTarget {
        self.worker(Arc::default(), Arc::default())
    }

    fn proceed(&self) -> bool {
        self.leftover().is_none()
    }

    fn incomplete(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let calls_only = self.launch.preload.is_some();
        if calls_only {
            reasons.push("calls-only".to_owned());
        } else if self.launch.races == Races::Ignore {
            reasons.push("races-unchecked".to_owned());
        }
        for note in &self.notes().all {
            if let Note::Unsupported { call, .. } = note {
                reasons.push(format!("unsupported: {call}"));
            }
        }
        reasons.dedup();
        if calls_only {
            return reasons;
        }
        let mut places = self.names().uninstrumented();
        for note in &self.notes().all {
            if let Note::Unseen(site) = note {
                places.insert(self.names().unseen(*site));
            }
        }
        let places = places.into_iter();
        reasons.extend(places.map(|place| format!("uninstrumented: {place}")));
        reasons
    }

    fn position(&self, site: Site) -> Option<Position> {
        self.names().position(site)
    }

    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault> {
        let again = self.observe(&plan_of(execution))?;
        match execution_difference(execution, &again.execution) {
            Some(what) => Err(Fault::Differs(what)),
            None => Ok(self.trace(&again)),
        }
    }

    fn end_runs_at(&self, moment: Option<Instant>) {
        self.launch.limits.deadline.set(moment);
    }
}

/// The first difference between two runs of one plan, other than in their steps: those were planned.
fn execution_difference(expected: &Execution, actual: &Execution) -> Option<String> {
    let steps = (expected.events.len(), actual.events.len());
    // Rounds of loops that no thread has left at the end were taken back, and are shown.
    let shown = expected.attempts.iter().any(|attempt| {
        let of_thread = |event: &&Event| event.thread == attempt.since.thread;
        let done = expected.events.iter().filter(of_thread).count();
        done == attempt.since.count as usize
    });
    if steps.0 != steps.1 && !(shown && steps.0 < steps.1) {
        return Some(format!(
            "{} steps were recorded, now there are {}",
            steps.0, steps.1
        ));
    }
    let results = expected.events.iter().zip(&actual.events);
    for (index, (was, is)) in results.enumerate() {
        let object = was.op.object();
        let pointer = object.is_some_and(|object| expected.pointers.contains(&object));
        if was.result != is.result && !pointer {
            return Some(format!(
                "step {}: {} had the result {}, now it has {}",
                index + 1,
                was.op.kind().name(),
                was.result,
                is.result
            ));
        }
    }
    let ending = |execution: &Execution| {
        let errors = execution.errors.iter().map(|error| error.kind.name());
        let errors: Vec<_> = errors.collect();
        format!("{:?} {}", execution.end, errors.join(", "))
    };
    let (was, is) = (ending(expected), ending(actual));
    (was != is).then(|| format!("after the last step: recorded {was}, now {is}"))
}
