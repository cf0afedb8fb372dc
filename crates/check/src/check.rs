//! Drives one search to its end or its limits, at once or in slices of time, and says what came out.

use crate::{
    control::Control,
    coverage::Collector,
    found::Found,
    heaviest::Heavy,
    outcome::Outcome,
    repeats::Repeats,
    settings::Settings,
    subject::{Fault, Subject},
};
use reweave_explore::{
    AlgorithmName, Estimate, Flow, Interrupt, Log, Search, TargetError, Totals, Unfit,
};
use reweave_model::{End, Execution, Kind, Plan, Policy};
use reweave_report::{Multiplies, path_name};
use std::{
    fs::File,
    io::{self, BufWriter},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How long errors are made simpler, all together.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes the check, from its beginning to its end or its limits.
pub fn check<S: Subject>(
    subject: &mut S,
    settings: &Settings,
    control: &Control,
) -> Result<Outcome, Fault> {
    let start = Instant::now();
    let until = settings.budget.and_then(|budget| start.checked_add(budget));
    let mut check = Check::new(subject, settings.clone());
    check.set_deadline(until);
    check.advance(control, until)?;
    check.conclude()
}

fn begin_log(file: &Path) -> Result<Log, Fault> {
    let made = File::create(file).map_err(|error| no_log(file, &error))?;
    Ok(Log::new(Box::new(BufWriter::new(made))))
}

fn no_log(file: &Path, error: &io::Error) -> Fault {
    Fault::Failed(format!(
        "{}: the log cannot be written: {error}",
        file.display()
    ))
}

/// One worker runs so many executions, or for so long, before others join in: most checks are over before those would have started.
const ALONE: u64 = 500;
const SOON: Duration = Duration::from_millis(300);

/// One check under way. It is advanced in slices of time; between two of them it is a value that can wait, be stored and be gone on with.
pub struct Check<S> {
    pub(crate) subject: S,
    pub(crate) settings: Settings,
    pub(crate) search: Search,
    pub(crate) found: Found,
    repeats: Repeats,
    /// Whether there were any.
    pub(crate) races: AtomicBool,
    /// Whether a thread waits for ever since it read memory that races in a round that was taken back.
    hidden_race: AtomicBool,
    /// Of all slices.
    pub(crate) elapsed: Duration,
    /// Whether there would be more to do, had there been more time.
    pub(crate) paused: bool,
    /// Whether that is because somebody stopped it.
    pub(crate) interrupted: bool,
    /// What makes it large.
    heavy: Heavy,
    /// What it covers, if that was asked for.
    pub(crate) coverage: Option<Collector>,
    /// Why it is not explored by who reads from whom.
    pub(crate) because: Option<String>,
    /// When all slices are over.
    pub(crate) deadline: Option<Instant>,
    /// After how many runs a slice is over.
    pub(crate) enough: u64,
    /// Pieces that were handed out and have not come back.
    pub(crate) out: u64,
}

/// How long after its deadline a check may still confirm what it has found. The rest of what a budget may be exceeded by is for
/// ending processes, and for showing the result.
fn grace(budget: Option<Duration>) -> Duration {
    budget.map_or(PATIENCE, |budget| {
        (budget / 40).clamp(Duration::from_millis(250), PATIENCE)
    })
}

/// What it takes to start a process for a run that confirms an error.
const STARTING: Duration = Duration::from_millis(20);

impl<S: Subject> Check<S> {
    /// A check that has not begun.
    pub fn new(mut subject: S, settings: Settings) -> Check<S> {
        subject.begin();
        let mut search = Search::new(settings.options);
        Check {
            subject,
            coverage: settings.coverage.then(|| Collector::new(&mut search)),
            search,
            settings,
            found: Found::default(),
            repeats: Repeats::default(),
            races: AtomicBool::new(false),
            hidden_race: AtomicBool::new(false),
            elapsed: Duration::ZERO,
            paused: true,
            interrupted: false,
            heavy: Heavy::default(),
            because: None,
            deadline: None,
            enough: u64::MAX,
            out: 0,
        }
    }

    /// From here on slices are over after so many runs of the search.
    pub fn set_enough(&mut self, runs: u64) {
        self.enough = runs;
    }

    /// When the last slice is over, and no run and no analysis goes on.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// What is checked.
    pub fn subject(&self) -> &S {
        &self.subject
    }

    /// What it has seen so far.
    pub fn totals(&self) -> &Totals {
        self.search.totals()
    }

    /// How large it is; `None` before the first execution.
    pub fn estimate(&self) -> Option<Estimate> {
        self.search.estimate()
    }

    /// How long it was under way.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// How many explore at once from here on.
    pub fn set_workers(&mut self, workers: usize) {
        self.settings.workers = workers;
    }

    /// So many executions as its settings allow, beyond those that it has made.
    pub fn allow_more(&mut self) {
        let made = self.totals().runs();
        let limit = &mut self.settings.max_executions;
        *limit = limit.map(|limit| limit.saturating_add(made));
    }

    /// Explores until then, and says whether there is more to do.
    pub fn advance(&mut self, control: &Control, until: Option<Instant>) -> Result<bool, Fault> {
        let start = Instant::now();
        let slice = Slice {
            control,
            until,
            begun: start,
            enough: self.enough,
            least: 0,
        };
        self.subject.end_runs_at(self.deadline);
        let done = loop {
            if self.subject.must_restart() {
                self.begin();
            }
            match self.explore(&slice) {
                Err(fault) => break Err(fault),
                Ok(Explored::Unfit(why)) => {
                    self.explore_otherwise(&why);
                    self.begin();
                }
                Ok(Explored::Late) => break Ok(true),
                Ok(Explored::Stopped) if self.fell_short(&slice) => {}
                Ok(Explored::Stopped)
                    if !self.subject.must_restart() || self.over(&slice) || self.failed() =>
                {
                    break Ok(self.over(&slice));
                }
                Ok(Explored::Stopped) => {}
            }
        };
        let over = matches!(done, Ok(true)) || self.over(&slice);
        self.paused = !self.finished() && over;
        self.interrupted = self.paused && control.stop.load(Relaxed);
        self.elapsed += start.elapsed();
        done.map(|_| self.paused)
    }

    /// Forgets what was explored.
    pub(crate) fn begin(&mut self) {
        self.subject.begin();
        self.search = Search::new(self.settings.options);
        self.found = Found::default();
        self.repeats = Repeats::default();
        self.heavy = Heavy::default();
        let covers = self.settings.coverage;
        self.coverage = covers.then(|| Collector::new(&mut self.search));
        self.races = AtomicBool::new(false);
        self.hidden_race = AtomicBool::new(false);
        self.out = 0;
    }

    /// From the next search on explores with what can explore the program, as this cannot.
    pub(crate) fn explore_otherwise(&mut self, why: &Unfit) {
        let options = &mut self.settings.options;
        options.instead(why);
        if options.algorithm == AlgorithmName::Optimal {
            self.because = Some(why.to_string());
        }
    }

    /// Explores until the search is over, the slice is, or it turns out that the program has to be explored in another way.
    pub(crate) fn explore(&mut self, slice: &Slice<'_>) -> Result<Explored, Fault> {
        let control = slice.control;
        let begun = self.search.totals().runs();
        control.runs.store(begun, Relaxed);
        if begun == 0 {
            control.failures.store(0, Relaxed);
            if let Some(file) = &self.settings.log {
                self.search.record(begin_log(file)?);
            }
        }
        control.watch(&self.search);
        let (stop, deadline) = (control.stop.clone(), self.deadline);
        self.search.interrupt(Interrupt::new(move || {
            stop.load(Relaxed) || deadline.is_some_and(|end| Instant::now() >= end)
        }));
        // The search is taken out so that workers can look at everything else.
        let mut search = std::mem::replace(&mut self.search, Search::new(self.settings.options));
        let target = |_| self.subject.target();
        let after = |plan: &Plan, execution: &Execution| self.after(control, plan, execution);
        let before = || self.before(slice);
        let start = Instant::now();
        let long = || control.runs.load(Relaxed) >= ALONE || start.elapsed() >= SOON;
        let alone = || match long() {
            true => Flow::Stop,
            false => self.before(slice),
        };
        let several = self.settings.workers > 1;
        let mut outcome = match several {
            true => search.run(1, target, alone, after),
            false => search.run(1, target, before, after),
        };
        let undecided = several && long() && !search.exhausted() && search.unfit().is_none();
        if outcome.is_ok() && undecided && !self.failed() {
            outcome = search.run(self.settings.workers, target, before, after);
        }
        self.search = search;
        let options = &self.settings.options;
        if self.hidden_race.load(Relaxed) {
            let why = "a loop that waits reads memory that races";
            return Ok(Explored::Unfit(Unfit::because(why)));
        }
        match outcome {
            Ok(()) => Ok(match self.search.unfit() {
                Some(unfit) => Explored::Unfit(unfit.clone()),
                None => Explored::Stopped,
            }),
            Err(error @ TargetError::Unavailable(_)) => Err(Fault::of(&self.subject, error)),
            // The branch of the run that was ended waits.
            Err(TargetError::Late) => Ok(Explored::Late),
            Err(TargetError::Diverged(_)) if self.over(slice) => Ok(Explored::Stopped),
            // The prefixes of these plans were run before something turned out that all runs need, so runs may differ from them.
            Err(TargetError::Diverged(_)) if self.subject.must_restart() => Ok(Explored::Stopped),
            // Destructors are run by the thread that comes last, and `rf` does not distinguish which thread that is.
            Err(TargetError::Diverged(_)) if options.by_reads() => {
                let why = "what it does depends on the order of stores that nobody reads";
                Ok(Explored::Unfit(Unfit::because(why)))
            }
            Err(error) => Err(Fault::of(&self.subject, error)),
        }
    }

    fn before(&self, slice: &Slice<'_>) -> Flow {
        let limit = self.settings.max_executions.unwrap_or(u64::MAX);
        let go = !self.over(slice) && !self.subject.must_restart() && self.subject.proceed();
        // Counted last: a run that is counted is made.
        match go && slice.control.runs.fetch_add(1, Relaxed) < limit {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    }

    /// Whether the limit was reached only because executions that were counted before were run once more, for what their analysis left.
    fn fell_short(&self, slice: &Slice<'_>) -> bool {
        let runs = slice.control.runs.load(Relaxed);
        let reached = self.settings.max_executions.is_some_and(|it| runs >= it);
        reached && !self.finished() && !self.over(slice) && !self.subject.must_restart()
    }

    /// Whether the slice is up, or what is left of the time is needed to confirm the errors so far.
    fn over(&self, slice: &Slice<'_>) -> bool {
        if slice.over() {
            return true;
        }
        let (Some(deadline), errors @ 1..) = (self.deadline, self.found.count() as u32) else {
            return false;
        };
        let runs = slice.control.runs.load(Relaxed).clamp(1, u32::MAX.into()) as u32;
        let each = STARTING + slice.begun.elapsed() / runs;
        let most = self.settings.budget.unwrap_or_default() / 2;
        Instant::now() + each.saturating_mul(errors.saturating_mul(2)).min(most) >= deadline
    }

    fn after(&self, control: &Control, plan: &Plan, execution: &Execution) -> Flow {
        if self.subject.lacks_steps() {
            return Flow::Stop;
        }
        if plan.policy == Policy::Loops && execution.end == End::Redundant {
            // A thread was stopped or held: what goes wrong does so in an execution in which it goes on, too.
            return Flow::Continue;
        }
        let race = |error: &reweave_model::Error| error.kind == Kind::DataRace;
        if plan.policy == Policy::Loops
            && execution.end == End::Livelock
            && execution.errors.iter().any(race)
        {
            // What the round has read is not among its events, so the race would not be there again.
            self.hidden_race.store(true, Relaxed);
            return Flow::Stop;
        }
        self.repeats.note(execution);
        self.heavy.note(execution);
        if let Some(coverage) = &self.coverage {
            coverage.note(execution, |site| self.subject.position(site));
        }
        let depth = execution.events.len() as u64;
        control.depth.store(depth, Relaxed);
        if let Some(witness) = &control.witness {
            witness(control, execution.events.len());
        }
        let keep_going = self.settings.keep_going;
        let beyond = self.settings.beyond_races;
        let all = (keep_going || beyond) && self.settings.every_race;
        if !self.found.note(plan, execution, all, beyond) {
            return Flow::Continue;
        }
        control.failures.fetch_add(1, Relaxed);
        if execution.errors.iter().any(race) {
            self.races.store(true, Relaxed);
        }
        let passable = beyond && execution.errors.iter().all(race);
        match keep_going || passable {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    }

    /// Whether an error stopped it.
    pub(crate) fn failed(&self) -> bool {
        !self.settings.keep_going && self.found.any(self.settings.beyond_races)
    }

    /// Whether so many runs were made as there may be.
    fn limited(&self) -> bool {
        let limit = self.settings.max_executions;
        limit.is_some_and(|limit| self.totals().runs() >= limit)
    }

    pub(crate) fn finished(&self) -> bool {
        let exhausted = self.search.exhausted() && self.out == 0;
        (exhausted && !self.subject.must_restart()) || self.failed() || self.limited()
    }

    /// Why it is not explored as was asked for.
    fn because(&self) -> Option<String> {
        let options = &self.settings.options;
        match (options.preemptions, options.algorithm) {
            (None, _) | (_, AlgorithmName::Dfs) => self.because.clone(),
            (Some(_), _) => Some("a bound on preemptions is explored by dfs".into()),
        }
    }

    /// Has every error's execution run once more, writes their traces and says what came out.
    pub fn conclude(&mut self) -> Result<Outcome, Fault> {
        let concluded = self.confirm();
        self.subject.end_runs_at(None);
        concluded
    }

    fn confirm(&mut self) -> Result<Outcome, Fault> {
        let start = Instant::now();
        let settings = &self.settings;
        if let (Some(log), Some(file)) = (self.search.take_log(), &settings.log) {
            let closed = log.close(self.search.exhausted());
            closed.map_err(|error| no_log(file, &error))?;
        }
        let failed = self.failed();
        let totals = *self.search.totals();
        let found = std::mem::take(&mut self.found);
        let patience = settings.budget.map_or(PATIENCE, |it| it.min(PATIENCE));
        let over = |end| Instant::now() >= end;
        let late = || {
            let hurry = self.paused || self.deadline.is_some_and(over);
            !settings.minimise || hurry || start.elapsed() >= patience
        };
        let (directory, name) = (&settings.directory, &settings.name);
        let end = self
            .deadline
            .map(|end| end.max(start) + grace(settings.budget));
        self.subject.end_runs_at(end);
        let (mut errors, unconfirmed) = found.confirm(&self.subject, &late, directory, name)?;
        // What is one error by its places may have come up at several sites of one execution.
        for error in &mut errors {
            error.seen = error.seen.min(totals.runs());
        }
        let mut hurried = unconfirmed > 0;
        if errors.is_empty() && !hurried {
            hurried = !std::mem::take(&mut self.repeats).confirm(&self.subject)?;
        }
        let left = !self.search.exhausted() || self.out > 0 || self.subject.must_restart();
        let stopped = failed && !errors.is_empty();
        let late = hurried || (left && self.paused && !stopped);
        let reasons = [
            ("interrupted", late && self.interrupted),
            ("budget", late && !self.interrupted),
            ("max-executions", left && self.limited() && !stopped),
            ("max-steps", totals.max_steps > 0),
            ("timeouts", totals.timeouts_cut),
            ("clocks", totals.clocks_cut),
            ("preemptions", totals.cut),
            ("stopped-at-error", stopped),
            ("sampling", settings.options.algorithm.samples()),
            ("races", self.races.load(Relaxed) && settings.races_cut),
        ];
        let reasons = reasons.into_iter().filter(|(_, holds)| *holds);
        let mut incomplete: Vec<String> = reasons.map(|(name, _)| name.into()).collect();
        incomplete.extend(self.subject.incomplete());
        assert!(
            !left || !incomplete.is_empty(),
            "a search that was stopped was stopped for a reason"
        );
        Ok(Outcome {
            algorithm: self.explored_by(),
            equivalence: self.equivalence(),
            because: self.because(),
            totals,
            duplicates: self.search.duplicates(),
            estimate: self.search.estimate(),
            multiplies: self.multiplies(),
            coverage: self.coverage.as_ref().map(Collector::coverage),
            incomplete,
            errors,
            unconfirmed,
            workers: settings.workers,
            elapsed: self.elapsed + start.elapsed(),
        })
    }
}

impl<S: Subject> Check<S> {
    fn explored_by(&self) -> AlgorithmName {
        let options = &self.settings.options;
        // A bound is kept by going through all schedules within it.
        match (options.preemptions, options.algorithm) {
            (Some(_), _) => AlgorithmName::Dfs,
            (None, AlgorithmName::Auto) => AlgorithmName::Rf,
            (None, algorithm) => algorithm,
        }
    }

    fn equivalence(&self) -> &'static str {
        let options = &self.settings.options;
        match options.preemptions {
            Some(_) => AlgorithmName::Dfs.equivalence(),
            None => options.equivalence(),
        }
    }

    /// The place that makes the search large, if it has one.
    fn multiplies(&self) -> Option<Multiplies> {
        let heaviest = self.heavy.place()?;
        Some(Multiplies {
            location: self.subject.position(heaviest.site)?.to_string(),
            thread: path_name(&heaviest.thread),
            times: heaviest.times,
            threads: heaviest.threads,
            steps: heaviest.steps.0,
            of: heaviest.steps.1,
        })
    }
}

/// How a part of a check ended.
pub(crate) enum Explored {
    /// The search is complete, or was stopped.
    Stopped,
    /// A run took longer than there was time.
    Late,
    /// `rf` cannot explore the program, and why.
    Unfit(Unfit),
}

/// Some time for a check.
pub(crate) struct Slice<'a> {
    pub control: &'a Control,
    pub until: Option<Instant>,
    pub begun: Instant,
    /// Over after so many runs of the whole search.
    pub enough: u64,
    /// Its time is not up before so many.
    pub least: u64,
}

impl Slice<'_> {
    /// Whether it is up.
    fn over(&self) -> bool {
        let late = |until| Instant::now() >= until;
        let runs = self.control.runs.load(Relaxed);
        let late = runs >= self.least && self.until.is_some_and(late);
        runs >= self.enough || late || self.control.stop.load(Relaxed)
    }
}
