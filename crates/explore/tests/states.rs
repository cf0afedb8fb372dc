//! `stateful` against brute force: the same ends, and the same deeds of each thread.
//!
//! `REWEAVE_CASES` sets the number of programs a mix (default 40), `REWEAVE_SEED` the seed, which is printed.

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner},
};
use reweave_explore::{AlgorithmName, Flow, Options, Search, Target, TargetError};
use reweave_model::{End, Execution, OpKind, Plan, Site, StateId};
use reweave_testing::{
    loops::{LoopMachine, Looping, Reached, looping, reachable},
    program::{Machine, Program},
    random::{Mix, program},
};
use std::{
    cell::Cell,
    collections::BTreeSet,
    fmt::Debug,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Programs with more interleavings are skipped.
const LIMIT: u64 = 1_500;

/// What a thread did: its path, where, whether it succeeded, and what it got.
type Deed = (Vec<u32>, Site, u8, bool, u64);

/// What a program can do.
#[derive(Default, PartialEq, Debug)]
struct Met {
    /// How it ends, and in which state.
    ends: BTreeSet<(u8, String)>,
    deeds: BTreeSet<Deed>,
    runs: u64,
    states: BTreeSet<StateId>,
}

impl Met {
    fn add(&mut self, execution: &Execution, place: String) {
        let end = [End::Done, End::Deadlock, End::Livelock, End::Blocked];
        if let Some(end) = end.iter().position(|end| *end == execution.end) {
            self.ends.insert((end as u8, place));
        }
        for event in &execution.events {
            let path = execution.threads[event.thread.index()].path.clone();
            let OpKind(kind) = event.op.kind();
            self.deeds
                .insert((path, event.site, kind, event.ok, event.result));
        }
        self.states.extend(&execution.states);
        self.runs += 1;
    }
}

/// Runs a program and notes what it does.
struct Noting<'a>(Machine, &'a Mutex<Met>);

impl Target for Noting<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.0.run(plan)?;
        let place = self.0.place();
        let execution = self.0.last();
        self.1.lock().unwrap().add(execution, place);
        Ok(execution)
    }
}

/// Explores until nothing is left or there were too many runs; in pieces of so many runs.
fn explore(
    program: &Program,
    algorithm: AlgorithmName,
    workers: usize,
    pieces: u64,
) -> Result<Option<Met>, TestCaseError> {
    let mut search = Search::new(Options {
        algorithm,
        ..Options::default()
    });
    let met = Mutex::new(Met::default());
    while !search.exhausted() {
        if met.lock().unwrap().runs > LIMIT {
            return Ok(None);
        }
        let left = AtomicU64::new(pieces.min(LIMIT));
        let before = || match left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Flow::Continue,
            Err(_) => Flow::Stop,
        };
        let target = |_| Noting(Machine::new(program).with_states(), &met);
        let outcome = search.run(workers, target, before, |_, _| Flow::Continue);
        outcome.map_err(|error| TestCaseError::fail(format!("{algorithm:?}: {error:?}")))?;
        if let Some(unfit) = search.unfit() {
            return match unfit.to_string().as_str() {
                "a time limit ends only when nothing else can run" => Ok(None),
                why => Err(TestCaseError::fail(why.to_string())),
            };
        }
        if pieces < LIMIT {
            let stored = serde_json::to_string(&search.store()).unwrap();
            search = Search::resume(serde_json::from_str(&stored).unwrap()).unwrap();
        }
    }
    Ok(Some(met.into_inner().unwrap()))
}

fn same<T: Ord + Debug>(
    name: &str,
    oracle: &BTreeSet<T>,
    found: &BTreeSet<T>,
) -> Result<(), TestCaseError> {
    if let Some(missed) = oracle.difference(found).next() {
        return Err(TestCaseError::fail(format!("{name} misses {missed:?}")));
    }
    match found.difference(oracle).next() {
        Some(new) => Err(TestCaseError::fail(format!("{name} invents {new:?}"))),
        None => Ok(()),
    }
}

/// Runs of brute force and of the search with one worker; `None`: too many, or the algorithm does not serve.
fn compare(program: &Program) -> Result<Option<(u64, u64)>, TestCaseError> {
    let Some(oracle) = explore(program, AlgorithmName::Dfs, 1, LIMIT)? else {
        return Ok(None);
    };
    let mut runs = 0;
    for (workers, pieces) in [(1, LIMIT), (2, LIMIT), (1, 3)] {
        let name = format!("stateful with {workers} workers, {pieces} runs at a time,");
        let Some(found) = explore(program, AlgorithmName::Stateful, workers, pieces)? else {
            return Ok(None);
        };
        same(&name, &oracle.ends, &found.ends)?;
        same(&name, &oracle.deeds, &found.deeds)?;
        if !found.states.is_subset(&oracle.states) {
            return Err(TestCaseError::fail(format!("{name} invents a state")));
        }
        if (workers, pieces) == (1, LIMIT) {
            runs = found.runs;
        }
    }
    Ok(Some((oracle.runs, runs)))
}

fn check<P: Debug>(
    name: &str,
    programs: impl Strategy<Value = P>,
    compare: impl Fn(&P) -> Result<Option<(u64, u64)>, TestCaseError>,
) {
    let number = |variable: &str| {
        let text = std::env::var(variable).ok();
        text.and_then(|text| text.parse::<u64>().ok())
    };
    let cases = number("REWEAVE_CASES").unwrap_or(40) as u32;
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
    let (compared, all) = (Cell::new(0), Cell::new((0, 0)));
    let outcome = TestRunner::new_with_rng(config, rng).run(&programs, |program| {
        if let Some((brute, runs)) = compare(&program)? {
            compared.set(compared.get() + 1);
            all.set((all.get().0 + brute, all.get().1 + runs));
        }
        Ok(())
    });
    let (brute, runs) = all.get();
    let compared = compared.get();
    println!("{name}: {compared} of {cases} programs compared, {runs} runs instead of {brute}");
    if let Err(error) = outcome {
        panic!("{name}, REWEAVE_SEED={seed}: {error}");
    }
    assert!(compared * 5 > cases, "many programs are small enough");
}

/// Loops: cycles of states.
fn compare_loops(program: &Looping) -> Result<Option<(u64, u64)>, TestCaseError> {
    let Some(oracle) = reachable(program, 10 * LIMIT as usize) else {
        return Ok(None);
    };
    let mut runs = 0;
    for (workers, pieces) in [(1, LIMIT), (2, LIMIT), (1, 3)] {
        let name = format!("stateful with {workers} workers, {pieces} runs at a time,");
        let met = Mutex::new((Reached::default(), 0));
        let mut search = Search::new(Options {
            algorithm: AlgorithmName::Stateful,
            ..Options::default()
        });
        while !search.exhausted() {
            let left = AtomicU64::new(pieces);
            let before = || match left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                Ok(_) if met.lock().unwrap().1 < 10 * LIMIT => Flow::Continue,
                _ => Flow::Stop,
            };
            let target = |_| Going(LoopMachine::new(program), &met);
            let outcome = search.run(workers, target, before, |_, _| Flow::Continue);
            outcome.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
            if let Some(unfit) = search.unfit() {
                return Err(TestCaseError::fail(unfit.to_string()));
            }
            if met.lock().unwrap().1 >= 10 * LIMIT {
                return Ok(None);
            }
            if pieces < LIMIT {
                let stored = serde_json::to_string(&search.store()).unwrap();
                search = Search::resume(serde_json::from_str(&stored).unwrap()).unwrap();
            }
        }
        let (found, all) = met.into_inner().unwrap();
        same(&name, &oracle.ends, &found.ends)?;
        same(&name, &oracle.deeds, &found.deeds)?;
        if oracle.livelock != found.livelock {
            return Err(TestCaseError::fail(format!(
                "{name} has a livelock: {}",
                found.livelock
            )));
        }
        runs = all;
    }
    Ok(Some((runs, runs)))
}

/// Runs a program with loops and notes what it does.
struct Going<'a>(LoopMachine, &'a Mutex<(Reached, u64)>);

impl Target for Going<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.0.run(plan)?;
        let (end, execution) = (self.0.end(), self.0.last());
        let mut met = self.1.lock().unwrap();
        met.1 += 1;
        met.0.add_deeds(execution);
        met.0.livelock |= execution.end == End::Livelock;
        if execution.end == End::Done {
            met.0.ends.insert(end);
        }
        Ok(execution)
    }
}

#[test]
fn loops() {
    let livelocks = Cell::new(0);
    check("loops", looping(), |program: &Looping| {
        let oracle = reachable(program, 10 * LIMIT as usize);
        let stuck = oracle.is_some_and(|oracle| oracle.livelock);
        livelocks.set(livelocks.get() + u32::from(stuck));
        compare_loops(program)
    });
    assert!(livelocks.get() > 0, "some programs go round for ever");
}

macro_rules! mixes {
    ($($name:ident: $($kind:ident)*;)*) => {$(
        #[test]
        fn $name() {
            let mix = Mix { prompt: true, $($kind: true,)* ..Mix::default() };
            check(stringify!($name), program(mix), compare);
        }
    )*};
}

mixes! {
    atomics: atomics choices;
    mutexes: atomics mutexes;
    condvars: condvars;
    futexes: futexes atomics;
    rwlocks: rwlocks atomics;
    semaphores: semaphores;
    counters: counters;
    pools: pools atomics;
    barriers: barriers atomics;
    onces: onces atomics;
    channels: channels;
    pipes: pipes;
    pipe_messages: messages;
    parking: parking atomics;
    spins: spins atomics;
    everything: atomics mutexes condvars futexes rwlocks semaphores counters pools barriers onces channels pipes messages parking choices;
}
