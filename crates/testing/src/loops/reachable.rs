//! All states of a program with loops: how it can end, whether it can go round for ever, and what each thread can do.

use super::{ATOMICS, LoopMachine, Looping, Print, advance, digest};
use reweave_model::{Execution, ObjectId, Site};
use std::collections::{BTreeSet, HashMap};

/// What a thread did: its number, where, whether it succeeded, and what it read.
pub type Deed = (u32, Site, bool, u64);

/// What a program can do.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Memory and registers at the end.
    pub ends: BTreeSet<(Vec<u64>, Vec<u64>)>,
    /// Whether there is a state from which no end can be reached.
    pub livelock: bool,
    pub deeds: BTreeSet<Deed>,
}

impl Reached {
    /// Adds what an execution did.
    pub fn add_deeds(&mut self, execution: &Execution) {
        for event in &execution.events {
            let deed = (event.thread.0, event.site, event.ok, event.result);
            self.deeds.insert(deed);
        }
    }
}

impl LoopMachine {
    /// The last execution.
    pub fn last(&self) -> &Execution {
        self.run.execution()
    }

    /// Memory and registers after a run.
    pub fn end(&self) -> (Vec<u64>, Vec<u64>) {
        let value = |index| {
            let object = self.run.state().object(ObjectId(index));
            match object {
                reweave_model::Object::Atomic(value) => *value,
                other => unreachable!("{other:?}"),
            }
        };
        let registers = self.threads.iter().map(|thread| thread.at.1);
        ((0..ATOMICS).map(value).collect(), registers.collect())
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Standing {
    memory: Vec<u64>,
    threads: Vec<Print>,
}

/// All that a program can do; `None`: it has too many states.
pub fn reachable(program: &Looping, limit: usize) -> Option<Reached> {
    let first = Standing {
        memory: vec![0; ATOMICS as usize],
        threads: vec![Print(0, 0); program.0.len()],
    };
    let mut reached = Reached::default();
    let mut numbers = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    // For each state those that lead to it.
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut ends = Vec::new();
    let mut at = 0;
    while at < states.len() {
        let mut goes_on = false;
        for index in 0..program.0.len() {
            let mut next = states[at].clone();
            let print = &mut next.threads[index];
            let Some(op) = advance(&program.0[index], print) else {
                continue;
            };
            goes_on = true;
            let object = op.object().expect("of an atomic").index();
            let (effect, after) = op.effect_on(next.memory[object]).expect("of an atomic");
            let site = Site((index * 100 + print.0 + 1) as u32);
            reached
                .deeds
                .insert((index as u32, site, effect.ok, effect.result));
            next.memory[object] = after;
            digest(op, effect.ok, effect.result, print);
            // Where it comes to its next operation: so the machine knows a thread.
            let _ = advance(&program.0[index], print);
            if states.len() > limit {
                return None;
            }
            let number = *numbers.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                before.push(Vec::new());
                states.len() - 1
            });
            before[number].push(at);
        }
        if !goes_on {
            let registers = states[at].threads.iter().map(|print| print.1);
            let end = (states[at].memory.clone(), registers.collect());
            reached.ends.insert(end);
            ends.push(at);
        }
        at += 1;
    }
    let mut can_end = vec![false; states.len()];
    while let Some(state) = ends.pop() {
        if !std::mem::replace(&mut can_end[state], true) {
            ends.extend(&before[state]);
        }
    }
    reached.livelock = can_end.contains(&false);
    Some(reached)
}
