//! Every algorithm against brute force on random programs: the same classes, each as often as the algorithm promises.
//!
//! `REWEAVE_CASES` sets the number of programs a mix (default 250), `REWEAVE_SEED` the seed, which is printed.

mod common;

use common::{
    program::{Machine, Program, class},
    random::{Mix, program},
};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reweave_explore::{Algorithm, Explorer, Target};
use std::collections::BTreeMap;

/// Programs with more interleavings are skipped.
const LIMIT: usize = 20_000;

type Classes = BTreeMap<String, u64>;

fn explore(program: &Program, algorithm: Algorithm, limit: usize) -> Option<Classes> {
    let mut machine = Machine::new(program);
    let mut explorer = Explorer::new(algorithm);
    let mut stack = vec![explorer.root()];
    let mut classes = Classes::new();
    let mut runs = 0;
    while let Some(branch) = stack.pop() {
        let execution = machine
            .run(&branch.plan)
            .expect("programs are deterministic")
            .clone();
        runs += 1;
        if runs > limit {
            return None;
        }
        *classes.entry(class(&execution)).or_default() += 1;
        explorer.branches(&branch, &execution, &mut stack);
    }
    Some(classes)
}

fn compare(program: &Program) -> Result<bool, TestCaseError> {
    let Some(oracle) = explore(program, Algorithm::Dfs, LIMIT) else {
        return Ok(false);
    };
    let Some(found) = explore(program, Algorithm::Optimal, LIMIT) else {
        return Err(TestCaseError::fail("optimal runs more than brute force"));
    };
    for class in oracle.keys() {
        if !found.contains_key(class) {
            return Err(TestCaseError::fail(format!("optimal misses {class}")));
        }
    }
    for (class, times) in &found {
        if *times != 1 {
            return Err(TestCaseError::fail(format!(
                "optimal meets {times} times {class}"
            )));
        }
    }
    Ok(true)
}

fn check(name: &str, mix: Mix) {
    let number = |variable: &str| {
        std::env::var(variable)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let cases = number("REWEAVE_CASES").unwrap_or(250) as u32;
    let seed = number("REWEAVE_SEED").unwrap_or_else(|| u64::from(std::process::id()) ^ 0x5eed);
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
    let compared = std::cell::Cell::new(0);
    let outcome = TestRunner::new_with_rng(config, rng).run(&program(mix), |program| {
        compared.set(compared.get() + u32::from(compare(&program)?));
        Ok(())
    });
    println!("{name}: {} of {cases} programs compared", compared.get());
    if let Err(error) = outcome {
        panic!("{name}, REWEAVE_SEED={seed}: {error}");
    }
    assert!(compared.get() * 2 > cases, "most programs are small enough");
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
    rwlocks: rwlocks atomics;
    semaphores: semaphores;
    barriers: barriers atomics;
    onces: onces atomics;
    channels: channels;
    parking: parking atomics;
    spins: spins atomics mutexes;
}

#[test]
fn everything() {
    check("everything", Mix::ALL);
}
