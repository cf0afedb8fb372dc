//! A native program as the subject of a check: how it is started for workers, and how an execution of it is told.
//!
//! *Called by:* `check` and `replay`. *Owns:* what all workers noticed, and the program's names.

use super::{
    names::Names,
    noticed::{Noticed, StoredNotes},
};
use reweave_check::{Fault, Subject, plan_of};
use reweave_drive::{Launch, Native, Note, Observation, Races, Restart, Threads, Unit};
use reweave_explore::Target;
use reweave_model::{
    Choice, Divergence, Execution, Kind, Mark, OpKind, Plan, Site, Step, ThreadId,
};
use reweave_report::{Context, Finding, Options, Position, Program, Trace, waiting};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// See the module.
pub struct Checked {
    launch: Launch,
    /// For traces.
    program: Program,
    max_steps: u32,
    names: Mutex<Names>,
    noticed: Arc<Mutex<Noticed>>,
    /// Accesses raced that are to be explored and are not yet.
    anew: Arc<AtomicBool>,
    /// Processes that wait for the next worker.
    idle: Idle,
    /// What an earlier part of the check noticed.
    restored: Option<StoredNotes>,
    /// Whether there are to be no more runs once one has left something behind in its process.
    tidy: bool,
}

type Idle = Arc<Mutex<Vec<Native>>>;

impl Checked {
    /// Starts the program once, to see that it can be; an error is a sentence about why not.
    pub fn new(launch: Launch, program: Program, max_steps: u32) -> Result<Checked, String> {
        let first = Native::start(&launch)?;
        Ok(Checked {
            names: Mutex::new(Names::new(&launch.program)),
            launch,
            program,
            max_steps,
            noticed: Arc::default(),
            anew: Arc::default(),
            idle: Arc::new(Mutex::new(vec![first])),
            restored: None,
            tidy: false,
        })
    }

    /// The same, for a check that steps down when a run leaves something behind in its process: [`Checked::left`].
    #[must_use]
    pub fn tidy(mut self, tidy: bool) -> Checked {
        self.tidy = tidy;
        self
    }

    /// What a run left behind that makes it necessary to step down.
    pub fn left(&self) -> Option<&'static str> {
        self.noticed().left.filter(|_| self.tidy)
    }

    /// Ends its processes until it is explored further.
    pub fn rest(&self) {
        self.idle().clear();
    }

    /// What it noticed, as plain data.
    pub fn store(&self) -> StoredNotes {
        self.noticed()
            .store(&self.launch.units, self.launch.libraries.wanted())
    }

    /// As it was when that was stored. Before a check of it begins.
    pub fn restore(&mut self, stored: StoredNotes) {
        self.launch.units = stored.units();
        self.launch.libraries = stored.libraries();
        self.restored = Some(stored);
        self.rest();
    }

    /// Runs a plan once, with everything that there is to see. In a process that is started for it, so that nothing is
    /// believed that only an earlier run explains.
    pub fn observe(&self, plan: &Plan) -> Result<Observation, Fault> {
        let launch = Launch {
            restart: Restart::Exec,
            limits: self.launch.limits.without_end(),
            ..self.launch.clone()
        };
        let mut native = Native::start(&launch).map_err(Fault::Failed)?;
        let seen = native.observe(plan);
        self.seen(&native, seen)
    }

    /// As [`Checked::observe`], with a debugger: see [`Native::debug`].
    pub fn debug(&self, plan: &Plan, debugger: impl FnOnce(u32)) -> Result<Observation, Fault> {
        let launch = Launch {
            restart: Restart::Warm,
            threads: Threads::Os,
            debugged: true,
            limits: self.launch.limits.without_end(),
            ..self.launch.clone()
        };
        let mut native = Native::start(&launch).map_err(Fault::Failed)?;
        let seen = native.debug(plan, debugger);
        self.seen(&native, seen)
    }

    fn seen(
        &self,
        native: &Native,
        seen: Result<Observation, Divergence>,
    ) -> Result<Observation, Fault> {
        match (native.fault(), seen) {
            (Some(why), _) => Err(Fault::Failed(why.into())),
            (None, Err(divergence)) => Err(Fault::of(self, &divergence)),
            (None, Ok(observation)) => Ok(observation),
        }
    }

    /// An execution told by names.
    pub fn trace(&self, seen: &Observation) -> Trace {
        let names = self.names();
        let execution = &seen.execution;
        let detail = &seen.detail;
        let output = self.launch.limits.kept(&detail.output);
        let libraries = self.launch.libraries.wanted();
        let libraries = libraries.into_iter().map(|it| (it.path, it.global));
        let blame: Vec<_> = execution.errors.iter().map(|error| error.after).collect();
        let mut trace = Trace::from_execution(
            execution,
            Context {
                program: Program {
                    libraries: libraries.collect(),
                    ..self.program.clone()
                },
                options: Options {
                    max_steps: self.max_steps,
                    spurious_wakeups: execution.spurious,
                    thread_ends: false,
                },
                site: &|site| names.position(site),
                output: Some(output).filter(|text| !text.is_empty()),
                blame: &blame,
            },
        );
        for (event, stack) in trace.events.iter_mut().zip(&detail.stacks) {
            event.at = names.place_of(stack).or(event.at.take());
        }
        for (index, thread) in trace.threads.iter_mut().enumerate() {
            let pending = execution.threads[index].pending;
            if let (Some(entry), Some(pending)) = (&mut thread.pending, pending) {
                let mut stack = vec![pending.site];
                stack.extend(detail.last.get(index).into_iter().flatten());
                entry.at = names.place_of(&stack);
            }
        }
        let mut known = HashMap::new();
        for (entry, place) in trace.objects.iter_mut().zip(&detail.objects) {
            // The runtime's own have no name for people.
            let thing = names.thing(place);
            let thing = thing.filter(|thing| !thing.name.starts_with("reweave_runtime"));
            if let Some(thing) = thing {
                let times = known.entry(thing.name.clone()).or_insert(0);
                *times += 1;
                entry.name = match *times {
                    1 => thing.name,
                    // Another kind of thing at the same place, or a new one where another was.
                    again => format!("{}'{again}", thing.name),
                };
                entry.allocated = thing.allocated;
            }
        }
        for (index, failure) in trace.errors.iter_mut().enumerate() {
            let stacks = detail.errors.get(index).filter(|stacks| !stacks.is_empty());
            if let Some(stacks) = stacks {
                let places: Vec<_> = stacks.iter().map(|stack| names.place_of(stack)).collect();
                if places.iter().all(Option::is_some) {
                    failure.places = places.into_iter().flatten().collect();
                    failure.stacks = stacks.iter().map(|stack| names.calls(stack)).collect();
                }
            }
            let about = detail.subjects.get(index).and_then(Option::as_ref);
            let thing = about.and_then(|place| names.thing(place));
            let thing = thing.map_or_else(|| "memory without a name".into(), |thing| thing.told());
            failure.message = failure.message.replace("{0}", &thing);
        }
        let stuck = |kind: Kind| matches!(kind, Kind::Deadlock | Kind::Livelock);
        let untold = trace
            .errors
            .iter()
            .position(|it| stuck(it.kind) && it.message.is_empty());
        if let Some(index) = untold {
            trace.errors[index].message = waiting(&trace);
            let threads = trace.threads.iter();
            let mut waiting: Vec<_> = threads.filter_map(|it| it.pending.as_ref()).collect();
            waiting.sort_by_key(|it| it.operation.name == "join");
            let places = waiting.into_iter().filter_map(|it| it.at.clone());
            trace.errors[index].places = places.collect();
        }
        trace
    }

    /// Places that ask for less than sequential consistency.
    pub fn weak_orders(&self) -> u64 {
        let noticed = self.noticed();
        let weak = noticed
            .notes
            .iter()
            .filter(|note| matches!(note, Note::Weak(_)));
        weak.count() as u64
    }

    /// What is not wrong but worth a look.
    pub fn warnings(&self) -> Vec<Finding> {
        let (noticed, names) = (self.noticed(), self.names());
        let mut findings: Vec<Finding> = Vec::new();
        for note in &noticed.notes {
            let Note::Warning { rule, site, .. } = note else {
                continue;
            };
            let location = names.position(*site).map(|at| at.to_string());
            let (kind, message) = warning(rule);
            let same =
                |it: &&mut Finding| it.rule.as_ref() == Some(rule) && it.location == location;
            match findings.iter_mut().find(same) {
                Some(known) => known.seen += 1,
                None => findings.push(Finding {
                    kind,
                    rule: Some(rule.clone()),
                    message: message.into(),
                    location,
                    events: 0,
                    trace: None,
                    seen: 1,
                }),
            }
        }
        findings
    }

    /// A target that leaves word of what it notices.
    fn attentive(&self, noticed: Arc<Mutex<Noticed>>, anew: Arc<AtomicBool>) -> Attentive {
        let idle = self.idle().pop();
        let native = idle.map_or_else(|| Native::start(&self.launch), Ok);
        let native = native.map_err(|why| {
            let mut noticed = noticed.lock().unwrap_or_else(PoisonError::into_inner);
            noticed.fault = Some(why);
        });
        Attentive {
            idle: self.idle.clone(),
            native: native.ok(),
            noticed,
            visible: self.launch.units.clone(),
            races: self.launch.races,
            known: 0,
            anew,
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.learn(&self.launch.libraries.modules());
        names
    }

    fn noticed(&self) -> MutexGuard<'_, Noticed> {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Native>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether racy accesses are explored.
fn explores(races: Races) -> bool {
    matches!(races, Races::Explore | Races::Interleave)
}

/// What a rule of good use says.
fn warning(rule: &str) -> (Kind, &'static str) {
    match rule {
        "not-destroyed" => (
            Kind::Misuse,
            "was made by an _init call and never destroyed",
        ),
        "unjoined" => (
            Kind::Misuse,
            "a thread that was neither joined nor detached",
        ),
        "leak" => (Kind::Memory, "memory that is still there at the end"),
        _ => (Kind::Misuse, "is not good use"),
    }
}

impl Subject for Checked {
    type Target = Attentive;

    fn begin(&mut self) {
        let hidden = std::mem::take(&mut self.noticed().hidden);
        let known = self.launch.units.iter().copied();
        if !hidden.is_empty() {
            self.launch.units = Unit::merged(known.chain(hidden));
            self.rest();
        }
        let visible = self.launch.units.iter();
        self.program.visible = visible.map(|unit| (unit.place, unit.bytes)).collect();
        // What was noticed before a pause counts once: a search that begins anew notices it again.
        let restored = self.restored.take().map(Noticed::from);
        self.noticed = Arc::new(Mutex::new(restored.unwrap_or_default()));
        self.anew.store(false, Relaxed);
    }

    fn anew(&self) -> bool {
        self.anew.load(Relaxed)
    }

    fn lacks_steps(&self) -> bool {
        self.anew() && self.noticed().lacking
    }

    fn target(&self) -> Attentive {
        self.attentive(self.noticed.clone(), self.anew.clone())
    }

    fn trial(&self) -> Attentive {
        self.attentive(Arc::default(), Arc::default())
    }

    fn proceed(&self) -> bool {
        self.left().is_none()
    }

    fn fault(&self) -> Option<String> {
        self.noticed().fault.clone()
    }

    fn incomplete(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.launch.races == Races::Ignore {
            reasons.push("races-unchecked".to_owned());
        }
        for note in &self.noticed().notes {
            if let Note::Unsupported { call, .. } = note {
                reasons.push(format!("unsupported: {call}"));
            }
        }
        reasons.dedup();
        let places = self.names().uninstrumented().into_iter();
        reasons.extend(places.map(|place| format!("uninstrumented: {place}")));
        reasons
    }

    fn position(&self, site: Site) -> Option<Position> {
        self.names().position(site)
    }

    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault> {
        let again = self.observe(&plan_of(execution))?;
        match difference(execution, &again.execution) {
            Some(what) => Err(Fault::Differs(what)),
            None => Ok(self.trace(&again)),
        }
    }
}

/// What another run of the same plan did otherwise. Its steps are as planned, or it would not have come to an end.
fn difference(expected: &Execution, actual: &Execution) -> Option<String> {
    let steps = (expected.events.len(), actual.events.len());
    if steps.0 != steps.1 {
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
    let told = |execution: &Execution| {
        let errors = execution.errors.iter().map(|error| error.kind.name());
        let errors: Vec<_> = errors.collect();
        format!("{:?} {}", execution.end, errors.join(", "))
    };
    let (was, is) = (told(expected), told(actual));
    (was != is).then(|| format!("after the last step: recorded {was}, now {is}"))
}

/// A target that leaves word of what it noticed, and its process for others.
pub struct Attentive {
    /// `None`: it could not be started.
    native: Option<Native>,
    idle: Idle,
    noticed: Arc<Mutex<Noticed>>,
    /// What is explored beyond operations so far: racy memory, and what rules are about.
    visible: Vec<Unit>,
    races: Races,
    /// Notes looked at.
    known: usize,
    anew: Arc<AtomicBool>,
}

impl Attentive {
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
            let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
            // Accesses that are to count as operations are none yet: a loop that waits by them goes on for ever.
            noticed.lacking |= !missing.is_empty() || self.races == Races::Interleave;
            noticed.hidden.extend(racy);
            noticed.hidden.extend(missing);
            self.anew.store(true, Relaxed);
        }
    }
}

impl Target for Attentive {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
        let native = self.native.as_mut().ok_or_else(meaningless)?;
        let known = native.left();
        native.run(plan)?;
        if native.left() != known {
            let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
            noticed.left = native.left();
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

impl Drop for Attentive {
    fn drop(&mut self) {
        let Some(native) = self.native.take() else {
            return;
        };
        let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        noticed.notes.extend(native.notes().iter().cloned());
        match native.fault() {
            Some(why) => {
                noticed.fault.get_or_insert_with(|| why.into());
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
