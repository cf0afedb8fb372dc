//! Random programs of tasks, wakers, channels, select, join and cancellation, against an interpreter that tries every step of every task.
//!
//! The interpreter knows nothing of the runtime: a task that returns `Pending` is polled again after its token was put, tokens are put by
//! those who take a waker out of a slot, and an abort is seen when a poll begins.

mod common;

use common::{Seen, all_of, target};
use reweave::{
    future::{self, Either, JoinHandle, block_on, cancel_anywhere, join, select, yield_now},
    sync::{Arc, Mutex},
    target::{
        Visible, Wanted,
        model::{End, Kind},
    },
};
use reweave_explore::AlgorithmName as Algorithm;
use std::{
    collections::{BTreeSet, HashSet},
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc as StdArc, Mutex as StdMutex},
    task::{Poll, Waker},
};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) % n
    }
}

/// One step of a task. Channels are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Send(usize, u32),
    Recv(usize),
    /// Polls the receive once.
    Look(usize),
    /// The first of both channels.
    Select,
    /// Both channels at the same time.
    Both,
    /// Receives, or is dropped at the await.
    MayCancel(usize),
    GiveWay,
    /// Of the main task: the other one ends.
    Await,
    /// Of the main task: aborts the other one.
    Abort,
}

#[derive(Clone, Debug)]
struct Program {
    /// The main task's last.
    tasks: Vec<Vec<Step>>,
}

impl Program {
    fn random(seed: u64) -> Program {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        let mut value = 0;
        let mut steps = |main: bool| {
            let count = 2 + random.below(3);
            let step = |_| {
                let channel = random.below(2) as usize;
                match random.below(if main { 18 } else { 16 }) {
                    0..=7 => {
                        value += 1;
                        Step::Send(channel, value)
                    }
                    8..=10 => Step::Recv(channel),
                    11 => Step::Look(channel),
                    12 => Step::Select,
                    13 => Step::Both,
                    14 => Step::MayCancel(channel),
                    15 => Step::GiveWay,
                    16 => Step::Await,
                    _ => Step::Abort,
                }
            };
            (0..count).map(step).collect::<Vec<_>>()
        };
        Program {
            tasks: vec![steps(false), steps(true)],
        }
    }
}

/// What a step found; 0: nothing.
type Found = Vec<u32>;

// ---- The program on the runtime.

#[derive(Default)]
struct Channel(Mutex<(Vec<u32>, Option<Waker>)>);

impl Channel {
    fn send(&self, value: u32) {
        let mut state = self.0.lock().unwrap();
        state.0.push(value);
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<u32> {
        let mut state = self.0.lock().unwrap();
        if state.0.is_empty() {
            state.1 = Some(waker.clone());
            return Poll::Pending;
        }
        Poll::Ready(state.0.remove(0))
    }

    fn receive(&self) -> Pin<Box<dyn Future<Output = u32> + Send + '_>> {
        Box::pin(poll_fn(|context| self.poll(context.waker())))
    }
}

async fn run(
    steps: Vec<Step>,
    channels: Arc<[Channel; 2]>,
    mut other: Option<JoinHandle<Found>>,
) -> Found {
    let mut found = Found::new();
    for step in steps {
        match step {
            Step::Send(channel, value) => channels[channel].send(value),
            Step::Recv(channel) => found.push(channels[channel].receive().await),
            Step::Look(channel) => {
                let looked =
                    poll_fn(|context| Poll::Ready(channels[channel].poll(context.waker())));
                found.push(match looked.await {
                    Poll::Ready(value) => value,
                    Poll::Pending => 0,
                });
            }
            Step::Select => {
                let first = select(channels[0].receive(), channels[1].receive());
                found.push(match first.await {
                    Either::Left((value, _)) | Either::Right((value, _)) => value,
                });
            }
            Step::Both => {
                let (a, b) = join(channels[0].receive(), channels[1].receive()).await;
                found.extend([a, b]);
            }
            Step::MayCancel(channel) => {
                found.push(
                    cancel_anywhere(channels[channel].receive())
                        .await
                        .unwrap_or(0),
                );
            }
            Step::GiveWay => yield_now().await,
            Step::Await => {
                if let Some(task) = other.take() {
                    match task.await {
                        Ok(theirs) => found.extend(theirs.iter().map(|value| 100 + value)),
                        Err(_) => found.push(999),
                    }
                }
            }
            Step::Abort => {
                if let Some(task) = &other {
                    task.abort();
                }
            }
        }
    }
    found
}

type Outcomes = BTreeSet<Found>;

/// Outcomes of the main task, whether there is a deadlock, executions.
fn explore(
    algorithm: Algorithm,
    program: &Program,
    exact: bool,
    most: usize,
) -> Option<(Outcomes, bool, usize)> {
    let seen = StdArc::new(StdMutex::new(Outcomes::new()));
    let (all, body) = (seen.clone(), program.clone());
    let mut target = target(move || {
        let channels = Arc::new(<[Channel; 2]>::default());
        let task = future::spawn(run(body.tasks[0].clone(), channels.clone(), None));
        let found = block_on(run(body.tasks[1].clone(), channels, Some(task)));
        all.lock().unwrap().insert(found);
    });
    let visible = Visible {
        every_count: exact,
        ..Visible::default()
    };
    target.share(StdArc::new(Wanted::new(visible)));
    let restart = || seen.lock().unwrap().clear();
    let found: Seen = all_of(&mut target, algorithm, restart, most)?;
    let outcomes = seen.lock().unwrap().clone();
    assert!(found.kinds().iter().all(|kind| *kind == Kind::Deadlock));
    let stuck = found.ends.contains(&End::Deadlock);
    Some((outcomes, stuck, found.executions))
}

// ---- The interpreter.

/// Where a task is within its step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum At {
    /// A poll of the step begins or goes on.
    Begins,
    /// It is about to use the waker of a task, and then goes on with the next step.
    Wakes(usize),
    /// The branches of a select that are still to be polled in this poll.
    Selects(Vec<usize>),
    /// The next branch of a join to be polled in this poll.
    Joins(usize),
    /// Its future returned `Pending`; it waits for its token, to go on here.
    Waits,
    Ended,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Task {
    step: usize,
    at: At,
    token: bool,
    found: Found,
    /// What a join has so far.
    halves: [Option<u32>; 2],
    /// The step has been polled before.
    gave_way: bool,
    cancelled: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    tasks: Vec<Task>,
    queues: [Vec<u32>; 2],
    wakers: [Option<usize>; 2],
    /// The main task waits for the end of the other one.
    waits_for_end: bool,
    aborted: bool,
    /// The handle was used up.
    joined: bool,
}

struct Interpreter<'a> {
    program: &'a Program,
    seen: HashSet<State>,
    outcomes: Outcomes,
    stuck: bool,
}

impl Interpreter<'_> {
    fn run(program: &Program) -> (Outcomes, bool) {
        let task = Task {
            step: 0,
            at: At::Begins,
            token: false,
            found: Found::new(),
            halves: [None; 2],
            gave_way: false,
            cancelled: false,
        };
        // An abort may come before the first poll.
        let other = Task {
            at: At::Waits,
            token: true,
            ..task.clone()
        };
        let mut interpreter = Interpreter {
            program,
            seen: HashSet::new(),
            outcomes: Outcomes::new(),
            stuck: false,
        };
        interpreter.visit(State {
            tasks: vec![other, task],
            queues: [Vec::new(), Vec::new()],
            wakers: [None; 2],
            waits_for_end: false,
            aborted: false,
            joined: false,
        });
        (interpreter.outcomes, interpreter.stuck)
    }

    fn visit(&mut self, state: State) {
        if !self.seen.insert(state.clone()) {
            return;
        }
        let mut moves = false;
        for task in 0..2 {
            for next in self.step(&state, task) {
                moves = true;
                self.visit(next);
            }
        }
        let ended = |task: usize| state.tasks[task].at == At::Ended;
        if ended(1) {
            self.outcomes.insert(state.tasks[1].found.clone());
        }
        if !(moves || ended(0) && ended(1)) {
            self.stuck = true;
        }
    }

    /// All that a task can do next.
    fn step(&self, state: &State, me: usize) -> Vec<State> {
        let task = &state.tasks[me];
        let mut next = state.clone();
        match &task.at {
            At::Ended => return Vec::new(),
            At::Waits => {
                if !task.token {
                    return Vec::new();
                }
                next.tasks[me].token = false;
                next.tasks[me].at = At::Begins;
                if me == 0 && state.aborted {
                    next.tasks[me].cancelled = true;
                    end(&mut next, me);
                }
                return vec![next];
            }
            At::Wakes(other) => {
                next.tasks[*other].token = true;
                next.tasks[me].at = At::Begins;
                return vec![next];
            }
            _ => {}
        }
        let Some(step) = self.program.tasks[me].get(task.step).copied() else {
            end(&mut next, me);
            return vec![next];
        };
        self.poll(state, next, me, step)
    }

    fn poll(&self, state: &State, mut next: State, me: usize, step: Step) -> Vec<State> {
        match step {
            Step::Send(channel, value) => {
                next.queues[channel].push(value);
                done(&mut next, me, &[]);
                if let Some(other) = next.wakers[channel].take() {
                    next.tasks[me].at = At::Wakes(other);
                }
            }
            Step::Recv(channel) => match take(&mut next, channel, me) {
                Some(value) => done(&mut next, me, &[value]),
                None => next.tasks[me].at = At::Waits,
            },
            Step::Look(channel) => {
                let value = take(&mut next, channel, me).unwrap_or(0);
                done(&mut next, me, &[value]);
            }
            Step::MayCancel(channel) => match take(&mut next, channel, me) {
                Some(value) => done(&mut next, me, &[value]),
                None => {
                    let mut waits = next.clone();
                    waits.tasks[me].at = At::Waits;
                    done(&mut next, me, &[0]);
                    return vec![waits, next];
                }
            },
            Step::Select => return select_one(state, me),
            Step::Both => join_both(&mut next, me),
            Step::GiveWay => match state.tasks[me].gave_way {
                true => done(&mut next, me, &[]),
                false => {
                    next.tasks[me].gave_way = true;
                    next.tasks[me].token = true;
                    next.tasks[me].at = At::Waits;
                }
            },
            Step::Await => wait_for_end(state, &mut next, me),
            Step::Abort => {
                if !state.joined {
                    next.aborted = true;
                    next.tasks[0].token = true;
                }
                done(&mut next, me, &[]);
            }
        }
        vec![next]
    }
}

/// Polls the next branch of a select, in either order.
fn select_one(state: &State, me: usize) -> Vec<State> {
    let orders = match &state.tasks[me].at {
        At::Selects(left) => vec![left.clone()],
        _ => vec![vec![0, 1], vec![1, 0]],
    };
    let branch = |order: Vec<usize>| {
        let mut next = state.clone();
        match take(&mut next, order[0], me) {
            Some(value) => done(&mut next, me, &[value]),
            None if order.len() == 1 => next.tasks[me].at = At::Waits,
            None => next.tasks[me].at = At::Selects(order[1..].to_vec()),
        }
        next
    };
    orders.into_iter().map(branch).collect()
}

/// Polls the next branch of a join.
fn join_both(next: &mut State, me: usize) {
    let half = match next.tasks[me].at {
        At::Joins(half) => half,
        _ => 0,
    };
    if next.tasks[me].halves[half].is_none() {
        next.tasks[me].halves[half] = take(next, half, me);
    }
    match (half, next.tasks[me].halves) {
        (0, _) => next.tasks[me].at = At::Joins(1),
        (_, [Some(a), Some(b)]) => done(next, me, &[a, b]),
        _ => next.tasks[me].at = At::Waits,
    }
}

/// Polls the handle of the other task.
fn wait_for_end(state: &State, next: &mut State, me: usize) {
    let other = &state.tasks[0];
    if state.joined {
        done(next, me, &[]);
    } else if other.at != At::Ended {
        next.waits_for_end = true;
        next.tasks[me].at = At::Waits;
    } else {
        next.joined = true;
        match other.cancelled {
            true => done(next, me, &[999]),
            false => {
                let theirs: Vec<u32> = other.found.iter().map(|value| 100 + value).collect();
                done(next, me, &theirs);
            }
        }
    }
}

/// Polls the receive of a channel.
fn take(state: &mut State, channel: usize, me: usize) -> Option<u32> {
    if state.queues[channel].is_empty() {
        state.wakers[channel] = Some(me);
        return None;
    }
    Some(state.queues[channel].remove(0))
}

/// The step has come to its end.
fn done(state: &mut State, me: usize, found: &[u32]) {
    let task = &mut state.tasks[me];
    task.found.extend(found);
    task.step += 1;
    task.at = At::Begins;
    task.halves = [None; 2];
    task.gave_way = false;
}

fn end(state: &mut State, me: usize) {
    state.tasks[me].at = At::Ended;
    if me == 0 && std::mem::take(&mut state.waits_for_end) {
        state.tasks[1].token = true;
    }
}

#[test]
fn outcomes_are_those_of_the_interpreter() {
    let (mut compared, mut stuck, mut brute, mut varied, mut cheaper) = (0, 0, 0, 0, 0);
    let seed: u64 = std::env::var("REWEAVE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let cases: u64 =
        std::env::var("REWEAVE_CASES").map_or(300, |cases| cases.parse().expect("a number"));
    for seed in seed..seed + cases {
        let program = Program::random(seed);
        let expected = Interpreter::run(&program);
        let Some((found, deadlock, executions)) =
            explore(Algorithm::Optimal, &program, false, 3_000)
        else {
            continue;
        };
        assert_eq!(
            (&found, deadlock),
            (&expected.0, expected.1),
            "seed {seed}: {program:?}"
        );
        if let Some((found, deadlock, _)) = explore(Algorithm::Rf, &program, false, 3_000) {
            assert_eq!(
                (&found, deadlock),
                (&expected.0, expected.1),
                "rf, seed {seed}: {program:?}"
            );
        }
        if let Some((found, deadlock, all)) = explore(Algorithm::Optimal, &program, true, 3_000) {
            assert_eq!(
                (&found, deadlock),
                (&expected.0, expected.1),
                "exact, seed {seed}: {program:?}"
            );
            cheaper += usize::from(executions < all);
        }
        if let Some((found, deadlock, _)) = explore(Algorithm::Dfs, &program, false, 2_000) {
            assert_eq!(
                (&found, deadlock),
                (&expected.0, expected.1),
                "dfs, seed {seed}: {program:?}"
            );
            brute += 1;
        }
        compared += 1;
        stuck += usize::from(deadlock);
        varied += usize::from(found.len() > 1);
    }
    println!(
        "{compared} compared, {brute} by brute force, {stuck} stuck, {varied} with several outcomes, {cheaper} cheaper"
    );
    let part = |n: u64| n as usize;
    assert!(compared > part(cases / 2) && brute > part(cases / 10));
    assert!(stuck > part(cases / 10) && varied > part(cases / 8) && cheaper > part(cases / 10));
}
