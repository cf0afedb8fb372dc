//! `rf`, which takes back rounds of loops that change nothing, against all states of random programs with such loops.
//!
//! `REWEAVE_CASES` sets the number of programs, `REWEAVE_SEED` the seed, which is printed.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reweave_explore::{AlgorithmName, Flow, Options, Search};
use reweave_model::End;
use reweave_testing::loops::{L, LoopClass, LoopMachine, Looping, classes, loop_class, looping};
use std::{cell::Cell, collections::BTreeMap, sync::Mutex};

/// Programs with more states are skipped.
const STATES: usize = 30_000;

struct Met {
    classes: BTreeMap<LoopClass, u64>,
    redundant: u64,
}

fn explore(program: &Looping, workers: usize, limit: u64) -> Result<Met, String> {
    let mut search = Search::new(Options {
        algorithm: AlgorithmName::Rf,
        loops: true,
        ..Options::default()
    });
    let classes = Mutex::new(BTreeMap::new());
    let runs = Mutex::new(0);
    let before = || {
        let mut runs = runs.lock().unwrap();
        *runs += 1;
        match *runs > limit {
            true => Flow::Stop,
            false => Flow::Continue,
        }
    };
    let after = |_: &_, execution: &reweave_model::Execution| {
        if execution.end != End::Redundant {
            let class = loop_class(execution);
            *classes.lock().unwrap().entry(class).or_insert(0) += 1;
        }
        Flow::Continue
    };
    let target = |_| LoopMachine::new(program);
    let outcome = search.run(workers, target, before, after);
    outcome.map_err(|error| format!("{error:?}"))?;
    if let Some(unfit) = search.unfit() {
        return Err(format!("unfit: {unfit}"));
    }
    match search.exhausted() {
        true => Ok(Met {
            classes: classes.into_inner().unwrap(),
            redundant: search.totals().redundant,
        }),
        false => Err(format!("does not end after {limit} runs")),
    }
}

/// Whether the program was small enough; a message if something is missed, invented or met twice.
fn compare(program: &Looping) -> Result<Option<(u64, u64)>, String> {
    let Some(oracle) = classes(program, STATES) else {
        return Ok(None);
    };
    let mut counts = (0, 0);
    for workers in [1, 2] {
        let met = match explore(program, workers, 100_000) {
            Err(message) if message.starts_with("unfit") => return Ok(None),
            met => met?,
        };
        if let Some(missed) = oracle.iter().find(|class| !met.classes.contains_key(*class)) {
            return Err(format!("misses {missed:?}"));
        }
        if let Some(class) = met.classes.keys().find(|class| !oracle.contains(*class)) {
            return Err(format!("invents {class:?}"));
        }
        // A livelock is met once for each of the last values that its threads read.
        let twice = met.classes.iter().find(|((livelock, _), times)| !livelock && **times > 1);
        if let Some((class, times)) = twice {
            return Err(format!("meets {times} times {class:?}"));
        }
        counts = (oracle.len() as u64, met.redundant);
    }
    Ok(Some(counts))
}

#[test]
fn random_loops() {
    let number = |variable: &str| {
        let value = std::env::var(variable).ok();
        value.and_then(|text| text.parse::<u64>().ok())
    };
    let cases = number("REWEAVE_CASES").unwrap_or(300) as u32;
    let seed = number("REWEAVE_SEED").unwrap_or(0);
    println!("REWEAVE_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let (compared, all, redundant) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let outcome = runner.run(&looping(), |program| match compare(&program) {
        Err(message) => Err(TestCaseError::fail(message)),
        Ok(None) => Ok(()),
        Ok(Some((classes, discarded))) => {
            compared.set(compared.get() + 1);
            all.set(all.get() + classes);
            redundant.set(redundant.get() + discarded);
            Ok(())
        }
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (compared, all, redundant) = (compared.get(), all.get(), redundant.get());
    println!("{compared} programs, {all} classes, {redundant} runs discarded");
    assert!(compared > cases / 2, "{compared} programs");
}

fn counts(program: &Looping) -> (usize, u64) {
    let met = explore(program, 1, 2_000_000).unwrap();
    (met.classes.len(), met.redundant)
}

#[test]
fn a_flag_is_one_class() {
    let program = Looping(vec![
        vec![L::Store(0, 1)],
        vec![L::Head, L::Load(0), L::Again(1, 2)],
    ]);
    assert_eq!(compare(&program), Ok(Some((1, 1))));
}

#[test]
fn spinlocks() {
    let lock = vec![L::Head, L::Cas(0, 0, 1), L::Again(1, 2), L::Store(0, 0)];
    for n in 2..5 {
        let program = Looping(vec![lock.clone(); n]);
        println!("spinlock({n}): {:?}", counts(&program));
    }
}
