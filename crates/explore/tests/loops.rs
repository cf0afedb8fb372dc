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
    executions: u64,
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
            executions: search.totals().executions,
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
        let met = match explore(program, workers, 1_000) {
            Err(message) if message.starts_with("unfit") || message.starts_with("does not end") => {
                return Ok(None);
            }
            met => met?,
        };
        if let Some(missed) = oracle.iter().find(|class| !met.classes.contains_key(*class)) {
            return Err(format!("misses {missed:?}"));
        }
        if let Some(class) = met.classes.keys().find(|class| !oracle.contains(*class)) {
            return Err(format!("invents {class:?}"));
        }
        // A livelock is met once for each of the last values that its threads read.
        let livelocks = met.classes.iter().filter(|((livelock, _), _)| *livelock);
        let more: u64 = livelocks.map(|(_, times)| times - 1).sum();
        let all = oracle.len() as u64;
        if !(all..=all + more).contains(&met.executions) {
            let twice = met.classes.iter().find(|((livelock, _), times)| !livelock && **times > 1);
            return Err(format!("{} executions, {twice:?}", met.executions));
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
    let outcome = runner.run(&looping(), |program| { let t = std::time::Instant::now(); let c = compare(&program); if t.elapsed().as_millis() > 700 { println!("SLOW {:?} {c:?} {program:?}", t.elapsed()); } match c {
        Err(message) => Err(TestCaseError::fail(message)),
        Ok(None) => Ok(()),
        Ok(Some((classes, discarded))) => {
            compared.set(compared.get() + 1);
            all.set(all.get() + classes);
            redundant.set(redundant.get() + discarded);
            Ok(())
        }
    }});
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


#[test]
fn debug_one() {
    if std::env::var("DEBUG_ONE").is_err() { return; }
    let program = Looping(vec![
vec![L::Head, L::Cas(0, 0, 1), L::Again(1, 2), L::StoreReg(0, 1), L::Store(0, 0)],
vec![L::Head, L::Cas(0, 0, 1), L::Again(1, 2), L::Store(2, 1), L::Store(0, 0), L::Head, L::Cas(2, 0, 1), L::Again(1, 2), L::Store(2, 0)],
vec![L::Head, L::Cas(2, 0, 1), L::Again(1, 2), L::SkipUnless(1, 1), L::Store(2, 1), L::Store(2, 0), L::Head, L::Cas(2, 0, 1), L::Again(1, 2), L::Head, L::Load(0), L::Again(0, 2), L::Store(2, 0)],
    ]);
    println!("{:?}", compare(&program));
    let mut search = Search::new(Options { algorithm: AlgorithmName::Rf, loops: true, ..Options::default() });
    let seen: Mutex<BTreeMap<LoopClass, String>> = Mutex::new(BTreeMap::new());
    let number = Mutex::new(0);
    let after = |plan: &reweave_model::Plan, execution: &reweave_model::Execution| {
        *number.lock().unwrap() += 1;
        let mut text = format!("run {} {:?} {:?}\n", number.lock().unwrap(), execution.end, plan.sleep);
        for (i, e) in execution.events.iter().enumerate() {
            let mark = plan.steps.get(i).map(|s| format!("{:?}", s.mark)).unwrap_or_default();
            text += &format!("  {i} t{} {} {:?} -> {} {mark}\n", e.thread.0, e.op.kind().name(), e.op.object().unwrap().0, e.result);
        }
        text += &format!("  attempts {:?}\n", execution.attempts.iter().map(|a| (a.place, a.since.thread.0, a.events.iter().map(|e| (e.op.object().unwrap().0, e.result)).collect::<Vec<_>>())).collect::<Vec<_>>());
        if std::env::var("ALL").is_ok() { println!("{text}"); }
        if execution.end == End::Done {
            let class = loop_class(execution);
            if let Some(first) = seen.lock().unwrap().get(&class) {
                println!("TWICE\n{first}\nand\n{text}");
            }
            seen.lock().unwrap().insert(class, text);
        }
        if *number.lock().unwrap() > 300 { return Flow::Stop; }
        Flow::Continue
    };
    search.run(1, |_| LoopMachine::new(&program), || Flow::Continue, after).unwrap();
}
