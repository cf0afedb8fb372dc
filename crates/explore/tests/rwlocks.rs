//! The two kinds of read-write locks: how many executions, and who deadlocks.

use reweave_explore::{AlgorithmName, Flow, Options, Search, Totals};
use reweave_model::End;
use reweave_testing::program::{I, Machine, Objects, Program};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Writers go first.
const ANNOUNCED: u32 = 0;
/// Readers go first.
const SHARED: u32 = 1;

/// A program whose first thread starts all others.
fn program(threads: Vec<Vec<I>>) -> Program {
    let mut bodies = vec![Vec::from_iter((1..=threads.len()).map(I::Spawn))];
    bodies.extend(threads);
    Program {
        objects: Objects {
            mutexes: 1,
            rwlocks: 1,
            readers_first: 1,
            semaphores: vec![2],
            ..Objects::default()
        },
        bodies,
        ..Program::default()
    }
}

/// What is seen in all, and how many deadlocks.
fn explore(program: &Program, algorithm: AlgorithmName) -> (Totals, u64) {
    let deadlocks = AtomicU64::new(0);
    let mut search = Search::new(Options {
        algorithm,
        ..Options::default()
    });
    let outcome = search.run(
        1,
        |_| Machine::new(program),
        || Flow::Continue,
        |_, execution| {
            deadlocks.fetch_add(u64::from(execution.end == End::Deadlock), SeqCst);
            Flow::Continue
        },
    );
    outcome.expect("the program is deterministic");
    (*search.totals(), deadlocks.into_inner())
}

fn read(lock: u32) -> Vec<I> {
    vec![I::ReadLock(lock), I::ReadUnlock(lock)]
}

fn write(lock: u32) -> Vec<I> {
    vec![I::WriteLock(lock), I::WriteUnlock(lock)]
}

#[test]
fn each_reader_comes_before_or_after_each_writer() {
    for lock in [ANNOUNCED, SHARED] {
        for readers in 0..6 {
            let mut threads = vec![read(lock); readers];
            threads.push(write(lock));
            let (totals, deadlocks) = explore(&program(threads.clone()), AlgorithmName::Optimal);
            assert_eq!(totals.executions, 1 << readers);
            assert_eq!((totals.redundant, deadlocks), (0, 0));
            // Two writers in either order, each reader before, between or behind them.
            threads.push(write(lock));
            let (totals, deadlocks) = explore(&program(threads), AlgorithmName::Optimal);
            assert_eq!(totals.executions, 2 * 3u64.pow(readers as u32));
            assert_eq!((totals.redundant, deadlocks), (0, 0));
        }
    }
}

/// A reader that reads again while a writer waits.
#[test]
fn reading_twice_deadlocks_where_writers_go_first() {
    for algorithm in [
        AlgorithmName::Dfs,
        AlgorithmName::Dpor,
        AlgorithmName::Optimal,
    ] {
        for lock in [ANNOUNCED, SHARED] {
            let twice = [read(lock)[0], read(lock)[0], read(lock)[1], read(lock)[1]];
            let (totals, deadlocks) = explore(&program(vec![twice.into(), write(lock)]), algorithm);
            assert_eq!(deadlocks > 0, lock == ANNOUNCED);
            if algorithm == AlgorithmName::Optimal && lock == SHARED {
                assert_eq!((totals.executions, totals.redundant), (2, 0));
            }
        }
    }
}

/// A reader inside waits for one that comes later: with a writer between them, where that is possible, for ever.
#[test]
fn a_reader_that_waits_for_a_reader() {
    for algorithm in [
        AlgorithmName::Dfs,
        AlgorithmName::Dpor,
        AlgorithmName::Optimal,
    ] {
        for lock in [ANNOUNCED, SHARED] {
            let outer = vec![
                I::ReadLock(lock),
                I::Spawn(3),
                I::Join(0),
                I::ReadUnlock(lock),
            ];
            let mut program = program(vec![outer, write(lock)]);
            program.bodies.push(read(lock));
            let (totals, deadlocks) = explore(&program, algorithm);
            assert_eq!(deadlocks > 0, lock == ANNOUNCED);
            if algorithm == AlgorithmName::Optimal && lock == SHARED {
                // The writer first, or last; foretold in between it cannot be.
                assert_eq!((totals.executions, totals.redundant), (2, 1));
            }
        }
    }
}

/// A writer that waits for itself as a reader is stuck; everybody else goes on.
#[test]
fn a_stuck_writer_keeps_no_reader_out() {
    let upgrade = [read(SHARED)[0], write(SHARED)[0]];
    let threads = vec![upgrade.into(), read(SHARED), read(SHARED), write(SHARED)];
    let (totals, deadlocks) = explore(&program(threads), AlgorithmName::Optimal);
    // The other writer may come first, and each reader before or behind it; else it is stuck, too.
    assert_eq!((totals.executions, deadlocks), (5, 5));
}

/// Two units and one look at the count: 2, 1 or 0 are left.
#[test]
fn the_count_of_a_semaphore() {
    let threads = vec![vec![I::Acquire(0)], vec![I::Acquire(0)], vec![I::Count(0)]];
    let (totals, _) = explore(&program(threads.clone()), AlgorithmName::Optimal);
    // Who looks sees the others' acquisitions; these do not see each other.
    assert_eq!(totals.executions, 4);
    let (totals, _) = explore(&program(threads), AlgorithmName::Dfs);
    assert_eq!(totals.executions, 6);
}
