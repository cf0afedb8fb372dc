//! Every algorithm against brute force on random programs: the same classes, each as often as the algorithm promises.
//!
//! `REWEAVE_CASES` sets the number of programs a mix (default 150), `REWEAVE_SEED` the seed, which is printed. Without it the same
//! programs are compared every time.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reweave_explore::{AlgorithmName, Flow, Interrupt, Options, Search, Unfit};
use reweave_model::End;
use reweave_testing::{
    class::{class, class_by_reads, in_one_step},
    program::{I, Machine, Objects, Program, preemptions},
    random::{Mix, program},
};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Programs with more interleavings are skipped.
const LIMIT: u64 = 20_000;

/// How often each class was met, and the fewest preemptions it was met with.
type Classes = BTreeMap<String, (u64, u32)>;

struct Found {
    classes: Classes,
    /// By who reads from whom.
    by_reads: Classes,
    /// Why `rf` gave up.
    unfit: Option<Unfit>,
    /// Of runs that foretold what cannot come true, or too early.
    untrue: Classes,
    cut: bool,
}

fn explore(program: &Program, options: Options, workers: usize, limit: u64) -> Option<Found> {
    explore_by(Search::new(options), program, workers, limit)
}

fn explore_by(mut search: Search, program: &Program, workers: usize, limit: u64) -> Option<Found> {
    let options = *search.options();
    let classes = Mutex::new(Classes::new());
    let by_reads = Mutex::new(Classes::new());
    let untrue = Mutex::new(Classes::new());
    let algorithm = options.algorithm;
    let runs = Mutex::new(0);
    let before = || {
        let mut runs = runs.lock().unwrap();
        *runs += 1;
        if *runs > limit {
            Flow::Stop
        } else {
            Flow::Continue
        }
    };
    let target = |_| Machine::new(program);
    let outcome = search.run(workers, target, before, |_, execution| {
        if execution.end != End::Redundant {
            if algorithm != AlgorithmName::Rf {
                let count = preemptions(program, execution);
                let mut classes = classes.lock().unwrap();
                let entry = classes.entry(class(execution)).or_insert((0, count));
                *entry = (entry.0 + 1, entry.1.min(count));
            }
            let mut by_reads = by_reads.lock().unwrap();
            by_reads
                .entry(class_by_reads(execution))
                .or_insert((0, 0))
                .0 += 1;
        } else if algorithm != AlgorithmName::Dpor {
            let mut untrue = untrue.lock().unwrap();
            untrue.entry(class(execution)).or_insert((0, 0)).0 += 1;
        }
        Flow::Continue
    });
    if let Err(divergence) = outcome {
        println!("{algorithm:?}: {divergence:?}");
        return None;
    }
    let untrue = untrue.into_inner().unwrap();
    let unfit = search.unfit().cloned();
    (search.exhausted() || unfit.is_some()).then(|| Found {
        classes: classes.into_inner().unwrap(),
        by_reads: by_reads.into_inner().unwrap(),
        unfit,
        untrue,
        cut: search.totals().cut,
    })
}

fn options(algorithm: AlgorithmName) -> Options {
    Options {
        algorithm,
        ..Options::default()
    }
}

fn fail<T>(message: String) -> Result<T, TestCaseError> {
    Err(TestCaseError::fail(message))
}

/// All classes of the oracle, and no others.
fn same_classes(name: &str, oracle: &Classes, found: &Classes) -> Result<(), TestCaseError> {
    let missed = oracle.keys().find(|class| !found.contains_key(*class));
    let invented = found.keys().find(|class| !oracle.contains_key(*class));
    match (missed, invented) {
        (Some(class), _) => fail(format!("{name} misses {class}")),
        (_, Some(class)) => fail(format!("{name} invents {class}")),
        _ => Ok(()),
    }
}

fn once_each(name: &str, classes: &Classes, untrue: &Classes) -> Result<(), TestCaseError> {
    let mut all = classes.iter().chain(untrue);
    if let Some((class, (times, _))) = all.find(|(_, (times, _))| *times != 1) {
        return fail(format!("{name} meets {times} times {class}"));
    }
    Ok(())
}

fn compare(program: &Program) -> Result<bool, TestCaseError> {
    let Some(oracle) = explore(program, options(AlgorithmName::Dfs), 1, LIMIT) else {
        return Ok(false);
    };
    for workers in [1, 2] {
        let name = format!("optimal with {workers} workers");
        let Some(found) = explore(program, options(AlgorithmName::Optimal), workers, LIMIT) else {
            return fail(format!("{name} runs more than brute force"));
        };
        same_classes(&name, &oracle.classes, &found.classes)?;
        same_classes(&name, &oracle.untrue, &found.untrue)?;
        once_each(&name, &found.classes, &found.untrue)?;

        let name = format!("rf with {workers} workers");
        reads(&name, program, options(AlgorithmName::Rf), workers, &oracle)?;

        let name = format!("dpor with {workers} workers");
        let Some(found) = explore(program, options(AlgorithmName::Dpor), workers, 10 * LIMIT)
        else {
            return fail(format!("{name} does not end"));
        };
        same_classes(&name, &oracle.classes, &found.classes)?;
    }
    bounded(program, &oracle)?;
    short(program)?;
    stop_and_go(program, &oracle.classes, AlgorithmName::Optimal)?;
    stop_and_go(program, &oracle.classes, AlgorithmName::Dpor)?;
    child_by_child(program, &oracle)?;
    interrupted(program, &oracle)?;
    samples(program, &oracle)?;
    Ok(true)
}

/// A bound on preemptions keeps the classes within it, and says that it cut the others.
fn bounded(program: &Program, oracle: &Found) -> Result<(), TestCaseError> {
    for bound in 0..3 {
        let bounded = Options {
            preemptions: Some(bound),
            ..Options::default()
        };
        let Some(found) = explore(program, bounded, 1, LIMIT) else {
            return fail("a bounded search runs more than brute force".into());
        };
        let Some(shared) = explore(program, bounded, 2, LIMIT) else {
            return fail("a bounded search with 2 workers runs more".into());
        };
        if found.classes != shared.classes {
            return fail(format!("at most {bound} preemptions: workers matter"));
        }
        let within = oracle
            .classes
            .iter()
            .filter(|(_, (_, needed))| *needed <= bound);
        let within: Classes = within.map(|(class, seen)| (class.clone(), *seen)).collect();
        same_classes(
            &format!("at most {bound} preemptions"),
            &within,
            &found.classes,
        )?;
        if !found.cut && within.len() < oracle.classes.len() {
            return fail(format!(
                "at most {bound} preemptions says that nothing was cut"
            ));
        }
    }
    Ok(())
}

/// With threads stopped in the middle of what they do.
fn short(program: &Program) -> Result<(), TestCaseError> {
    let short = |algorithm| Options {
        max_steps: 3,
        ..options(algorithm)
    };
    if let Some(oracle) = explore(program, short(AlgorithmName::Dfs), 1, LIMIT) {
        for algorithm in [AlgorithmName::Dpor, AlgorithmName::Optimal] {
            let name = format!("{algorithm:?} with at most 3 steps a thread");
            let Some(found) = explore(program, short(algorithm), 1, 10 * LIMIT) else {
                return fail(format!("{name} does not end"));
            };
            same_classes(&name, &oracle.classes, &found.classes)?;
            if algorithm == AlgorithmName::Optimal {
                once_each(&name, &found.classes, &found.untrue)?;
            }
        }
    }
    Ok(())
}

/// `optimal` with one child of a decision at a time.
fn child_by_child(program: &Program, oracle: &Found) -> Result<(), TestCaseError> {
    let bit_by_bit = Options {
        at_once: 1,
        ..options(AlgorithmName::Optimal)
    };
    let Some(found) = explore(program, bit_by_bit, 1, 10 * LIMIT) else {
        return fail("optimal, child by child, does not end".into());
    };
    same_classes("optimal, child by child", &oracle.classes, &found.classes)?;
    once_each("optimal, child by child", &found.classes, &found.untrue)?;
    Ok(())
}

/// `optimal`, whose analyses are interrupted again and again and go on later.
fn interrupted(program: &Program, oracle: &Found) -> Result<(), TestCaseError> {
    let mut search = Search::new(options(AlgorithmName::Optimal));
    let asked = AtomicU64::new(0);
    search.interrupt(Interrupt::new(move || asked.fetch_add(1, Relaxed) % 3 == 1));
    let Some(found) = explore_by(search, program, 1, 10 * LIMIT) else {
        return fail("optimal, interrupted, does not end".into());
    };
    same_classes("optimal, interrupted", &oracle.classes, &found.classes)?;
    once_each("optimal, interrupted", &found.classes, &found.untrue)?;
    Ok(())
}

/// Random searches run as many executions as asked, all of classes that exist.
fn samples(program: &Program, oracle: &Found) -> Result<(), TestCaseError> {
    for algorithm in [AlgorithmName::Random, AlgorithmName::Pct] {
        let sampling = Options {
            samples: 20,
            ..options(algorithm)
        };
        let found = explore(program, sampling, 1, LIMIT).expect("so many samples and no more");
        let known: BTreeSet<_> = oracle.classes.keys().collect();
        let runs = found.classes.values().chain(found.untrue.values());
        let runs: u64 = runs.map(|(times, _)| times).sum();
        if runs != 20 || !found.classes.keys().all(|class| known.contains(class)) {
            return fail(format!(
                "{algorithm:?}: {runs} runs, or a class that does not exist"
            ));
        }
    }
    Ok(())
}

/// `rf` meets the classes by who reads from whom, each once; `false`: it does not serve.
fn reads(
    name: &str,
    program: &Program,
    options: Options,
    workers: usize,
    oracle: &Found,
) -> Result<bool, TestCaseError> {
    let Some(found) = explore(program, options, workers, LIMIT) else {
        return fail(format!("{name} runs more than brute force"));
    };
    if found.unfit.is_some() {
        return Ok(false);
    }
    same_classes(name, &oracle.by_reads, &found.by_reads)?;
    once_each(name, &found.by_reads, &found.untrue)?;
    Ok(true)
}

/// `rf` alone, on more programs: whole, with threads stopped in the middle, and in pieces.
fn compare_reads(program: &Program) -> Result<bool, TestCaseError> {
    let rf = options(AlgorithmName::Rf);
    // What is too big for brute force is known by `optimal`.
    let mut oracles = [AlgorithmName::Dfs, AlgorithmName::Optimal].into_iter();
    let oracle = oracles.find_map(|by| explore(program, options(by), 1, LIMIT / 5));
    let Some(oracle) = oracle else {
        return Ok(false);
    };
    for workers in [1, 2, 8] {
        let name = format!("rf with {workers} workers");
        if !reads(&name, program, rf, workers, &oracle)? {
            return Ok(false);
        }
    }
    for max_steps in [1, 3] {
        let short = |algorithm| Options {
            max_steps,
            ..options(algorithm)
        };
        if let Some(oracle) = explore(program, short(AlgorithmName::Dfs), 1, LIMIT) {
            let name = format!("rf with at most {max_steps} steps a thread");
            reads(&name, program, short(AlgorithmName::Rf), 1, &oracle)?;
        }
    }
    stop_and_go(program, &oracle.by_reads, AlgorithmName::Rf)?;
    Ok(true)
}

/// Stopped after every third execution, stored, split, and gone on with: the same classes.
fn stop_and_go(
    program: &Program,
    oracle: &Classes,
    algorithm: AlgorithmName,
) -> Result<(), TestCaseError> {
    let mut search = Search::new(options(algorithm));
    let classes = Mutex::new(Classes::new());
    let mut rounds = 0;
    while !search.exhausted() {
        rounds += 1;
        if rounds > LIMIT {
            return fail("a search in pieces does not end".into());
        }
        let stored = serde_json::to_string(&search.store()).unwrap();
        search = Search::resume(serde_json::from_str(&stored).unwrap()).unwrap();
        let other = search.split();
        let left = Mutex::new(3);
        let before = || {
            let mut left = left.lock().unwrap();
            *left -= 1;
            if *left < 0 {
                Flow::Stop
            } else {
                Flow::Continue
            }
        };
        let after = |_: &_, execution: &reweave_model::Execution| {
            if execution.end != End::Redundant {
                let class = match algorithm {
                    AlgorithmName::Rf => class_by_reads(execution),
                    _ => class(execution),
                };
                classes.lock().unwrap().entry(class).or_insert((0, 0)).0 += 1;
            }
            Flow::Continue
        };
        search
            .run(1, |_| Machine::new(program), before, after)
            .expect("programs are deterministic");
        if let Some(other) = other {
            search.absorb(other).expect("it was just split off");
        }
        if search.unfit().is_some() {
            return Ok(());
        }
    }
    let classes = classes.into_inner().unwrap();
    same_classes("a search in pieces", oracle, &classes)?;
    match classes
        .iter()
        .find(|(_, (times, _))| algorithm != AlgorithmName::Dpor && *times != 1)
    {
        Some((class, (times, _))) => {
            fail(format!("a search in pieces meets {times} times {class}"))
        }
        None => Ok(()),
    }
}

/// Where readers go first: what is found with writers foretold is what there is when they are not, each class once.
fn foretold(program: &Program) -> Result<bool, TestCaseError> {
    let real = Program {
        one_step: true,
        ..program.clone()
    };
    let Some(real) = explore(&real, options(AlgorithmName::Dfs), 1, LIMIT) else {
        return Ok(false);
    };
    let mut search = Search::new(options(AlgorithmName::Optimal));
    let classes = Mutex::new(Classes::new());
    let outcome = search.run(
        1,
        |_| Machine::new(program),
        || Flow::Continue,
        |_, execution| {
            if execution.end != End::Redundant {
                let class = class(&in_one_step(execution));
                classes.lock().unwrap().entry(class).or_insert((0, 0)).0 += 1;
            }
            Flow::Continue
        },
    );
    outcome.expect("programs are deterministic");
    let found = Found {
        classes: classes.into_inner().unwrap(),
        by_reads: Classes::new(),
        unfit: None,
        untrue: Classes::new(),
        cut: false,
    };
    same_classes("optimal, in one step,", &real.classes, &found.classes)?;
    once_each("optimal, in one step,", &found.classes, &found.untrue)?;
    Ok(true)
}

fn check(name: &str, mix: Mix) {
    check_by(name, mix, compare);
}

fn check_by(name: &str, mix: Mix, compare: fn(&Program) -> Result<bool, TestCaseError>) {
    let number = |variable: &str| {
        std::env::var(variable)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let cases = number("REWEAVE_CASES").unwrap_or(150) as u32;
    let seed = number("REWEAVE_SEED").unwrap_or(2026);
    println!("{name}: REWEAVE_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    let compared = Cell::new(0);
    let outcome = TestRunner::new_with_rng(config, rng).run(&program(mix), |program| {
        compared.set(compared.get() + u32::from(compare(&program)?));
        Ok(())
    });
    println!("{name}: {} of {cases} programs compared", compared.get());
    if let Err(error) = outcome {
        panic!("{name}, REWEAVE_SEED={seed}: {error}");
    }
    assert!(compared.get() * 3 > cases, "many programs are small enough");
}

macro_rules! mixes {
    ($($name:ident: $($kind:ident)*;)*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name), Mix { $($kind: true,)* ..Mix::default() });
        }
    )*};
}

mixes! {
    atomics: atomics choices;
    mutexes: atomics mutexes;
    condvars: condvars;
    futexes: futexes atomics;
    rwlocks: rwlocks atomics;
    readers_first: readers_first atomics;
    late_locks: late mutexes rwlocks readers_first;
    semaphores: semaphores;
    counters: counters;
    spinning_counters: counters spins;
    pools: pools;
    pools_and_atomics: pools atomics mutexes;
    barriers: barriers atomics;
    onces: onces atomics;
    channels: channels;
    pipes: pipes;
    pipe_messages: messages;
    pipe_polls: pipes messages pipe_polls;
    parking: parking atomics;
    spins: spins atomics mutexes;
    polls: polls atomics mutexes rwlocks;
    watches: watches atomics mutexes;
}

#[test]
fn foretold_writers() {
    let mix = Mix {
        readers_first: true,
        atomics: true,
        mutexes: true,
        ..Mix::default()
    };
    check_by("foretold_writers", mix, foretold);
}

#[test]
fn everything() {
    check("everything", Mix::ALL);
}

/// Who was overtaken may be born later than the overtaker goes, in the order of a run.
#[test]
fn overtaken_before_birth() {
    let mut branch = vec![I::Lock(0), I::Cas(0, 1, 1), I::Spawn(5), I::Unlock(0)];
    branch.extend([I::TryLock(1, 5), I::Lock(0), I::Load(0), I::Load(0)]);
    branch.extend([I::Unlock(0), I::Unlock(1)]);
    let program = Program {
        objects: Objects {
            atomics: 2,
            mutexes: 2,
            condvars: 1,
            ..Objects::default()
        },
        bodies: vec![
            vec![I::Spawn(1), I::Spawn(3), I::Spawn(4)],
            vec![I::Add(0, 1), I::Spawn(2)],
            vec![I::Lock(0), I::Wait(0, 0), I::Unlock(0)],
            vec![I::Cas(1, 0, 1)],
            branch,
            vec![I::Load(0)],
        ],
        ..Program::default()
    };
    compare_reads(&program).expect("the same classes");
}

/// What `rf` serves.
macro_rules! reads {
    ($($name:ident: $($kind:ident)*;)*) => {$(
        #[test]
        fn $name() {
            let mix = Mix { prompt: true, $($kind: true,)* ..Mix::default() };
            check_by(stringify!($name), mix, compare_reads);
        }
    )*};
}

reads! {
    reads_of_atomics: atomics choices;
    reads_and_mutexes: atomics mutexes;
    reads_and_condvars: atomics mutexes condvars;
    reads_and_rwlocks: atomics rwlocks readers_first;
    reads_and_semaphores: atomics semaphores;
    reads_and_pools: atomics pools mutexes;
    reads_and_barriers: atomics barriers mutexes;
    reads_and_onces: atomics onces mutexes;
    reads_and_channels: atomics channels;
    reads_and_messages: atomics messages;
    reads_and_parking: atomics parking mutexes;
    reads_and_everything: atomics mutexes condvars rwlocks readers_first semaphores barriers onces channels parking choices;
}
