//! Random programs explored by coordinators and workers over a broker that delays, doubles and reorders, with processes that die at any
//! moment, between any two actions: the executions are those of one search.
//!
//! `REWEAVE_CASES` sets the number of programs an algorithm, `REWEAVE_SEED` the seed.

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reweave_cluster::{
    Action, Alive, Coordinator, Ending, Event, Home, Input, Limits, Outcome, Pace, PieceId, Record,
    Report, SearchId, Sentence, Status, Step, Token, Worker,
};
use reweave_explore::{AlgorithmName, Flow, Interrupt, Options, Search, Totals};
use reweave_testing::{
    program::{Machine, Program},
    random::{Mix, program},
};
use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
};

fn options(algorithm: AlgorithmName) -> Options {
    Options {
        algorithm,
        ..Options::default()
    }
}

/// Explores so many executions. Analyses are interrupted now and then: what is left of them is found in another run of the same execution,
/// maybe by another worker.
fn advance(search: &mut Search, program: &Program, most: u64) {
    let (runs, asked) = (AtomicU64::new(0), AtomicU64::new(0));
    search.interrupt(Interrupt::new(move || asked.fetch_add(1, SeqCst) % 3 == 1));
    let before = || match runs.fetch_add(1, SeqCst) < most {
        true => Flow::Continue,
        false => Flow::Stop,
    };
    let done = search.run(1, |_| Machine::new(program), before, |_, _| Flow::Continue);
    done.expect("programs are deterministic");
}

/// A search of a program as coordinators see it.
struct Whole {
    search: Search,
    out: usize,
    limits: Limits,
}

impl Whole {
    fn of(home: &[u8], limits: Limits) -> Whole {
        let (fragment, out) = serde_json::from_slice(home).unwrap();
        Whole {
            search: Search::resume(fragment).unwrap(),
            out,
            limits,
        }
    }
}

impl Home for Whole {
    fn deal(&mut self, most: usize) -> Vec<Vec<u8>> {
        let pieces = self.search.deal(most).into_iter();
        let pieces: Vec<_> = pieces.map(|it| serde_json::to_vec(&it).unwrap()).collect();
        self.out += pieces.len();
        pieces
    }

    fn absorb(&mut self, piece: &[u8]) -> Result<(), Sentence> {
        self.out -= 1;
        let piece = serde_json::from_slice(piece).map_err(Sentence::of)?;
        self.search.absorb(piece).map_err(Sentence::of)
    }

    fn restart(&mut self, _: &[u8]) -> Result<(), Sentence> {
        unreachable!("no worker asks for it")
    }

    fn store(&mut self) -> Vec<u8> {
        serde_json::to_vec(&(self.search.store(), self.out)).unwrap()
    }

    fn runs(&self) -> u64 {
        self.search.totals().runs()
    }

    fn is_over(&self) -> bool {
        let limited = self.limits.runs.is_some_and(|limit| self.runs() >= limit);
        (self.search.exhausted() && self.out == 0) || limited
    }
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

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// What the broker holds.
#[derive(Default)]
struct Broker {
    record: (u64, Vec<u8>),
    pieces: BTreeMap<PieceId, Vec<u8>>,
    reports: BTreeMap<PieceId, Vec<u8>>,
    queue: Vec<Token>,
}

/// A coordinator, and the revision of the record that it knows.
struct Leader {
    machine: Coordinator<Whole>,
    revision: u64,
}

/// A worker with the token that it has not acknowledged, and messages under way to it.
#[derive(Default)]
struct Slot {
    machine: Worker,
    token: Option<Token>,
    next: Option<Event>,
}

struct World<'a> {
    program: &'a Program,
    broker: Broker,
    leaders: Vec<Leader>,
    slots: Vec<Slot>,
    dice: Dice,
    now_ms: u64,
    writers: u64,
    limits: Limits,
    /// Processes that died, takeovers of records, messages that came again.
    faults: usize,
}

const PACE: Pace = Pace {
    slice_ms: 5,
    variable: true,
    pieces: 2,
    recall_ms: Some(20),
};

fn id() -> SearchId {
    SearchId::new(7)
}

fn reported(piece: PieceId, runs: u64, payload: Vec<u8>) -> Report {
    Report {
        piece,
        outcome: Outcome::Explored,
        runs,
        busy_ms: 0,
        moving_ms: 0,
        worker: String::new(),
        payload,
    }
}

impl World<'_> {
    fn new(program: &Program, algorithm: AlgorithmName, seed: u64, limits: Limits) -> World<'_> {
        let mut search = Search::new(options(algorithm));
        advance(&mut search, program, 2);
        let home = Whole {
            search,
            out: 0,
            limits,
        };
        let mut machine = Coordinator::new(home, id(), PACE, limits, 0);
        let record = machine.record(Status::Running).encode();
        World {
            program,
            broker: Broker {
                record: (1, record),
                ..Broker::default()
            },
            leaders: vec![Leader {
                machine,
                revision: 1,
            }],
            slots: (0..3).map(|_| Slot::default()).collect(),
            dice: Dice(seed),
            now_ms: 0,
            writers: 0,
            limits,
            faults: 0,
        }
    }

    /// Another process reads the record and goes on.
    fn take_over(&mut self) {
        self.faults += 1;
        self.writers += 1;
        let (revision, bytes) = self.broker.record.clone();
        let record = Record::decode(&bytes).unwrap();
        let home = Whole::of(&record.home, self.limits);
        let machine = Coordinator::new(home, id(), PACE, self.limits, self.writers);
        let mut machine = machine.take_over(&record, self.now_ms);
        let revision = revision + 1;
        self.broker.record = (revision, machine.record(Status::Running).encode());
        self.leaders.push(Leader { machine, revision });
    }

    /// Reports as a coordinator may see them: in any order, some later, some twice.
    fn inputs(&mut self) -> Vec<Input> {
        let alive = Alive {
            worker: "w".into(),
            slots: 3,
            busy: Vec::new(),
            refused: Vec::new(),
            leaves: false,
        };
        let mut inputs = vec![Input::Alive(alive)];
        let mut reports: Vec<Vec<u8>> = self.broker.reports.values().cloned().collect();
        while !reports.is_empty() && !self.dice.one_in(4) {
            let one = self.dice.below(reports.len());
            let again = self.dice.one_in(8);
            self.faults += usize::from(again);
            let bytes = match again {
                true => reports[one].clone(),
                false => reports.swap_remove(one),
            };
            inputs.push(Input::Report(Report::decode(&bytes).unwrap()));
        }
        inputs
    }

    /// A coordinator reports pieces that are out as they were dealt, where no worker was faster.
    fn withdraw(&mut self, index: usize) {
        for piece in self.leaders[index].machine.pieces_out() {
            let Some(payload) = self.broker.pieces.get(&piece) else {
                continue;
            };
            let payload = payload.clone();
            self.faults += 1;
            let place = self.broker.reports.entry(piece);
            place.or_insert_with(|| reported(piece, 0, payload).encode());
        }
    }

    /// Lets a coordinator do its step, or the beginning of it; the totals, if it is over.
    fn lead(&mut self, index: usize) -> Option<Totals> {
        let inputs = self.inputs();
        let mut leader = self.leaders.swap_remove(index);
        let step = leader.machine.step(self.now_ms, inputs);
        let Step {
            put,
            record,
            queue,
            discard,
            ending,
            ..
        } = step;
        let dies = |world: &mut Self| {
            let dies = world.dice.one_in(25);
            world.faults += usize::from(dies);
            dies
        };
        for (id, piece) in put {
            if dies(self) {
                return None;
            }
            self.broker.pieces.insert(id, piece);
        }
        if let Some(record) = record {
            if dies(self) || self.broker.record.0 != leader.revision {
                return None;
            }
            leader.revision += 1;
            self.broker.record = (leader.revision, record.encode());
        }
        for token in queue {
            if dies(self) {
                return None;
            }
            self.broker.queue.push(token);
        }
        for id in discard {
            if dies(self) {
                return None;
            }
            self.broker.pieces.remove(&id);
            self.broker.reports.remove(&id);
        }
        let totals = *leader.machine.home.search.totals();
        if let Some(ending) = ending {
            assert_eq!(ending, Ending::Over);
            // One that was replaced meanwhile knows only what it took in itself.
            return (self.broker.record.0 == leader.revision).then_some(totals);
        }
        self.leaders.push(leader);
        None
    }

    /// Lets a slot do something: get a token, or the next action for what happened.
    fn work(&mut self, index: usize) {
        let mut slot = std::mem::take(&mut self.slots[index]);
        if self.dice.one_in(20) {
            // It dies; the broker gives its token to another, at once or while it still explores.
            self.faults += 1;
            self.broker.queue.extend(slot.token.take());
            return;
        }
        let event = match slot.next.take() {
            Some(event) => event,
            None if slot.machine.is_idle() && !self.broker.queue.is_empty() => {
                let one = self.dice.below(self.broker.queue.len());
                let token = match self.dice.one_in(10) {
                    // Delivered twice.
                    true => self.broker.queue[one].clone(),
                    false => self.broker.queue.swap_remove(one),
                };
                slot.token = Some(token.clone());
                Event::Token(token)
            }
            None => {
                self.slots[index] = slot;
                return;
            }
        };
        slot.next = match slot.machine.step(event) {
            Some(Action::Fetch(token)) => {
                let reported = self.broker.reports.contains_key(&token.piece);
                let piece = self.broker.pieces.get(&token.piece);
                Some(Event::Piece(piece.filter(|_| !reported).cloned()))
            }
            Some(Action::Explore(token, piece)) => Some(self.explore(&token, &piece)),
            Some(Action::Store(_, report)) => {
                let place = self.broker.reports.entry(report.piece);
                place.or_insert_with(|| report.encode());
                Some(Event::Stored)
            }
            Some(Action::Acknowledge) => {
                slot.token = None;
                None
            }
            Some(Action::Interrupt | Action::Return) | None => None,
        };
        self.slots[index] = slot;
    }

    fn explore(&mut self, token: &Token, piece: &[u8]) -> Event {
        let mut search = Search::resume(serde_json::from_slice(piece).unwrap()).unwrap();
        let most = self.dice.below(6) as u64;
        let most = token.most_runs.map_or(most, |limit| most.min(limit));
        advance(&mut search, self.program, most);
        let payload = serde_json::to_vec(&search.store()).unwrap();
        Event::Explored(reported(token.piece, search.totals().runs(), payload))
    }

    fn run(&mut self) -> Totals {
        for _ in 0..1_000_000 {
            self.now_ms += 1;
            if self.leaders.is_empty() || self.leaders.len() < 2 && self.dice.one_in(60) {
                self.take_over();
            }
            if self.dice.one_in(3) {
                let leader = self.dice.below(self.leaders.len());
                if self.dice.one_in(30) {
                    self.withdraw(leader);
                }
                if let Some(totals) = self.lead(leader) {
                    return totals;
                }
            } else {
                let slot = self.dice.below(self.slots.len());
                self.work(slot);
            }
        }
        panic!("the search does not end");
    }
}

fn compare(program: &Program, algorithm: AlgorithmName, seed: u64) -> Result<usize, TestCaseError> {
    let mut alone = Search::new(options(algorithm));
    advance(&mut alone, program, 600);
    if !alone.exhausted() || alone.unfit().is_some() {
        return Ok(0);
    }
    let runs = alone.totals().runs();
    let limit = 3 + Dice(seed ^ runs).below(runs as usize) as u64;
    let limits = Limits {
        runs: Some(limit),
        ..Limits::default()
    };
    let mut world = World::new(program, algorithm, seed, limits);
    let limited = world.run().runs();
    // Which node is claimed first decides how many there are for `dpor`.
    let least = match algorithm {
        AlgorithmName::Dpor => limited.min(limit),
        _ => runs.min(limit),
    };
    if limited != least {
        return Err(TestCaseError::fail(format!(
            "{algorithm:?}, {} faults: {limited} runs under a limit of {limit}, {runs} without",
            world.faults
        )));
    }
    let mut world = World::new(program, algorithm, seed, Limits::default());
    let totals = world.run();
    // Which node is claimed first decides how often `dpor` meets a class.
    let exact = algorithm != AlgorithmName::Dpor;
    if exact && totals != *alone.totals() {
        let expected = alone.totals();
        return Err(TestCaseError::fail(format!(
            "{algorithm:?}, {} faults: {expected:?} became {totals:?}",
            world.faults
        )));
    }
    Ok(world.faults)
}

fn check(algorithm: AlgorithmName, mix: Mix) {
    let number = |name: &str, default: u64| -> u64 {
        let text = std::env::var(name);
        text.map_or(default, |text| text.parse().expect("a number"))
    };
    let cases = number("REWEAVE_CASES", 60) as u32;
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
    let faults = Cell::new(0);
    let result = runner.run(&program(mix), |program| {
        for order in 0..2 {
            faults.set(faults.get() + compare(&program, algorithm, seed + order)?);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{algorithm:?}, REWEAVE_SEED={seed}: {error}");
    }
    assert!(faults.get() > 4 * cases as usize, "{faults:?} faults");
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
fn dfs() {
    check(AlgorithmName::Dfs, mix());
}

#[test]
fn optimal() {
    check(AlgorithmName::Optimal, Mix::ALL);
}

#[test]
fn dpor() {
    check(AlgorithmName::Dpor, Mix::ALL);
}

#[test]
fn rf() {
    let prompt = Mix {
        prompt: true,
        ..mix()
    };
    check(AlgorithmName::Rf, prompt);
}
