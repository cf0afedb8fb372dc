//! Random programs with `Arc` and `Weak`: a search that makes counts visible only where they matter finds what one finds that has all of
//! them visible all the time, by brute force where that is feasible.

mod common;

use common::{Seen, all_of, target};
use reweave::{
    cell::UnsafeCell,
    sync::{
        Arc, Weak,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    target::{Visible, Wanted, model::Kind},
    thread,
};
use reweave_explore::AlgorithmName as Algorithm;
use std::{
    collections::BTreeSet,
    sync::{Arc as StdArc, Mutex as StdMutex},
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

/// One step of a thread, on its references of one of two values.
#[derive(Clone, Copy, Debug)]
enum Step {
    Clone(usize),
    Drop(usize),
    Downgrade(usize),
    Upgrade(usize),
    DropWeak(usize),
    Strong(usize),
    Weak(usize),
    GetMut(usize),
    TryUnwrap(usize),
    IntoInner(usize),
    Touch(usize),
    Bump,
    Read,
}

/// What the destructor of a value does.
#[derive(Clone, Copy, Debug)]
enum End {
    Nothing,
    Bumps,
    Cell,
    Tells,
}

#[derive(Clone, Debug)]
struct Program {
    ends: [End; 2],
    /// Whether the first value holds a reference of the second.
    nested: bool,
    /// Whether the main thread gives its references away before the others start.
    gives: bool,
    threads: Vec<Vec<Step>>,
    main: Vec<Step>,
}

impl Program {
    fn random(seed: u64) -> Program {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        let mut end = || match random.below(4) {
            0 => End::Nothing,
            1 => End::Bumps,
            2 => End::Cell,
            _ => End::Tells,
        };
        let ends = [end(), end()];
        let (nested, gives) = (random.below(3) == 0, random.below(2) == 0);
        let mut steps = |most: u64| {
            let count = 1 + random.below(most);
            let step = |_| {
                let value = random.below(2) as usize;
                match random.below(16) {
                    0 | 1 => Step::Clone(value),
                    2..=4 => Step::Drop(value),
                    5 => Step::Downgrade(value),
                    6 | 7 => Step::Upgrade(value),
                    8 => Step::DropWeak(value),
                    9 => Step::Strong(value),
                    10 => Step::Weak(value),
                    11 => Step::GetMut(value),
                    12 => Step::TryUnwrap(value),
                    13 => Step::IntoInner(value),
                    14 => Step::Touch(value),
                    _ if value == 0 => Step::Bump,
                    _ => Step::Read,
                }
            };
            (0..count).map(step).collect::<Vec<_>>()
        };
        let threads = vec![steps(3), steps(3)];
        Program {
            ends,
            nested,
            gives,
            main: steps(2),
            threads,
        }
    }
}

struct Value {
    end: End,
    counter: StdArc<AtomicU32>,
    cell: UnsafeCell<u32>,
    _inner: Option<Arc<Value>>,
}

// SAFETY: the threads of a check never run at the same time; races are what the test is about.
unsafe impl Sync for Value {}

impl Drop for Value {
    fn drop(&mut self) {
        match self.end {
            End::Nothing => {}
            End::Bumps => {
                self.counter.fetch_add(1, SeqCst);
            }
            End::Cell => self.cell.with_mut(|_| ()),
            End::Tells => {
                let mine = if thread::current().name() == Some("main") {
                    16
                } else {
                    256
                };
                self.counter.fetch_add(mine, SeqCst);
            }
        }
    }
}

/// The references of one thread.
struct Own {
    strong: [Vec<Arc<Value>>; 2],
    weak: [Vec<Weak<Value>>; 2],
    counter: StdArc<AtomicU32>,
}

impl Own {
    fn step(&mut self, step: Step) -> Option<u32> {
        match step {
            Step::Clone(v) => {
                let last = self.strong[v].last()?.clone();
                self.strong[v].push(last);
                None
            }
            Step::Drop(v) => {
                drop(self.strong[v].pop());
                None
            }
            Step::Downgrade(v) => {
                let weak = Arc::downgrade(self.strong[v].last()?);
                self.weak[v].push(weak);
                None
            }
            Step::Upgrade(v) => {
                let strong = self.weak[v].last()?.upgrade();
                let found = strong.is_some();
                self.strong[v].extend(strong);
                Some(u32::from(found))
            }
            Step::DropWeak(v) => {
                drop(self.weak[v].pop());
                None
            }
            Step::Strong(v) => {
                let strong = self.strong[v].last()?;
                let count = Arc::strong_count(strong);
                if count == 1 {
                    // A race with those that touched it before: the look orders nothing.
                    strong.cell.with_mut(|_| ());
                }
                Some(count as u32)
            }
            Step::Weak(v) => Some(Arc::weak_count(self.strong[v].last()?) as u32),
            Step::GetMut(v) => Some(u32::from(
                Arc::get_mut(self.strong[v].last_mut()?).is_some(),
            )),
            Step::TryUnwrap(v) => match Arc::try_unwrap(self.strong[v].pop()?) {
                Ok(value) => {
                    drop(value);
                    Some(1)
                }
                Err(arc) => {
                    self.strong[v].push(arc);
                    Some(0)
                }
            },
            Step::IntoInner(v) => Some(u32::from(Arc::into_inner(self.strong[v].pop()?).is_some())),
            Step::Touch(v) => {
                self.strong[v].last()?.cell.with(|_| ());
                None
            }
            Step::Bump => {
                self.counter.fetch_add(1, SeqCst);
                None
            }
            Step::Read => Some(self.counter.load(SeqCst)),
        }
    }

    fn run(mut self, steps: &[Step]) -> Vec<Option<u32>> {
        steps.iter().map(|step| self.step(*step)).collect()
    }
}

fn run(program: &Program) -> Vec<Vec<Option<u32>>> {
    let counter = StdArc::new(AtomicU32::new(0));
    let value = |end, inner| Value {
        end,
        counter: counter.clone(),
        cell: UnsafeCell::new(0),
        _inner: inner,
    };
    let second = Arc::new(value(program.ends[1], None));
    let inner = program.nested.then(|| second.clone());
    let first = Arc::new(value(program.ends[0], inner));
    let own = |first: &Arc<Value>, second: &Arc<Value>| Own {
        strong: [vec![first.clone()], vec![second.clone()]],
        weak: [vec![Arc::downgrade(first)], vec![]],
        counter: counter.clone(),
    };
    let theirs: Vec<Own> = program
        .threads
        .iter()
        .map(|_| own(&first, &second))
        .collect();
    let mut mine = own(&first, &second);
    drop((first, second));
    if program.gives {
        mine.strong = [vec![], vec![]];
    }
    let threads = program.threads.clone().into_iter().zip(theirs);
    let threads: Vec<_> = threads
        .map(|(steps, own)| thread::spawn(move || own.run(&steps)))
        .collect();
    let mut seen = vec![mine.run(&program.main)];
    seen.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    seen.push(vec![Some(counter.load(SeqCst))]);
    seen
}

type Outcomes = BTreeSet<Vec<Vec<Option<u32>>>>;

/// Outcomes, kinds of errors, executions, unless there are too many.
fn search(
    algorithm: Algorithm,
    program: &Program,
    every: bool,
    most: usize,
) -> Option<(Outcomes, Vec<Kind>, usize)> {
    let seen = StdArc::new(StdMutex::new(Outcomes::new()));
    let (all, body) = (seen.clone(), program.clone());
    let mut target = target(move || {
        let outcome = run(&body);
        all.lock().unwrap().insert(outcome);
    });
    let visible = Visible {
        every_count: every,
        ..Visible::default()
    };
    target.share(StdArc::new(Wanted::new(visible)));
    let restart = || seen.lock().unwrap().clear();
    let found: Seen = all_of(&mut target, algorithm, restart, most)?;
    let outcomes = seen.lock().unwrap().clone();
    Some((outcomes, found.kinds(), found.executions))
}

#[test]
fn what_is_hidden_does_not_matter() {
    let (mut compared, mut brute_forced, mut cheaper, mut errors) = (0, 0, 0, 0);
    for seed in 1..=350 {
        let program = Program::random(seed);
        let Some(expected) = search(Algorithm::Optimal, &program, true, 1_000) else {
            continue;
        };
        if let Some(brute) = search(Algorithm::Dfs, &program, true, 3_000) {
            assert_eq!(
                (&brute.0, &brute.1),
                (&expected.0, &expected.1),
                "seed {seed}: {program:#?}"
            );
            brute_forced += 1;
        }
        let hidden = search(Algorithm::Optimal, &program, false, 2_000).expect("not more");
        assert_eq!(hidden.1, expected.1, "seed {seed}: {program:#?}");
        assert_eq!(hidden.0, expected.0, "seed {seed}: {program:#?}");
        let by_reads = search(Algorithm::Rf, &program, false, 2_000).expect("not more");
        assert_eq!(by_reads.1, expected.1, "seed {seed}: {program:#?}");
        assert_eq!(by_reads.0, expected.0, "seed {seed}: {program:#?}");
        compared += 1;
        cheaper += usize::from(hidden.2 < expected.2);
        errors += usize::from(!expected.1.is_empty());
    }
    println!(
        "{compared} compared, {brute_forced} with brute force, {cheaper} cheaper, {errors} wrong"
    );
    assert!(compared > 100 && brute_forced > 30 && cheaper > 60 && errors > 1);
}
