//! Random programs, small enough for brute force, and shrinkable.

use crate::program::{I, Objects, PipeStep, Program};
use proptest::prelude::*;
use reweave_model::MOST_COUNTED;

/// A statement: well-formed by construction, so that shrinking keeps it so.
#[derive(Clone, Debug)]
pub enum Stmt {
    One(I),
    Locked(u32, Vec<Stmt>),
    /// Changes nothing.
    LockedClean(u32, Vec<Stmt>),
    SpinLocked(u32, Vec<Stmt>),
    SpinRead(u32, Vec<Stmt>),
    TryLocked(u32, Vec<Stmt>),
    Read(u32, Vec<Stmt>),
    Write(u32, Vec<Stmt>),
    TryRead(u32, Vec<Stmt>),
    TryWrite(u32, Vec<Stmt>),
    LateLocked(u32, Vec<Stmt>),
    LateRead(u32, Vec<Stmt>),
    LateWrite(u32, Vec<Stmt>),
    /// Waits on the condition variable under its mutex.
    Wait(u32, Patience),
    /// Notifies under the mutex, or without it.
    Notify {
        all: bool,
        locked: bool,
    },
    /// Has a sender of its own meanwhile.
    Sender(u32, Vec<Stmt>),
    /// An initialiser that succeeds or fails, forced or not.
    Once(Vec<Stmt>, bool, bool),
    /// Runs the statements only if the register has this value.
    When(u64, Vec<Stmt>),
    /// A thread inside a thread; joined at once or at the end.
    Fork(Vec<Stmt>),
}

/// How long a wait lasts.
#[derive(Clone, Copy, Debug)]
pub enum Patience {
    Endless,
    Timed,
    /// Times out only when nothing else can run.
    Late,
}

/// Which kinds of objects the programs use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix {
    pub atomics: bool,
    pub mutexes: bool,
    pub condvars: bool,
    /// Waits that depend on an atomic.
    pub futexes: bool,
    pub rwlocks: bool,
    /// Read-write locks of the other kind.
    pub readers_first: bool,
    /// Locks with a time limit that is late.
    pub late: bool,
    pub semaphores: bool,
    /// Semaphores whose count changes by any number.
    pub counters: bool,
    /// Addresses that are freed and allocated again.
    pub pools: bool,
    pub barriers: bool,
    pub onces: bool,
    pub channels: bool,
    pub pipes: bool,
    /// Pipes of messages.
    pub messages: bool,
    /// Loops that look at two pipes.
    pub pipe_polls: bool,
    pub parking: bool,
    pub choices: bool,
    pub spins: bool,
    /// Loops that look under a lock, or try to take one.
    pub polls: bool,
    /// Loops that look at two objects.
    pub watches: bool,
    /// No time limit is late.
    pub prompt: bool,
}

impl Mix {
    pub const ALL: Mix = Mix {
        atomics: true,
        mutexes: true,
        condvars: true,
        futexes: true,
        rwlocks: true,
        readers_first: true,
        late: true,
        semaphores: true,
        counters: true,
        pools: true,
        barriers: true,
        onces: true,
        channels: true,
        pipes: true,
        messages: true,
        pipe_polls: false,
        parking: true,
        choices: true,
        spins: true,
        polls: true,
        // Their rounds are long: most programs would be too big for brute force.
        watches: false,
        prompt: false,
    };
}

/// Instructions on shared atomics.
fn atomics(mix: Mix, one: &mut impl FnMut(u32, BoxedStrategy<I>)) {
    if !mix.atomics {
        return;
    }
    one(4, (0..2u32).prop_map(I::Load).boxed());
    one(
        3,
        (0..2u32, 1..3u64).prop_map(|(x, v)| I::Store(x, v)).boxed(),
    );
    one(1, (0..2u32).prop_map(|x| I::StoreReg(x, 1)).boxed());
    one(2, (0..2u32).prop_map(|x| I::Add(x, 1)).boxed());
    one(
        2,
        (0..2u32, 0..2u64, 1..3u64)
            .prop_map(|(x, a, b)| I::Cas(x, a, b))
            .boxed(),
    );
    one(
        1,
        (0..2u32, 0..2u64, 1..3u64)
            .prop_map(|(x, a, b)| I::CasWeak(x, a, b))
            .boxed(),
    );
}

/// Instructions on semaphores; `late` is the weight of those whose time limit is.
fn semaphores(mix: Mix, late: u32, one: &mut impl FnMut(u32, BoxedStrategy<I>)) {
    if !mix.semaphores {
        return;
    }
    one(3, (0..2u32).prop_map(I::Acquire).boxed());
    one(1, (0..2u32).prop_map(I::TryAcquire).boxed());
    one(1, (0..2u32).prop_map(I::AcquireTimeout).boxed());
    one(late, (0..2u32).prop_map(I::AcquireLate).boxed());
    one(2, (0..2u32).prop_map(I::Release).boxed());
    one(1, (0..2u32).prop_map(I::Count).boxed());
}

/// Instructions on semaphores whose count changes by any number.
fn counters(mix: Mix, one: &mut impl FnMut(u32, BoxedStrategy<I>)) {
    if !mix.counters {
        return;
    }
    let amount = || (2..4u32, prop::sample::select(vec![1, 2, u64::MAX]));
    let little = || (2..4u32, 1..3u64);
    one(3, amount().prop_map(|(s, n)| I::Take(s, n)).boxed());
    one(1, amount().prop_map(|(s, n)| I::TryTake(s, n)).boxed());
    one(3, little().prop_map(|(s, n)| I::Increase(s, n)).boxed());
    one(1, little().prop_map(|(s, n)| I::TryIncrease(s, n)).boxed());
    one(1, (2..4u32).prop_map(I::Count).boxed());
    if mix.spins {
        one(1, (2..4u32).prop_map(I::SpinTake).boxed());
    }
}

/// Instructions on pipes: of the first one with room for little, of the second one with room for more.
fn pipes(mix: Mix, one: &mut impl FnMut(u32, BoxedStrategy<I>)) {
    use PipeStep::{
        DropReaders, DropWriters, Get, Look, Peek, Put, PutSome, TryGet, TryPut, TryPutSome,
    };
    if mix.pipe_polls {
        let both = prop::sample::select(vec![I::PollPipes(0, 1), I::PollPipes(1, 2)]);
        one(3, both.boxed());
    }
    if mix.messages {
        let steps = vec![Put(1), Put(1), Get(1), Get(1), TryPut(1), TryGet(1)];
        let few = vec![Peek, Look, DropReaders, DropWriters];
        for (weight, steps) in [(8, steps), (2, few)] {
            let steps = prop::sample::select(steps);
            let made = (2..4u32, steps).prop_map(|(p, step)| I::Pipe(p, step));
            one(weight, made.boxed());
        }
    }
    if !mix.pipes {
        return;
    }
    let mut counted = |weight, step: fn(u64) -> PipeStep, most: u64| {
        let made = (0..2u32, 1..=most).prop_map(move |(p, n)| I::Pipe(p, step(n)));
        one(weight, made.boxed());
    };
    counted(5, Put, 2);
    counted(1, TryPut, 2);
    counted(1, PutSome, 4);
    counted(1, TryPutSome, 4);
    counted(4, Get, 3);
    counted(2, TryGet, 3);
    let others = prop::sample::select(vec![Peek, Look, DropReaders, DropWriters]);
    let made = (0..2u32, others).prop_map(|(p, step)| I::Pipe(p, step));
    one(3, made.boxed());
}

/// Instructions that free and allocate, and those on pipes.
fn pools(mix: Mix, one: &mut impl FnMut(u32, BoxedStrategy<I>)) {
    if mix.pools {
        one(2, (1..3u64).prop_map(I::Free).boxed());
        one(1, Just(I::FreeReg).boxed());
        one(2, Just(I::Allocate).boxed());
    }
    pipes(mix, one);
}

fn leaf(mix: Mix) -> BoxedStrategy<Stmt> {
    let mut kinds: Vec<(u32, BoxedStrategy<Stmt>)> = Vec::new();
    let mut one = |weight: u32, strategy: BoxedStrategy<I>| {
        if weight > 0 {
            kinds.push((weight, strategy.prop_map(Stmt::One).boxed()));
        }
    };
    let late = u32::from(!mix.prompt);
    atomics(mix, &mut one);
    if mix.spins {
        one(
            1,
            (0..2u32, 1..3u64)
                .prop_map(|(x, v)| I::SpinUntil(x, v))
                .boxed(),
        );
    }
    if mix.polls {
        one(
            2,
            (0..2u32, 1..3u64)
                .prop_map(|(m, n)| I::PollUntil(m, n))
                .boxed(),
        );
        one(1, (1..3u64).prop_map(|n| I::ReadUntil(0, n)).boxed());
    }
    if mix.polls || mix.watches {
        one(1, (0..2u32).prop_map(I::Look).boxed());
        one(1, (0..2u32).prop_map(I::Heal).boxed());
    }
    if mix.watches {
        one(
            1,
            (0..2u32, 0..2u32, 1..3u64)
                .prop_map(|(x, m, n)| I::PollEither(x, m, n))
                .boxed(),
        );
    }
    semaphores(mix, late, &mut one);
    counters(mix, &mut one);
    pools(mix, &mut one);
    if mix.futexes {
        let waits = [I::WaitIf, I::WaitIfTimeout, I::WaitIfLate];
        for (wait, weight) in waits.into_iter().zip([2, 1, 1]) {
            let made = (0..2u32, 0..2u64).prop_map(move |(x, v)| wait(1, x, v));
            one(weight, made.boxed());
        }
        one(1, Just(I::NotifyOne(1)).boxed());
        one(1, Just(I::NotifyAll(1)).boxed());
    }
    if mix.barriers {
        one(2, (0..2u32).prop_map(I::Barrier).boxed());
    }
    if mix.channels {
        one(3, (0..3u32).prop_map(I::Send).boxed());
        one(
            1,
            prop_oneof![Just(I::TrySend(1)), Just(I::TrySend(3))].boxed(),
        );
        one(1, Just(I::Send(3)).boxed());
        one(2, (0..3u32).prop_map(I::Recv).boxed());
        one(1, (0..3u32).prop_map(I::TryRecv).boxed());
        one(1, (0..3u32).prop_map(I::RecvTimeout).boxed());
        one(late, (0..3u32).prop_map(I::RecvLate).boxed());
    }
    if mix.parking {
        one(1, Just(I::Park).boxed());
        one(1, Just(I::ParkTimeout).boxed());
        one(late, Just(I::ParkLate).boxed());
        one(2, (1..4usize).prop_map(I::Unpark).boxed());
    }
    if mix.choices {
        one(1, Just(I::Any(2)).boxed());
    }
    if mix.condvars {
        let mut patience = vec![Patience::Endless, Patience::Timed];
        patience.extend((!mix.prompt).then_some(Patience::Late));
        let patience = prop::sample::select(patience);
        kinds.push((
            2,
            patience
                .prop_map(|patience| Stmt::Wait(0, patience))
                .boxed(),
        ));
        kinds.push((
            2,
            (any::<bool>(), any::<bool>())
                .prop_map(|(all, locked)| Stmt::Notify { all, locked })
                .boxed(),
        ));
    }
    if kinds.is_empty() {
        return Just(Stmt::Locked(0, vec![])).boxed();
    }
    proptest::strategy::Union::new_weighted(kinds).boxed()
}

fn block(mix: Mix, depth: u32) -> BoxedStrategy<Vec<Stmt>> {
    prop::collection::vec(stmt(mix, depth), 0..3).boxed()
}

fn stmt(mix: Mix, depth: u32) -> BoxedStrategy<Stmt> {
    let leaf = leaf(mix);
    if depth == 0 {
        return leaf;
    }
    // As many more single statements as there are more kinds of blocks: programs stay as small as they were.
    let single = 6 + if mix.polls { 6 } else { 0 } + if mix.late { 8 } else { 0 };
    let mut kinds: Vec<(u32, BoxedStrategy<Stmt>)> = vec![(single, leaf)];
    let inner = || block(mix, depth - 1);
    if mix.mutexes || mix.condvars {
        kinds.push((
            3,
            (0..2u32, inner())
                .prop_map(|(m, b)| Stmt::Locked(m, b))
                .boxed(),
        ));
        kinds.push((
            1,
            (0..2u32, inner())
                .prop_map(|(m, b)| Stmt::TryLocked(m, b))
                .boxed(),
        ));
    }
    if mix.polls {
        let locks = [
            Stmt::LockedClean as fn(u32, Vec<Stmt>) -> Stmt,
            Stmt::SpinLocked,
        ];
        for make in locks {
            let made = (0..2u32, inner()).prop_map(move |(m, b)| make(m, b));
            kinds.push((1, made.boxed()));
        }
        kinds.push((1, inner().prop_map(|b| Stmt::SpinRead(0, b)).boxed()));
    }
    if mix.rwlocks || mix.readers_first {
        let locks = u32::from(!mix.rwlocks)..1 + u32::from(mix.readers_first);
        let kind = |make: fn(u32, Vec<Stmt>) -> Stmt| {
            (locks.clone(), inner())
                .prop_map(move |(l, b)| make(l, b))
                .boxed()
        };
        kinds.push((2, kind(Stmt::Read)));
        kinds.push((2, kind(Stmt::Write)));
        kinds.push((1, kind(Stmt::TryRead)));
        kinds.push((1, kind(Stmt::TryWrite)));
        if mix.late {
            kinds.push((1, kind(Stmt::LateRead)));
            kinds.push((1, kind(Stmt::LateWrite)));
        }
    }
    if mix.late && (mix.mutexes || mix.condvars) {
        let made = (0..2u32, inner()).prop_map(|(m, b)| Stmt::LateLocked(m, b));
        kinds.push((1, made.boxed()));
    }
    if mix.channels {
        kinds.push((
            2,
            (0..3u32, inner())
                .prop_map(|(c, b)| Stmt::Sender(c, b))
                .boxed(),
        ));
    }
    if mix.onces {
        kinds.push((
            2,
            (inner(), any::<bool>(), any::<bool>())
                .prop_map(|(b, ok, force)| Stmt::Once(b, ok, force))
                .boxed(),
        ));
    }
    kinds.push((
        1,
        (0..2u64, inner())
            .prop_map(|(v, b)| Stmt::When(v, b))
            .boxed(),
    ));
    kinds.push((1, inner().prop_map(Stmt::Fork).boxed()));
    proptest::strategy::Union::new_weighted(kinds).boxed()
}

/// A program of two to four threads.
pub fn program(mix: Mix) -> BoxedStrategy<Program> {
    let threads = prop::collection::vec(prop::collection::vec(stmt(mix, 2), 1..4), 2..4);
    (threads, 0..2u64, 1..3u64, any::<bool>(), any::<bool>())
        .prop_map(move |(threads, first, second, join, coin)| Program {
            spurious: coin && (mix.condvars || mix.futexes),
            ..build(
                &threads,
                first,
                second,
                join,
                coin && mix.channels,
                join && mix.channels,
                [coin && mix.pipes, first == 1 && mix.messages],
            )
        })
        .boxed()
}

fn build(
    threads: &[Vec<Stmt>],
    first: u64,
    second: u64,
    join: bool,
    hangup: bool,
    deaf: bool,
    pipe_ends: [bool; 2],
) -> Program {
    let mut bodies = vec![Vec::new()];
    for thread in threads {
        let at = bodies.len();
        bodies.push(Vec::new());
        let mut forks = 0;
        let mut body = Vec::new();
        flatten(thread, &mut body, &mut bodies, &mut forks);
        if hangup {
            // Every thread is given a sender and lets it go at its end.
            bodies[0].push(I::AddSender(0));
            body.push(I::DropSender(0));
        }
        bodies[at] = body;
        bodies[0].push(I::Spawn(at));
    }
    if hangup {
        bodies[0].push(I::DropSender(0));
    }
    if deaf {
        // Nobody receives from this one.
        bodies[0].push(I::DropReceiver(3));
    }
    share_pipes(&mut bodies, pipe_ends);
    if join {
        bodies[0].extend((0..threads.len()).map(I::Join));
    }
    Program {
        objects: Objects {
            atomics: 2,
            mutexes: 2,
            rwlocks: 1,
            readers_first: 1,
            condvars: 2,
            // The last ones are counters, the very last with room for little.
            semaphores: vec![first, second, 0, MOST_COUNTED - second],
            barriers: vec![2, 2],
            onces: 1,
            channels: vec![None, Some(1), Some(0), Some(1)],
            pipes: vec![2, 4, 1, 2],
        },
        bodies,
        spurious: false,
        one_step: false,
    }
}

/// Every thread is a writer of the second pipe until its end, or a reader of the last one, and no other is left.
fn share_pipes(bodies: &mut [Vec<I>], [writers, readers]: [bool; 2]) {
    use PipeStep::{AddReader, AddWriter, DropReader, DropWriter};
    let ends = [
        (writers, 1, AddWriter, DropWriter),
        (readers, 3, AddReader, DropReader),
    ];
    for (_, pipe, add, drop) in ends.into_iter().filter(|(wanted, ..)| *wanted) {
        let [main, others @ ..] = &mut *bodies else {
            return;
        };
        for body in &mut *others {
            body.push(I::Pipe(pipe, drop));
        }
        let adds = others.iter().map(|_| I::Pipe(pipe, add));
        main.splice(0..0, adds);
        main.push(I::Pipe(pipe, drop));
    }
}

fn flatten(block: &[Stmt], out: &mut Vec<I>, bodies: &mut Vec<Vec<I>>, forks: &mut usize) {
    for stmt in block {
        let mut around = |before: I, inner: &[Stmt], after: I, out: &mut Vec<I>| {
            out.push(before);
            flatten(inner, out, bodies, forks);
            out.push(after);
        };
        match stmt {
            Stmt::One(i) => out.push(*i),
            Stmt::Locked(m, b) => around(I::Lock(*m), b, I::Unlock(*m), out),
            Stmt::LockedClean(m, b) => around(I::Lock(*m), b, I::UnlockClean(*m), out),
            Stmt::SpinLocked(m, b) => around(I::SpinLock(*m), b, I::Unlock(*m), out),
            Stmt::SpinRead(l, b) => around(I::SpinRead(*l), b, I::ReadUnlock(*l), out),
            Stmt::Sender(c, b) => around(I::AddSender(*c), b, I::DropSender(*c), out),
            Stmt::Read(l, b) => around(I::ReadLock(*l), b, I::ReadUnlock(*l), out),
            Stmt::Write(l, b) => around(I::WriteLock(*l), b, I::WriteUnlock(*l), out),
            Stmt::TryLocked(o, b)
            | Stmt::TryRead(o, b)
            | Stmt::TryWrite(o, b)
            | Stmt::LateLocked(o, b)
            | Stmt::LateRead(o, b)
            | Stmt::LateWrite(o, b) => {
                let mut inner = Vec::new();
                flatten(b, &mut inner, bodies, forks);
                let skip = inner.len() + 1;
                let (attempt, undo) = match stmt {
                    Stmt::TryLocked(..) => (I::TryLock(*o, skip), I::Unlock(*o)),
                    Stmt::TryRead(..) => (I::TryRead(*o, skip), I::ReadUnlock(*o)),
                    Stmt::TryWrite(..) => (I::TryWrite(*o, skip), I::WriteUnlock(*o)),
                    Stmt::LateLocked(..) => (I::LockLate(*o, skip), I::Unlock(*o)),
                    Stmt::LateRead(..) => (I::ReadLate(*o, skip), I::ReadUnlock(*o)),
                    Stmt::LateWrite(..) => (I::WriteLate(*o, skip), I::WriteUnlock(*o)),
                    _ => unreachable!("matched above"),
                };
                out.push(attempt);
                out.extend(inner);
                out.push(undo);
            }
            Stmt::Wait(m, patience) => {
                out.push(I::Lock(*m));
                out.push(match patience {
                    Patience::Endless => I::Wait(0, *m),
                    Patience::Timed => I::WaitTimeout(0, *m),
                    Patience::Late => I::WaitLate(0, *m),
                });
                out.push(I::Unlock(*m));
            }
            Stmt::Notify { all, locked } => {
                let notify = if *all {
                    I::NotifyAll(0)
                } else {
                    I::NotifyOne(0)
                };
                if *locked {
                    out.extend([I::Lock(0), notify, I::Unlock(0)]);
                } else {
                    out.push(notify);
                }
            }
            Stmt::Once(b, ok, force) => {
                let mut inner = Vec::new();
                flatten(b, &mut inner, bodies, forks);
                let end = if *ok { I::OnceEnd(0) } else { I::OnceFail(0) };
                out.push(if *force {
                    I::OnceForce(0)
                } else {
                    I::OnceBegin(0)
                });
                // It runs the initialiser when it is the first (0) or the first forced one after a failure (3).
                out.push(I::SkipUnless(0, inner.len() + 1));
                out.extend(inner.iter().copied());
                out.push(end);
                if *force {
                    out.push(I::SkipUnless(3, inner.len() + 1));
                    out.extend(inner);
                    out.push(end);
                }
            }
            Stmt::When(value, b) => {
                let mut inner = Vec::new();
                flatten(b, &mut inner, bodies, forks);
                out.push(I::SkipUnless(*value, inner.len()));
                out.extend(inner);
            }
            Stmt::Fork(b) => {
                let at = bodies.len();
                bodies.push(Vec::new());
                let mut body = Vec::new();
                let mut inner = 0;
                flatten(b, &mut body, bodies, &mut inner);
                bodies[at] = body;
                out.push(I::Spawn(at));
                *forks += 1;
            }
        }
    }
}
