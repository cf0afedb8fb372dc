//! Explores a compiled program in several ways, and compares what it comes to with what an oracle says.

use reweave_explore::{AlgorithmName, Flow, Options, Search, Target, TargetError};
use reweave_model::{End, Execution, Kind, Op, Plan};
use reweave_native::{Launch, NativeTarget, Note, Races, Rule};
use reweave_testing::class::Order;
use reweave_toolchain::Kit;
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

/// What a run comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// What the first process has folded; of a program that shows its calls only, as [`shown`].
    Result(u64),
    /// Some processes wait for ever.
    Deadlock,
}

/// The same numbers on every machine (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * n as u128) >> 64) as usize
    }
}

/// How outcomes are folded into one number, in the programs as in the oracles.
pub fn fold(folded: u64, value: u64) -> u64 {
    folded.wrapping_mul(31).wrapping_add(value).wrapping_add(1)
}

/// Programs with more runs than that are not compared.
const LIMIT: u64 = 1500;
/// What a search met.
#[derive(Default)]
struct Met {
    outcomes: BTreeSet<Outcome>,
    /// Classes, and how often each was met.
    classes: BTreeMap<Vec<u64>, u64>,
}

impl Met {
    fn note(&mut self, execution: &Execution, calls_only: bool) {
        if execution.end == End::Redundant {
            return;
        }
        self.outcomes.insert(match calls_only {
            true => status(execution),
            false => outcome(execution),
        });
        let order = Order::of(execution);
        *self.classes.entry(order.key(execution)).or_default() += 1;
    }
}

/// How programs make their outcome known: by a store, or, if only their calls are seen, by their status.
const FINISH: &str = "
#ifdef CALLS
#define FINISH(value) return 1 + (value) % 250
#else
#define FINISH(value) do { atomic_store(&result, value); return 0; } while (0)
#endif
";

/// What there is to be seen of an outcome by the program's status.
pub fn shown(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Result(folded) => Outcome::Result(1 + folded % 250),
        Outcome::Deadlock => Outcome::Deadlock,
    }
}

/// What an execution came to: the status of the first process, or how else it ended.
fn status(execution: &Execution) -> Outcome {
    let errors = execution.errors.iter().map(|error| error.kind);
    let errors: Vec<Kind> = errors.collect();
    if (execution.end, &errors[..]) == (End::Deadlock, &[Kind::Deadlock]) {
        return Outcome::Deadlock;
    }
    assert_eq!(errors, [Kind::ExitStatus], "{:?}", execution.errors);
    let message = &execution.errors[0].message;
    let number = message.rsplit(' ').find_map(|word| word.parse().ok());
    Outcome::Result(number.unwrap_or_else(|| panic!("which status? {message}")))
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

/// A program in a file of several.
struct Chosen<'a> {
    path: &'a Path,
    number: usize,
    rules: &'a [Rule],
    /// The runtime, if it was built without hooks.
    preload: Option<PathBuf>,
}

/// All that an algorithm meets; `None`: there are too many runs, or it is not for such programs.
fn explore(program: &Chosen, algorithm: AlgorithmName) -> Option<Met> {
    let calls_only = program.preload.is_some();
    let launch = Launch {
        rules: program.rules.iter().copied().collect(),
        args: vec![OsString::from(program.number.to_string())],
        preload: program.preload.clone(),
        races: match calls_only {
            true => Races::Ignore,
            false => Races::Report,
        },
        ..Launch::new(PathBuf::from(program.path))
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
        let mut met = met.lock().expect("one worker");
        met.note(execution, calls_only);
        Flow::Continue
    };
    let ran = search.run(1, target, before, after);
    ran.unwrap_or_else(|divergence| panic!("it diverges: {divergence:?}"));
    // Reads-from classes are not for programs that wait for one of several objects.
    let unfit = search.unfit().is_some();
    assert!(
        !unfit || algorithm == AlgorithmName::Rf,
        "{algorithm:?} serves"
    );
    let exhausted = search.exhausted() && !unfit;
    exhausted.then(|| met.into_inner().expect("one worker"))
}

/// Compiles programs in one file, with hooks or without.
pub fn compile(place: &Path, source: &str, hooks: bool) -> PathBuf {
    let file = place.join("programs.c");
    fs::write(&file, format!("{FINISH}{source}")).expect("there is room for files");
    let program = place.join(if hooks { "programs" } else { "plain" });
    let mut command = match hooks {
        true => Command::new(env!("CARGO_BIN_EXE_reweave")),
        false => Command::new("cc"),
    };
    match hooks {
        true => command.arg("cc"),
        false => command.args(["-DCALLS", "-pthread"]),
    };
    let output = command
        .args(["-std=gnu11", "-w", "-O1", "-o"])
        .arg(&program)
        .arg(&file)
        .output()
        .expect("there is a compiler");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    program
}

/// Compares one program in all ways; whether brute force could do it.
pub fn compare(
    path: &Path,
    number: usize,
    rules: &[Rule],
    expected: &BTreeSet<Outcome>,
    text: &str,
) -> bool {
    let program = Chosen {
        path,
        number,
        rules,
        preload: None,
    };
    let Some(all) = explore(&program, AlgorithmName::Dfs) else {
        return false;
    };
    assert_eq!(&all.outcomes, expected, "dfs: {text}");
    let optimal = explore(&program, AlgorithmName::Optimal).expect("no more than dfs");
    assert_eq!(&optimal.outcomes, expected, "optimal: {text}");
    let known: Vec<_> = all.classes.keys().collect();
    assert_eq!(optimal.classes.keys().collect::<Vec<_>>(), known, "{text}");
    let twice = optimal.classes.values().find(|times| **times != 1);
    assert_eq!(twice, None, "a class is met again: {text}");
    if let Some(by_reads) = explore(&program, AlgorithmName::Rf) {
        assert_eq!(&by_reads.outcomes, expected, "rf: {text}");
    }
    true
}

/// Compares one program that was built without hooks; whether brute force could do it.
pub fn compare_calls(
    path: &Path,
    number: usize,
    rules: &[Rule],
    expected: &BTreeSet<Outcome>,
    text: &str,
) -> bool {
    let kit = Kit::unpack().expect("there is room for the runtime");
    let program = Chosen {
        path,
        number,
        rules,
        preload: Some(kit.runtime()),
    };
    let Some(all) = explore(&program, AlgorithmName::Dfs) else {
        return false;
    };
    let expected: BTreeSet<Outcome> = expected.iter().copied().map(shown).collect();
    assert_eq!(all.outcomes, expected, "dfs: {text}");
    let reduced = explore(&program, AlgorithmName::Dpor).expect("no more than dfs");
    assert_eq!(reduced.outcomes, expected, "dpor: {text}");
    let known: Vec<_> = all.classes.keys().collect();
    assert_eq!(reduced.classes.keys().collect::<Vec<_>>(), known, "{text}");
    true
}
