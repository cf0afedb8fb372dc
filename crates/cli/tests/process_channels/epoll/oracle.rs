//! What a program can come to, by trying every order of its steps. Nothing of Reweave is used here.

use super::program::{How, Program, Step, letter};
use crate::harness::{Outcome, fold};
use std::collections::{BTreeSet, HashSet, VecDeque};

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Thread {
    /// The next step, and which part of it.
    at: usize,
    part: usize,
    folded: u64,
    /// In `epoll_wait`: what is still to be looked at, what was found, and what goes back to the list.
    taken: VecDeque<usize>,
    found: Vec<u64>,
    again: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Pipe {
    letters: VecDeque<u64>,
    closed: bool,
    /// It is not reported until it is armed.
    off: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    pipes: Vec<Pipe>,
    ready: VecDeque<usize>,
    /// While a thread goes through the list: those that were notified meanwhile.
    meanwhile: Option<Vec<usize>>,
    /// A thread goes through the list, or changes what is watched.
    locked: bool,
    threads: Vec<Thread>,
}

const EAGAIN: u64 = 11;
const EBADF: u64 = 9;
const FAILED: u64 = 100;
const POLLIN: u64 = 1;
const POLLHUP: u64 = 16;

/// All that a program can come to.
pub fn outcomes(program: &Program) -> BTreeSet<Outcome> {
    let pipe = Pipe {
        letters: VecDeque::new(),
        closed: false,
        off: false,
    };
    let mut open = vec![State {
        pipes: vec![pipe; program.pipes.len()],
        ready: VecDeque::new(),
        meanwhile: None,
        locked: false,
        threads: vec![Thread::default(); program.threads.len()],
    }];
    let mut seen: HashSet<State> = open.iter().cloned().collect();
    let mut found = BTreeSet::new();
    while let Some(state) = open.pop() {
        let mut stuck = true;
        for thread in 0..state.threads.len() {
            let Some(step) = program.threads[thread].get(state.threads[thread].at) else {
                continue;
            };
            let mut next = state.clone();
            if !next.step(program, thread, *step) {
                continue;
            }
            stuck = false;
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        if stuck {
            let ended = |(thread, steps): (&Thread, &Vec<Step>)| thread.at == steps.len();
            let mut both = state.threads.iter().zip(&program.threads);
            let results = state.threads.iter().map(|thread| thread.folded);
            found.insert(match both.all(ended) {
                true => Outcome::Result(results.fold(0, fold)),
                false => Outcome::Deadlock,
            });
        }
    }
    found
}

impl State {
    fn finish(&mut self, thread: usize, value: u64) {
        let thread = &mut self.threads[thread];
        thread.folded = fold(thread.folded, value);
        thread.at += 1;
        thread.part = 0;
    }

    fn notify(&mut self, pipe: usize) {
        if self.pipes[pipe].off {
            return;
        }
        match &mut self.meanwhile {
            Some(meanwhile) if !meanwhile.contains(&pipe) => meanwhile.push(pipe),
            None if !self.ready.contains(&pipe) => self.ready.push_back(pipe),
            _ => {}
        }
    }

    /// What there is to report.
    fn events(&self, pipe: usize) -> u64 {
        let pipe = &self.pipes[pipe];
        let there = if pipe.letters.is_empty() { 0 } else { POLLIN };
        there | if pipe.closed { POLLHUP } else { 0 }
    }

    /// A part of a step; whether there is one.
    fn step(&mut self, program: &Program, number: usize, step: Step) -> bool {
        let part = self.threads[number].part;
        match (step, part) {
            (Step::Write(pipe), 0) if self.pipes[pipe].closed => {
                self.finish(number, FAILED + EBADF);
            }
            (Step::Write(pipe), 0) => {
                self.pipes[pipe].letters.push_back(letter(number));
                self.threads[number].part = 1;
            }
            (Step::Write(pipe), _) => {
                self.notify(pipe);
                self.finish(number, 1);
            }
            (Step::Read(pipe), _) => {
                let end = if self.pipes[pipe].closed {
                    0
                } else {
                    FAILED + EAGAIN
                };
                let value = self.pipes[pipe].letters.pop_front().unwrap_or(end);
                self.finish(number, value);
            }
            (Step::Close(pipe), 0) => {
                self.pipes[pipe].closed = true;
                self.threads[number].part = 1;
            }
            (Step::Close(pipe), _) => {
                self.notify(pipe);
                self.finish(number, 0);
            }
            (Step::Arm(_), 0) if self.locked => return false,
            (Step::Arm(pipe), 0) => {
                self.locked = true;
                self.pipes[pipe].off = false;
                self.threads[number].part = 1;
            }
            (Step::Arm(pipe), 1) => {
                self.threads[number].part = if self.events(pipe) == 0 { 3 } else { 2 };
            }
            (Step::Arm(pipe), 2) => {
                self.notify(pipe);
                self.threads[number].part = 3;
            }
            (Step::Arm(_), _) => {
                self.locked = false;
                self.finish(number, 0);
            }
            (Step::Wait(most, tries), part) => {
                return self.wait(program, number, (most, tries), part);
            }
        }
        true
    }

    fn wait(
        &mut self,
        program: &Program,
        number: usize,
        (most, tries): (usize, bool),
        part: usize,
    ) -> bool {
        match part {
            // Looks whether there is anything.
            0 if self.ready.is_empty() && tries => self.finish(number, 0),
            0 if self.ready.is_empty() => return false,
            0 => self.threads[number].part = 1,
            1 if self.locked => return false,
            1 => {
                self.locked = true;
                self.threads[number].part = 2;
            }
            2 => {
                self.meanwhile = Some(Vec::new());
                let thread = &mut self.threads[number];
                thread.taken = std::mem::take(&mut self.ready);
                thread.part = 3;
            }
            3 => self.look(program, number, most),
            4 => self.put_back(number),
            _ => self.return_found(number),
        }
        true
    }

    /// Looks at the next item.
    fn look(&mut self, program: &Program, number: usize, most: usize) {
        let full = self.threads[number].found.len() == most;
        let Some(pipe) = self.threads[number]
            .taken
            .front()
            .copied()
            .filter(|_| !full)
        else {
            self.threads[number].part = 4;
            return;
        };
        let events = self.events(pipe);
        let off = self.pipes[pipe].off;
        let thread = &mut self.threads[number];
        thread.taken.pop_front();
        if events == 0 || off {
            return;
        }
        thread.found.push(pipe as u64 * 64 + events);
        match program.pipes[pipe] {
            How::Level => thread.again.push(pipe),
            How::Edge => {}
            How::Once => self.pipes[pipe].off = true,
        }
    }

    /// Puts back what is still to be looked at.
    fn put_back(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        let mut ready = std::mem::take(&mut thread.taken);
        let meanwhile = self.meanwhile.take().expect("it goes through the list");
        for pipe in meanwhile
            .into_iter()
            .chain(std::mem::take(&mut thread.again))
        {
            if !ready.contains(&pipe) {
                ready.push_back(pipe);
            }
        }
        self.ready = ready;
        thread.part = 5;
    }

    /// Returns what was found, or begins again.
    fn return_found(&mut self, number: usize) {
        self.locked = false;
        let found = std::mem::take(&mut self.threads[number].found);
        if found.is_empty() {
            self.threads[number].part = 0;
            return;
        }
        let value = found
            .iter()
            .fold(found.len() as u64, |all, one| fold(all, *one));
        self.finish(number, value);
    }
}
