//! Workers among themselves.

mod common;

use common::program::{I, Machine, Objects, Program};
use reweave_explore::{Flow, Options, Search, Target};
use reweave_model::{Divergence, Execution, Plan};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

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

struct Fragile {
    machine: Machine,
}

impl Target for Fragile {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
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

#[test]
fn many_workers_count_like_one() {
    for workers in [1, 2, 8, 32] {
        let mut search = Search::new(Options::default());
        let outcome = search.run(
            workers,
            |_| Machine::new(&program()),
            || Flow::Continue,
            |_, _| Flow::Continue,
        );
        outcome.expect("the program is deterministic");
        assert_eq!(search.totals().executions, 120);
        assert_eq!(search.totals().redundant, 0);
    }
}
