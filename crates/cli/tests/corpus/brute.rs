//! A compiled program by several algorithms: `optimal` meets the classes of all its interleavings, `rf` those by who reads from whom, each
//! once and with the same ends and errors. Where rounds of loops are taken back, classes of `optimal` have more in them than those of `rf`: then the ends
//! and errors are compared, and no class may be met twice.

use reweave_explore::{AlgorithmName, Flow, Options, Search, Target, TargetError, Unfit};
use reweave_model::{End, Execution, Plan};
use reweave_native::{Launch, NativeTarget, Note};
use reweave_testing::class::{class, class_by_reads};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Mutex,
};

/// How often each class was met.
type Classes = BTreeMap<String, u64>;

/// Before the names of those that ended at an assumption.
const BLOCKED: &str = "at an assumption: ";

/// What there is to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    pub executions: u64,
    /// Ended at an assumption.
    pub blocked: u64,
}

impl Counted {
    fn of(classes: &Classes) -> Counted {
        let blocked = classes.keys().filter(|name| name.starts_with(BLOCKED));
        let blocked = blocked.count() as u64;
        Counted {
            executions: classes.len() as u64 - blocked,
            blocked,
        }
    }
}

/// What the algorithms should count: `rf` counts as `optimal` does where it does not serve.
pub struct Counts {
    pub optimal: Counted,
    /// `None`: it has more runs than wished for.
    pub rf: Option<Counted>,
}

/// What a search met.
#[derive(Default)]
struct Met {
    classes: Classes,
    by_reads: Classes,
    ends: BTreeSet<String>,
}

/// How it went.
enum Went {
    Whole(Met),
    /// There are more runs than wished for.
    TooMany,
    /// `rf` does not serve, for this reason.
    Unfit(Unfit),
    /// Something turned out that all runs have to look at.
    Anew(Vec<Note>),
}

/// Compares the algorithms; `None`: `optimal` has more runs than that.
pub fn force(program: &str, args: &[String], most: u64) -> Result<Option<Counts>, String> {
    let mut launch = Launch::new(PathBuf::from(program));
    launch.args = args.iter().map(Into::into).collect();
    let optimal = loop {
        match search(&launch, by(AlgorithmName::Optimal), most)? {
            Went::Whole(met) => break met,
            Went::Anew(notes) => follow(&mut launch, notes),
            Went::TooMany | Went::Unfit(_) => return Ok(None),
        }
    };
    once_each("optimal", &optimal.classes)?;
    if let Went::Whole(all) = search(&launch, by(AlgorithmName::Dfs), most)? {
        same("optimal", &all.classes, &optimal.classes)?;
    }
    let rf = match search(&launch, by(AlgorithmName::Rf), most)? {
        Went::Whole(rf) => {
            same("rf", &optimal.by_reads, &rf.by_reads)?;
            once_each("rf", &rf.by_reads)?;
            Some(Counted::of(&rf.by_reads))
        }
        Went::Unfit(why) => instead(&launch, &why, &optimal, most)?,
        Went::TooMany => return Err("rf needs more runs than optimal".into()),
        Went::Anew(_) => return Err("rf shows what optimal did not".into()),
    };
    Ok(Some(Counts {
        optimal: Counted::of(&optimal.classes),
        rf,
    }))
}

fn by(algorithm: AlgorithmName) -> Options {
    Options {
        algorithm,
        ..Options::default()
    }
}

/// What there is to count instead of what `rf` cannot explore.
fn instead(
    launch: &Launch,
    why: &Unfit,
    optimal: &Met,
    most: u64,
) -> Result<Option<Counted>, String> {
    let mut options = by(AlgorithmName::Rf);
    options.instead(why);
    if options.algorithm == AlgorithmName::Optimal {
        return Ok(Some(Counted::of(&optimal.classes)));
    }
    match search(launch, options, most)? {
        Went::Whole(rf) => {
            if let Some(end) = optimal.ends.symmetric_difference(&rf.ends).next() {
                let by = match rf.ends.contains(end) {
                    true => "rf with loops",
                    false => "optimal",
                };
                return Err(format!("only {by} ends so: {end}"));
            }
            // A livelock is met once for each of the last values that its threads read.
            let livelock = |class: &String| class.starts_with(&format!("{:?}", End::Livelock));
            let (livelocks, classes): (Classes, Classes) =
                (rf.by_reads.into_iter()).partition(|(class, _)| livelock(class));
            once_each("rf with loops", &classes)?;
            let mut counted = Counted::of(&classes);
            counted.executions += livelocks.values().sum::<u64>();
            Ok(Some(counted))
        }
        Went::Unfit(_) => Ok(Some(Counted::of(&optimal.classes))),
        Went::TooMany => Ok(None),
        Went::Anew(_) => Err("rf with loops shows what optimal did not".into()),
    }
}

/// From now on runs have the steps that they lacked.
fn follow(launch: &mut Launch, lacking: Vec<Note>) {
    for note in lacking {
        match note {
            Note::Missing(unit) | Note::Returns(unit) => launch.units.push(unit),
            Note::Needs(rule) => launch.rules.extend([rule]),
            _ => {}
        }
    }
}

fn same(name: &str, all: &Classes, found: &Classes) -> Result<(), String> {
    if let Some(missed) = all.keys().find(|class| !found.contains_key(*class)) {
        return Err(format!("{name} misses a class:\n{missed}"));
    }
    match found.keys().find(|class| !all.contains_key(*class)) {
        Some(other) => Err(format!("{name} meets what there is not:\n{other}")),
        None => Ok(()),
    }
}

fn once_each(name: &str, found: &Classes) -> Result<(), String> {
    match found.iter().find(|(_, times)| **times > 1) {
        Some((class, times)) => Err(format!("{name} meets {times} times:\n{class}")),
        None => Ok(()),
    }
}

/// How an execution ended, with its errors.
fn end(execution: &Execution) -> String {
    let blocked = execution.end == End::Blocked && execution.errors.is_empty();
    let front = if blocked { BLOCKED } else { "" };
    let errors = execution.errors.iter();
    let mut errors: Vec<String> = errors
        .map(|error| format!(" {:?} {:?} {:?}", error.kind, error.rule, error.sites))
        .collect();
    errors.sort();
    format!("{front}{:?}{}", execution.end, errors.concat())
}

fn search(launch: &Launch, options: Options, most: u64) -> Result<Went, String> {
    let mut search = Search::new(options);
    let native = NativeTarget::start(launch);
    let native = Mutex::new(Some(native.map_err(|error| error.to_string())?));
    let lacking = Mutex::new(Vec::new());
    let runs = Mutex::new(0);
    let met = Mutex::new(Met::default());
    let before = || {
        let mut runs = runs.lock().expect("there is one worker");
        *runs += 1;
        match *runs > most {
            true => Flow::Stop,
            false => Flow::Continue,
        }
    };
    let after = |_: &Plan, execution: &Execution| {
        // One that could only have repeated another is none.
        if execution.end != End::Redundant {
            let end = end(execution);
            let mut met = met.lock().expect("there is one worker");
            let name = format!("{end}{}", class(execution));
            *met.classes.entry(name).or_default() += 1;
            let name = format!("{end}{}", class_by_reads(execution));
            *met.by_reads.entry(name).or_default() += 1;
            met.ends.insert(end);
        }
        Flow::Continue
    };
    let target = |_| {
        let native = native.lock().expect("there is one worker").take();
        Attentive {
            native: native.expect("there is one worker"),
            lacking: &lacking,
        }
    };
    let outcome = search.run(1, target, before, after);
    let lacking = lacking.into_inner().expect("there is one worker");
    if !lacking.is_empty() {
        return Ok(Went::Anew(lacking));
    }
    outcome.map_err(|error| format!("{:?} stops: {error:?}", options.algorithm))?;
    Ok(match (search.unfit(), search.exhausted()) {
        (Some(why), _) => Went::Unfit(why.clone()),
        (None, true) => Went::Whole(met.into_inner().expect("there is one worker")),
        (None, false) => Went::TooMany,
    })
}

/// A target that leaves word of what turned out.
struct Attentive<'a> {
    native: NativeTarget,
    lacking: &'a Mutex<Vec<Note>>,
}

impl Target for Attentive<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.native.run(plan)
    }
}

impl Drop for Attentive<'_> {
    fn drop(&mut self) {
        let lacking =
            |note: &&Note| matches!(note, Note::Missing(_) | Note::Needs(_) | Note::Returns(_));
        let lacking = self.native.notes().iter().filter(lacking);
        let mut known = self.lacking.lock().expect("there is one worker");
        known.extend(lacking.cloned());
    }
}
