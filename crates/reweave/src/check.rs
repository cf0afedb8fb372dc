//! Makes a check of a closure: how it is run and replayed, and what is reported. `reweave-check` drives the search itself.

use crate::{
    builder::Builder,
    error::CheckError,
    report::{self, Error, Report, Warning},
    rt::{self, ClosureTarget, Habit, Visible, Wanted},
    watchdog::Watched,
};
use reweave_check::{Control, Fault, Settings, Subject, check, difference};
use reweave_explore::{AlgorithmName as Algorithm, Target, TargetError, Totals};
use reweave_model::{End, Execution, Plan, Site};
use reweave_report::{
    BlockedBy, Context, Failure, Options, Position, Program, ResultDocument, Sources, Trace,
    render_trace,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

type Closure = Arc<dyn Fn() + Send + Sync>;

/// Makes the check.
pub(crate) fn run(builder: Builder, closure: Closure) -> Result<Report, CheckError> {
    match &builder.replay {
        Some(path) => replay(&builder, path, closure),
        None => explore(&builder, closure),
    }
}

/// Executions of the closure, as a check sees them.
struct Test<'a> {
    builder: &'a Builder,
    closure: Closure,
    watched: Watched,
    /// What is visible beyond what always is, in which version, and what is to be.
    visible: Visible,
    version: u32,
    wanted: Arc<Wanted>,
    noticed: Arc<Mutex<Noticed>>,
}

impl Test<'_> {
    /// A target that leaves word of nothing.
    fn quiet(&self, wanted: Arc<Wanted>) -> ClosureTarget {
        let (spurious, leaks) = (self.builder.spurious, self.builder.leaks);
        let mut target =
            new_target(&self.closure, spurious, leaks).expect("the first one was made");
        target.share(wanted);
        target
    }
}

impl Subject for Test<'_> {
    type Target = Attentive;

    fn begin(&mut self) {
        self.version = self.wanted.version();
        self.visible = self.wanted.visible();
        self.noticed = Arc::default();
    }

    fn target(&self) -> Attentive {
        Attentive {
            target: self.quiet(self.wanted.clone()),
            noticed: self.noticed.clone(),
        }
    }

    fn trial(&self) -> Attentive {
        Attentive {
            target: self.quiet(Arc::new(Wanted::new(self.visible.clone()))),
            noticed: Arc::default(),
        }
    }

    fn proceed(&self) -> bool {
        self.watched.run();
        true
    }

    fn must_restart(&self) -> bool {
        self.wanted.version() != self.version
    }

    fn incomplete(&self) -> Vec<String> {
        self.wanted.all_unsupported()
    }

    fn position(&self, site: Site) -> Option<Position> {
        position(site)
    }

    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault> {
        let trace = trace_of(self.builder, execution, &self.visible);
        let mut target = self.quiet(Arc::new(Wanted::new(self.visible.clone())));
        let again = target.run(&trace.plan());
        let again = again.map_err(|error| Fault::of(self, error))?;
        if again.end == End::Livelock && !execution.attempts.is_empty() {
            // Rounds of loops that nobody ends were taken back, and are shown.
            return self.confirm(&again.clone());
        }
        match trace.differs(&trace_of(self.builder, again, &self.visible)) {
            Some(difference) => Err(Fault::Differs(difference.to_string())),
            None => Ok(trace),
        }
    }
}

fn explore(builder: &Builder, closure: Closure) -> Result<Report, CheckError> {
    // Says now what would be wrong with any of them.
    drop(new_target(&closure, builder.spurious, builder.leaks)?);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let directory = builder.trace_dir.clone();
    let settings = Settings {
        options: builder.options,
        workers: builder.workers.unwrap_or_else(cores),
        budget: builder.budget,
        max_executions: builder.max_executions,
        keep_going: builder.keep_going,
        every_race: false,
        beyond_races: false,
        races_cut: true,
        minimise: builder.minimise,
        directory: directory.unwrap_or_else(|| PathBuf::from("reweave-out")),
        name: file_name(&builder.name),
        coverage: false,
        log: None,
    };
    let mut test = Test {
        builder,
        closure,
        watched: Watched::new(program_name(builder)),
        visible: Visible::default(),
        version: 0,
        wanted: Arc::new(Wanted::new(Visible {
            no_weak_failures: !builder.weak_failures,
            spurious_polls: builder.spurious_polls,
            ..Visible::default()
        })),
        noticed: Arc::default(),
    };
    let outcome = check(&mut test, &settings, &Control::default());
    let outcome = outcome.map_err(|fault| match fault {
        Fault::Differs(what) => CheckError::NotDeterministic(what),
        Fault::Failed(why) => CheckError::Unavailable(why),
        Fault::Late => CheckError::Unavailable("there was no time left to run it".into()),
    })?;
    let noticed = test.noticed.lock().unwrap_or_else(PoisonError::into_inner);
    let blocked_by = outcome.blocked_by();
    let report = Report {
        name: builder.name.clone(),
        algorithm: outcome.algorithm,
        equivalence: outcome.equivalence,
        algorithm_because: outcome.because,
        complete: outcome.incomplete.is_empty(),
        executions: outcome.totals.executions,
        blocked: blocked_by.assume + blocked_by.redundant,
        blocked_by,
        events: outcome.totals.events,
        threads_max: outcome.totals.threads_max,
        weak_orders: noticed.weak.len() as u64,
        elapsed: outcome.elapsed,
        workers: outcome.workers,
        errors: outcome.errors.iter().map(|it| told(builder, it)).collect(),
        warnings: vacuous(&outcome.totals)
            .into_iter()
            .chain(noticed.warnings())
            .collect(),
        incomplete: outcome.incomplete,
    };
    keep(&report, &settings);
    Ok(report)
}

/// A warning, if the check met no operation at all.
fn vacuous(totals: &Totals) -> Option<Warning> {
    (totals.events == 0 && totals.executions > 0).then(|| Warning {
        rule: "no-operations".into(),
        message:
            "no operation of reweave was met: does the code under test use std's types instead of \
                  `reweave::sync`, `reweave::thread` and `reweave::cell`?"
                .into(),
        location: None,
        seen: totals.executions,
    })
}

/// Leaves the result beside the traces, or in place of an earlier one. Tests without errors leave nothing behind otherwise, and one
/// that cannot write has its own result all the same.
fn keep(report: &Report, settings: &Settings) {
    let (directory, name) = (&settings.directory, &settings.name);
    let earlier = directory.join(format!("{name}{}", ResultDocument::LATEST));
    if report.errors.iter().any(|error| error.trace.is_some()) || earlier.is_file() {
        let _ = report.document().keep(directory, name);
    }
}

/// An error with its story.
fn told(builder: &Builder, error: &reweave_check::Error) -> Error {
    let (trace, finding) = (&error.trace, error.finding());
    let sources = Sources::of(trace);
    let story = match &error.file {
        Ok(path) => {
            let again = again_line(builder, path);
            render_trace(trace, Some(&again), &sources, report::style())
        }
        Err(why) => format!(
            "{}\nThere is no trace file to run this execution again from: {why}\n\
             REWEAVE_OUTPUT=<directory> puts trace files elsewhere.\n",
            render_trace(trace, None, &sources, report::style())
        ),
    };
    Error {
        kind: finding.kind,
        rule: finding.rule,
        message: finding.message,
        location: finding.location,
        events: trace.events.len(),
        trace: error.file.as_ref().ok().cloned(),
        seen: error.seen,
        story,
    }
}

fn new_target(closure: &Closure, spurious: bool, leaks: bool) -> Result<ClosureTarget, CheckError> {
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
struct Attentive {
    target: ClosureTarget,
    noticed: Arc<Mutex<Noticed>>,
}

impl Target for Attentive {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.target.run(plan)
    }
}

impl Drop for Attentive {
    fn drop(&mut self) {
        let mut noticed = self.noticed.lock().unwrap_or_else(PoisonError::into_inner);
        noticed.add(&self.target);
    }
}

fn replay(builder: &Builder, path: &Path, closure: Closure) -> Result<Report, CheckError> {
    let start = Instant::now();
    let recorded = Trace::read(path).map_err(CheckError::Unreadable)?;
    if recorded.program.name != program_name(builder) {
        return Err(CheckError::OtherCheck {
            trace: path.into(),
            recorded: recorded.program.name,
            replayed: program_name(builder).into(),
        });
    }
    let leak = |error: &Failure| error.rule.as_deref() == Some("leak");
    let leaks = builder.leaks || recorded.errors.iter().any(leak);
    let mut target = new_target(&closure, recorded.options.spurious_wakeups, leaks)?;
    let visible = Visible::named(recorded.options.thread_ends, &recorded.program.rules);
    target.share(Arc::new(Wanted::new(visible.clone())));
    let execution = target
        .run(&recorded.plan())
        .map_err(|error| cannot_replay(path, error))?
        .clone();
    let mut now = trace_of(builder, &execution, &visible);
    (now.preemptions, now.shortened) = (recorded.preemptions, recorded.shortened);
    now.sources.clone_from(&recorded.sources);
    if let Some(difference) = recorded.differs(&now) {
        return Err(CheckError::Diverged {
            trace: path.into(),
            difference: difference.to_string(),
        });
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
            story: render_trace(&now, Some(&again), &Sources::of(&now), report::style()),
        }
    });
    let mut noticed = Noticed::default();
    noticed.add(&target);
    Ok(Report {
        name: builder.name.clone(),
        algorithm: Algorithm::Dfs,
        equivalence: Algorithm::Dfs.equivalence(),
        algorithm_because: None,
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

fn cannot_replay(path: &Path, error: TargetError) -> CheckError {
    match error {
        TargetError::Diverged(divergence) => CheckError::Diverged {
            trace: path.into(),
            difference: difference(&divergence, position),
        },
        error => CheckError::Unavailable(error.to_string()),
    }
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

fn trace_of(builder: &Builder, execution: &Execution, visible: &Visible) -> Trace {
    let blame: Vec<_> = execution.errors.iter().map(|error| error.after).collect();
    Trace::from_execution(
        execution,
        Context {
            program: Program {
                name: program_name(builder).into(),
                kind: "rust-test".into(),
                test: Some(test_name(builder).into()),
                directory: std::env::current_dir()
                    .ok()
                    .map(|directory| directory.display().to_string()),
                replay: Some(format!(
                    "REWEAVE_REPLAY={{trace}} cargo test {} -- --exact",
                    test_name(builder)
                )),
                rules: visible.names(),
                ..Program::default()
            },
            options: Options {
                max_steps: builder.options.max_steps,
                spurious_wakeups: builder.spurious,
                thread_ends: visible.ends,
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
