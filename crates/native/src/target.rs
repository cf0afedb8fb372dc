//! A native program as a target: sends plans to its process in batches and reads executions back.
//!
//! *Decides:* when a process is started, restarted and discarded, and how a run that ends its process is repeated up to
//! that point. *Called by:* `subject`, for each worker; by benchmarks and tests directly. *Owns:* at most one process.
//! *Invariants:* a crash of the program never reaches the caller as an error: it is part of an execution.

use crate::{
    errors::{RunError, StartError},
    launch::Launch,
    process::{Process, Seen, Silence},
};
use reweave_explore::{Target, TargetError};
use reweave_model::{Execution, Plan, Site, ThreadId};
use reweave_wire::{
    Debugged, Detail, Doom, Hello, LEFT, Note, Reader, Report, Restart, Rule, Writer, read_hello,
    read_report, write_request,
};
use std::{
    collections::BTreeSet,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

/// One execution with all that is needed to show it.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What happened.
    pub execution: Execution,
    /// Stacks, places and output.
    pub detail: Detail,
}

/// A program that is run again and again, in one process or, after a crash, in another one.
///
/// If it cannot be run at all, [`Target::run`] returns [`TargetError::Unavailable`], and [`fault`](NativeTarget::fault) says why.
pub struct NativeTarget {
    launch: Launch,
    process: Option<Process>,
    hello: Hello,
    report: Report,
    /// Reports of the batch under way that were not handed out yet.
    waiting: usize,
    /// Where the next one begins.
    at: usize,
    notes: BTreeSet<Note>,
    fault: Option<RunError>,
    spent: Spent,
    /// Libraries that the process has loaded for its runs.
    loaded: usize,
    /// What a run left behind, in a word or two.
    leftover: Option<&'static str>,
}

/// Where time went, in nanoseconds; measured if the [`Launch`] asks for it. The rest of the elapsed time is the search's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spent {
    /// Running the program.
    pub run: u64,
    /// Putting its memory back.
    pub restore: u64,
    /// Writing plans and reports, reading them, and going from one process to the other.
    pub transfer: u64,
}

/// Plans in one batch: enough that a switch between the two processes costs little per plan.
const BATCH: usize = 64;

/// How long a program may take until it waits for a debugger.
const COMES_UP: Duration = Duration::from_secs(10);

/// What is noted of a program that started processes past the runtime.
fn left_processes() -> Note {
    Note::Unsupported {
        call: "processes that the program started and left behind".into(),
        site: Site::ANY,
    }
}

/// How many deaths of the process are repeated in one run.
const DOOMS: usize = 64;

impl NativeTarget {
    /// Starts the program.
    pub fn start(launch: &Launch) -> Result<NativeTarget, StartError> {
        let mut native = NativeTarget {
            launch: launch.clone(),
            process: None,
            hello: Hello::default(),
            report: Report::default(),
            waiting: 0,
            at: 0,
            notes: BTreeSet::new(),
            fault: None,
            spent: Spent::default(),
            loaded: 0,
            leftover: None,
        };
        native.ensure()?;
        Ok(native)
    }

    /// Why it cannot be run any more.
    pub fn fault(&self) -> Option<&RunError> {
        self.fault.as_ref()
    }

    /// What runs left behind in their process that a restart does not restore.
    pub fn leftover(&self) -> Option<&'static str> {
        self.leftover
    }

    /// What was noticed in all runs so far.
    pub fn notes(&self) -> &BTreeSet<Note> {
        &self.notes
    }

    /// The execution of the last run.
    pub fn last(&self) -> &Execution {
        &self.report.execution
    }

    /// Where time went so far.
    pub fn spent(&self) -> Spent {
        let mut spent = self.spent;
        if let Some(process) = &self.process {
            let [run, restore, _] = &process.header().spent;
            let (run, restore) = (run.load(Relaxed), restore.load(Relaxed));
            spent.run += run;
            spent.restore += restore;
            spent.transfer = spent.transfer.saturating_sub(run + restore);
        }
        spent
    }

    /// Adds the time of `work` to the transfer time.
    fn timed<T>(&mut self, work: impl FnOnce(&mut NativeTarget) -> T) -> T {
        let start = self.launch.measure.then(Instant::now);
        let done = work(self);
        if let Some(start) = start {
            self.spent.transfer += start.elapsed().as_nanos() as u64;
        }
        done
    }

    /// Runs a plan once, with everything that there is to see.
    pub fn observe(&mut self, plan: &Plan) -> Result<Observation, TargetError> {
        let done = self.run_one(plan, true, |_| Ok(()));
        self.observed(done)
    }

    /// As [`NativeTarget::observe`], for a launch that says so, with a debugger: it is given the process's number when that waits to be
    /// attached to, and comes back when it is done with it.
    pub fn debug(
        &mut self,
        plan: &Plan,
        debugger: impl FnOnce(u32),
    ) -> Result<Observation, TargetError> {
        let mut debugger = Some(debugger);
        let done = self.run_one(plan, true, |process| {
            let attach = debugger.take().ok_or(RunError::EndedInDebugger)?;
            match process.wait_for_debugger(COMES_UP) {
                true => attach(process.number()),
                false => debugger = Some(attach),
            }
            let none = Debugged::No as u32;
            process.header().debugged.store(none, Relaxed);
            Ok(())
        });
        self.observed(done)
    }

    fn observed(&mut self, done: Result<(), RunError>) -> Result<Observation, TargetError> {
        if let Err(why) = done {
            return Err(self.fail(why));
        }
        match self.report.divergence.take() {
            Some(divergence) => Err(divergence.into()),
            None => Ok(Observation {
                execution: self.report.execution.clone(),
                detail: self.report.detail.take().unwrap_or_default(),
            }),
        }
    }

    fn ensure(&mut self) -> Result<&mut Process, StartError> {
        let gone = |process: &Process| process.header().spoilt.load(Relaxed) != 0;
        if self.process.as_ref().is_some_and(gone) {
            self.discard();
        }
        if self.process.is_none() {
            let launch = &self.launch;
            let process = Process::start(launch)?;
            self.hello = read_hello(&mut Reader::new(process.reports()))
                .map_err(|_| StartError::MalformedReport)?;
            self.loaded = process.libraries();
            launch.libraries.met(&self.hello.modules);
            self.process = Some(process);
        }
        Ok(self.process.as_mut().expect("just started"))
    }

    fn discard(&mut self) {
        self.spent = self.spent();
        if let Some(mut process) = self.process.take() {
            let left = process.header().left.load(Relaxed) as usize;
            let left = left.checked_sub(1).and_then(|left| LEFT.get(left));
            self.leftover = self.leftover.or(left.copied());
            let expected = self.launch.rules.contains(Rule::Processes);
            if process.end() && !expected {
                self.notes.insert(left_processes());
            }
        }
    }

    /// Ends the process if the program has started others in it, which the runtime does not see.
    pub(crate) fn end_if_it_forked(&mut self) {
        if self.process.as_ref().is_some_and(Process::has_children) {
            self.discard();
        }
    }

    /// Runs as many plans as there is room for. A plan that fails is repeated alone, and reported then.
    fn submit(&mut self, plans: &[Plan]) -> Result<(), RunError> {
        let patience = self.launch.limits.time;
        let process = self.ensure()?;
        let mut writer = Writer::new(process.plans());
        let mut count = 0;
        for plan in plans {
            write_request(&mut writer, plan, false, &[]);
            if writer.overflowed() {
                break;
            }
            count += 1;
        }
        if count == 0 {
            return Err(RunError::PlanTooLong);
        }
        process.request(count);
        let answer = process.wait_or_nudge(patience);
        if answer.is_err() {
            // What was done is good; the process is not.
            process.header().spoilt.store(1, Relaxed);
        }
        if process.has_children() {
            // They end with the process, before there are more of them.
            process.header().spoilt.store(1, Relaxed);
        }
        self.waiting = process.header().done.load(Relaxed) as usize;
        self.at = 0;
        match answer {
            Err(Silence::Late) => Err(RunError::Late),
            _ => Ok(()),
        }
    }

    /// Runs one plan and reads its report. A run that ends its process is repeated and stops where that happened.
    /// `begun` is called for each attempt and may refuse it.
    fn run_one(
        &mut self,
        plan: &Plan,
        detail: bool,
        mut begun: impl FnMut(&mut Process) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut dooms: Vec<Doom> = Vec::new();
        loop {
            let patience = self.launch.limits.time;
            let process = self.ensure()?;
            let mut writer = Writer::new(process.plans());
            write_request(&mut writer, plan, detail, &dooms);
            if writer.overflowed() {
                return Err(RunError::PlanTooLong);
            }
            process.request(1);
            begun(process)?;
            let mut complaint = None;
            let (thread, count, death) = match process.wait_or_nudge(patience) {
                Ok(()) => match self.answered() {
                    true => return self.collect(),
                    false => continue,
                },
                Err(Silence::Late) => return Err(RunError::Late),
                Err(Silence::Unknown(error)) => return Err(RunError::Unwatchable(error)),
                Err(Silence::Stuck) => process.last_seen(Seen::Endless),
                Err(Silence::Waits(call)) => process.last_seen(Seen::Waits(call)),
                Err(Silence::Ended(status, why)) => {
                    complaint = why;
                    process.last_seen(match complaint {
                        Some(_) => Seen::GivenUp,
                        None => Seen::Ended(status),
                    })
                }
            };
            let doom = Doom {
                thread: ThreadId(thread),
                count,
                death,
            };
            let known = |other: &Doom| (other.thread, other.count) == (doom.thread, doom.count);
            if dooms.len() == DOOMS || dooms.iter().any(known) {
                return Err(complaint.map_or(RunError::AlwaysDies, RunError::Refused));
            }
            dooms.push(doom);
            self.discard();
        }
    }

    /// Whether the plan was run; if not, the next process has what the run asked for.
    fn answered(&mut self) -> bool {
        let process = self.process.as_ref().expect("it has just answered");
        let wanted = process.header().wanted.load(Relaxed);
        self.waiting = process.header().done.load(Relaxed) as usize;
        self.at = 0;
        if self.waiting == 0 && wanted != 0 && !self.launch.slots.contains(&wanted) {
            self.launch.slots.push(wanted);
            self.discard();
            return false;
        }
        let library = process.library().filter(|_| self.waiting == 0);
        if let Some(library) = library {
            let libraries = &self.launch.libraries;
            let new = !libraries.wanted()[..self.loaded].contains(&library);
            libraries.want(library);
            self.discard();
            return !new;
        }
        true
    }

    /// Reads the next report.
    fn collect(&mut self) -> Result<(), RunError> {
        let process = self.process.as_ref().filter(|_| self.waiting > 0);
        let process = process.ok_or(RunError::MalformedReport)?;
        let words = &process.reports()[self.at..];
        let length = words.first().map_or(0, |length| length.saturating_add(1));
        let words = words
            .get(..length as usize)
            .ok_or(RunError::MalformedReport)?;
        read_report(&mut Reader::new(words), &mut self.report)
            .map_err(|_| RunError::MalformedReport)?;
        self.at += length as usize;
        self.waiting -= 1;
        if !self.report.notes.is_empty() {
            self.notes.extend(self.report.notes.drain(..));
        }
        if self.launch.restart == Restart::Exec {
            self.discard();
        }
        Ok(())
    }

    fn fail(&mut self, why: RunError) -> TargetError {
        self.discard();
        match why {
            RunError::Late => TargetError::Late,
            why => TargetError::Unavailable(self.fault.get_or_insert(why).to_string()),
        }
    }
}

impl Target for NativeTarget {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        let done = self.timed(|native| match native.waiting {
            0 => native.run_one(plan, false, |_| Ok(())),
            _ => native.collect(),
        });
        if let Err(why) = done {
            return Err(self.fail(why));
        }
        match self.report.divergence.take() {
            Some(divergence) => {
                self.waiting = 0;
                Err(divergence.into())
            }
            None => Ok(&self.report.execution),
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn prepare(&mut self, plans: &[Plan]) {
        // What fails here fails again when the first of them is run by itself.
        self.waiting = 0;
        // One by one, in the order of the other rungs.
        if self.launch.restart == Restart::Exec {
            return;
        }
        if self.timed(|native| native.submit(plans)).is_err() {
            self.waiting = 0;
            self.discard();
        }
    }
}
