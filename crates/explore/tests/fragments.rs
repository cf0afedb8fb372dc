//! Searches that are taken apart: fragments of fragments, explored by different searches in any order, with only bytes going from
//! one to another, come to what one search comes to.
//!
//! `REWEAVE_CASES` sets the number of programs an algorithm (default 100), `REWEAVE_SEED` the seed, which is printed.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reweave_explore::{
    Algorithm, AlgorithmName, AtNodes, Balance, Child, Claim, Claimed, Claims, Flow, Found,
    Fragment, FragmentError, Malformed, NewBranch, Node, NodeStore, Options, Probing, Ran, Search,
    StoredPayload, Totals, Unfit,
};
use reweave_model::{End, Execution, Plan, Policy};
use reweave_testing::{
    class::{class, class_by_reads},
    program::{I, Machine, Objects, Program},
    random::{Mix, program},
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

/// Executions by all searches of a test, as threads and outcomes.
type Schedules = Mutex<Vec<Vec<(u32, u16)>>>;

/// How often each class was met.
type Classes = BTreeMap<String, u64>;

fn options(algorithm: AlgorithmName) -> Options {
    Options {
        algorithm,
        ..Options::default()
    }
}

/// Explores so many executions.
fn advance(search: &mut Search, program: &Program, most: u64, classes: &mut Classes) {
    let seen = Mutex::new(std::mem::take(classes));
    let runs = AtomicU64::new(0);
    let by_reads = search.options().algorithm == AlgorithmName::Rf;
    let before = || match runs.fetch_add(1, SeqCst) < most {
        true => Flow::Continue,
        false => Flow::Stop,
    };
    let after = |_: &Plan, execution: &Execution| {
        if execution.end != End::Redundant {
            let class = match by_reads {
                true => class_by_reads(execution),
                false => class(execution),
            };
            *seen.lock().unwrap().entry(class).or_default() += 1;
        }
        Flow::Continue
    };
    let done = search.run(1, |_| Machine::new(program), before, after);
    done.expect("programs are deterministic");
    *classes = seen.into_inner().unwrap();
}

/// What one search finds; `None`: too much, or nothing that the algorithm serves.
fn whole(program: &Program, algorithm: AlgorithmName) -> Option<(Totals, Classes)> {
    let mut search = Search::new(options(algorithm));
    let mut classes = Classes::new();
    advance(&mut search, program, 2_000, &mut classes);
    let served = search.exhausted() && search.unfit().is_none();
    served.then(|| (*search.totals(), classes))
}

/// Numbers that only the seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn send(fragment: &Fragment) -> Vec<u8> {
    serde_json::to_vec(fragment).unwrap()
}

fn receive(bytes: &[u8]) -> Fragment {
    serde_json::from_slice(bytes).unwrap()
}

/// Explores a program in fragments. They are split off, explored a little, split again, sent on and absorbed, by the first search or by each
/// other, all at random moments.
fn in_fragments(
    program: &Program,
    algorithm: AlgorithmName,
    seed: u64,
) -> (Totals, Classes, usize) {
    let mut dice = Dice(seed);
    let mut home = Search::new(options(algorithm));
    let mut travelling: Vec<Vec<u8>> = Vec::new();
    let mut classes = Classes::new();
    let mut splits = 0;
    for round in 0.. {
        assert!(round < 100_000, "a search in fragments does not end");
        if home.exhausted() && travelling.is_empty() {
            break;
        }
        // In the end everything comes home.
        let late = round > 200;
        match dice.below(if late { 2 } else { 4 }) {
            0 => {
                let most = 1 + dice.below(4) as u64;
                advance(&mut home, program, most, &mut classes);
            }
            1 if !travelling.is_empty() => {
                let one = dice.below(travelling.len());
                let one = receive(&travelling.swap_remove(one));
                home.absorb(one).unwrap();
            }
            2 if dice.below(2) == 0 => {
                let dealt = home.deal(1 + dice.below(4));
                splits += dealt.len();
                travelling.extend(dealt.iter().map(send));
            }
            2 => {
                let fragment = home.split();
                splits += usize::from(fragment.is_some());
                travelling.extend(fragment.as_ref().map(send));
            }
            3 if !travelling.is_empty() => {
                let one = dice.below(travelling.len());
                let mut worker = Search::resume(receive(&travelling.swap_remove(one))).unwrap();
                advance(&mut worker, program, 1 + dice.below(6) as u64, &mut classes);
                let part = worker.split().filter(|_| dice.below(2) == 0 || !late);
                splits += usize::from(part.is_some());
                travelling.extend(part.as_ref().map(send));
                if dice.below(3) == 0 && !travelling.is_empty() {
                    let other = dice.below(travelling.len());
                    worker
                        .absorb(receive(&travelling.swap_remove(other)))
                        .unwrap();
                }
                travelling.push(send(&worker.store()));
            }
            _ => {}
        }
    }
    (*home.totals(), classes, splits)
}

fn compare(program: &Program, algorithm: AlgorithmName, seed: u64) -> Result<usize, TestCaseError> {
    let Some((totals, classes)) = whole(program, algorithm) else {
        return Ok(0);
    };
    let (parts, found, splits) = in_fragments(program, algorithm, seed);
    let fail = |what: String| Err(TestCaseError::fail(format!("{algorithm:?}: {what}")));
    if !classes.keys().eq(found.keys()) {
        return fail(format!("{} classes, {}", classes.len(), found.len()));
    }
    // Which node is claimed first decides how often `dpor` meets a class.
    if algorithm != AlgorithmName::Dpor && (parts != totals || found != classes) {
        return fail(format!("{totals:?} became {parts:?}"));
    }
    Ok(splits)
}

fn check(algorithm: AlgorithmName, mix: Mix) {
    random(algorithm.name(), mix, |program, seed| {
        (0..3).try_fold(0, |splits, order| {
            Ok(splits + compare(program, algorithm, seed + order)?)
        })
    });
}

/// Tries random programs, each with the seed. What a try returns is positive where it says something.
fn random(name: &str, mix: Mix, one: impl Fn(&Program, u64) -> Result<usize, TestCaseError>) {
    let number = |name: &str, default: u64| -> u64 {
        let text = std::env::var(name);
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let cases = number("REWEAVE_CASES", 100) as u32;
    let seed = number("REWEAVE_SEED", 5);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let said = Cell::new(0);
    let result = runner.run(&program(mix), |program| {
        said.set(said.get() + one(&program, seed)?);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{name}, REWEAVE_SEED={seed}: {error}");
    }
    assert!(
        said.get() > cases as usize / 2,
        "{name}: searches are taken apart: {said:?}"
    );
}

fn mix() -> Mix {
    Mix {
        atomics: true,
        mutexes: true,
        choices: true,
        ..Mix::default()
    }
}

#[test]
fn dfs_in_fragments() {
    check(AlgorithmName::Dfs, mix());
}

#[test]
fn optimal_in_fragments() {
    check(AlgorithmName::Optimal, Mix::ALL);
}

#[test]
fn dpor_in_fragments() {
    check(AlgorithmName::Dpor, Mix::ALL);
}

#[test]
fn rf_in_fragments() {
    check(
        AlgorithmName::Rf,
        Mix {
            prompt: true,
            ..mix()
        },
    );
}

/// Threads that claim at decisions of each other.
fn crowded() -> Program {
    let thread = |first: u32, second: u32| {
        vec![
            I::Add(first, 1),
            I::Cas(second, 1, 2),
            I::Load(first),
            I::Load(second),
        ]
    };
    let mut bodies = vec![Vec::from_iter((1..=3).map(I::Spawn))];
    bodies.extend([thread(0, 1), thread(1, 0), thread(0, 1)]);
    Program {
        objects: Objects {
            atomics: 2,
            ..Objects::default()
        },
        bodies,
        ..Program::default()
    }
}

#[test]
fn a_crowded_program_in_fragments() {
    for algorithm in [AlgorithmName::Rf, AlgorithmName::Optimal] {
        for seed in 0..20 {
            assert!(compare(&crowded(), algorithm, seed).unwrap() > 0);
        }
    }
}

/// How claims are made can be replaced: here they are counted.
#[test]
fn claims_go_through_the_trait() {
    #[derive(Debug, Default)]
    struct Counting(AtomicU64);

    impl Claims for Counting {
        fn claim(&self, node: &Node, what: Claim) -> Claimed {
            self.0.fetch_add(1, SeqCst);
            AtNodes.claim(node, what)
        }
    }

    for algorithm in [AlgorithmName::Rf, AlgorithmName::Dpor] {
        let claims = Arc::new(Counting::default());
        let mut search: Search = Search::of(options(algorithm), claims.clone());
        let mut classes = Classes::new();
        advance(&mut search, &crowded(), u64::MAX, &mut classes);
        assert_eq!(
            whole(&crowded(), algorithm),
            Some((*search.totals(), classes))
        );
        assert!(claims.0.load(SeqCst) > 100, "{algorithm:?}");
    }
}

#[test]
fn a_fragment_of_another_search_is_refused() {
    let mut search = Search::new(options(AlgorithmName::Rf));
    let other = Search::new(options(AlgorithmName::Optimal)).store();
    assert_eq!(search.absorb(other), Err(FragmentError::OtherOptions));
    advance(&mut search, &crowded(), 20, &mut Classes::new());
    let text = serde_json::to_string(&search.store()).unwrap();
    let refused = |text: &str| Search::resume(serde_json::from_str(text).unwrap()).err();
    let mut newer: serde_json::Value = serde_json::from_str(&text).unwrap();
    newer["version"] = 99.into();
    assert_eq!(
        refused(&newer.to_string()),
        Some(FragmentError::Version(99))
    );
    // Branches were written in another way then.
    let mut older: serde_json::Value = serde_json::from_str(&text).unwrap();
    older["branches"] = serde_json::json!([{"same": 0, "again": false}]);
    assert!(matches!(
        refused(&older.to_string()),
        Some(FragmentError::Damaged(_))
    ));
    older["version"] = 11.into();
    assert_eq!(
        refused(&older.to_string()),
        Some(FragmentError::Version(11))
    );
    let lost = text.replace("\"nodes\":[{", "\"nodes\":[],\"lost\":[{");
    assert!(matches!(refused(&lost), Some(FragmentError::Damaged(_))));
    // A node has one owner.
    let fragment = search.split().expect("there are some branches");
    let mut worker = Search::resume(fragment).unwrap();
    advance(&mut worker, &crowded(), 5, &mut Classes::new());
    assert_eq!(search.absorb(worker.store()), Ok(()));
}

/// However often the whole search is probed, a fragment of it is not: random executions near its root would leave many branches.
#[test]
fn fragments_are_explored_depth_first() {
    let left = |probing| {
        let mut search = Search::new(Options {
            probing,
            ..options(AlgorithmName::Dfs)
        });
        advance(&mut search, &crowded(), 1, &mut Classes::new());
        let mut piece = Search::resume(search.deal(1).remove(0)).unwrap();
        advance(&mut piece, &crowded(), 400, &mut Classes::new());
        piece.store().branches()
    };
    assert_eq!(left(Probing::Often), left(Probing::Never));
}

/// An algorithm that the crate does not know: one run for each of a few seeds.
#[derive(Debug)]
struct Seeds;

impl Algorithm for Seeds {
    /// Seeds that are left.
    type Payload = u64;

    fn new(_: &Options, _: &Arc<dyn Claims>) -> Seeds {
        Seeds
    }

    fn first(options: &Options) -> (Policy, u64) {
        (Policy::Random(options.samples), options.samples)
    }

    fn branches(&mut self, ran: Ran<'_, u64>, found: &mut Found<u64>) -> Result<(), Unfit> {
        if let Some(left) = ran.payload.checked_sub(1) {
            let rest = Plan {
                policy: Policy::Random(left),
                ..ran.plan.clone()
            };
            found
                .children
                .push(NewBranch::new(Child { shared: 0, rest }, left));
        }
        Ok(())
    }

    fn store(left: &u64, _: &mut NodeStore) -> StoredPayload {
        StoredPayload::of([*left])
    }

    fn restore(_: &Options, stored: StoredPayload, _: &[Arc<Node>]) -> Result<u64, Malformed> {
        stored.numbers().map(|[left]| left)
    }
}

/// Nothing but its own code is needed for one more algorithm; with a row in the table it has a name, too.
#[test]
fn a_new_algorithm_is_explored_stored_and_split() {
    let options = Options {
        samples: 9,
        ..Options::default()
    };
    let mut search: Search<Seeds> = Search::of(options, Arc::new(AtNodes));
    let program = crowded();
    let target = |_| Machine::new(&program);
    for rounds in 1..=10 {
        let runs = AtomicU64::new(0);
        let before = || match runs.fetch_add(1, SeqCst) {
            0 => Flow::Continue,
            _ => Flow::Stop,
        };
        search
            .run(1, target, before, |_, _| Flow::Continue)
            .unwrap();
        assert_eq!(
            (search.totals().runs(), search.exhausted()),
            (rounds, rounds == 10)
        );
        let bytes = send(&search.store());
        search = Search::restore(receive(&bytes), Arc::new(AtNodes)).unwrap();
    }
}

/// Explores a program by workers that have copies of nodes, as Inspect has them: each explores a few executions, then all hand in what they have
/// and get it back, with a point of another one where they had none. What was met, the executions, and how many had been run before.
fn unloaded(program: &Program, balance: Balance, seed: u64) -> Option<(Classes, u64, u64)> {
    let options = Options {
        balance,
        ..options(AlgorithmName::Dpor)
    };
    let mut dice = Dice(seed);
    let (mut home, mut classes) = (Search::new(options), Classes::new());
    let schedules = Schedules::default();
    noted(&mut home, program, 1, &mut classes, &schedules);
    let mut rounds = 0;
    while !home.exhausted() {
        rounds += 1;
        if rounds > 100 {
            return None;
        }
        let dealt = home.deal(1 + dice.below(4));
        assert!(home.store().branches() == 0, "everything is handed out");
        for piece in dealt.iter().map(send) {
            let mut worker = Search::resume(receive(&piece)).unwrap();
            let most = 1 + dice.below(5) as u64;
            noted(&mut worker, program, most, &mut classes, &schedules);
            home.absorb(receive(&send(&worker.store()))).unwrap();
        }
    }
    let all = schedules.into_inner().unwrap();
    let distinct: std::collections::HashSet<_> = all.iter().collect();
    let (count, runs) = ((all.len() - distinct.len()) as u64, all.len() as u64);
    let counted = home.duplicates().expect("they are counted");
    assert_eq!(counted.count, count, "{balance:?}: {counted:?} of {runs}");
    assert!(!counted.at_least && home.totals().executions == runs);
    Some((classes, runs, count))
}

/// As `advance`, and notes what was run.
fn noted(
    search: &mut Search,
    program: &Program,
    most: u64,
    classes: &mut Classes,
    schedules: &Schedules,
) {
    let seen = Mutex::new(std::mem::take(classes));
    let runs = AtomicU64::new(0);
    let before = || match runs.fetch_add(1, SeqCst) < most {
        true => Flow::Continue,
        false => Flow::Stop,
    };
    let after = |_: &Plan, execution: &Execution| {
        if execution.end != End::Redundant {
            *seen.lock().unwrap().entry(class(execution)).or_default() += 1;
        }
        let ended = !(execution.end == End::Blocked && execution.errors.is_empty());
        if execution.end != End::Redundant && ended {
            let events = execution.events.iter();
            let schedule = events.map(|event| (event.thread.0, event.outcome));
            schedules.lock().unwrap().push(schedule.collect());
        }
        Flow::Continue
    };
    let done = search.run(1, |_| Machine::new(program), before, after);
    done.expect("programs are deterministic");
    *classes = seen.into_inner().unwrap();
}

/// With copied nodes every class is met, whatever is run twice; and what is run twice is counted.
#[test]
fn copied_nodes_lose_nothing() {
    let runs: Mutex<BTreeMap<&str, (u64, u64)>> = Mutex::default();
    let compared = Cell::new(0);
    random("copied nodes", Mix::ALL, |program, seed| {
        let Some((_, classes)) =
            whole(program, AlgorithmName::Dpor).filter(|(totals, _)| totals.executions <= 200)
        else {
            return Ok(0);
        };
        for balance in [Balance::Inspect, Balance::InspectLazy] {
            let Some((found, runs_of, duplicates)) = unloaded(program, balance, seed) else {
                continue;
            };
            if !classes.keys().eq(found.keys()) {
                let text = format!("{balance:?}: {} classes, {}", classes.len(), found.len());
                return Err(TestCaseError::fail(text));
            }
            compared.set(compared.get() + 1);
            let mut runs = runs.lock().unwrap();
            let sum = runs.entry(balance.name()).or_default();
            *sum = (sum.0 + runs_of, sum.1 + duplicates);
        }
        Ok(1)
    });
    let runs = runs.into_inner().unwrap();
    println!(
        "{} searches; executions and those run before: {runs:?}",
        compared.get()
    );
    let (eager, lazy) = (runs["inspect"], runs["inspect-lazy"]);
    assert!(eager.1 > 0 && lazy.1 > 0, "{runs:?}");
}

/// Three threads that lock and unlock: the paper's figures 7, 8 and 10. Each of the first two points goes to a worker of its own.
#[test]
fn eager_backtrack_sets_spare_executions() {
    let body = vec![I::Lock(0), I::Unlock(0)];
    let program = Program {
        objects: Objects {
            mutexes: 1,
            ..Objects::default()
        },
        bodies: vec![
            Vec::from_iter((1..=4).map(I::Spawn)),
            body.clone(),
            body.clone(),
            body.clone(),
            body,
        ],
        ..Program::default()
    };
    let runs = |balance| {
        let all = (0..20).map(|seed| unloaded(&program, balance, seed).expect("it ends"));
        all.map(|(classes, runs, duplicates)| {
            // 4! orders of four sections.
            assert_eq!(classes.len(), 24);
            (runs, duplicates)
        })
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let (eager, lazy) = (runs(Balance::Inspect), runs(Balance::InspectLazy));
    println!("eager {eager:?}, lazy {lazy:?}");
    assert!(eager.1 < lazy.1, "eager {eager:?}, lazy {lazy:?}");
}

/// Fragments come over the network. Whatever is changed in one, it is refused or taken; nothing panics.
#[test]
fn damaged_fragments_do_not_panic() {
    for (algorithm, balance) in [
        (AlgorithmName::Rf, Balance::Owners),
        (AlgorithmName::Dpor, Balance::Owners),
        (AlgorithmName::Dpor, Balance::Inspect),
        (AlgorithmName::Optimal, Balance::Owners),
    ] {
        let options = Options {
            balance,
            ..options(algorithm)
        };
        let mut home = Search::new(options);
        advance(&mut home, &crowded(), 10, &mut Classes::new());
        let piece = home.deal(1).pop().expect("there is more");
        let mut worker = Search::resume(piece).unwrap();
        advance(&mut worker, &crowded(), 10, &mut Classes::new());
        let text = send(&worker.store());
        let stored = send(&home.store());
        let (mut refused, mut dice) = (0, Dice(7));
        for _ in 0..2_000 {
            let mut bytes = text.clone();
            let at = dice.below(bytes.len());
            // Often another number, at times anything.
            bytes[at] = match (bytes[at].is_ascii_digit(), dice.below(3)) {
                (true, 0..=1) => b'0' + dice.below(10) as u8,
                _ => dice.below(128) as u8,
            };
            let Ok(fragment) = serde_json::from_slice::<Fragment>(&bytes) else {
                refused += 1;
                continue;
            };
            let mut home = Search::resume(receive(&stored)).unwrap();
            let before = send(&home.store());
            if home.absorb(fragment).is_err() {
                refused += 1;
                assert!(
                    send(&home.store()) == before,
                    "what is refused changes nothing"
                );
            } else {
                // What was taken can be handed out and stored.
                home.store();
                home.deal(3);
            }
        }
        assert!(refused > 100, "{algorithm:?}: {refused}");
    }
}
