//! Random programs of several processes that talk through pipes: what they come to, against an oracle of their own.
//!
//! The oracle (`oracle.rs`) knows nothing of Reweave: it has processes with tables of open ends, queues, and every order of their steps.
//! The compiled program is explored, and the outcomes must be the same set: what every process has read and what its writes returned,
//! folded into one number, or a deadlock. `dfs` must meet each of them, and so must `optimal` and `rf`, which meet each class once.
//!
//! `REWEAVE_CASES` sets the number of programs, `REWEAVE_SEED` the seed of the first one.

mod oracle;
mod program;

use oracle::Outcome;
use program::Program;
use reweave_explore::{AlgorithmName, Flow, Options, Search, Target, TargetError};
use reweave_model::{End, Execution, Op, Plan};
use reweave_native::{Launch, NativeTarget, Note, Rule};
use reweave_testing::class::Order;
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

/// Programs with more runs than that are not compared.
const LIMIT: u64 = 1500;
/// Programs in one file.
const BATCH: usize = 30;

/// What a search met.
#[derive(Default)]
struct Met {
    outcomes: BTreeSet<Outcome>,
    /// Classes, and how often each was met.
    classes: BTreeMap<Vec<u64>, u64>,
}

impl Met {
    fn note(&mut self, execution: &Execution) {
        if execution.end == End::Redundant {
            return;
        }
        self.outcomes.insert(outcome(execution));
        let order = Order::of(execution);
        *self.classes.entry(order.key(execution)).or_default() += 1;
    }
}

/// What an execution came to: the last value that the first process stored, or how else it ended.
fn outcome(execution: &Execution) -> Outcome {
    let mut events = execution.events.iter().rev();
    let stored = events.find_map(|event| match event.op {
        Op::Store(_, value) => Some(value),
        _ => None,
    });
    match (execution.end, stored) {
        (End::Done, Some(value)) => Outcome::Result(value),
        (End::Deadlock, None) => Outcome::Deadlock,
        other => panic!("{other:?}: {:?}", execution.errors),
    }
}

/// A target that gives up where the runtime refuses something.
struct Watched(NativeTarget);

impl Target for Watched {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.0.run(plan)
    }

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn prepare(&mut self, plans: &[Plan]) {
        self.0.prepare(plans);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut notes = self.0.notes().iter();
        let refused = notes.find(|note| matches!(note, Note::Unsupported { .. }));
        assert!(refused.is_none(), "{refused:?}");
    }
}

/// All that an algorithm meets; `None`: there are too many runs.
fn explore(path: &Path, number: usize, algorithm: AlgorithmName) -> Option<Met> {
    let launch = Launch {
        rules: [Rule::Processes].into_iter().collect(),
        args: vec![OsString::from(number.to_string())],
        ..Launch::new(PathBuf::from(path))
    };
    let target = |_| Watched(NativeTarget::start(&launch).expect("the program starts"));
    let mut search = Search::new(Options {
        algorithm,
        ..Options::default()
    });
    let met = Mutex::new(Met::default());
    let runs = Mutex::new(0);
    let before = || {
        let mut runs = runs.lock().expect("one worker");
        *runs += 1;
        match *runs > LIMIT {
            true => Flow::Stop,
            false => Flow::Continue,
        }
    };
    let after = |_: &Plan, execution: &Execution| {
        met.lock().expect("one worker").note(execution);
        Flow::Continue
    };
    let ran = search.run(1, target, before, after);
    ran.unwrap_or_else(|divergence| panic!("it diverges: {divergence:?}"));
    assert!(search.unfit().is_none(), "{algorithm:?} serves");
    let exhausted = search.exhausted();
    exhausted.then(|| met.into_inner().expect("one worker"))
}

fn compile(place: &Path, programs: &[&Program]) -> PathBuf {
    let file = place.join("programs.c");
    fs::write(&file, program::source(programs)).expect("there is room for files");
    let program = place.join("programs");
    let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
        .args(["cc", "-std=gnu11", "-w", "-O1", "-o"])
        .arg(&program)
        .arg(&file)
        .output()
        .expect("the command was built with the tests");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    program
}

/// Compares one program in all ways; whether brute force could do it.
fn compare(path: &Path, number: usize, expected: &BTreeSet<Outcome>, text: &str) -> bool {
    let Some(all) = explore(path, number, AlgorithmName::Dfs) else {
        return false;
    };
    assert_eq!(&all.outcomes, expected, "dfs: {text}");
    let optimal = explore(path, number, AlgorithmName::Optimal).expect("no more than dfs");
    assert_eq!(&optimal.outcomes, expected, "optimal: {text}");
    let known: Vec<_> = all.classes.keys().collect();
    assert_eq!(optimal.classes.keys().collect::<Vec<_>>(), known, "{text}");
    let twice = optimal.classes.values().find(|times| **times != 1);
    assert_eq!(twice, None, "a class is met again: {text}");
    let by_reads = explore(path, number, AlgorithmName::Rf).expect("no more than dfs");
    assert_eq!(&by_reads.outcomes, expected, "rf: {text}");
    true
}

fn number(variable: &str, usual: u64) -> u64 {
    let text = env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_processes_with_pipes_come_to_what_they_should() {
    let cases = number("REWEAVE_CASES", 40) as usize;
    let first = number("REWEAVE_SEED", 1800);
    let mut seeds = first..;
    let (mut compared, mut outcomes, mut deadlocks) = (0, 0, 0);
    while compared < cases {
        let mut batch: Vec<(u64, Program, BTreeSet<Outcome>)> = Vec::new();
        while batch.len() < BATCH {
            let seed = seeds.next().expect("there is no end to them");
            let program = program::random(seed);
            let expected = oracle::outcomes(&program);
            // Where all comes to the same there is little to find.
            if expected.len() > 1 || seed.is_multiple_of(8) {
                batch.push((seed, program, expected));
            }
        }
        let place = tempfile::tempdir().expect("there is room for files");
        let programs: Vec<&Program> = batch.iter().map(|(_, program, _)| program).collect();
        let path = compile(place.path(), &programs);
        for (number, (seed, program, expected)) in batch.iter().enumerate() {
            if compared == cases {
                break;
            }
            let text = format!("REWEAVE_SEED={seed} REWEAVE_CASES=1\n{program}");
            if compare(&path, number, expected, &text) {
                compared += 1;
                outcomes += expected.len();
                deadlocks += usize::from(expected.contains(&Outcome::Deadlock));
            }
        }
    }
    println!("{compared} programs, {outcomes} outcomes, {deadlocks} with deadlocks");
    assert!(cases < 20 || deadlocks * 10 > cases && (cases - deadlocks) * 10 > cases);
}
