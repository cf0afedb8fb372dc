//! What a program can come to, by trying every order of its steps. Nothing of Reweave is used here.

use super::program::{Program, Step, letter};
use crate::harness::{Outcome, fold};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// What a descriptor is open on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Open {
    Listening(usize),
    /// One side of a connection.
    Side(usize, Side),
    /// A socket that is not connected yet.
    New,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Process {
    /// The next step, and which part of it.
    at: usize,
    part: usize,
    /// What an earlier part has found.
    letter: u64,
    folded: u64,
    /// The children that it has to wait for.
    children: Vec<usize>,
    /// By number.
    table: Vec<Option<Open>>,
    listening: Vec<Option<usize>>,
    made: Option<usize>,
    taken: Option<usize>,
    /// All that it has open is closed, one after the other.
    ending: bool,
    ended: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Connection {
    /// Letters for the client, and for the server.
    letters: [VecDeque<u64>; 2],
    /// The side is gone.
    gone: [bool; 2],
    /// The side gets an error for that.
    reset: [bool; 2],
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    backlogs: Vec<VecDeque<usize>>,
    connections: Vec<Connection>,
    processes: Vec<Option<Process>>,
}

const EBADF: u64 = 9;
const EPIPE: u64 = 32;
const ECONNRESET: u64 = 104;
const ECONNREFUSED: u64 = 111;
const FAILED: u64 = 100;
const POLLIN: u64 = 1;

/// All that a program can come to.
pub fn outcomes(program: &Program) -> BTreeSet<Outcome> {
    let first = Process {
        at: 0,
        part: 0,
        letter: 0,
        folded: 0,
        children: Vec::new(),
        table: (0..program.listening)
            .map(Open::Listening)
            .map(Some)
            .collect(),
        listening: (0..program.listening).map(Some).collect(),
        made: None,
        taken: None,
        ending: false,
        ended: false,
    };
    let mut processes = vec![None; program.processes.len()];
    processes[0] = Some(first);
    let mut open = vec![State {
        backlogs: vec![VecDeque::new(); program.listening],
        connections: Vec::new(),
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

impl Process {
    /// Opens something under the lowest free number.
    fn open(&mut self, what: Open) -> usize {
        let free = self.table.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.table.push(None);
            self.table.len() - 1
        });
        self.table[number] = Some(what);
        number
    }

    fn finish(&mut self, value: u64) {
        self.folded = fold(self.folded, value);
        self.at += 1;
        self.part = 0;
    }
}

impl State {
    fn is_open(&self, what: Open) -> bool {
        let mut living = self.processes.iter().flatten();
        living.any(|process| process.table.contains(&Some(what)))
    }

    fn my(&mut self, number: usize) -> &mut Process {
        self.processes[number].as_mut().expect("it is there")
    }

    /// A process closes a number.
    fn close(&mut self, process: usize, number: usize) {
        let what = self.my(process).table[number].take().expect("it is open");
        if self.is_open(what) {
            return;
        }
        match what {
            Open::New => {}
            Open::Side(connection, side) => self.leave(connection, side, false),
            Open::Listening(socket) => {
                for connection in std::mem::take(&mut self.backlogs[socket]) {
                    self.leave(connection, Side::Server, true);
                }
            }
        }
    }

    /// A side of a connection is gone.
    fn leave(&mut self, connection: usize, side: Side, resets: bool) {
        let connection = &mut self.connections[connection];
        connection.gone[side as usize] = true;
        if resets || !connection.letters[side as usize].is_empty() {
            connection.reset[side.other() as usize] = true;
        }
    }

    /// A letter for a side, or how its read ends; `None`: it waits.
    fn read(&mut self, connection: usize, side: Side) -> Option<u64> {
        let connection = &mut self.connections[connection];
        if let Some(letter) = connection.letters[side as usize].pop_front() {
            return Some(letter);
        }
        if !connection.gone[side.other() as usize] {
            return None;
        }
        let reset = std::mem::take(&mut connection.reset[side as usize]);
        Some(if reset { FAILED + ECONNRESET } else { 0 })
    }

    fn write(&mut self, connection: usize, side: Side, letter: u64) -> u64 {
        let connection = &mut self.connections[connection];
        if connection.gone[side.other() as usize] {
            return FAILED + EPIPE;
        }
        connection.letters[side.other() as usize].push_back(letter);
        1
    }

    /// The side of a connection that a number is open on.
    fn side(&self, process: usize, number: usize) -> (usize, Side) {
        let table = &self.processes[process].as_ref().expect("it is there").table;
        match table[number] {
            Some(Open::Side(connection, side)) => (connection, side),
            other => panic!("{other:?} is no connection"),
        }
    }

    /// The state after the next step of a process; `None`: it cannot make one.
    fn step(&self, program: &Program, number: usize) -> Option<State> {
        let mut next = self.clone();
        let me = self.processes[number].as_ref().filter(|it| !it.ended)?;
        let Some(step) = program.processes[number].get(me.at) else {
            return self.end(number);
        };
        match *step {
            Step::Connect(socket) => return next.connect(program, number, socket).then_some(next),
            Step::Accept(socket) => return next.accept(number, socket).then_some(next),
            Step::Answer => {
                let value = match me.made {
                    None => FAILED + EBADF,
                    Some(made) => {
                        let (connection, side) = self.side(number, made);
                        next.read(connection, side)?
                    }
                };
                next.my(number).finish(value);
            }
            Step::HangUp => {
                if let Some(made) = me.made {
                    next.close(number, made);
                    next.my(number).made = None;
                }
                next.my(number).finish(u64::from(me.made.is_none()));
            }
            Step::Close(socket) => {
                let open = me.listening[socket];
                if let Some(open) = open {
                    next.close(number, open);
                    next.my(number).listening[socket] = None;
                }
                next.my(number).finish(u64::from(open.is_none()));
            }
            Step::Ask(socket) => {
                let waits = me.listening[socket].is_some() && !self.backlogs[socket].is_empty();
                next.my(number).finish(if waits { POLLIN } else { 0 });
            }
            Step::Fork(child) => {
                let my = next.my(number);
                my.at += 1;
                my.children.push(child);
                let born = Process {
                    at: 0,
                    folded: 0,
                    children: Vec::new(),
                    ..my.clone()
                };
                next.processes[child] = Some(born);
            }
        }
        Some(next)
    }

    /// A part of a connect; whether there is one.
    fn connect(&mut self, program: &Program, number: usize, socket: usize) -> bool {
        let me = self.my(number).clone();
        match me.part {
            0 => {
                if let Some(made) = me.made {
                    self.close(number, made);
                }
                let my = self.my(number);
                my.made = Some(my.open(Open::New));
                my.part = 1;
            }
            1 => {
                let made = me.made.expect("it was opened");
                if !self.is_open(Open::Listening(socket)) {
                    self.close(number, made);
                    let my = self.my(number);
                    my.made = None;
                    my.finish(FAILED + ECONNREFUSED);
                    return true;
                }
                if self.backlogs[socket].len() > program.backlog {
                    return false;
                }
                let connection = self.connections.len();
                self.connections.push(Connection::default());
                self.backlogs[socket].push_back(connection);
                let my = self.my(number);
                my.table[made] = Some(Open::Side(connection, Side::Client));
                my.part = 2;
            }
            _ => {
                let (connection, side) = self.side(number, me.made.expect("it was opened"));
                let value = self.write(connection, side, letter(number));
                self.my(number).finish(value);
            }
        }
        true
    }

    /// A part of an accept; whether there is one.
    fn accept(&mut self, number: usize, socket: usize) -> bool {
        let me = self.my(number).clone();
        match me.part {
            0 => {
                if let Some(taken) = me.taken {
                    self.close(number, taken);
                }
                let my = self.my(number);
                my.taken = None;
                my.part = 1;
            }
            1 if me.listening[socket].is_none() => self.my(number).finish(FAILED + EBADF),
            1 => {
                let Some(connection) = self.backlogs[socket].pop_front() else {
                    return false;
                };
                let my = self.my(number);
                my.taken = Some(my.open(Open::Side(connection, Side::Server)));
                my.part = 2;
            }
            part => {
                let (connection, side) = self.side(number, me.taken.expect("it was accepted"));
                if part == 2 {
                    let Some(letter) = self.read(connection, side) else {
                        return false;
                    };
                    let my = self.my(number);
                    match letter {
                        0 | FAILED.. => my.finish(letter),
                        _ => (my.letter, my.part) = (letter, 3),
                    }
                } else {
                    let put = self.write(connection, side, me.letter);
                    self.my(number).finish(me.letter * 200 + put);
                }
            }
        }
        true
    }

    /// Waits for the next child, or ends.
    fn end(&self, number: usize) -> Option<State> {
        let mut next = self.clone();
        let me = self.processes[number].as_ref().expect("it is there");
        if me.ending {
            match me.table.iter().position(Option::is_some) {
                Some(open) => next.close(number, open),
                None => next.my(number).ended = true,
            }
            return Some(next);
        }
        let Some(child) = me.children.first() else {
            next.my(number).ending = true;
            return Some(next);
        };
        let child = self.processes[*child].as_ref().expect("it was forked");
        if !child.ended {
            return None;
        }
        let my = next.my(number);
        my.folded = fold(my.folded, child.folded);
        my.children.remove(0);
        Some(next)
    }
}
