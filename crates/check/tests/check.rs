//! Checks of a program that lives in the model alone: some threads write to one atomic, once each, and go wrong in some orders.

use reweave_check::{
    Check, Control, Fault, Outcome, Settings, StoredCheck, Subject, check, plan_of,
};
use reweave_conduct::{Next, Run};
use reweave_explore::{AlgorithmName, Options, Target, TargetError};
use reweave_model::{Error, Execution, Kind, Object, ObjectId, Op, Pending, Plan, Site, ThreadId};
use reweave_report::{Context, Position, Program, Trace};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// What an order of writes leads to.
type Wrong = fn(&[u32]) -> Vec<Error>;

struct Writers {
    threads: u32,
    wrong: Wrong,
    /// After so many executions it turns out that one thread more is needed.
    one_more_after: u64,
    more: Arc<AtomicBool>,
    begun_with_more: bool,
    asked: AtomicU64,
    /// After so many executions there is nothing to run any more.
    breaks_after: u64,
    confirmed: AtomicU64,
    /// What running it again shows.
    differs: bool,
}

fn writers(threads: u32, wrong: Wrong) -> Writers {
    Writers {
        threads,
        wrong,
        one_more_after: u64::MAX,
        more: Arc::default(),
        begun_with_more: false,
        asked: AtomicU64::new(0),
        breaks_after: u64::MAX,
        confirmed: AtomicU64::new(0),
        differs: false,
    }
}

fn never(_: &[u32]) -> Vec<Error> {
    Vec::new()
}

fn error(kind: Kind, sites: &[u32]) -> Error {
    Error {
        kind,
        rule: None,
        message: "wrong".into(),
        sites: sites.iter().map(|site| Site(*site)).collect(),
        after: None,
    }
}

struct Machine {
    run: Run,
    threads: u32,
    wrong: Wrong,
    /// How often it can be run.
    left: u64,
}

impl Target for Machine {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        let left = self.left.checked_sub(1);
        self.left = left.ok_or_else(|| TargetError::Unavailable("it broke".into()))?;
        let run = &mut self.run;
        run.begin(plan);
        run.object(Object::Atomic(0));
        let names: Vec<_> = (0..self.threads)
            .map(|_| run.spawn(ThreadId::MAIN))
            .collect();
        run.finish(ThreadId::MAIN);
        for (value, thread) in names.iter().enumerate() {
            let op = Op::Store(ObjectId(0), value as u64);
            run.announce(*thread, Pending::new(op, Site(1)));
        }
        loop {
            match run.next() {
                Next::Go(choice) => {
                    run.step(choice);
                    run.finish(choice.thread);
                }
                Next::Diverged => return Err(run.divergence().expect("it did").clone().into()),
                Next::End(end) => {
                    let order = run.execution().events.iter();
                    let order: Vec<u32> = order.map(|event| event.thread.0 - 1).collect();
                    for error in (self.wrong)(&order) {
                        run.error(error);
                    }
                    return Ok(run.end(end));
                }
            }
        }
    }
}

impl Subject for Writers {
    type Target = Machine;

    fn begin(&mut self) {
        self.begun_with_more = self.more.load(Relaxed);
        self.asked.store(0, Relaxed);
    }

    fn target(&self) -> Machine {
        Machine {
            run: Run::default(),
            threads: self.threads + u32::from(self.begun_with_more),
            wrong: self.wrong,
            left: self.breaks_after,
        }
    }

    fn trial(&self) -> Machine {
        self.target()
    }

    fn proceed(&self) -> bool {
        let asked = self.asked.fetch_add(1, Relaxed);
        if asked >= self.one_more_after {
            self.more.store(true, Relaxed);
        }
        true
    }

    fn must_restart(&self) -> bool {
        self.more.load(Relaxed) != self.begun_with_more
    }

    /// Two sites a line.
    fn position(&self, site: Site) -> Option<Position> {
        Some(Position {
            file: "writers.c".into(),
            line: site.0 / 2,
            column: 0,
        })
    }

    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault> {
        self.confirmed.fetch_add(1, Relaxed);
        if self.differs {
            return Err(Fault::Differs("it did something else".into()));
        }
        let mut target = self.target();
        let again = target
            .run(&plan_of(execution))
            .map_err(|error| Fault::of(self, error))?;
        assert_eq!(again.events, execution.events);
        Ok(Trace::from_execution(
            again,
            Context {
                program: Program::default(),
                options: reweave_report::Options {
                    max_steps: 100,
                    spurious_wakeups: false,
                    thread_ends: false,
                },
                site: &|site| self.position(site),
                output: None,
                blame: &[],
            },
        ))
    }
}

struct Bench {
    place: tempfile::TempDir,
    settings: Settings,
    control: Control,
}

fn bench() -> Bench {
    let place = tempfile::tempdir().unwrap();
    Bench {
        settings: Settings {
            // Nobody reads: all orders of the writes are one class by who reads from whom.
            options: Options {
                algorithm: AlgorithmName::Optimal,
                ..Options::default()
            },
            workers: 1,
            budget: None,
            max_executions: None,
            keep_going: false,
            every_race: false,
            beyond_races: false,
            races_cut: true,
            minimise: true,
            directory: place.path().join("traces"),
            name: "writers".into(),
            coverage: false,
            log: None,
        },
        place,
        control: Control::default(),
    }
}

impl Bench {
    fn check(&self, mut writers: Writers) -> Result<Outcome, Fault> {
        check(&mut writers, &self.settings, &self.control)
    }
}

/// Orders of n writes: n!
#[test]
fn everything_is_explored() {
    let bench = bench();
    let mut writers = writers(4, never);
    let outcome = check(&mut writers, &bench.settings, &bench.control).unwrap();
    assert_eq!(outcome.totals.executions, 24);
    assert!(outcome.incomplete.is_empty() && outcome.errors.is_empty());
    let document = outcome.document("writers");
    assert_eq!((document.executions, document.events), (24, 96));
    assert_eq!(
        (document.algorithm.as_str(), document.complete),
        ("optimal", true)
    );
    // The first execution and the last of a search too short for others.
    assert_eq!(writers.confirmed.into_inner(), 2);
    assert!(!bench.settings.directory.exists());
}

/// The last one wins: 5! / 5 orders for each.
fn last_is_first(order: &[u32]) -> Vec<Error> {
    match order.last() {
        Some(0) => vec![error(Kind::Assertion, &[10])],
        Some(1) => vec![error(Kind::Assertion, &[20]), error(Kind::DataRace, &[30])],
        _ => Vec::new(),
    }
}

#[test]
fn the_first_error_stops() {
    let outcome = bench().check(writers(5, last_is_first)).unwrap();
    assert_eq!(outcome.incomplete[0], "stopped-at-error");
    assert_eq!(outcome.errors.len(), 1);
    assert!(outcome.totals.executions < 120);
    assert_eq!(outcome.errors[0].seen, 1);
}

#[test]
fn every_distinct_error_is_found() {
    let mut bench = bench();
    bench.settings.keep_going = true;
    let outcome = bench.check(writers(5, last_is_first)).unwrap();
    assert_eq!(outcome.totals.executions, 120);
    assert_eq!(outcome.incomplete, ["races"]);
    let findings: Vec<_> = outcome.errors.iter().map(|error| error.finding()).collect();
    let mut told: Vec<_> = findings
        .iter()
        .map(|finding| (finding.location.as_deref().unwrap(), finding.seen))
        .collect();
    told.sort();
    assert_eq!(told, [("writers.c:10", 24), ("writers.c:5", 24)]);
    for finding in &findings {
        let trace = Trace::read(finding.trace.as_ref().unwrap().as_ref()).unwrap();
        assert_eq!(
            trace.errors[0].places[0].to_string(),
            *finding.location.as_ref().unwrap()
        );
    }
    assert!(bench.settings.directory.join("writers-2.rwt").exists());
    bench.settings.every_race = true;
    bench.settings.races_cut = false;
    let outcome = bench.check(writers(5, last_is_first)).unwrap();
    assert!(outcome.incomplete.is_empty(), "races were explored");
    let race = outcome.errors.iter().find(|error| error.index == 1);
    let race = race.expect("a race that never comes first").finding();
    assert_eq!((race.kind, race.seen), (Kind::DataRace, 24));
}

/// Sites 40 and 41 are on one line.
fn two_sites_a_line(order: &[u32]) -> Vec<Error> {
    match order[0] {
        0 => vec![error(Kind::DataRace, &[40, 50])],
        1 => vec![error(Kind::DataRace, &[51, 41])],
        _ => Vec::new(),
    }
}

#[test]
fn errors_of_the_same_places_are_the_same() {
    let mut bench = bench();
    bench.settings.keep_going = true;
    let outcome = bench.check(writers(3, two_sites_a_line)).unwrap();
    assert_eq!(outcome.errors.len(), 1);
    // 2! for each of two beginnings.
    assert_eq!(outcome.errors[0].seen, 4);
}

/// 6! executions are enough for other workers to join in.
#[test]
fn workers_agree() {
    let told = |workers: usize| {
        let mut bench = bench();
        bench.settings.workers = workers;
        bench.settings.keep_going = true;
        let outcome = bench.check(writers(6, last_is_first)).unwrap();
        assert_eq!(outcome.totals.executions, 720);
        let mut told: Vec<_> = outcome
            .errors
            .into_iter()
            .map(|error| (error.trace.events, error.seen))
            .collect();
        told.sort_by_key(|(events, _)| format!("{events:?}"));
        told
    };
    let alone = told(1);
    assert_eq!(alone.len(), 2);
    assert_eq!(alone[0].1, 120);
    for _ in 0..10 {
        assert_eq!(told(3), alone);
    }
}

#[test]
fn limits_are_kept() {
    let mut bench = bench();
    bench.settings.max_executions = Some(10);
    let outcome = bench.check(writers(4, never)).unwrap();
    assert_eq!(outcome.totals.executions, 10);
    assert_eq!(outcome.incomplete, ["max-executions"]);
    bench.settings.max_executions = Some(24);
    let outcome = bench.check(writers(4, never)).unwrap();
    assert!(outcome.incomplete.is_empty(), "nothing was left");
    bench.settings.workers = 3;
    bench.settings.max_executions = Some(600);
    let outcome = bench.check(writers(6, never)).unwrap();
    assert_eq!(outcome.totals.runs(), 600);
    bench.settings.max_executions = None;
    bench.settings.budget = Some(Duration::MAX);
    let outcome = bench.check(writers(3, never)).unwrap();
    assert!(outcome.incomplete.is_empty());
    bench.settings.budget = Some(Duration::ZERO);
    let outcome = bench.check(writers(4, never)).unwrap();
    assert_eq!(outcome.totals.executions, 0);
    assert_eq!(outcome.incomplete, ["budget"]);
}

/// An execution that is run once more for what its analysis left counts once, also against the limit.
#[test]
fn limits_count_what_totals_count() {
    let mut bench = bench();
    bench.settings.options.at_once = 1;
    for workers in [1, 3] {
        bench.settings.workers = workers;
        for limit in [2, 10, 600, 719] {
            bench.settings.max_executions = Some(limit);
            let outcome = bench.check(writers(6, never)).unwrap();
            assert_eq!(outcome.totals.runs(), limit);
            assert_eq!(outcome.incomplete, ["max-executions"]);
        }
    }
}

#[test]
fn it_can_be_stopped_from_outside() {
    let bench = bench();
    bench.control.stop.store(true, Relaxed);
    let outcome = bench.check(writers(4, never)).unwrap();
    assert_eq!(outcome.incomplete, ["interrupted"]);
}

#[test]
fn a_search_may_restart() {
    let mut writers = writers(3, never);
    writers.one_more_after = 2;
    let outcome = bench().check(writers).unwrap();
    assert_eq!(outcome.totals.executions, 24, "of four threads only");
    assert!(outcome.incomplete.is_empty());
}

/// An error that stops the search stops it before it restarts.
#[test]
fn an_error_counts_though_something_turned_out() {
    let mut writers = writers(3, |_| vec![error(Kind::Crash, &[2])]);
    writers.one_more_after = 0;
    let outcome = bench().check(writers).unwrap();
    assert_eq!(outcome.errors.len(), 1);
    assert_eq!(outcome.incomplete, ["stopped-at-error"]);
    assert_eq!(outcome.errors[0].trace.threads.len(), 4, "main and three");
}

#[test]
fn programs_that_cannot_be_run_again_are_no_result() {
    let mut odd = writers(3, never);
    odd.differs = true;
    let fault = Fault::Differs("it did something else".into());
    assert_eq!(bench().check(odd).unwrap_err(), fault);
    let mut broken = writers(4, never);
    broken.breaks_after = 5;
    let fault = Fault::Failed("it broke".into());
    assert_eq!(bench().check(broken).unwrap_err(), fault);
}

#[test]
fn traces_that_cannot_be_written_say_so() {
    let bench = bench();
    std::fs::write(bench.place.path().join("traces"), "a file").unwrap();
    let outcome = bench
        .check(writers(3, |_| vec![error(Kind::Crash, &[2])]))
        .unwrap();
    let why = outcome.errors[0].file.as_ref().unwrap_err();
    assert!(why.to_string().contains("cannot be created"), "{why}");
    assert_eq!(outcome.document("x").errors[0].trace, None);
}

/// However a search is cut into slices, and whether it is stored in between: it finds the same.
#[test]
fn slices_add_up_to_the_whole() {
    let mut bench = bench();
    bench.settings.keep_going = true;
    let whole = bench.check(writers(6, last_is_first)).unwrap();
    let mut check = Check::new(writers(6, last_is_first), bench.settings.clone());
    let mut slices = 0;
    loop {
        let until = Instant::now() + Duration::from_micros(300);
        if !check.advance(&bench.control, Some(until)).unwrap() {
            break;
        }
        slices += 1;
        // Every other time by way of a file.
        if slices % 2 == 0 {
            let text = serde_json::to_string(&check.store()).unwrap();
            let stored: StoredCheck = serde_json::from_str(&text).unwrap();
            let (subject, settings) = (writers(6, last_is_first), bench.settings.clone());
            check = Check::resume(subject, settings, stored).unwrap();
        }
    }
    assert!(slices > 1, "slices are short");
    let parts = check.conclude().unwrap();
    assert_eq!(parts.totals, whole.totals);
    assert_eq!(parts.incomplete, whole.incomplete);
    let told = |outcome: &Outcome| {
        let errors = outcome.errors.iter();
        let told = errors.map(|error| (error.trace.events.clone(), error.seen));
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&parts), told(&whole));
}

#[test]
fn a_check_that_was_paused_is_incomplete() {
    let bench = bench();
    let mut check = Check::new(writers(4, never), bench.settings.clone());
    assert!(check.advance(&bench.control, Some(Instant::now())).unwrap());
    assert_eq!(check.conclude().unwrap().incomplete, ["budget"]);
    assert!(!check.advance(&bench.control, None).unwrap());
    let outcome = check.conclude().unwrap();
    assert!(outcome.incomplete.is_empty());
    assert_eq!(outcome.totals.executions, 24);
}

/// What turned out before the pause is known after it.
#[test]
fn a_paused_search_may_restart() {
    let bench = bench();
    let mut odd = writers(3, never);
    odd.one_more_after = 2;
    let mut check = Check::new(odd, bench.settings.clone());
    let mut slice = Duration::ZERO;
    while check
        .advance(&bench.control, Some(Instant::now() + slice))
        .unwrap()
    {
        slice += Duration::from_micros(2);
    }
    let outcome = check.conclude().unwrap();
    assert_eq!(outcome.totals.executions, 24, "of four threads only");
}

#[test]
fn other_options_are_another_check() {
    let mut bench = bench();
    let stored = Check::new(writers(3, never), bench.settings.clone()).store();
    bench.settings.options.max_steps = 7;
    let resumed = Check::resume(writers(3, never), bench.settings.clone(), stored);
    let why = resumed.err().expect("other options");
    assert_eq!(why.to_string(), "it was explored with other options");
}
