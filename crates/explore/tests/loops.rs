//! `rf`, which takes back rounds of loops that change nothing, against all states of random programs with such loops.
//!
//! `REWEAVE_CASES` sets the number of programs, `REWEAVE_SEED` the seed, which is printed.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reweave_explore::{AlgorithmName, Flow, Options, Search};
use reweave_model::End;
use reweave_testing::loops::{
    L, LoopClass, LoopMachine, Looping, classes, loop_class, looping, looping_over_several,
};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

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
        if let Some(missed) = oracle
            .iter()
            .find(|class| !met.classes.contains_key(*class))
        {
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
            let twice = met
                .classes
                .iter()
                .find(|((livelock, _), times)| !livelock && **times > 1);
            return Err(format!("{} executions, {twice:?}", met.executions));
        }
        counts = (oracle.len() as u64, met.redundant);
    }
    in_pieces(program, &oracle)?;
    Ok(Some(counts))
}

/// Stopped after every third execution, stored, and gone on with: the same classes.
fn in_pieces(program: &Looping, oracle: &BTreeSet<LoopClass>) -> Result<(), String> {
    let mut search = Search::new(Options {
        algorithm: AlgorithmName::Rf,
        loops: true,
        ..Options::default()
    });
    let met = Mutex::new(BTreeSet::new());
    while !search.exhausted() && search.unfit().is_none() {
        let stored = serde_json::to_string(&search.store()).unwrap();
        search = Search::resume(serde_json::from_str(&stored).unwrap()).unwrap();
        let left = Mutex::new(3);
        let before = || {
            let mut left = left.lock().unwrap();
            *left -= 1;
            match *left < 0 {
                true => Flow::Stop,
                false => Flow::Continue,
            }
        };
        let after = |_: &_, execution: &reweave_model::Execution| {
            if execution.end != End::Redundant {
                met.lock().unwrap().insert(loop_class(execution));
            }
            Flow::Continue
        };
        let outcome = search.run(1, |_| LoopMachine::new(program), before, after);
        outcome.map_err(|error| format!("{error:?}"))?;
    }
    match met.into_inner().unwrap() == *oracle {
        true => Ok(()),
        false => Err("in pieces it meets others".into()),
    }
}

#[test]
fn random_loops() {
    compare_random(&looping());
}

/// Rounds read several atomics, some before and some behind a write of another thread.
#[test]
fn random_loops_over_several() {
    compare_random(&looping_over_several());
}

fn compare_random(programs: &impl Strategy<Value = Looping>) {
    let number = |variable: &str| {
        let value = std::env::var(variable).ok();
        value.and_then(|text| text.parse::<u64>().ok())
    };
    let cases = number("REWEAVE_CASES").unwrap_or(500) as u32;
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
    let outcome = runner.run(programs, |program| match compare(&program) {
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

/// Threads that take a lock by a compare-exchange, in every order: n!. A run in which a round was planned and failed is discarded.
#[test]
fn a_spinlock_has_a_class_for_each_order() {
    let lock = vec![L::Head, L::Cas(0, 0, 1), L::Again(1, 2), L::Store(0, 0)];
    let mut orders = 1;
    for threads in 2..5 {
        orders *= threads;
        let program = Looping(vec![lock.clone(); threads]);
        let met = explore(&program, 1, 1_000).unwrap();
        assert_eq!(met.classes.len(), orders);
        assert_eq!(met.executions, orders as u64);
        assert!(met.redundant > 0);
    }
}

/// Two writes that nothing orders: the thread sees the one that lets it go, or the other was last and it waits for ever.
#[test]
fn a_value_that_was_missed_is_a_livelock() {
    let program = Looping(vec![
        vec![L::Store(0, 1)],
        vec![L::Store(0, 2)],
        vec![L::Head, L::Load(0), L::Again(1, 2)],
    ]);
    let met = explore(&program, 1, 1_000).unwrap();
    let livelocks = met.classes.keys().filter(|(livelock, _)| *livelock);
    assert_eq!((met.classes.len(), livelocks.count()), (2, 1));
    assert!(compare(&program).unwrap().is_some());
}

/// The first thread leaves its last loop only if it reads 2. If it has not left, the third thread goes on and overwrites that unseen.
#[test]
fn a_write_that_is_made_only_if_a_thread_stays_is_found() {
    let program = Looping(vec![
        vec![
            L::Head,
            L::Cas(0, 0, 1),
            L::Again(1, 2),
            L::Store(0, 0),
            L::Head,
            L::Load(0),
            L::Again(2, 2),
        ],
        vec![L::Store(0, 1)],
        vec![
            L::Head,
            L::Cas(0, 1, 2),
            L::Again(1, 2),
            L::Head,
            L::Cas(0, 0, 1),
            L::Again(1, 2),
            L::Store(0, 0),
        ],
    ]);
    assert!(compare(&program).unwrap().is_some());
}

/// The run in which the first thread finds by default what it has tried ends with that read, and with a round of the third thread that is
/// taken back. What that round could have read follows from the run that takes its place, and not from this one.
#[test]
fn nothing_follows_from_what_comes_after_a_repeated_read() {
    let program = Looping(vec![
        vec![L::Head, L::Load(0), L::AgainIf(0, 2)],
        vec![L::Store(1, 0)],
        vec![
            L::Store(0, 1),
            L::Cas(1, 0, 1),
            L::Head,
            L::Load(1),
            L::Again(1, 2),
            L::Cas(1, 0, 2),
            L::Store(1, 0),
            L::Store(0, 0),
        ],
    ]);
    assert!(compare(&program).unwrap().is_some());
}

/// The first thread's last round reads atomic 2 before the second thread writes it, and atomic 0 behind its exchange. That exchange finds the lock free only
/// if the first thread has not yet gone through a round that it has tried before.
#[test]
fn a_round_may_begin_early_and_end_late() {
    let take = |x| [L::Head, L::Cas(x, 0, 1), L::Again(1, 2)];
    let first = [
        &take(1)[..],
        &take(0),
        &[L::Store(0, 0), L::Store(1, 0)],
        &take(1),
        &[
            L::Head,
            L::Load(2),
            L::SkipUnless(0, 2),
            L::Load(0),
            L::Again(1, 4),
            L::Store(1, 0),
        ],
    ];
    let second = [
        &[
            L::SkipUnless(0, 5),
            L::Store(0, 2),
            L::Head,
            L::Load(2),
            L::CasReg(2, 1),
            L::Again(1, 3),
        ][..],
        &take(0),
        &[L::Store(0, 0)],
    ];
    let program = Looping(vec![first.concat(), second.concat()]);
    assert!(compare(&program).unwrap().is_some());
}

/// The same, but what the second thread reads by default behind the old value was not tried: the value of the first thread's store. What was tried is its
/// own store, and only behind that the exchange of the last thread succeeds.
#[test]
fn a_source_that_was_tried_may_have_to_be_the_last_write() {
    let program = Looping(vec![
        vec![
            L::Head,
            L::Load(1),
            L::Again(1, 2),
            L::Store(0, 3),
            L::Store(2, 1),
        ],
        vec![
            L::Store(2, 0),
            L::Store(0, 0),
            L::Head,
            L::Load(2),
            L::SkipUnless(0, 2),
            L::Load(0),
            L::Again(1, 4),
        ],
        vec![L::Store(0, 2), L::Store(1, 1)],
        vec![L::Cas(0, 0, 1)],
    ]);
    assert!(compare(&program).unwrap().is_some());
}

/// A rule that held the thread that leaves at once, instead of giving it later sources, missed a class of this program.
#[test]
fn a_thread_that_leaves_at_once_has_later_sources() {
    let program = Looping(vec![
        vec![
            L::Head,
            L::Cas(1, 0, 1),
            L::Again(1, 2),
            L::Head,
            L::Load(1),
            L::CasReg(1, 1),
            L::Again(1, 3),
            L::Store(1, 0),
            L::SkipUnless(1, 6),
            L::SkipUnless(1, 5),
            L::Head,
            L::Load(2),
            L::SkipUnless(0, 2),
            L::Load(1),
            L::Again(0, 4),
        ],
        vec![
            L::Head,
            L::Cas(2, 0, 1),
            L::Again(1, 2),
            L::Head,
            L::Cas(1, 1, 2),
            L::Again(1, 2),
            L::Store(1, 1),
            L::Store(2, 0),
            L::Head,
            L::Cas(2, 0, 1),
            L::Again(1, 2),
            L::Store(2, 0),
            L::Head,
            L::Cas(1, 0, 1),
            L::Again(1, 2),
            L::Store(1, 0),
        ],
    ]);
    assert!(compare(&program).unwrap().is_some());
}
