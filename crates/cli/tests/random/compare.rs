//! What brute force finds on the model, and what is found with the compiled program.

use super::{
    language::Program,
    machine::{Machine, Outcomes, needs_two_steps},
};
use reweave_explore::{AlgorithmName, Flow, Options, Search, Target};
use reweave_model::{End, Event, Execution, Gate, Kind, Op, Plan, Site, ThreadId};
use reweave_native::{Launch, NativeTarget, Note, Restart, Rule, Threads};
use reweave_testing::class::{Order, class, in_one_step};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

/// The classes that were met, by a key that says how they ended, too.
type Classes = BTreeMap<Vec<u64>, Met>;

pub struct Met {
    times: u64,
    /// For people.
    pub name: String,
    /// The class, whichever of its sections were clean.
    roughly: Vec<u64>,
}

/// What a search met.
#[derive(Default)]
pub struct Found {
    pub classes: Classes,
    /// By who reads from whom.
    pub by_reads: Classes,
    /// Of runs that foretold a writer which could not come, or came too early.
    pub untrue: Classes,
    pub events: u64,
    /// A loop waited.
    waits: bool,
    /// What threads did, whatever else happened, and how runs ended.
    deeds: BTreeSet<Deed>,
    ends: BTreeSet<u8>,
}

/// What a thread did: its path, where, which operation, whether it succeeded, and what it got.
type Deed = (Vec<u32>, Site, u8, bool, u64);

impl Found {
    fn note(&mut self, execution: &Execution, one_step: bool) {
        if one_step {
            return self.note(&in_one_step(execution), false);
        }
        self.events += execution.events.len() as u64;
        let waits =
            |event: &&Event| !matches!(event.op, Op::Await(..)) && event.op.mutex().is_none();
        self.waits |= execution
            .events
            .iter()
            .any(|event| event.gate != Gate::Open);
        self.deeds
            .extend(execution.events.iter().filter(waits).map(|event| {
                let path = execution.threads[event.thread.index()].path.clone();
                (path, event.site, event.op.kind().0, event.ok, event.result)
            }));
        if execution.end != End::Redundant {
            self.ends.insert(execution.end as u8);
        }
        let order = Order::of(execution);
        if execution.end == End::Redundant {
            return meet(&mut self.untrue, &order, execution);
        }
        meet(&mut self.classes, &order, execution);
        meet(&mut self.by_reads, &Order::by_reads(execution), execution);
    }

    fn runs(&self) -> u64 {
        self.classes.values().map(|met| met.times).sum()
    }

    /// What an algorithm meets once each.
    fn by(&self, algorithm: AlgorithmName) -> &Classes {
        match algorithm {
            AlgorithmName::Rf => &self.by_reads,
            _ => &self.classes,
        }
    }
}

/// As if no section had been clean.
fn without_clean(execution: &Execution) -> Execution {
    let mut execution = execution.clone();
    for event in &mut execution.events {
        if let Op::UnlockClean(mutex) = event.op {
            event.op = Op::Unlock(mutex);
        }
    }
    execution
}

fn meet(classes: &mut Classes, order: &Order, execution: &Execution) {
    let met = classes.entry(order.key(execution)).or_insert_with(|| Met {
        times: 0,
        name: format!("{:?}{}", execution.end, order.name(execution)),
        roughly: order.key(&without_clean(execution)),
    });
    met.times += 1;
}

/// How many classes ended so.
fn ended(classes: &Classes, end: End) -> u64 {
    let keys = classes.keys();
    keys.filter(|key| key[0] == end as u64).count() as u64
}

/// All that there is to find.
pub struct Oracle {
    pub found: Found,
    /// Writers take their locks in one step where readers go first.
    one_step: bool,
}

/// A thread that goes further than this is never parked where it should be.
const MAX_STEPS: u32 = 200;

fn options(algorithm: AlgorithmName) -> Options {
    Options {
        algorithm,
        max_steps: MAX_STEPS,
        ..Options::default()
    }
}

/// Runs a search on whatever runs the program, until it has more runs than that.
fn explore<T: Target>(
    target: impl Fn(usize) -> T + Sync,
    algorithm: AlgorithmName,
    workers: usize,
    limit: u64,
    note: impl Fn(&Execution) + Sync,
) -> Result<Search, String> {
    let mut search = Search::new(options(algorithm));
    let runs = Mutex::new(0);
    let before = || {
        let mut runs = runs.lock().expect("nobody panics with it");
        *runs += 1;
        match *runs > limit {
            true => Flow::Stop,
            false => Flow::Continue,
        }
    };
    let after = |_: &Plan, execution: &Execution| {
        note(execution);
        Flow::Continue
    };
    match search.run(workers, target, before, after) {
        Ok(()) => Ok(search),
        Err(divergence) => Err(format!("it diverges: {divergence:?}")),
    }
}

fn brute_force(program: &Program, one_step: bool, limit: u64) -> Option<Found> {
    let found = Mutex::new(Found::default());
    let search = explore(
        |_| Machine::new(program, one_step),
        AlgorithmName::Dfs,
        1,
        limit,
        |execution| found.lock().expect("one worker").note(execution, false),
    );
    let search = search.expect("the model does the same every time");
    search
        .exhausted()
        .then(|| found.into_inner().expect("one worker"))
}

/// What all runs of a program come to, if so many timeouts in a row are let through where a round repeats; `None`: the program is too
/// big.
pub fn outcomes(program: &Program, free: u32, limit: u64) -> Option<Outcomes> {
    let outcomes = Arc::default();
    let search = explore(
        |_| Machine::lenient(program, free, Arc::clone(&outcomes)),
        AlgorithmName::Dfs,
        1,
        limit,
        |_| {},
    );
    let search = search.expect("the model does the same every time");
    let outcomes = outcomes.lock().expect("one worker").clone();
    search.exhausted().then_some(outcomes)
}

impl Oracle {
    /// By brute force; `None`: the program is too big for that.
    pub fn of(program: &Program, limit: u64) -> Option<Oracle> {
        let one_step = !needs_two_steps(program);
        let found = brute_force(program, one_step, limit)?;
        Some(Oracle { found, one_step })
    }

    pub fn interleavings(&self) -> u64 {
        self.found.runs()
    }
}

/// A compiled program.
pub struct Built<'a> {
    pub path: &'a Path,
    /// Which of those in the file.
    pub number: usize,
    /// Its threads are processes.
    pub processes: bool,
}

/// How to run one.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub algorithm: AlgorithmName,
    pub workers: usize,
    pub restart: Restart,
    pub threads: Threads,
}

impl Way {
    pub const USUAL: Way = Way {
        algorithm: AlgorithmName::Optimal,
        workers: 1,
        restart: Restart::Warm,
        threads: Threads::Fiber,
    };
}

impl Built<'_> {
    fn launch(&self, way: Way) -> Launch {
        let processes = self.processes.then_some(Rule::Processes);
        Launch {
            rules: processes.into_iter().collect(),
            args: vec![OsString::from(self.number.to_string())],
            restart: way.restart,
            threads: way.threads,
            ..Launch::new(PathBuf::from(self.path))
        }
    }

    /// All that is met in one way of running the program; `None`: `rf` cannot serve.
    fn explore(&self, way: Way, one_step: bool, limit: u64) -> Result<Option<Found>, String> {
        let launch = self.launch(way);
        let found = Mutex::new(Found::default());
        let wrong = Mutex::new(None);
        let fault = Mutex::new(None);
        let target = |_| Watched {
            native: NativeTarget::start(&launch).expect("the program starts"),
            fault: &fault,
        };
        let search = explore(target, way.algorithm, way.workers, limit, |execution| {
            if let Some(why) = odd(execution) {
                wrong.lock().expect("nobody panics").get_or_insert(why);
            }
            let mut found = found.lock().expect("nobody panics");
            found.note(execution, one_step);
        });
        if let Some(fault) = fault.into_inner().expect("nobody panics") {
            return Err(fault);
        }
        let search = search?;
        if let Some(wrong) = wrong.into_inner().expect("nobody panics") {
            return Err(wrong);
        }
        let found = found.into_inner().expect("nobody panics");
        match (search.exhausted(), search.unfit()) {
            (_, Some(_)) => Ok(None),
            (true, None) => Ok(Some(found)),
            (false, None) => Err(format!(
                "there are more than {limit} runs, such as{}",
                many(&found)
            )),
        }
    }

    /// All classes and nothing else, each once, in one way of running the program; `false`: it does not serve.
    pub fn exact(&self, oracle: &Oracle, way: Way) -> Result<bool, String> {
        let name = |why: String| format!("{way:?}: {why}");
        let limit = 2 * oracle.interleavings() + 100;
        let found = self.explore(way, oracle.one_step, limit).map_err(name)?;
        let Some(found) = found else {
            return Ok(false);
        };
        let classes = found.by(way.algorithm);
        self.same(oracle.found.by(way.algorithm), classes, false)
            .map_err(name)?;
        if !oracle.one_step && way.algorithm != AlgorithmName::Rf {
            self.same(&oracle.found.untrue, &found.untrue, false)
                .map_err(name)?;
        }
        match classes.values().find(|met| met.times != 1) {
            Some(met) => Err(name(format!("meets {} times {}", met.times, met.name))),
            None => Ok(true),
        }
    }

    /// `stateful` meets all ends of runs, and all that threads do; `false`: it does not serve.
    pub fn by_states(&self, oracle: &Oracle, workers: usize) -> Result<bool, String> {
        let limit = 2 * oracle.interleavings() + 100;
        let all = self.all(Way::USUAL, oracle.one_step, limit)?;
        let algorithm = AlgorithmName::Stateful;
        let way = Way {
            algorithm,
            workers,
            ..Way::USUAL
        };
        let Some(found) = self.explore(way, oracle.one_step, 50 * limit)? else {
            return Ok(false);
        };
        // A loop that waits is parked by the others, and its rounds are no events.
        let parks = ended(&all.classes, End::Livelock) > 0 || all.waits;
        if all.ends != found.ends {
            return Err(format!(
                "stateful: ends {:?} and not {:?}",
                found.ends, all.ends
            ));
        }
        let missed = all.deeds.difference(&found.deeds).next();
        match missed.filter(|_| !parks) {
            Some(deed) => Err(format!("stateful misses {deed:?}")),
            None => Ok(true),
        }
    }

    /// For algorithms that always serve.
    fn all(&self, way: Way, one_step: bool, limit: u64) -> Result<Found, String> {
        let found = self.explore(way, one_step, limit)?;
        Ok(found.expect("only `rf` does not always serve"))
    }

    /// Every interleaving as often as on the model, and `dpor` meets all classes.
    pub fn whole(&self, program: &Program, oracle: &Oracle, limit: u64) -> Result<(), String> {
        let name = |why: String| format!("dfs: {why}");
        let way = Way {
            algorithm: AlgorithmName::Dfs,
            ..Way::USUAL
        };
        if let Some(model) = brute_force(program, false, limit) {
            let found = self.all(way, false, 2 * limit).map_err(name)?;
            self.same(&model.classes, &found.classes, true)
                .map_err(name)?;
            self.same(&model.untrue, &found.untrue, true)
                .map_err(name)?;
            if model.events != found.events {
                return Err(name("another number of events".into()));
            }
        }
        let name = |why: String| format!("dpor: {why}");
        let way = Way {
            algorithm: AlgorithmName::Dpor,
            ..way
        };
        let found = self.all(way, oracle.one_step, 20 * limit).map_err(name)?;
        self.same(&oracle.found.classes, &found.classes, false)
            .map_err(name)
    }

    /// Whether both are the same classes. Without optimisation more is written to the stack than the oracle knows of, and fewer sections are
    /// clean; those who are woken by that show in other ways.
    fn same(&self, expected: &Classes, found: &Classes, counted: bool) -> Result<(), String> {
        match self.path.to_string_lossy().ends_with("-O0") {
            true => same(&roughly(expected), &roughly(found), counted),
            false => same(expected, found, counted),
        }
    }

    /// What the command counts with an algorithm that serves.
    pub fn command(
        &self,
        oracle: &Oracle,
        algorithm: AlgorithmName,
        restart: &str,
    ) -> Result<(), String> {
        let classes = oracle.found.by(algorithm);
        if ended(classes, End::MaxSteps) > 0 {
            // The command has another limit on steps.
            return Ok(());
        }
        let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
            .args([
                "check",
                "--format",
                "json",
                "--keep-going",
                "--workers",
                "1",
            ])
            .args(["--algorithm", algorithm.name(), "--restart", restart])
            .arg("--output")
            .arg(self.path.with_extension("out"))
            .arg("--")
            .arg(self.path)
            .arg(self.number.to_string())
            .output()
            .map_err(|error| error.to_string())?;
        let told = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let result: serde_json::Value = serde_json::from_str(&told)
            .map_err(|error| format!("the command says no result ({error}): {told}{said}"))?;
        let number = |value: &serde_json::Value| value.as_u64().unwrap_or(u64::MAX);
        let seen = |kind: &str| {
            let errors = result["errors"].as_array().map(Vec::as_slice);
            let of_kind = errors.unwrap_or(&[]).iter().filter(|e| e["kind"] == kind);
            of_kind.map(|error| number(&error["seen"])).sum::<u64>()
        };
        let blocked = ended(classes, End::Blocked);
        let all = classes.len() as u64;
        let expected = [
            ("executions", number(&result["executions"]), all - blocked),
            ("assume", number(&result["blocked_by"]["assume"]), blocked),
            ("deadlock", seen("deadlock"), ended(classes, End::Deadlock)),
            ("livelock", seen("livelock"), ended(classes, End::Livelock)),
        ];
        let wrong = expected.iter().find(|(_, is, should)| is != should);
        match wrong {
            Some((what, is, should)) => Err(format!(
                "the command counts {is} and not {should} as {what}: {told}"
            )),
            None if result["complete"] != true => Err(format!("it is not complete: {told}")),
            None => Ok(()),
        }
    }
}

/// A target that says why it cannot run, and what it met that it should not.
struct Watched<'a> {
    native: NativeTarget,
    fault: &'a Mutex<Option<String>>,
}

impl Target for Watched<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, reweave_explore::TargetError> {
        self.native.run(plan)
    }

    fn batch(&self) -> usize {
        self.native.batch()
    }

    fn prepare(&mut self, plans: &[Plan]) {
        self.native.prepare(plans);
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let mut notes = self.native.notes().iter();
        let unsupported = notes.find_map(|note| match note {
            Note::Unsupported { call, .. } => Some(format!("unsupported: {call}")),
            _ => None,
        });
        let fault = self.native.fault().map(ToString::to_string).or(unsupported);
        if let (Some(fault), Ok(mut place)) = (fault, self.fault.lock()) {
            place.get_or_insert(fault);
        }
    }
}

/// What no program here does, or an end without its error.
fn odd(execution: &Execution) -> Option<String> {
    let expected = match execution.end {
        End::Deadlock => Some(Kind::Deadlock),
        End::Livelock => Some(Kind::Livelock),
        _ => None,
    };
    let early = |error: &reweave_model::Error| {
        error.kind == Kind::Misuse && error.rule.as_deref() == Some("main-returned-early")
    };
    // Only if it waits for the others to end; and it must be said if it did not know of all that they did.
    if execution.errors.iter().any(early) && execution.threads[0].pending.is_none() {
        return Some("main has not returned early".into());
    }
    if execution.end == End::Done && left_early(execution) && !execution.errors.iter().any(early) {
        return Some(format!("main has returned early: {}", class(execution)));
    }
    let errors = execution.errors.iter().filter(|error| !early(error));
    let errors: Vec<_> = errors.collect();
    let kinds: Vec<Kind> = errors.iter().map(|error| error.kind).collect();
    if kinds == expected.into_iter().collect::<Vec<_>>() {
        return None;
    }
    let told = class(execution);
    Some(format!(
        "{:?} with the errors {errors:?}: {told}",
        execution.end
    ))
}

/// Whether the first thread ended the process before something that another thread did.
fn left_early(execution: &Execution) -> bool {
    let main = |event: &Event| event.thread == ThreadId::MAIN;
    let Some(last) = execution.events.iter().rposition(main) else {
        return false;
    };
    // It stays where it took the lock that it never gives back.
    let stays = execution.threads[0].pending;
    let leaves = stays.is_some_and(|pending| pending.op == execution.events[last].op);
    let order = Order::of(execution);
    leaves && (0..execution.events.len()).any(|event| !order.before(event, last, execution))
}

/// Classes that differ only in which sections were clean, as one.
fn roughly(classes: &Classes) -> Classes {
    let mut rough = Classes::new();
    for met in classes.values() {
        let same = rough.entry(met.roughly.clone()).or_insert_with(|| Met {
            times: 0,
            name: met.name.clone(),
            roughly: met.roughly.clone(),
        });
        same.times += met.times;
    }
    rough
}

/// The same classes and, if they are counted, each as often.
fn same(expected: &Classes, found: &Classes, counted: bool) -> Result<(), String> {
    let first = |these: &Classes, those: &Classes, word: &str| {
        let mut here = these.iter();
        let only = here.find(|(key, _)| !those.contains_key(*key));
        only.map(|(_, met)| format!("\nit {word} {}", met.name))
    };
    let missed = first(expected, found, "misses");
    let invented = first(found, expected, "invents");
    if missed.is_some() || invented.is_some() {
        let (missed, invented) = (missed.unwrap_or_default(), invented.unwrap_or_default());
        let (all, met) = (expected.len(), found.len());
        return Err(format!("{met} classes instead of {all}{missed}{invented}"));
    }
    let mut all = expected.iter();
    let differs = all.find(|(key, met)| counted && found[*key].times != met.times);
    match differs {
        Some((key, met)) => Err(format!(
            "{} times instead of {}: {}",
            found[key].times, met.times, met.name
        )),
        None => Ok(()),
    }
}

fn many(found: &Found) -> String {
    let classes = found.classes.values().take(2);
    let names: Vec<&str> = classes.map(|met| met.name.as_str()).collect();
    names.join("\n")
}
