//! How many executions a bound on preemptions takes. That it meets the right classes is shown in `brute_force.rs`.

use reweave_explore::{AlgorithmName, Flow, Options, Search};
use reweave_testing::program::{I, Machine, Objects, Program};
use std::collections::{BTreeSet, HashMap};

const THREADS: usize = 3;

/// Three threads that store into a variable each: no two orders differ.
fn independent(stores: usize) -> Program {
    let mut bodies = vec![Vec::from_iter((1..=THREADS).map(I::Spawn))];
    bodies.extend((0..THREADS as u32).map(|variable| vec![I::Store(variable, 1); stores]));
    Program {
        objects: Objects {
            atomics: THREADS as u32,
            ..Objects::default()
        },
        bodies,
        ..Program::default()
    }
}

fn executions(program: &Program, bound: u32, workers: usize) -> u64 {
    let mut search = Search::new(Options {
        algorithm: AlgorithmName::Dfs,
        preemptions: Some(bound),
        ..Options::default()
    });
    let target = |_| Machine::new(program);
    let outcome = search.run(workers, target, || Flow::Continue, |_, _| Flow::Continue);
    assert!(outcome.is_ok() && search.exhausted());
    search.totals().executions
}

/// Stores that are left, the thread whose turn it is, preemptions so far.
type Situation = ([usize; THREADS], Option<usize>, u32);

/// The turn that costs no preemption, and all that are within the bound.
fn turns(&(left, last, spent): &Situation, bound: u32) -> (Option<usize>, Vec<(usize, Situation)>) {
    let running = last.filter(|last| left[*last] > 0);
    let able = (0..THREADS).filter(|thread| left[*thread] > 0);
    let stays = running.or(able.clone().next());
    let step = |thread: usize| {
        let mut left = left;
        left[thread] -= 1;
        let cost = u32::from(running.is_some_and(|running| running != thread));
        (thread, (left, Some(thread), spent + cost))
    };
    let within = able.map(step).filter(|(_, next)| next.2 <= bound);
    (stays, within.collect())
}

/// Schedules within a bound.
fn schedules(at: Situation, bound: u32, known: &mut HashMap<Situation, u64>) -> u64 {
    if let Some(count) = known.get(&at) {
        return *count;
    }
    let next = turns(&at, bound).1;
    let count = match next.is_empty() {
        true => 1,
        false => next.iter().map(|it| schedules(it.1, bound, known)).sum(),
    };
    known.insert(at, count);
    count
}

/// Executions that leave each situation in each way once.
fn ways_out(stores: usize, bound: u32) -> u64 {
    let first = ([stores; THREADS], None, 0);
    let (mut left, mut known, mut count) = (vec![first], BTreeSet::new(), 0);
    while let Some(mut at) = left.pop() {
        count += 1;
        loop {
            let (stays, next) = turns(&at, bound);
            let Some(stays) = stays else { break };
            let running = at.1.filter(|last| at.0[*last] > 0);
            for &(thread, next) in &next {
                if thread != stays && known.insert(((at.0, running, at.2), thread)) {
                    left.push(next);
                }
            }
            let stay = next.iter().find(|(thread, _)| *thread == stays);
            at = stay.expect("it costs nothing").1;
        }
    }
    count
}

#[test]
fn each_situation_is_left_in_each_way_once() {
    for (stores, bound) in [(1, 0), (2, 1), (3, 2), (5, 1), (5, 2), (5, 3)] {
        let program = independent(stores);
        let expected = ways_out(stores, bound);
        for workers in [1, 2] {
            let found = executions(&program, bound, workers);
            assert_eq!(
                found, expected,
                "{stores} stores, at most {bound} preemptions"
            );
        }
    }
}

/// Five stores a thread, at most four preemptions.
#[test]
fn orders_of_independent_steps_cost_little() {
    let first = ([5; THREADS], None, 0);
    let all = schedules(first, 4, &mut HashMap::new());
    let found = executions(&independent(5), 4, 1);
    assert!(8 * found < all, "{found} executions, {all} schedules");
}
