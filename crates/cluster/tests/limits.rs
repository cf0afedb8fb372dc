//! A limit on runs is kept to the last one, whatever happens to a piece: it is explored twice, given up, or reported to a coordinator that
//! was replaced. The interleavings are forced here; `exactly_once` draws them at random.

use reweave_cluster::{
    Alive, Coordinator, Ending, Home, Input, Limits, Outcome, Pace, PieceId, Record, Report,
    SearchId, Sentence, Status, Step, Token,
};
use std::collections::BTreeMap;

/// A search that is nothing but a number of runs.
struct Runs {
    left: u64,
    out: u64,
    done: u64,
    limit: u64,
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

impl Home for Runs {
    fn deal(&mut self, most: usize) -> Vec<Vec<u8>> {
        let each = self.left / most as u64;
        let pieces: Vec<u64> = (0..most as u64)
            .map(|_| each)
            .filter(|it| *it > 0)
            .collect();
        self.left -= pieces.iter().sum::<u64>();
        self.out += pieces.len() as u64;
        pieces.iter().map(|it| it.to_le_bytes().to_vec()).collect()
    }

    fn absorb(&mut self, piece: &[u8]) -> Result<(), Sentence> {
        self.done += number(piece);
        self.left += number(&piece[8..]);
        self.out -= 1;
        Ok(())
    }

    fn restart(&mut self, _: &[u8]) -> Result<(), Sentence> {
        unreachable!("no worker asks for it")
    }

    fn store(&mut self) -> Vec<u8> {
        let numbers = [self.left, self.out, self.done, self.limit];
        numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
    }

    fn runs(&self) -> u64 {
        self.done
    }

    fn is_over(&self) -> bool {
        self.done >= self.limit || self.left + self.out == 0
    }
}

const LIMIT: u64 = 103;
const LIMITS: Limits = Limits {
    runs: Some(LIMIT),
    until_ms: None,
};

fn coordinator(home: Runs, writer: u64) -> Coordinator<Runs> {
    Coordinator::new(home, SearchId::new(1), Pace::default(), LIMITS, writer)
}

fn begun() -> Coordinator<Runs> {
    let home = Runs {
        left: 1000,
        out: 0,
        done: 0,
        limit: LIMIT,
    };
    coordinator(home, 1)
}

/// Another process reads the record.
fn taken_over(record: &Record) -> Coordinator<Runs> {
    let numbers: Vec<u64> = record.home.chunks(8).map(number).collect();
    let home = Runs {
        left: numbers[0],
        out: numbers[1],
        done: numbers[2],
        limit: numbers[3],
    };
    coordinator(home, 2).take_over(record, 0)
}

/// So many workers are there.
fn alive(slots: u32) -> Input {
    Input::Alive(Alive {
        worker: "all".into(),
        slots,
        busy: Vec::new(),
        refused: Vec::new(),
        leaves: false,
    })
}

/// A coordinator with what it has dealt.
struct Desk {
    machine: Coordinator<Runs>,
    pieces: BTreeMap<PieceId, Vec<u8>>,
    queue: Vec<Token>,
}

impl Desk {
    fn of(machine: Coordinator<Runs>) -> Desk {
        Desk {
            machine,
            pieces: BTreeMap::new(),
            queue: Vec::new(),
        }
    }

    /// One step. Promised runs and those that were made never exceed the limit.
    fn step(&mut self, reports: &[Report]) -> Step {
        let reports = reports.iter().cloned().map(Input::Report);
        let inputs = [alive(2)].into_iter().chain(reports).collect();
        let step = self.machine.step(0, inputs);
        self.pieces.extend(step.put.iter().cloned());
        self.queue.extend(step.queue.iter().cloned());
        if let Some(record) = &step.record {
            let promised: u64 = record.out.iter().filter_map(|(_, most)| *most).sum();
            assert!(record.runs + promised <= LIMIT, "{record:?}");
        }
        step
    }

    /// What a worker reports that explores a piece for so many runs, as far as its token lets it.
    fn explored(&self, token: &Token, wish: u64) -> Report {
        let all = number(&self.pieces[&token.piece]);
        let most = token.most_runs.expect("there is a limit");
        let runs = wish.min(all).min(most);
        let payload = [runs, all - runs];
        Report {
            piece: token.piece,
            outcome: Outcome::Explored,
            runs,
            busy_ms: 1,
            moving_ms: 0,
            worker: String::new(),
            payload: payload.iter().flat_map(|it| it.to_le_bytes()).collect(),
        }
    }

    /// Goes on with workers that explore whatever is queued. All runs at the end.
    fn finish(mut self) -> u64 {
        for _ in 0..1000 {
            let queued = std::mem::take(&mut self.queue);
            let reports: Vec<Report> = queued.iter().map(|it| self.explored(it, 7)).collect();
            if let Some(ending) = self.step(&reports).ending {
                assert_eq!(ending, Ending::Over);
                return self.machine.home.done;
            }
        }
        panic!("the search does not end");
    }
}

#[test]
fn a_piece_that_is_explored_twice_counts_once() {
    let mut desk = Desk::of(begun());
    desk.step(&[]);
    let tokens = std::mem::take(&mut desk.queue);
    assert_eq!(tokens.len(), 4, "two for each worker");
    // The worker of the first piece pauses, and the broker gives the piece to another one.
    desk.step(&[desk.explored(&tokens[0], 20)]);
    assert_eq!(desk.machine.home.done, 20);
    // It comes back when the report of the other one is taken in and removed, so its own is stored: more, and later.
    let late = desk.step(&[desk.explored(&tokens[0], 25)]);
    assert_eq!(
        (desk.machine.home.done, desk.machine.reports()),
        (20, (1, 1))
    );
    assert_eq!(
        late.discard,
        [tokens[0].piece],
        "it does not stay in the broker"
    );
    // The other three, all at once and each of them twice.
    let rest = tokens[1..].iter().chain(&tokens[1..]);
    let rest: Vec<Report> = rest.map(|it| desk.explored(it, 9)).collect();
    desk.step(&rest);
    assert_eq!(
        (desk.machine.home.done, desk.machine.reports()),
        (47, (4, 4))
    );
    assert_eq!(desk.finish(), LIMIT);
}

#[test]
fn what_a_replaced_coordinator_took_in_counts_once() {
    let mut first = Desk::of(begun());
    let record = first.step(&[]).record.expect("pieces are out");
    let tokens = std::mem::take(&mut first.queue);
    let report = first.explored(&tokens[0], 20);
    // The first one takes the report in, but its record comes after the one by which another process takes over, and is refused.
    let mut second = Desk::of(taken_over(&record));
    second.machine.record(Status::Running);
    second.pieces = first.pieces.clone();
    let refused = first.step(std::slice::from_ref(&report));
    second.step(std::slice::from_ref(&report));
    assert_eq!(
        (first.machine.home.done, second.machine.home.done),
        (20, 20)
    );
    // The report is not removed yet when the next messages come.
    let repeated = second.step(&[report]);
    assert_eq!(
        (second.machine.home.done, second.machine.reports()),
        (20, (1, 1))
    );
    assert_eq!(repeated.discard, [tokens[0].piece]);
    // All that was out at the takeover is queued once more, and what the first one dealt after it means nothing.
    let named = |id: PieceId| second.queue.iter().any(|it| it.piece == id);
    assert!(tokens[1..].iter().all(|it| named(it.piece)));
    assert!(!refused.put.iter().any(|(id, _)| named(*id)));
    assert_eq!(second.finish(), LIMIT);
}

/// A worker that was called back before its first run reports nothing: what was promised to it is free again.
#[test]
fn a_piece_that_is_given_up_keeps_nothing_of_the_limit() {
    let mut desk = Desk::of(begun());
    desk.step(&[]);
    let tokens = std::mem::take(&mut desk.queue);
    let nothing: Vec<Report> = tokens.iter().map(|it| desk.explored(it, 0)).collect();
    desk.step(&nothing);
    assert_eq!(desk.machine.home.done, 0);
    assert_eq!(desk.finish(), LIMIT);
}

/// A coordinator that was replaced without knowing it learns it by the record of its ending, and ends nothing.
#[test]
fn every_ending_is_recorded() {
    let mut desk = Desk::of(begun());
    desk.step(&[]);
    let stopped = desk.machine.step(1, vec![Input::Stop]);
    assert_eq!(stopped.ending, Some(Ending::Stopped));
    assert_eq!(stopped.record.map(|it| it.status), Some(Status::Stopped));
    let limits = Limits {
        runs: None,
        until_ms: Some(5),
    };
    let home = begun().home;
    let mut machine = Coordinator::new(home, SearchId::new(1), Pace::default(), limits, 1);
    let late = machine.step(6, Vec::new());
    assert_eq!(late.ending, Some(Ending::Late));
    assert!(late.record.is_some());
}

/// Pieces that take half a second to read and to write are explored for five, and left alone for as long though others have nothing to do.
#[test]
fn pieces_that_are_long_to_move_move_seldom() {
    let home = Runs {
        left: 1000,
        out: 0,
        done: 0,
        limit: 1000,
    };
    let none = Limits::default();
    let mut machine = Coordinator::new(home, SearchId::new(1), Pace::default(), none, 1);
    let dealt = machine.step(0, vec![alive(2)]);
    assert_eq!(dealt.queue.len(), 4);
    let explored = |moving_ms| {
        let payload = [1u64, 249].iter().flat_map(|it| it.to_le_bytes()).collect();
        Input::Report(Report {
            piece: dealt.queue[0].piece,
            outcome: Outcome::Explored,
            runs: 1,
            busy_ms: 50,
            moving_ms,
            worker: String::new(),
            payload,
        })
    };
    let next = machine.step(100, vec![alive(2), explored(500)]);
    assert!(next.queue.iter().all(|token| token.budget_ms >= 5_000));
    machine.home.left = 0;
    // Now there are many workers, and nothing for them.
    for (now_ms, called) in [(300, false), (2_900, false), (4_900, false), (5_100, true)] {
        let step = machine.step(now_ms, vec![alive(100)]);
        assert_eq!(step.control.is_some(), called, "at {now_ms} ms");
    }
}
