//! Makes a check: drives the search over the closure, collects errors, writes their traces, replays.

use crate::{
    builder::Builder,
    report::{self, Error, Report, Warning},
    rt::{self, ClosureTarget, Habit},
    watchdog::Watched,
};
use reweave_explore::{Algorithm, Flow, Search, Target};
use reweave_model::{Choice, Divergence, End, Execution, Kind, Mark, Plan, Site, Step};
use reweave_report::{
    BlockedBy, Context, Failure, Options, Position, Program, Trace, render_trace,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

type Closure = Arc<dyn Fn() + Send + Sync>;

/// Makes the check; an error is a sentence about why it could not be made.
pub(crate) fn run(builder: Builder, closure: Closure) -> Result<Report, String> {
    match &builder.replay {
        Some(path) => replay(&builder, path, closure),
        None => explore(&builder, closure),
    }
}

/// Executions that one worker runs before others join in.
const ALONE: u64 = 500;

/// Two errors are the same when kind, rule and source places are.
type Identity = (Kind, Option<String>, Vec<Site>);

struct Found {
    /// In which order errors were met.
    order: usize,
    seen: u64,
    steps: usize,
    plan: Plan,
    execution: Execution,
}

fn explore(builder: &Builder, closure: Closure) -> Result<Report, String> {
    let start = Instant::now();
    for ends in [false, true] {
        if let Some(report) = search(builder, closure.clone(), start, ends)? {
            return Ok(report);
        }
    }
    unreachable!("a search with thread ends has all it needs")
}

/// Searches; `None` when the closure asks for thread ends that are not shown.
fn search(
    builder: &Builder,
    closure: Closure,
    start: Instant,
    ends: bool,
) -> Result<Option<Report>, String> {
    let ends_wanted = Arc::new(AtomicBool::new(ends));
    let anew = || ends_wanted.load(Ordering::Relaxed) != ends;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let workers = builder.workers.unwrap_or_else(cores);
    let deadline = builder.budget.map(|budget| start + budget);
    let watched = Watched::new(program_name(builder));
    let over_budget = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let before = || {
        let limit = builder.max_executions.unwrap_or(u64::MAX);
        if anew() || over_budget() || watched.run() >= limit {
            return Flow::Stop;
        }
        Flow::Continue
    };
    let found: Mutex<HashMap<Identity, Found>> = Mutex::default();
    let repeats = Repeats::default();
    let races = AtomicBool::new(false);
    let after = |plan: &Plan, execution: &Execution| {
        repeats.note(execution);
        // What a run shows that was given up is shown by the one that it would have repeated, too.
        let shown = execution.end != End::Redundant;
        let Some(error) = execution.errors.first().filter(|_| shown) else {
            return Flow::Continue;
        };
        if execution
            .errors
            .iter()
            .any(|error| error.kind == Kind::DataRace)
        {
            races.store(true, Ordering::Relaxed);
        }
        let mut sites = error.sites.clone();
        if error.kind == Kind::DataRace {
            // Which of the two accesses came last does not matter.
            sites.sort();
        }
        let identity = (error.kind, error.rule.clone(), sites);
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let order = found.len();
        let steps = execution.events.len();
        let entry = found.entry(identity).or_insert_with(|| Found {
            order,
            seen: 0,
            steps,
            plan: plan.clone(),
            execution: execution.clone(),
        });
        entry.seen += 1;
        if (steps, &choices(plan)) < (entry.steps, &choices(&entry.plan)) {
            entry.steps = steps;
            entry.plan.clone_from(plan);
            entry.execution.clone_from(execution);
        }
        if builder.keep_going {
            Flow::Continue
        } else {
            Flow::Stop
        }
    };
    let mut search = Search::new(builder.options);
    let noticed = Mutex::default();
    // Says now what would be wrong with any of them.
    drop(new_target(&closure, builder.spurious, builder.leaks)?);
    let new_target = || {
        let mut target =
            new_target(&closure, builder.spurious, builder.leaks).expect("the first one was made");
        target.share_ends(ends_wanted.clone());
        target
    };
    let target = |_| Attentive {
        target: new_target(),
        noticed: &noticed,
    };
    // Most checks are over before other workers would have started.
    let warm = AtomicU64::new(0);
    let short = || match warm.fetch_add(1, Ordering::Relaxed) {
        ALONE => Flow::Stop,
        _ => before(),
    };
    let mut outcome = match workers {
        1 => search.run(1, target, before, after),
        _ => search.run(1, target, short, after),
    };
    let undecided = |search: &Search| warm.load(Ordering::Relaxed) > ALONE && !search.exhausted();
    if outcome.is_ok() && undecided(&search) && !anew() {
        outcome = search.run(workers, target, before, after);
    }
    if anew() {
        return Ok(None);
    }
    if let Err(divergence) = outcome {
        return Err(not_deterministic(&divergence));
    }

    let mut found: Vec<_> = found
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .collect();
    found.sort_by_key(|(_, found)| found.order);
    let mut errors = Vec::new();
    let mut target = None;
    for (index, (_, found)) in found.into_iter().enumerate() {
        let target = target.get_or_insert_with(new_target);
        errors.push(confirm(builder, target, index + 1, found)?);
    }
    if errors.is_empty() {
        repeats.confirm(builder, &mut new_target())?;
    }

    let noticed = noticed.into_inner();
    let noticed = noticed.unwrap_or_else(PoisonError::into_inner);
    let totals = *search.totals();
    let mut incomplete = Vec::new();
    let mut because = |holds: bool, why: &str| {
        if holds {
            incomplete.push(why.to_owned());
        }
    };
    let limited = builder
        .max_executions
        .is_some_and(|limit| totals.runs() >= limit);
    let sampling = builder.options.algorithm.samples();
    let stopped = !errors.is_empty() && !builder.keep_going;
    because(!search.exhausted() && over_budget() && !stopped, "budget");
    because(!search.exhausted() && limited && !stopped, "max-executions");
    because(totals.max_steps > 0, "max-steps");
    because(totals.cut, "preemptions");
    because(stopped, "stopped-at-error");
    because(sampling, "sampling");
    because(races.into_inner(), "races");
    Ok(Some(Report {
        name: builder.name.clone(),
        // A bound is kept by going through all schedules within it.
        algorithm: match builder.options.preemptions {
            Some(_) => Algorithm::Dfs,
            None => builder.options.algorithm,
        },
        complete: incomplete.is_empty() && search.exhausted(),
        incomplete,
        executions: totals.executions,
        blocked: totals.assume_blocked + totals.redundant,
        blocked_by: BlockedBy {
            assume: totals.assume_blocked,
            redundant: totals.redundant,
        },
        events: totals.events,
        threads_max: totals.threads_max,
        weak_orders: noticed.weak.len() as u64,
        elapsed: start.elapsed(),
        workers,
        errors,
        warnings: noticed.warnings(),
    }))
}

fn new_target(closure: &Closure, spurious: bool, leaks: bool) -> Result<ClosureTarget, String> {
    let target = ClosureTarget::new(closure.clone(), spurious);
    if leaks {
        target.watch_leaks()
    } else {
        Ok(target)
    }
}

/// What is said of a closure beside its errors, put together from all workers.
#[derive(Default)]
struct Noticed {
    /// Places that asked for less than sequential consistency.
    weak: BTreeSet<Site>,
    habits: BTreeMap<(Habit, Site), u64>,
}

impl Noticed {
    fn add(&mut self, target: &ClosureTarget) {
        self.weak.extend(target.weak_sites());
        for (habit, site, seen) in target.habits() {
            *self.habits.entry((habit, site)).or_default() += seen;
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let warning = |((habit, site), seen): (&(Habit, Site), &u64)| Warning {
            rule: habit.rule().into(),
            message: habit.message().into(),
            location: position(*site).map(|place| place.to_string()),
            seen: *seen,
        };
        self.habits.iter().map(warning).collect()
    }
}

/// A target that leaves word of what its closure did.
struct Attentive<'a> {
    target: ClosureTarget,
    noticed: &'a Mutex<Noticed>,
}

impl Target for Attentive<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
        self.target.run(plan)
    }
}

impl Drop for Attentive<'_> {
    fn drop(&mut self) {
        let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        noticed.add(&self.target);
    }
}

/// Executions to be run once more at the end: the first, and one from late in the search.
#[derive(Default)]
struct Repeats {
    count: AtomicU64,
    kept: Mutex<[Option<Execution>; 2]>,
}

impl Repeats {
    /// Keeps the first execution, and of the others the 64th, 128th, 256th and so on, the latest of them only.
    fn note(&self, execution: &Execution) {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let kept = number == 1 || (number >= 64 && number.is_power_of_two());
        if kept && execution.end != End::Redundant {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept[usize::from(number > 1)] = Some(execution.clone());
        }
    }

    /// Runs them again; an error tells what differed.
    fn confirm(self, builder: &Builder, target: &mut ClosureTarget) -> Result<(), String> {
        let kept = self
            .kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        for execution in kept.iter().flatten() {
            let plan = plan_of(builder, execution);
            let again = target
                .run(&plan)
                .map_err(|divergence| not_deterministic(&divergence))?;
            if again.events != execution.events || again.end != execution.end {
                let ends = false;
                let again = trace_of(builder, again, ends);
                if let Some(difference) = trace_of(builder, execution, ends).differs(&again) {
                    return Err(format!("{NOT_DETERMINISTIC}\n  {difference}"));
                }
            }
        }
        Ok(())
    }
}

/// A plan whose steps are the whole execution.
fn plan_of(builder: &Builder, execution: &Execution) -> Plan {
    let steps = execution.events.iter().map(|event| Step {
        choice: Choice {
            thread: event.thread,
            outcome: event.outcome,
        },
        kind: event.op.kind(),
        site: event.site,
        ok: Some(event.ok),
        mark: Mark::Default,
    });
    Plan {
        steps: steps.collect(),
        max_steps: builder.options.max_steps,
        ..Plan::default()
    }
}

/// What orders plans: who goes, with which outcome.
fn choices(plan: &Plan) -> Vec<reweave_model::Choice> {
    plan.steps.iter().map(|step| step.choice).collect()
}

/// Runs a failing execution once more from its own trace, writes the trace down and tells the story.
fn confirm(
    builder: &Builder,
    target: &mut ClosureTarget,
    number: usize,
    found: Found,
) -> Result<Error, String> {
    let ends = target.ends_wanted();
    let trace = trace_of(builder, &found.execution, ends);
    let again = target
        .run(&trace.plan())
        .map_err(|divergence| not_deterministic(&divergence))?;
    if let Some(difference) = trace.differs(&trace_of(builder, again, ends)) {
        return Err(format!("{NOT_DETERMINISTIC}\n  {difference}"));
    }
    let directory = builder
        .trace_dir
        .clone()
        .unwrap_or_else(|| PathBuf::from("reweave-out"));
    let path = directory.join(format!("{}-{number}.rwt", file_name(&builder.name)));
    let (written, story) = match write(&trace, &directory, &path) {
        Ok(()) => {
            let again = again_line(builder, &path);
            let story = render_trace(&trace, Some(&again), report::style());
            (Some(path), story)
        }
        Err(why) => {
            let story = render_trace(&trace, None, report::style());
            let story = format!(
                "{story}\nThere is no trace file to run this execution again from: {why}\n\
                 REWEAVE_OUTPUT=<directory> puts trace files elsewhere.\n"
            );
            (None, story)
        }
    };
    let error = &found.execution.errors[0];
    let location = error.sites.first().and_then(|site| position(*site));
    Ok(Error {
        kind: error.kind,
        rule: error.rule.clone(),
        message: error.message.clone(),
        location: location.map(|place| place.to_string()),
        events: found.steps,
        trace: written,
        seen: found.seen,
        story,
    })
}

/// Writes a trace file, and says why not.
fn write(trace: &Trace, directory: &Path, path: &Path) -> Result<(), String> {
    std::fs::create_dir_all(directory)
        .map_err(|error| format!("{}: cannot be created: {error}", directory.display()))?;
    trace.write(path).map_err(|error| error.to_string())
}

fn replay(builder: &Builder, path: &Path, closure: Closure) -> Result<Report, String> {
    let start = Instant::now();
    let recorded = Trace::read(path).map_err(|error| error.to_string())?;
    if recorded.program.name != program_name(builder) {
        return Err(format!(
            "{} was recorded from `{}`, and this is `{}`: run that test, or record anew",
            path.display(),
            recorded.program.name,
            program_name(builder)
        ));
    }
    let leak = |error: &Failure| error.rule.as_deref() == Some("leak");
    let leaks = builder.leaks || recorded.errors.iter().any(leak);
    let mut target = new_target(&closure, recorded.options.spurious_wakeups, leaks)?;
    let ends = recorded.options.thread_ends;
    target.share_ends(Arc::new(AtomicBool::new(ends)));
    let execution = target
        .run(&recorded.plan())
        .map_err(|divergence| went_another_way(path, &divergence))?
        .clone();
    let now = trace_of(builder, &execution, ends);
    if let Some(difference) = recorded.differs(&now) {
        return Err(format!(
            "{} went another way when it was run again: the program has changed, or is not deterministic\n  {difference}",
            path.display()
        ));
    }
    let again = again_line(builder, path);
    let errors = execution.errors.iter().take(1).map(|error| {
        let location = error.sites.first().and_then(|site| position(*site));
        Error {
            kind: error.kind,
            rule: error.rule.clone(),
            message: error.message.clone(),
            location: location.map(|place| place.to_string()),
            events: execution.events.len(),
            trace: Some(path.into()),
            seen: 1,
            story: render_trace(&now, Some(&again), report::style()),
        }
    });
    let mut noticed = Noticed::default();
    noticed.add(&target);
    Ok(Report {
        name: builder.name.clone(),
        algorithm: Algorithm::Dfs,
        complete: false,
        incomplete: vec!["max-executions".into()],
        executions: 1,
        blocked: u64::from(execution.end == End::Blocked),
        blocked_by: BlockedBy::default(),
        events: execution.events.len() as u64,
        threads_max: execution.threads.len() as u32,
        weak_orders: noticed.weak.len() as u64,
        elapsed: start.elapsed(),
        workers: 1,
        errors: errors.collect(),
        warnings: noticed.warnings(),
    })
}

const NOT_DETERMINISTIC: &str = "the check does not do the same when it is run the same way again \
    (does it read the clock, iterate over a HashMap, use random numbers, or keep something from run to run?)";

fn not_deterministic(divergence: &Divergence) -> String {
    format!("{NOT_DETERMINISTIC}\n  {}", difference(divergence))
}

fn went_another_way(path: &Path, divergence: &Divergence) -> String {
    format!(
        "{} went another way when it was run again: the program has changed, or is not deterministic\n  {}",
        path.display(),
        difference(divergence)
    )
}

/// The first event that differed.
fn difference(divergence: &Divergence) -> String {
    let place = |site: Site| position(site).map_or(String::new(), |place| format!(" at {place}"));
    let expected = &divergence.expected;
    let thread = expected.choice.thread.0;
    let wanted = format!("{}{}", expected.kind.name(), place(expected.site));
    let actual = match divergence.actual {
        Some((kind, site))
            if kind == expected.kind && (site == expected.site || expected.site == Site::ANY) =>
        {
            format!("had another result, or could not be done{}", place(site))
        }
        Some((kind, site)) => format!("came to {}{}", kind.name(), place(site)),
        None => "does not exist or has ended".into(),
    };
    format!(
        "step {}: thread {thread} was to do {wanted}, but {actual}",
        divergence.step + 1
    )
}

fn position(site: Site) -> Option<Position> {
    let location = rt::location(site)?;
    // A guard that is dropped has no place of the program's own to name.
    let own = file!()
        .strip_suffix("check.rs")
        .expect("the name of this file");
    if location.file().starts_with(own) {
        return None;
    }
    Some(Position {
        file: location.file().into(),
        line: location.line(),
        column: location.column(),
    })
}

fn program_name(builder: &Builder) -> &str {
    match builder.name.as_str() {
        "" => "check",
        name => name,
    }
}

fn trace_of(builder: &Builder, execution: &Execution, ends: bool) -> Trace {
    let blame: Vec<_> = execution.errors.iter().map(|error| error.after).collect();
    Trace::from_execution(
        execution,
        Context {
            program: Program {
                name: program_name(builder).into(),
                kind: "rust-test".into(),
                test: Some(test_name(builder).into()),
                command: Vec::new(),
                replay: Some(format!(
                    "REWEAVE_REPLAY={{trace}} cargo test {} -- --exact",
                    test_name(builder)
                )),
            },
            options: Options {
                max_steps: builder.options.max_steps,
                spurious_wakeups: builder.spurious,
                thread_ends: ends,
            },
            site: &position,
            output: None,
            blame: &blame,
        },
    )
}

/// The name without its crate: what `cargo test` filters by.
fn test_name(builder: &Builder) -> &str {
    let name = program_name(builder);
    name.split_once("::").map_or(name, |(_, rest)| rest)
}

/// The line that runs exactly that execution again.
fn again_line(builder: &Builder, path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    format!(
        "REWEAVE_REPLAY={} cargo test {} -- --exact",
        path.display(),
        test_name(builder)
    )
}

/// A name that is good for a file.
fn file_name(name: &str) -> String {
    let short = name
        .split_once("::")
        .map_or(name, |(_, rest)| rest)
        .replace("::", "-");
    let good = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    };
    let short: String = short.chars().map(good).collect();
    if short.is_empty() {
        "check".into()
    } else {
        short
    }
}
