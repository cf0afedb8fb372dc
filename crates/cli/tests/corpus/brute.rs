//! A compiled program by several algorithms: `optimal` meets the classes of all its interleavings, `rf` those by who reads from whom, each
//! once and with the same ends and errors.

use reweave_explore::{AlgorithmName, Flow, Options, Search, Target, TargetError};
use reweave_model::{End, Execution, Plan};
use reweave_native::{Launch, NativeTarget, Note};
use reweave_testing::class::{class, class_by_reads};
use std::{collections::BTreeMap, path::PathBuf, sync::Mutex};

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
    pub rf: Counted,
}

/// What a search met.
#[derive(Default)]
struct Met {
    classes: Classes,
    by_reads: Classes,
}

/// How it went.
enum Went {
    Whole(Met),
    /// There are more runs than wished for.
    TooMany,
    /// `rf` does not serve.
    Unfit,
    /// Something turned out that all runs have to look at.
    Anew(Vec<Note>),
}

/// Compares the algorithms; `None`: `optimal` has more runs than that.
pub fn force(program: &str, args: &[String], most: u64) -> Result<Option<Counts>, String> {
    let mut launch = Launch::new(PathBuf::from(program));
    launch.args = args.iter().map(Into::into).collect();
    let optimal = loop {
        match search(&launch, AlgorithmName::Optimal, most)? {
            Went::Whole(met) => break met,
            Went::Anew(notes) => follow(&mut launch, notes),
            Went::TooMany | Went::Unfit => return Ok(None),
        }
    };
    once_each("optimal", &optimal.classes)?;
    if let Went::Whole(all) = search(&launch, AlgorithmName::Dfs, most)? {
        same("optimal", &all.classes, &optimal.classes)?;
    }
    let counted = Counted::of(&optimal.classes);
    let rf = match search(&launch, AlgorithmName::Rf, most)? {
        Went::Whole(rf) => {
            same("rf", &optimal.by_reads, &rf.by_reads)?;
            once_each("rf", &rf.by_reads)?;
            Counted::of(&rf.by_reads)
        }
        Went::Unfit => counted,
        Went::TooMany => return Err("rf needs more runs than optimal".into()),
        Went::Anew(_) => return Err("rf shows what optimal did not".into()),
    };
    Ok(Some(Counts {
        optimal: counted,
        rf,
    }))
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

fn search(launch: &Launch, algorithm: AlgorithmName, most: u64) -> Result<Went, String> {
    let mut search = Search::new(Options {
        algorithm,
        ..Options::default()
    });
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
    outcome.map_err(|error| format!("{algorithm:?} stops: {error:?}"))?;
    Ok(match (search.unfit(), search.exhausted()) {
        (Some(_), _) => Went::Unfit,
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
