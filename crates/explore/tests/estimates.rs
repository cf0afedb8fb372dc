//! Estimates of whole searches, and what probing does to them.

use reweave_explore::{
    AlgorithmName, Curve, Estimator, Flow, Log, Options, Probing, Recorded, Search, Strategy,
};
use reweave_model::Plan;
use reweave_testing::program::{I, Machine, Objects, Program};
use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
};

/// Threads that lock, write and look: 4 threads, different in length.
fn program() -> Program {
    let mut bodies = vec![Vec::from_iter((1..=4).map(I::Spawn))];
    bodies.push(vec![I::Lock(0), I::Unlock(0), I::Store(0, 1)]);
    bodies.push(vec![I::Store(0, 2), I::Lock(0), I::Unlock(0)]);
    bodies.push(vec![I::Load(0), I::Load(1)]);
    bodies.push(vec![I::Store(1, 1), I::Load(0)]);
    Program {
        objects: Objects {
            atomics: 2,
            mutexes: 1,
            ..Objects::default()
        },
        bodies,
        ..Program::default()
    }
}

fn options(algorithm: AlgorithmName, probing: Probing) -> Options {
    Options {
        algorithm,
        probing,
        samples: 50,
        ..Options::default()
    }
}

/// Explores in pieces of so many executions, with the search stored in between, and hands back all plans, sorted.
fn plans(options: Options, workers: usize, piece: i64) -> (Search, Vec<String>) {
    let mut search = Search::new(options);
    let plans = Mutex::new(Vec::new());
    while !search.exhausted() {
        let left = AtomicI64::new(piece);
        let before = || match left.fetch_sub(1, SeqCst) {
            1.. => Flow::Continue,
            _ => Flow::Stop,
        };
        let after = |plan: &Plan, _: &_| {
            plans.lock().unwrap().push(format!("{plan:?}"));
            Flow::Continue
        };
        let done = search.run(workers, |_| Machine::new(&program()), before, after);
        done.expect("the program is deterministic");
        let stored = serde_json::to_string(&search.store()).unwrap();
        search = Search::resume(serde_json::from_str(&stored).unwrap()).unwrap();
    }
    let mut plans = plans.into_inner().unwrap();
    plans.sort();
    (search, plans)
}

#[test]
fn a_finished_search_is_estimated_exactly() {
    for (_, algorithm) in AlgorithmName::NAMES {
        for (probing, workers, piece) in [
            (Probing::Never, 1, i64::MAX),
            (Probing::Seldom, 1, i64::MAX),
            (Probing::Often, 1, i64::MAX),
            (Probing::Often, 4, 30),
        ] {
            let (search, plans) = plans(options(algorithm, probing), workers, piece);
            let estimate = search.estimate().expect("something was run");
            assert_eq!(estimate.done, plans.len() as u64);
            assert_eq!(estimate.ln_runs, (plans.len() as f64).ln(), "{algorithm:?}");
            assert_eq!((estimate.covered(), estimate.within), (1.0, 1.0));
        }
    }
}

/// What follows from an execution does not depend on when it is run: probing changes the order alone.
#[test]
fn probing_runs_what_would_be_run_anyway() {
    for algorithm in [AlgorithmName::Dfs, AlgorithmName::Optimal] {
        let (_, expected) = plans(options(algorithm, Probing::Never), 1, i64::MAX);
        // The first executions are run depth first anyway.
        assert!(expected.len() > 40, "{}", expected.len());
        for (probing, piece) in [
            (Probing::Seldom, i64::MAX),
            (Probing::Often, i64::MAX),
            (Probing::Often, 97),
        ] {
            let (_, found) = plans(options(algorithm, probing), 1, piece);
            assert_eq!(found, expected);
        }
    }
}

/// A pass waits from one slice to the next: what is known does not depend on how often a search was stopped.
#[test]
fn slices_do_not_change_what_is_known() {
    let known = |slice: i64| {
        let mut search = Search::new(options(AlgorithmName::Dfs, Probing::Often));
        let mut left = 150;
        while left > 0 {
            let this = AtomicI64::new(slice.min(left));
            let before = || match this.fetch_sub(1, SeqCst) {
                1.. => Flow::Continue,
                _ => Flow::Stop,
            };
            let after = |_: &_, _: &_| Flow::Continue;
            let done = search.run(1, |_| Machine::new(&program()), before, after);
            done.expect("the program is deterministic");
            left -= slice;
        }
        search.estimate()
    };
    assert!(known(150).is_some_and(|estimate| estimate.done == 150));
    for slice in [1, 7, 50] {
        assert_eq!(known(slice), known(150), "{slice}");
    }
}

#[test]
fn estimates_under_way_are_of_the_right_size() {
    let (_, all) = plans(options(AlgorithmName::Dfs, Probing::Never), 1, i64::MAX);
    let mut search = Search::new(options(AlgorithmName::Dfs, Probing::Often));
    assert_eq!(search.estimate(), None);
    let gauge = search.gauge();
    let left = AtomicI64::new(all.len() as i64 / 10);
    let before = || match left.fetch_sub(1, SeqCst) {
        1.. => Flow::Continue,
        _ => Flow::Stop,
    };
    let after = |_: &_, _: &_| Flow::Continue;
    let done = search.run(1, |_| Machine::new(&program()), before, after);
    done.expect("the program is deterministic");
    let estimate = gauge.estimate().expect("something was run");
    assert_eq!(Some(estimate), search.estimate());
    let off = (estimate.ln_runs - (all.len() as f64).ln()).abs();
    assert!(
        off < 2f64.ln(),
        "{} for {}",
        estimate.ln_runs.exp(),
        all.len()
    );
}

/// A file in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log of a search that is stopped after so many executions, and what was said of its size then.
fn recorded(algorithm: AlgorithmName, workers: usize, executions: i64) -> (Vec<u8>, f64) {
    let file = Shared::default();
    let mut search = Search::new(options(algorithm, Probing::Often));
    search.record(Log::new(Box::new(file.clone())));
    let left = AtomicI64::new(executions);
    let before = || match left.fetch_sub(1, SeqCst) {
        1.. => Flow::Continue,
        _ => Flow::Stop,
    };
    let target = |_| Machine::new(&program());
    let done = search.run(workers, target, before, |_, _| Flow::Continue);
    done.expect("the program is deterministic");
    let exhausted = search.exhausted();
    let log = search.take_log().expect("it was recorded");
    log.close(exhausted).unwrap();
    let bytes = file.0.lock().unwrap().clone();
    (bytes, search.estimate().unwrap().ln_runs)
}

#[test]
fn a_whole_log_is_estimated_exactly() {
    for algorithm in [
        AlgorithmName::Dfs,
        AlgorithmName::Dpor,
        AlgorithmName::Optimal,
    ] {
        for workers in [1, 3] {
            let (log, _) = recorded(algorithm, workers, i64::MAX);
            let recorded = Recorded::read(log.as_slice()).unwrap();
            let all = recorded.replay(&[1.0]).remove(0);
            assert_eq!(all.len(), 24);
            for guess in all.iter().filter(|guess| guess.curve == Curve::Empty) {
                let off = (guess.estimate / recorded.time() - 1.0).abs();
                assert!(off < 1e-6, "{algorithm:?} {guess:?}");
            }
            let probed = recorded.probe(Probing::Often, &[1.0], 0..1)[0][0];
            assert_eq!(probed, recorded.time());
        }
    }
}

/// The simulator says of a recorded search what the search itself said at that time.
#[test]
fn simulated_estimates_are_those_of_the_search() {
    for algorithm in [
        AlgorithmName::Dfs,
        AlgorithmName::Dpor,
        AlgorithmName::Optimal,
    ] {
        let (whole, ln_runs) = recorded(algorithm, 1, i64::MAX);
        let recorded_whole = Recorded::read(whole.as_slice()).unwrap();
        let half = (ln_runs.exp() / 2.0) as i64;
        let (_, online) = recorded(algorithm, 1, half);
        let part = half as f64 / recorded_whole.time();
        let guesses = recorded_whole.replay(&[part]).remove(0);
        let default = guesses.iter().find(|guess| {
            (guess.strategy, guess.estimator, guess.curve)
                == (Strategy::Lazy, Estimator::Weighted, Curve::Logarithmic)
        });
        let simulated = default.unwrap().estimate.ln();
        // A search knows in addition what waits to be run.
        assert!(
            online - simulated > -1e-6,
            "{algorithm:?}: {} against {}",
            online.exp(),
            simulated.exp()
        );
    }
}

#[test]
fn a_damaged_log_is_a_sentence() {
    let (log, _) = recorded(AlgorithmName::Optimal, 1, 40);
    let unfinished = Recorded::read(log.as_slice()).unwrap_err();
    assert_eq!(
        unfinished.to_string(),
        "the recorded search was not explored to its end"
    );
    let (log, _) = recorded(AlgorithmName::Optimal, 1, i64::MAX);
    for length in 0..log.len() {
        let error = Recorded::read(&log[..length]).unwrap_err().to_string();
        match length {
            0..22 => assert_eq!(error, "not an exploration log"),
            _ => assert!(error.contains("is cut"), "{error}"),
        }
    }
    for byte in 0..log.len() {
        for flipped in [1u8, 0x40, 0x80] {
            let mut damaged = log.clone();
            damaged[byte] ^= flipped;
            if let Ok(recorded) = Recorded::read(damaged.as_slice()) {
                recorded.replay(&[0.01, 1.0]);
                recorded.probe(Probing::Often, &[0.01, 1.0], 0..1);
            }
        }
    }
    let newer = [b"reweave.exploration/2\n", &log[22..]].concat();
    assert!(
        Recorded::read(newer.as_slice())
            .unwrap_err()
            .to_string()
            .contains("another version")
    );
}
