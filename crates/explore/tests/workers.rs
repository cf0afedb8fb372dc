//! Workers among themselves.

use reweave_explore::{AlgorithmName, Flow, Options, Probing, Search, Target, TargetError, Totals};
use reweave_model::{Execution, Plan};
use reweave_testing::program::{I, Machine, Objects, Program};
use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

/// Five threads on one mutex: 120 executions.
fn program() -> Program {
    let mut bodies = vec![Vec::from_iter((1..=5).map(I::Spawn))];
    bodies.extend(vec![vec![I::Lock(0), I::Unlock(0)]; 5]);
    Program {
        objects: Objects {
            mutexes: 1,
            ..Objects::default()
        },
        bodies,
        ..Program::default()
    }
}

fn by(algorithm: AlgorithmName) -> Options {
    Options {
        algorithm,
        ..Options::default()
    }
}

struct Fragile {
    machine: Machine,
}

impl Target for Fragile {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        assert!(RUNS.fetch_add(1, SeqCst) < 20, "the target breaks");
        self.machine.run(plan)
    }
}

#[test]
fn a_broken_target_ends_the_search() {
    let outcome = std::panic::catch_unwind(|| {
        let target = |_| Fragile {
            machine: Machine::new(&program()),
        };
        let mut search = Search::new(Options::default());
        search.run(4, target, || Flow::Continue, |_, _| Flow::Continue)
    });
    assert!(outcome.is_err());
}

/// Takes its time, and counts.
struct Slow<'a> {
    machine: Machine,
    runs: &'a AtomicU64,
}

impl Target for Slow<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.runs.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_millis(2));
        self.machine.run(plan)
    }
}

/// While one of them makes a pass of probing, the others do not stand idle.
#[test]
fn nobody_waits_for_a_pass() {
    let runs = [AtomicU64::new(0), AtomicU64::new(0)];
    let target = |worker: usize| Slow {
        machine: Machine::new(&program()),
        runs: &runs[worker],
    };
    let mut search = Search::new(Options {
        probing: Probing::Often,
        ..by(AlgorithmName::Optimal)
    });
    let left = AtomicI64::new(0);
    let mut advance = |workers, executions| {
        left.store(executions, SeqCst);
        let before = || match left.fetch_sub(1, SeqCst) {
            1.. => Flow::Continue,
            _ => Flow::Stop,
        };
        let outcome = search.run(workers, target, before, |_, _| Flow::Continue);
        outcome.expect("the program is deterministic");
    };
    // The first executions are not in a pass.
    advance(1, 20);
    runs[0].store(0, SeqCst);
    advance(2, 80);
    let [one, other] = runs.map(AtomicU64::into_inner);
    assert_eq!(one + other, 80);
    assert!(one.min(other) >= 16, "{one} and {other}");
}

fn totals(program: &Program, algorithm: AlgorithmName, workers: usize) -> Totals {
    let mut search = Search::new(by(algorithm));
    let outcome = search.run(
        workers,
        |_| Machine::new(program),
        || Flow::Continue,
        |_, _| Flow::Continue,
    );
    outcome.expect("the program is deterministic");
    assert_eq!(search.unfit(), None);
    *search.totals()
}

#[test]
fn many_workers_count_like_one() {
    for algorithm in [AlgorithmName::Optimal, AlgorithmName::Rf] {
        for workers in [1, 2, 8, 32] {
            let totals = totals(&program(), algorithm, workers);
            assert_eq!((totals.executions, totals.redundant), (120, 0));
        }
    }
}

/// Every worker claims at decisions that the others pass: threads that add, exchange, try locks and read.
fn crowded() -> Program {
    let thread = |first: u32, second: u32| {
        vec![
            I::Add(first, 1),
            I::Cas(second, 1, 2),
            I::TryLock(0, 2),
            I::Load(first),
            I::Unlock(0),
            I::Load(second),
        ]
    };
    let mut bodies = vec![Vec::from_iter((1..=3).map(I::Spawn))];
    bodies.extend([thread(0, 1), thread(1, 0), thread(0, 1)]);
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

#[test]
fn reads_are_counted_alike_by_many_workers() {
    let one = totals(&crowded(), AlgorithmName::Rf, 1);
    assert!(one.executions > 1000, "{one:?}");
    for workers in [2, 8, 32] {
        for _ in 0..3 {
            assert_eq!(totals(&crowded(), AlgorithmName::Rf, workers), one);
        }
    }
}

/// Insists on being told of every plan before it is run, in batches.
struct Batching {
    machine: Machine,
    batch: usize,
    ahead: VecDeque<Plan>,
}

impl Batching {
    fn new(batch: usize) -> Batching {
        Batching {
            machine: Machine::new(&program()),
            batch,
            ahead: VecDeque::new(),
        }
    }
}

/// The largest batch of all.
static LARGEST: AtomicU64 = AtomicU64::new(0);

impl Target for Batching {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        let next = self.ahead.pop_front();
        assert_eq!(Some(plan), next.as_ref(), "run in the order it was told of");
        self.machine.run(plan)
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn prepare(&mut self, plans: &[Plan]) {
        assert!(self.ahead.is_empty(), "one batch after the other");
        assert!((1..=self.batch).contains(&plans.len()));
        self.ahead.extend(plans.iter().cloned());
        LARGEST.fetch_max(plans.len() as u64, SeqCst);
    }
}

/// The plans that are run, in pieces of so many executions (and no more).
fn plans(batch: usize, workers: usize, piece: i64, options: Options) -> Vec<Plan> {
    let mut search = Search::new(options);
    let plans = Mutex::new(Vec::new());
    while !search.exhausted() {
        let left = AtomicI64::new(piece);
        let before = || match left.fetch_sub(1, SeqCst) {
            1.. => Flow::Continue,
            _ => Flow::Stop,
        };
        let done = plans.lock().unwrap().len();
        let outcome = search.run(
            workers,
            |_| Batching::new(batch),
            before,
            |plan, _| {
                plans.lock().unwrap().push(plan.clone());
                Flow::Continue
            },
        );
        outcome.expect("the program is deterministic");
        let plans = plans.lock().unwrap();
        assert!(search.exhausted() || plans.len() - done == piece as usize);
        assert_eq!(search.totals().runs(), plans.len() as u64);
    }
    plans.into_inner().unwrap()
}

#[test]
fn a_target_is_told_of_plans_in_batches() {
    let sorted = |mut plans: Vec<Plan>| {
        plans.sort_by_key(|plan| format!("{plan:?}"));
        plans
    };
    let expected = sorted(plans(1, 1, i64::MAX, by(AlgorithmName::Optimal)));
    assert_eq!(expected.len(), 120);
    for batch in [2, 16, 1000] {
        for workers in [1, 2, 8] {
            for piece in [1, 7, i64::MAX] {
                let found = plans(batch, workers, piece, by(AlgorithmName::Optimal));
                assert_eq!(sorted(found), expected);
            }
        }
    }
    assert!(LARGEST.load(SeqCst) > 16, "batches are used");
    // One worker does the same every time, whatever the algorithm.
    for algorithm in [
        AlgorithmName::Optimal,
        AlgorithmName::Dpor,
        AlgorithmName::Rf,
    ] {
        let once = plans(16, 1, i64::MAX, by(algorithm));
        assert!(once.len() >= 120);
        assert_eq!(plans(16, 1, i64::MAX, by(algorithm)), once);
    }
}

#[test]
fn a_stop_in_the_middle_of_a_batch_loses_nothing() {
    let mut search = Search::new(Options::default());
    let mut runs = 0;
    while !search.exhausted() {
        let count = AtomicU64::new(0);
        let outcome = search.run(
            1,
            |_| Batching::new(16),
            || Flow::Continue,
            |_, _| match count.fetch_add(1, SeqCst) {
                2 => Flow::Stop,
                _ => Flow::Continue,
            },
        );
        outcome.expect("the program is deterministic");
        runs += count.into_inner();
    }
    assert_eq!((runs, search.totals().executions), (120, 120));
}

#[test]
fn long_executions_are_not_for_reads() {
    let long = |adds| Program {
        objects: Objects {
            atomics: 1,
            ..Objects::default()
        },
        bodies: vec![vec![I::Spawn(1), I::Load(0)], vec![I::Add(0, 1); adds]],
        ..Program::default()
    };
    for (adds, fits) in [(100, true), (6000, false)] {
        let mut search = Search::new(by(AlgorithmName::Rf));
        let program = long(adds);
        let target = |_| Machine::new(&program);
        let outcome = search.run(1, target, || Flow::Continue, |_, _| Flow::Continue);
        assert_eq!((outcome, search.unfit().is_none()), (Ok(()), fits));
        assert_eq!(search.totals().executions, if fits { 101 } else { 1 });
    }
}
