//! Small programs with loops that wait or try again, as targets, and all that they can do, found by going through their states.
//!
//! Threads have one register. A loop begins with [`L::Head`], which forgets the register, and ends with [`L::Again`]. The states of a program
//! are its memory and where its threads are; failed rounds lead back to the state before, so there are finitely many however often threads go
//! round. [`classes`] goes through all of them: every interleaving with any number of rounds.

mod reachable;

pub use reachable::{Deed, Reached, reachable};

use proptest::prelude::*;
use reweave_conduct::{
    Next, Round, Run,
    parking::{Fingerprint, Polls},
};
use reweave_explore::{Target, TargetError};
use reweave_model::*;
use std::{
    collections::{BTreeSet, HashSet},
    hash::Hash,
};

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum L {
    Load(u32),
    Store(u32, u64),
    /// Stores register + constant.
    StoreReg(u32, u64),
    Add(u32, u64),
    Cas(u32, u64, u64),
    /// From the register's value to that and a constant.
    CasReg(u32, u64),
    /// Stores unconditionally and reads what was there.
    Swap(u32, u64),
    /// A loop begins.
    Head,
    /// Back by so many instructions unless the register has this value.
    Again(u64, usize),
    /// The same unless the register is not this value.
    AgainIf(u64, usize),
    /// Skips so many instructions unless the register has this value.
    SkipUnless(u64, usize),
}

/// A program: a body for each thread.
#[derive(Clone, Default)]
pub struct Looping(pub Vec<Vec<L>>);

impl std::fmt::Debug for Looping {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        writeln!(f)?;
        self.0.iter().try_for_each(|body| writeln!(f, "{body:?},"))
    }
}

/// How many atomics there are.
pub const ATOMICS: u32 = 3;

/// Registers and place of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
struct Print(usize, u64);

impl Fingerprint for Print {
    const SEES_WRITES: bool = true;
}

/// Goes on to the next operation.
fn advance(body: &[L], at: &mut Print) -> Option<Op> {
    loop {
        let Print(pc, register) = at;
        match *body.get(*pc)? {
            L::Head => {
                *register = 0;
                *pc += 1;
            }
            L::Again(value, back) => match *register == value {
                true => *pc += 1,
                false => *pc -= back,
            },
            L::AgainIf(value, back) => match *register != value {
                true => *pc += 1,
                false => *pc -= back,
            },
            L::SkipUnless(value, skip) => {
                *pc += match *register == value {
                    true => 1,
                    false => 1 + skip,
                }
            }
            instruction => return Some(operation(instruction, *register)),
        }
    }
}

fn operation(instruction: L, register: u64) -> Op {
    let exchange = |x, expected, new| Op::CompareExchange {
        object: ObjectId(x),
        expected,
        new,
        weak: false,
    };
    match instruction {
        L::Load(x) => Op::Load(ObjectId(x)),
        L::Store(x, value) => Op::Store(ObjectId(x), value),
        L::StoreReg(x, more) => Op::Store(ObjectId(x), register + more),
        L::Add(x, operand) => Op::Rmw(
            ObjectId(x),
            Rmw {
                kind: RmwKind::Add,
                operand,
                bits: 64,
            },
        ),
        L::Cas(x, expected, new) => exchange(x, expected, new),
        L::Swap(x, value) => Op::Rmw(
            ObjectId(x),
            Rmw {
                kind: RmwKind::Swap,
                operand: value,
                bits: 64,
            },
        ),
        L::CasReg(x, more) => exchange(x, register, register + more),
        other => unreachable!("{other:?} is no operation"),
    }
}

/// The register after an operation.
fn digest(op: Op, ok: bool, result: u64, at: &mut Print) {
    at.0 += 1;
    at.1 = match op {
        Op::Load(_) | Op::Rmw(..) => result,
        _ => u64::from(ok),
    };
}

struct Thread {
    at: Print,
    polls: Polls<Print>,
}

/// Runs a program.
pub struct LoopMachine {
    program: Looping,
    run: Run,
    threads: Vec<Thread>,
}

impl LoopMachine {
    pub fn new(program: &Looping) -> LoopMachine {
        LoopMachine {
            program: program.clone(),
            run: Run::default(),
            threads: Vec::new(),
        }
    }

    fn state(&self) -> StateId {
        let mut identity = Identity::default();
        let name = |object: ObjectId| u64::from(object.0);
        self.run.identify(name, true, &mut identity);
        self.threads.iter().for_each(|it| it.at.hash(&mut identity));
        identity.id()
    }

    fn proceed(&mut self, index: usize) {
        let id = ThreadId(index as u32);
        let Thread { at, polls } = &mut self.threads[index];
        let Some(op) = advance(&self.program.0[index], at) else {
            self.run.finish(id);
            return;
        };
        let site = Site((index * 100 + at.0 + 1) as u32);
        polls.arrive(false);
        if self.run.takes_back() {
            if let Some(start) = polls.again(op, site, || *at) {
                if self.run.take_back(id, polls.row().len() - start) == Round::TakenBack {
                    polls.take_back(start);
                }
            }
        }
        self.run.announce(id, Pending::new(op, site));
    }
}

impl Target for LoopMachine {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.run.begin(plan);
        for _ in 0..ATOMICS {
            self.run.object(Object::Atomic(0));
        }
        self.threads.clear();
        for index in 0..self.program.0.len() {
            if index > 0 {
                self.run.spawn(ThreadId::MAIN);
            }
            self.threads.push(Thread {
                at: Print(0, 0),
                polls: Polls::default(),
            });
        }
        for index in 0..self.program.0.len() {
            self.proceed(index);
        }
        loop {
            if self.run.records_states() {
                self.run.enter_state(self.state());
            }
            match self.run.next() {
                Next::Go(choice) => {
                    let event = self.run.step(choice);
                    let index = choice.thread.index();
                    let thread = &mut self.threads[index];
                    thread.polls.record(&event, self.run.state());
                    digest(event.op, event.ok, event.result, &mut thread.at);
                    self.proceed(index);
                }
                Next::End(end) => {
                    self.run.name_objects(|object| u64::from(object.0));
                    return Ok(self.run.end(end));
                }
                Next::Diverged => {
                    return Err(self.run.divergence().expect("it diverged").clone().into());
                }
            }
        }
    }
}

/// Where a value comes from: a thread's event by its number from 1, or nothing.
type Source = (u8, u8);

/// What a thread has done that lasts: for each event what it read from, and whether it succeeded.
type Log = Vec<(Source, bool)>;

/// What the threads of an execution did that lasts, and whether it ended in a livelock.
pub type LoopClass = (bool, Vec<Log>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Point {
    memory: Vec<(u64, Source)>,
    threads: Vec<Line>,
    /// A thread has read from a round that changed nothing. There is an execution without the round, so this one is left out.
    out: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Line {
    at: Print,
    log: Log,
    /// Where it came to an operation since it last wrote, and how long its log was.
    row: Vec<(Print, usize)>,
    /// Its read-modify-writes since then that wrote what they read: where, which event, and the write before.
    failed: Vec<(usize, Source, Source)>,
}

impl Point {
    /// One step of a thread; `None`: it is at its end.
    fn step(&self, program: &Looping, index: usize) -> Option<Point> {
        let mut next = self.clone();
        let line = &mut next.threads[index];
        let op = advance(&program.0[index], &mut line.at)?;
        let number = line.log.len() as u8 + 1;
        let object = op.object().expect("of an atomic").index();
        let (value, source) = next.memory[object];
        let (effect, after) = op.effect_on(value).expect("of an atomic");
        let reads = !matches!(op, Op::Store(..));
        if effect.access[0].expect("it touches").class == Class::Write {
            next.memory[object] = (after, (index as u8, number));
            if reads && after == value {
                line.row.push((line.at, line.log.len()));
                line.failed.push((object, (index as u8, number), source));
            } else {
                line.row.clear();
                line.failed.clear();
            }
        } else {
            line.row.push((line.at, line.log.len()));
        }
        let nothing = (u8::MAX, 0);
        line.log
            .push((if reads { source } else { nothing }, effect.ok));
        digest(op, effect.ok, effect.result, &mut line.at);
        if advance(&program.0[index], &mut line.at).is_some() {
            let back = line.row.iter().rposition(|(at, _)| *at == line.at);
            if let Some(back) = back {
                line.log.truncate(line.row[back].1);
                line.row.truncate(back);
                next.undo(index);
            }
        }
        Some(next)
    }

    /// The last events of a thread were a round that changed nothing.
    fn undo(&mut self, index: usize) {
        let line = &mut self.threads[index];
        let left = line.log.len() as u8;
        let failed = line
            .failed
            .extract_if(.., |(_, (_, number), _)| *number > left);
        for (object, event, before) in failed.collect::<Vec<_>>().into_iter().rev() {
            let mut logs = self.threads.iter().flat_map(|line| &line.log);
            self.out |= logs.any(|(source, _)| *source == event);
            if self.memory[object].1 == event {
                self.memory[object].1 = before;
            }
        }
    }

    fn values(&self) -> impl Iterator<Item = u64> {
        self.memory.iter().map(|(value, _)| *value)
    }

    /// Whether a thread alone goes round for ever, from a point to which nothing of its round belongs.
    fn goes_round(&self, program: &Looping, index: usize) -> bool {
        let (mut state, length) = (self.clone(), self.threads[index].log.len());
        for _ in 0..40 {
            match state.step(program, index) {
                Some(next) if next.values().eq(self.values()) => state = next,
                _ => return false,
            }
            let line = &state.threads[index];
            if line.log.len() < length {
                return false;
            }
            if line.log.len() == length && line.at == self.threads[index].at {
                return true;
            }
        }
        false
    }
}

/// Events of one thread, of which a class counts the last by its number.
const LONGEST: usize = 200;

/// All classes of a program; `None`: it has too many states, or a loop that writes in every round.
pub fn classes(program: &Looping, limit: usize) -> Option<BTreeSet<LoopClass>> {
    let line = |body: &Vec<L>| {
        let mut at = Print(0, 0);
        advance(body, &mut at);
        Line {
            at,
            log: Vec::new(),
            row: Vec::new(),
            failed: Vec::new(),
        }
    };
    let first = Point {
        memory: vec![(0, (u8::MAX, 0)); ATOMICS as usize],
        threads: program.0.iter().map(line).collect(),
        out: false,
    };
    let mut known = HashSet::from([first.clone()]);
    let mut left = vec![first];
    let mut found = BTreeSet::new();
    while let Some(state) = left.pop() {
        let all = 0..program.0.len();
        let ended = |index: &usize| state.step(program, *index).is_none();
        let stuck = all.clone().filter(|index| !ended(index)).count() > 0
            && all
                .clone()
                .all(|index| ended(&index) || state.goes_round(program, index));
        if stuck || all.clone().all(|index| ended(&index)) {
            let logs = state.threads.iter().map(|line| line.log.clone()).collect();
            found.insert((stuck, logs));
        }
        for next in all.filter_map(|index| state.step(program, index)) {
            let endless = next.threads.iter().any(|line| line.log.len() > LONGEST);
            if known.len() > limit || endless {
                return None;
            }
            if !next.out && known.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    Some(found)
}

/// The class of an execution.
pub fn loop_class(execution: &Execution) -> LoopClass {
    let mut logs = vec![Log::new(); execution.threads.len()];
    let mut last = vec![(u8::MAX, 0); execution.objects.len()];
    for event in &execution.events {
        let index = event.thread.index();
        let access = event.access[0].expect("it touches an atomic");
        let source = match event.op {
            Op::Store(..) => (u8::MAX, 0),
            _ => last[access.object.index()],
        };
        logs[index].push((source, event.ok));
        if access.class == Class::Write {
            last[access.object.index()] = (index as u8, logs[index].len() as u8);
        }
    }
    (execution.end == End::Livelock, logs)
}

/// A statement of a random program.
#[derive(Clone, Debug)]
pub enum LStmt {
    One(L),
    /// Only if the register has this value.
    When(u64, Vec<LStmt>),
    /// Waits until the atomic has this value, or has it no more.
    Until(u32, u64),
    While(u32, u64),
    /// Waits until both have their values, the second read after the first.
    Both(u32, u64, u32, u64),
    /// Waits until the first has not this value, or the second has its.
    Either(u32, u64, u32, u64),
    /// Exchanges until it succeeds.
    Exchange(u32, u64, u64),
    /// Adds by a load and an exchange.
    Retry(u32, u64),
    /// A lock that is looked at first, around a body.
    Locked(u32, bool, Vec<LStmt>),
    /// The same, taken by an unconditional exchange.
    TestAndSet(u32, bool, Vec<LStmt>),
    /// Exchanges until it has read this.
    SwapUntil(u32, u64, u64),
    /// Reads these one after the other, and leaves as soon as one of them lets it go.
    Any(Vec<(L, u64)>),
}

fn emit(statement: &LStmt, out: &mut Vec<L>) {
    match statement {
        LStmt::One(one) => out.push(*one),
        LStmt::When(value, body) => {
            let mut inner = Vec::new();
            body.iter().for_each(|it| emit(it, &mut inner));
            out.push(L::SkipUnless(*value, inner.len()));
            out.extend(inner);
        }
        LStmt::Until(x, value) => out.extend([L::Head, L::Load(*x), L::Again(*value, 2)]),
        LStmt::While(x, value) => out.extend([L::Head, L::Load(*x), L::AgainIf(*value, 2)]),
        LStmt::Both(x, v, y, w) => out.extend([
            L::Head,
            L::Load(*x),
            L::Again(*v, 2),
            L::Load(*y),
            L::Again(*w, 4),
        ]),
        LStmt::Either(x, v, y, w) => out.extend([
            L::Head,
            L::Load(*x),
            L::SkipUnless(*v, 2),
            L::Load(*y),
            L::Again(*w, 4),
        ]),
        LStmt::Exchange(x, from, to) => {
            out.extend([L::Head, L::Cas(*x, *from, *to), L::Again(1, 2)]);
        }
        LStmt::Retry(x, more) => {
            out.extend([L::Head, L::Load(*x), L::CasReg(*x, *more), L::Again(1, 3)]);
        }
        LStmt::Locked(x, look, body) => {
            match look {
                true => out.extend([
                    L::Head,
                    L::Load(*x),
                    L::Again(0, 2),
                    L::Cas(*x, 0, 1),
                    L::Again(1, 4),
                ]),
                false => out.extend([L::Head, L::Cas(*x, 0, 1), L::Again(1, 2)]),
            }
            body.iter().for_each(|it| emit(it, out));
            out.push(L::Store(*x, 0));
        }
        LStmt::TestAndSet(x, look, body) => {
            match look {
                true => out.extend([
                    L::Head,
                    L::Load(*x),
                    L::Again(0, 2),
                    L::Swap(*x, 1),
                    L::Again(0, 4),
                ]),
                false => out.extend([L::Head, L::Swap(*x, 1), L::Again(0, 2)]),
            }
            body.iter().for_each(|it| emit(it, out));
            out.push(L::Store(*x, 0));
        }
        LStmt::Any(reads) => {
            // Each but the last reads and, unless its value is the one that makes the thread go on, skips the rest.
            out.push(L::Head);
            let length = 2 * reads.len();
            for (index, (read, value)) in reads.iter().enumerate() {
                out.push(*read);
                out.push(match index + 1 == reads.len() {
                    true => L::AgainIf(*value, length),
                    false => L::SkipUnless(*value, length - 2 * index - 2),
                });
            }
        }
        LStmt::SwapUntil(x, new, old) => {
            out.extend([L::Head, L::Swap(*x, *new), L::Again(*old, 2)]);
        }
    }
}

fn statement(exchanges: bool) -> BoxedStrategy<LStmt> {
    let x = || 0..ATOMICS;
    let one = prop_oneof![
        3 => x().prop_map(L::Load),
        4 => (x(), 0..3u64).prop_map(|(x, v)| L::Store(x, v)),
        1 => x().prop_map(|x| L::StoreReg(x, 1)),
        2 => x().prop_map(|x| L::Add(x, 1)),
        2 => (x(), 0..2u64, 2..4u64).prop_map(|(x, a, b)| L::Cas(x, a, b)),
    ];
    let leaf = prop_oneof![
        6 => one.prop_map(LStmt::One),
        3 => (x(), 0..3u64).prop_map(|(x, v)| LStmt::Until(x, v)),
        2 => (x(), 0..2u64).prop_map(|(x, v)| LStmt::While(x, v)),
        2 => (x(), 0..2u64, x(), 0..2u64).prop_map(|(x, v, y, w)| LStmt::Both(x, v, y, w)),
        1 => (x(), 0..2u64, x(), 0..2u64).prop_map(|(x, v, y, w)| LStmt::Either(x, v, y, w)),
        2 => (x(), 0..2u64, 2..4u64).prop_map(|(x, a, b)| LStmt::Exchange(x, a, b)),
        2 => x().prop_map(|x| LStmt::Retry(x, 1)),
    ];
    let leaf = match exchanges {
        false => leaf.boxed(),
        true => prop_oneof![
            6 => leaf,
            1 => (x(), 0..3u64).prop_map(|(x, v)| LStmt::One(L::Swap(x, v))),
            1 => (x(), 0..2u64, 0..2u64).prop_map(|(x, a, b)| LStmt::SwapUntil(x, a, b)),
        ]
        .boxed(),
    };
    leaf.prop_recursive(2, 6, 2, move |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..3);
        let locked = (0..ATOMICS, any::<bool>(), body());
        let locked = locked.prop_map(move |(x, l, body)| match exchanges {
            true => LStmt::TestAndSet(x, l, body),
            false => LStmt::Locked(x, l, body),
        });
        prop_oneof![
            1 => (0..2u64, body()).prop_map(|(v, body)| LStmt::When(v, body)),
            2 => locked,
        ]
    })
    .boxed()
}

/// A read of a round and the value with which its thread goes on to the next read: often that of the beginning.
fn look() -> BoxedStrategy<(L, u64)> {
    let x = || 0..ATOMICS;
    prop_oneof![
        4 => x().prop_map(|x| (L::Load(x), 0)),
        1 => (x(), 1..3u64).prop_map(|(x, v)| (L::Load(x), v)),
        1 => (x(), 0..2u64, 2..4u64).prop_map(|(x, a, b)| (L::Cas(x, a, b), 0)),
        1 => (x(), 1..2u64).prop_map(|(x, a)| (L::Cas(x, a, 0), 0)),
    ]
    .boxed()
}

/// A statement of programs whose rounds read several atomics, some of them early and some late.
fn wide_statement() -> BoxedStrategy<LStmt> {
    let x = || 0..ATOMICS;
    let wait = || prop::collection::vec(look(), 1..4).prop_map(LStmt::Any);
    let one = prop_oneof![
        4 => (x(), 0..3u64).prop_map(|(x, v)| LStmt::One(L::Store(x, v))),
        2 => x().prop_map(|x| LStmt::One(L::Add(x, 1))),
        1 => (x(), 0..2u64, 1..3u64).prop_map(|(x, a, b)| LStmt::One(L::Cas(x, a, b))),
        1 => x().prop_map(|x| LStmt::One(L::Load(x))),
        1 => x().prop_map(|x| LStmt::Retry(x, 1)),
        4 => wait(),
    ];
    one.prop_recursive(1, 3, 2, move |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..2);
        prop_oneof![
            1 => (0..2u64, body()).prop_map(|(v, body)| LStmt::When(v, body)),
            3 => (x(), any::<bool>(), body()).prop_map(|(x, l, body)| LStmt::Locked(x, l, body)),
        ]
    })
    .boxed()
}

/// Programs whose rounds read several atomics. An old value may be read first and a new one later in the same round.
pub fn looping_over_several() -> impl Strategy<Value = Looping> {
    let body = prop::collection::vec(wide_statement(), 2..6);
    prop_oneof![
        3 => prop::collection::vec(body.clone(), 2..3),
        1 => prop::collection::vec(prop::collection::vec(wide_statement(), 1..4), 3..4),
    ]
    .prop_map(compiled)
}

/// Random programs, which shrink statement by statement.
pub fn looping() -> impl Strategy<Value = Looping> {
    programs(false)
}

/// The same with unconditional exchanges, which write also where they do not let their thread go.
pub fn looping_by_exchange() -> impl Strategy<Value = Looping> {
    programs(true)
}

fn programs(exchanges: bool) -> impl Strategy<Value = Looping> {
    let body = prop::collection::vec(statement(exchanges), 1..4);
    let bodies = prop::collection::vec(body, 2..4);
    bodies.prop_map(compiled)
}

fn compiled(bodies: Vec<Vec<LStmt>>) -> Looping {
    let body = |statements: Vec<LStmt>| {
        let mut out = Vec::new();
        statements.iter().for_each(|it| emit(it, &mut out));
        out
    };
    Looping(bodies.into_iter().map(body).collect())
}
