//! A check: the search over a closure, or the replay of one execution.
//!
//! *Decides:* when a search stops, and that an error is believed only when the same execution shows it again on a fresh target.
//! *Called by:* [`Builder::run`](crate::Builder::run). *Owns:* what is collected while workers explore.

use crate::{
    builder::Builder,
    report::{self, Found, Report},
    rt::{self, ClosureTarget},
};
use reweave_explore::{Flow, Options, Search, Target, Totals};
use reweave_model::{Choice, Divergence, Error, Execution, Kind, Mark, Plan, Policy, Step};
use reweave_report::{BlockedBy, Trace};
use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

type Closure = Arc<dyn Fn() + Send + Sync>;

/// What workers collect.
#[derive(Default)]
struct Tally {
    candidates: Mutex<Vec<Candidate>>,
    weak: Mutex<HashSet<u32>>,
    leaked: AtomicU64,
    runs: AtomicU64,
    out_of_time: AtomicBool,
    out_of_runs: AtomicBool,
}

/// A distinct error, with the least execution that shows it.
struct Candidate {
    error: Error,
    execution: Execution,
    seen: u64,
}

/// A target that adds to the tally when it is done.
struct Worker<'a> {
    target: ClosureTarget,
    tally: &'a Tally,
}

impl Target for Worker<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
        self.target.run(plan)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let weak = self.target.weak_sites();
        lock(&self.tally.weak).extend(weak.into_iter().map(|site| site.0));
        self.tally.leaked.fetch_add(self.target.leaked(), Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Explores, or replays.
pub(crate) fn run(builder: &Builder, f: impl Fn() + Send + Sync + 'static) -> Report {
    assert!(
        rt::task().is_none(),
        "a check cannot be made inside a check"
    );
    let closure: Closure = Arc::new(f);
    if let Some(path) = &builder.replay {
        let trace = Trace::read(path).unwrap_or_else(|error| panic!("{error}"));
        // Tests that the trace is not of are checked as usual: the variable is set for all of a run.
        if builder.name == "check" || trace.program.name == builder.name {
            return replay(builder, closure, &trace, path);
        }
    }
    explore(builder, closure)
}

fn explore(builder: &Builder, closure: Closure) -> Report {
    let start = Instant::now();
    let tally = Tally::default();
    let mut options = Options {
        algorithm: builder.algorithm,
        preemptions: builder.preemptions,
        max_steps: builder.max_steps,
        ..Options::default()
    };
    if let Some(samples) = builder.max_executions {
        options.samples = samples;
    }
    let mut search = Search::new(options);
    let target = |_| Worker {
        target: ClosureTarget::new(closure.clone(), builder.spurious_wakeups),
        tally: &tally,
    };
    let before = || tally.may_go_on(builder, start);
    let after = |_: &Plan, execution: &Execution| match tally.add(execution) {
        true if !builder.keep_going => Flow::Stop,
        _ => Flow::Continue,
    };
    let result = search.run(builder.workers, target, before, after);
    let mut report = blank(builder, search.totals());
    if let Err(divergence) = result {
        report.divergence = Some(report::diverged(&divergence));
    }
    report.incomplete = reasons(builder, &search, &tally);
    if report.divergence.is_some() {
        report.incomplete.push("nondeterministic".into());
    }
    report.complete = report.incomplete.is_empty();
    report.weak_orders = lock(&tally.weak).len() as u64;
    report.leaked_threads = tally.leaked.load(Relaxed);
    let candidates = std::mem::take(&mut *lock(&tally.candidates));
    for candidate in candidates {
        believe(builder, &closure, candidate, &mut report);
    }
    report.elapsed = start.elapsed();
    report
}

impl Tally {
    fn may_go_on(&self, builder: &Builder, start: Instant) -> Flow {
        if builder
            .budget
            .is_some_and(|budget| start.elapsed() >= budget)
        {
            self.out_of_time.store(true, Relaxed);
            return Flow::Stop;
        }
        let run = self.runs.fetch_add(1, Relaxed);
        let limit = builder
            .max_executions
            .filter(|_| !builder.algorithm.samples());
        if limit.is_some_and(|limit| run >= limit) {
            self.out_of_runs.store(true, Relaxed);
            return Flow::Stop;
        }
        Flow::Continue
    }

    /// Whether there was an error.
    fn add(&self, execution: &Execution) -> bool {
        if execution.errors.is_empty() {
            return false;
        }
        let mut candidates = lock(&self.candidates);
        for error in &execution.errors {
            let same = |known: &&mut Candidate| {
                let known = &known.error;
                (known.kind, &known.rule, &known.sites) == (error.kind, &error.rule, &error.sites)
            };
            match candidates.iter_mut().find(same) {
                None => candidates.push(Candidate {
                    error: error.clone(),
                    execution: execution.clone(),
                    seen: 1,
                }),
                Some(known) => {
                    known.seen += 1;
                    if order(execution) < order(&known.execution) {
                        known.error = error.clone();
                        known.execution = execution.clone();
                    }
                }
            }
        }
        true
    }
}

/// The least execution is shown: fewest events, then the first schedule.
fn order(execution: &Execution) -> (usize, Vec<(u32, u16)>) {
    let events = execution.events.iter();
    let choices = events.map(|event| (event.thread.0, event.outcome));
    (execution.events.len(), choices.collect())
}

fn reasons(builder: &Builder, search: &Search, tally: &Tally) -> Vec<String> {
    let totals = search.totals();
    let found = lock(&tally.candidates);
    let races = found.iter().any(|found| found.error.kind == Kind::DataRace);
    let stopped = !found.is_empty() && !builder.keep_going && !search.exhausted();
    let reasons = [
        (tally.out_of_time.load(Relaxed), "budget"),
        (tally.out_of_runs.load(Relaxed), "max-executions"),
        (totals.max_steps > 0, "max-steps"),
        (totals.cut, "preemptions"),
        (stopped, "stopped-at-error"),
        (builder.algorithm.samples(), "sampling"),
        (races, "races"),
        (builder.leaks, "unsupported: leaks"),
    ];
    let holds = reasons.iter().filter(|(holds, _)| *holds);
    holds.map(|(_, reason)| (*reason).to_owned()).collect()
}

fn blank(builder: &Builder, totals: &Totals) -> Report {
    Report {
        name: builder.name.clone(),
        algorithm: builder.algorithm,
        workers: builder.workers,
        complete: true,
        incomplete: Vec::new(),
        executions: totals.executions,
        blocked: totals.assume_blocked + totals.redundant,
        blocked_by: BlockedBy {
            assume: totals.assume_blocked,
            redundant: totals.redundant,
        },
        events: totals.events,
        threads_max: totals.threads_max,
        weak_orders: 0,
        elapsed: std::time::Duration::ZERO,
        errors: Vec::new(),
        divergence: None,
        leaked_threads: 0,
    }
}

/// A plan whose steps are a whole execution.
fn plan_of(execution: &Execution, max_steps: u32) -> Plan {
    let step = |event: &reweave_model::Event| Step {
        choice: Choice {
            thread: event.thread,
            outcome: event.outcome,
        },
        kind: event.op.kind(),
        site: event.site,
        mark: Mark::Default,
    };
    Plan {
        steps: execution.events.iter().map(step).collect(),
        sleep: Vec::new(),
        policy: Policy::First,
        max_steps,
    }
}

/// Runs the execution of an error again on a fresh target. An error that does not come up again is no error, but a program that does
/// not behave the same. An object kept from outside is: it is noticed from the second execution on.
fn believe(builder: &Builder, closure: &Closure, candidate: Candidate, report: &mut Report) {
    let Candidate {
        error,
        execution,
        seen,
    } = candidate;
    let mut target = ClosureTarget::new(closure.clone(), builder.spurious_wakeups);
    let plan = plan_of(&execution, builder.max_steps);
    match target.run(&plan) {
        Ok(again) => {
            let same = again.errors.iter().any(|other| {
                (other.kind, &other.rule, &other.sites) == (error.kind, &error.rule, &error.sites)
            });
            if !same && report.divergence.is_none() {
                report.divergence = Some(format!(
                    "the test does not behave the same when it is run again: the same schedule first had this error, then not: {}",
                    error.message
                ));
            }
        }
        Err(divergence) => report.divergence = Some(report::diverged(&divergence)),
    }
    let shown = report::trace(&builder.name, trace_options(builder), &execution);
    let trace = builder
        .trace_dir
        .as_ref()
        .and_then(|directory| write(builder, directory, report.errors.len() + 1, &shown));
    report
        .errors
        .push(found(error, &execution, shown, seen, trace));
}

fn found(
    error: Error,
    execution: &Execution,
    shown: Trace,
    seen: u64,
    trace: Option<std::path::PathBuf>,
) -> Found {
    let place = error.sites.iter().find_map(|site| report::position(*site));
    Found {
        kind: error.kind,
        rule: error.rule,
        message: error.message,
        location: place.map(|place| place.to_string()),
        events: execution.events.len(),
        trace,
        seen,
        shown: Box::new(shown),
    }
}

fn trace_options(builder: &Builder) -> reweave_report::Options {
    reweave_report::Options {
        max_steps: builder.max_steps,
        spurious_wakeups: builder.spurious_wakeups,
    }
}

/// `<directory>/<name>-<n>.rwt`. A file that cannot be written does not hide the error it would tell of.
fn write(
    builder: &Builder,
    directory: &Path,
    number: usize,
    trace: &Trace,
) -> Option<std::path::PathBuf> {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = builder.name.replace("::", "-").chars().map(plain).collect();
    let path = directory.join(format!("{name}-{number}.rwt"));
    let made = std::fs::create_dir_all(directory).map_err(|error| error.to_string());
    let written = made.and_then(|()| trace.write(&path).map_err(|error| error.to_string()));
    match written {
        // Absolute, so that the line that runs it again works from anywhere.
        Ok(()) => Some(std::path::absolute(&path).unwrap_or(path)),
        Err(error) => {
            eprintln!("reweave: no trace file: {error}");
            None
        }
    }
}

fn replay(builder: &Builder, closure: Closure, trace: &Trace, path: &Path) -> Report {
    let start = Instant::now();
    let mut target = ClosureTarget::new(closure, trace.options.spurious_wakeups);
    let mut report = blank(builder, &Totals::default());
    report.workers = 1;
    report.incomplete.push("replay".into());
    report.complete = false;
    match target.run(&trace.plan()) {
        Err(divergence) => report.divergence = Some(report::diverged(&divergence)),
        Ok(execution) => {
            report.executions = 1;
            report.events = execution.events.len() as u64;
            report.threads_max = execution.threads.len() as u32;
            let again = report::trace(&builder.name, trace.options, execution);
            if let Some(difference) = trace.differs(&again) {
                report.divergence = Some(format!(
                    "the replay of {} went another way: {difference}",
                    path.display()
                ));
            }
            for error in execution.errors.clone() {
                let shown = again.clone();
                let trace = Some(path.to_owned());
                report.errors.push(found(error, execution, shown, 1, trace));
            }
        }
    }
    report.elapsed = start.elapsed();
    report
}
