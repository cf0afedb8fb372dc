//! What a program can come to, by trying every order of its steps. Nothing of Reweave is used here.

use super::{
    harness::{Outcome, fold},
    program::{LARGE, Program, ROOM, Step, letter},
};
use std::collections::{BTreeSet, HashSet};

#[derive(Clone, PartialEq, Eq, Hash)]
struct Process {
    /// The next step.
    at: usize,
    /// Units of it that are done.
    part: usize,
    folded: u64,
    /// The children that it has to wait for.
    children: Vec<usize>,
    /// The pipe that each of its descriptors is open on: those for reading, those for writing.
    readers: Vec<Option<usize>>,
    writers: Vec<Option<usize>>,
    ended: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Letters in each pipe.
    pipes: Vec<Vec<u64>>,
    processes: Vec<Option<Process>>,
}

const EBADF: u64 = 9;
const EPIPE: u64 = 32;
const FAILED: u64 = 100;
const POLLIN: u64 = 1;
const POLLHUP: u64 = 16;
const POLLNVAL: u64 = 32;

/// All that a program can come to.
pub fn outcomes(program: &Program) -> BTreeSet<Outcome> {
    let first = Process {
        at: 0,
        part: 0,
        folded: 0,
        children: Vec::new(),
        readers: (0..program.pipes).map(Some).collect(),
        writers: (0..program.pipes).map(Some).collect(),
        ended: false,
    };
    let mut processes = vec![None; program.processes.len()];
    processes[0] = Some(first);
    let mut open = vec![State {
        pipes: vec![Vec::new(); program.pipes],
        processes,
    }];
    let mut seen: HashSet<State> = open.iter().cloned().collect();
    let mut found = BTreeSet::new();
    while let Some(state) = open.pop() {
        let mut stuck = true;
        for process in 0..state.processes.len() {
            let Some(next) = state.step(program, process) else {
                continue;
            };
            stuck = false;
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        if stuck {
            let first = state.processes[0]
                .as_ref()
                .expect("it is there from the start");
            found.insert(match first.ended {
                true => Outcome::Result(first.folded),
                false => Outcome::Deadlock,
            });
        }
    }
    found
}

impl State {
    fn is_read(&self, pipe: usize) -> bool {
        let mut living = self.processes.iter().flatten().filter(|it| !it.ended);
        living.any(|it| it.readers.contains(&Some(pipe)))
    }

    fn is_written(&self, pipe: usize) -> bool {
        let mut living = self.processes.iter().flatten().filter(|it| !it.ended);
        living.any(|it| it.writers.contains(&Some(pipe)))
    }

    /// The state after the next step of a process; `None`: it cannot make one.
    fn step(&self, program: &Program, number: usize) -> Option<State> {
        let mut next = self.clone();
        let me = self.processes[number].as_ref().filter(|it| !it.ended)?;
        let Some(step) = program.processes[number].get(me.at) else {
            return self.end(number);
        };
        let my = next.processes[number].as_mut().expect("it is there");
        let value = match *step {
            Step::Write(pipe, count) => return self.write(program.unit, number, pipe, count),
            Step::Read(pipe, count) => match me.readers[pipe] {
                None => FAILED + EBADF,
                Some(pipe) if self.pipes[pipe].is_empty() && self.is_written(pipe) => return None,
                Some(pipe) => {
                    let got = count.min(self.pipes[pipe].len());
                    let units = next.pipes[pipe].drain(..got);
                    units.fold(got as u64, fold)
                }
            },
            Step::CloseReader(pipe) => u64::from(my.readers[pipe].take().is_none()),
            Step::CloseWriter(pipe) => u64::from(my.writers[pipe].take().is_none()),
            Step::Ask(pipe) => match me.readers[pipe] {
                None => POLLNVAL,
                Some(pipe) => {
                    let there = if self.pipes[pipe].is_empty() {
                        0
                    } else {
                        POLLIN
                    };
                    there | if self.is_written(pipe) { 0 } else { POLLHUP }
                }
            },
            Step::Replace(from, to) => match me.writers[from] {
                None => 1,
                Some(pipe) => {
                    my.writers[to] = Some(pipe);
                    0
                }
            },
            Step::Fork(child) => {
                my.at += 1;
                my.children.push(child);
                let born = Process {
                    at: 0,
                    folded: 0,
                    children: Vec::new(),
                    ..my.clone()
                };
                next.processes[child] = Some(born);
                return Some(next);
            }
        };
        my.folded = fold(my.folded, value);
        my.at += 1;
        Some(next)
    }

    /// Puts as many units as there is room for; the call returns when all are in, or nobody reads.
    fn write(&self, unit: usize, number: usize, pipe: usize, count: usize) -> Option<State> {
        let mut next = self.clone();
        let my = next.processes[number].as_mut().expect("it is there");
        let room = |pipe: usize| match unit {
            LARGE => ROOM - self.pipes[pipe].len(),
            _ => usize::MAX,
        };
        let value = match my.writers[pipe] {
            None => FAILED + EBADF,
            Some(pipe) if !self.is_read(pipe) => match my.part {
                0 => FAILED + EPIPE,
                part => part as u64,
            },
            Some(pipe) => {
                let put = (count - my.part).min(room(pipe));
                if put == 0 {
                    return None;
                }
                next.pipes[pipe].extend((0..put).map(|_| letter(number)));
                my.part += put;
                if my.part < count {
                    return Some(next);
                }
                count as u64
            }
        };
        my.part = 0;
        my.folded = fold(my.folded, value);
        my.at += 1;
        Some(next)
    }

    /// Waits for the next child, or ends.
    fn end(&self, number: usize) -> Option<State> {
        let mut next = self.clone();
        let me = self.processes[number].as_ref().expect("it is there");
        let waits_for = me
            .children
            .first()
            .map(|child| self.processes[*child].as_ref());
        let child = waits_for.map(|child| child.expect("it was forked"));
        let my = next.processes[number].as_mut().expect("it is there");
        match child {
            Some(child) if !child.ended => return None,
            Some(child) => {
                my.folded = fold(my.folded, child.folded);
                my.children.remove(0);
            }
            None => my.ended = true,
        }
        Some(next)
    }
}
