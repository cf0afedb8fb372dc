//! Virtual time and late timeouts: all interleavings of small programs.

use reweave_conduct::{Next, Run};
use reweave_model::{
    Choice, End, Gate, Object, ObjectId, Op, Pending, Plan, Rmw, RmwKind, Site, ThreadId,
};
use std::collections::BTreeMap;

const X: ObjectId = ObjectId(0);
const LOCK: ObjectId = ObjectId(1);
const READ_WRITE: ObjectId = ObjectId(2);
const SEMAPHORE: ObjectId = ObjectId(3);

/// What a thread of a program does.
#[derive(Clone, Copy, Debug)]
enum Do {
    Sleep(u64),
    Look,
    Step(Op),
}

/// A run of a program with the threads `1..`, which thread 0 joins in their order.
struct Machine<'a> {
    program: &'a [Vec<Do>],
    run: Run,
    at: Vec<usize>,
    /// What each thread read as time.
    looks: Vec<Vec<u64>>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a [Vec<Do>]) -> Machine<'a> {
        let mut run = Run::default();
        run.begin(&Plan::default());
        run.object(Object::Atomic(0));
        run.object(Object::mutex());
        run.object(Object::rwlock());
        run.object(Object::Semaphore(1));
        for _ in program {
            run.spawn(ThreadId::MAIN);
        }
        let threads = program.len() + 1;
        let mut machine = Machine {
            program,
            run,
            at: vec![0; threads],
            looks: vec![vec![]; threads],
        };
        for thread in 0..threads {
            machine.go_on(ThreadId(thread as u32));
        }
        machine
    }

    /// A thread goes on to its next operation.
    fn go_on(&mut self, thread: ThreadId) {
        let at = &mut self.at[thread.index()];
        let op = loop {
            let next = match thread {
                ThreadId::MAIN if *at < self.program.len() => {
                    Some(Do::Step(Op::Join(ThreadId(*at as u32 + 1))))
                }
                ThreadId::MAIN => None,
                _ => self.program[thread.index() - 1].get(*at).copied(),
            };
            *at += 1;
            match next {
                Some(Do::Sleep(ns)) => self.run.advance(thread, ns),
                Some(Do::Look) => {
                    let time = self.run.look_at_clock(thread);
                    self.looks[thread.index()].push(time);
                }
                Some(Do::Step(op)) => break op,
                None => return self.run.finish(thread),
            }
        };
        let (gate, site) = (Gate::Open, Site(1));
        self.run.announce(
            thread,
            Pending {
                gate,
                ..Pending::new(op, site)
            },
        );
    }

    fn step(&mut self, thread: ThreadId) {
        self.run.step(Choice { thread, outcome: 0 });
        self.go_on(thread);
    }

    /// The threads that can go.
    fn able(&self) -> Vec<ThreadId> {
        let state = self.run.state();
        let able = |thread: &ThreadId| {
            let pending = self.run.pending(*thread);
            pending.is_some_and(|pending| state.enabled(*thread, pending))
        };
        (0..self.at.len() as u32)
            .map(ThreadId)
            .filter(able)
            .collect()
    }

    /// For each event that learns of others by an object, which event it learns of.
    fn sources(&self) -> Vec<Vec<Option<(ThreadId, usize)>>> {
        let mut writers: BTreeMap<ObjectId, (ThreadId, usize)> = BTreeMap::new();
        let mut sources = vec![vec![]; self.at.len()];
        for event in &self.run.execution().events {
            let place = (event.thread, sources[event.thread.index()].len());
            let object = event.op.object();
            let carries = object.filter(|object| matches!(*object, X | LOCK));
            let learns = !matches!(event.op, Op::Store(..));
            let source = carries.and_then(|object| writers.get(&object).copied());
            sources[event.thread.index()].push(source.filter(|_| learns));
            if let (Some(object), false) = (carries, matches!(event.op, Op::Load(_))) {
                writers.insert(object, place);
            }
        }
        sources
    }
}

/// Runs every interleaving.
fn explore(program: &[Vec<Do>], mut each: impl FnMut(&Machine<'_>)) -> usize {
    let mut count = 0;
    let mut path: Vec<(usize, usize)> = vec![];
    loop {
        let mut machine = Machine::new(program);
        for depth in 0.. {
            let able = machine.able();
            if able.is_empty() {
                break;
            }
            if path.len() == depth {
                path.push((0, able.len()));
            }
            machine.step(able[path[depth].0]);
        }
        assert_eq!(machine.run.next(), Next::End(End::Done));
        count += 1;
        each(&machine);
        while path.last().is_some_and(|(at, all)| at + 1 == *all) {
            path.pop();
        }
        match path.last_mut() {
            Some((at, _)) => *at += 1,
            None => return count,
        }
    }
}

/// What one of the threads may do.
fn fragments() -> Vec<Vec<Do>> {
    let add = Rmw {
        kind: RmwKind::Add,
        operand: 1,
        bits: 64,
    };
    let step = Do::Step;
    vec![
        vec![Do::Sleep(7_000), step(Op::Store(X, 1))],
        vec![step(Op::Load(X)), Do::Look],
        vec![Do::Sleep(300), step(Op::Rmw(X, add)), Do::Look],
        vec![
            step(Op::Lock(LOCK)),
            Do::Sleep(11_000),
            step(Op::Unlock(LOCK)),
            Do::Look,
        ],
        vec![
            step(Op::ReadLock(READ_WRITE)),
            Do::Sleep(500),
            step(Op::ReadUnlock(READ_WRITE)),
            Do::Look,
        ],
        vec![
            step(Op::SemAcquire {
                object: SEMAPHORE,
                timed: false,
            }),
            Do::Sleep(13_000),
            step(Op::SemRelease(SEMAPHORE)),
        ],
    ]
}

#[test]
fn time_follows_from_the_causal_past() {
    let fragments = fragments();
    let mut executions = 0;
    for a in &fragments {
        for b in &fragments {
            for c in &fragments[..4] {
                let program = [a.clone(), [&b[..], &c[..]].concat()];
                let mut known = BTreeMap::new();
                executions += explore(&program, |machine| {
                    let times: Vec<_> = (0..3)
                        .map(|thread| machine.run.time_ns(ThreadId(thread)))
                        .collect();
                    let read = (machine.looks.clone(), times);
                    let first = known
                        .entry(machine.sources())
                        .or_insert_with(|| read.clone());
                    assert_eq!(*first, read, "{program:?}");
                });
            }
        }
    }
    assert!(executions > 1_500, "{executions} executions");
}

#[test]
fn a_join_is_as_late_as_the_end_of_the_thread() {
    // The second one sleeps after its last event, which a step does not show.
    let store = Do::Step(Op::Store(X, 1));
    let program = [vec![Do::Sleep(5), store], vec![store, Do::Sleep(90)]];
    explore(&program, |machine| {
        assert_eq!(machine.run.time_ns(ThreadId::MAIN), 90);
    });
}

#[test]
fn a_thread_begins_at_the_time_of_its_creator() {
    let mut run = Run::default();
    for sleep in [40, 0] {
        run.begin(&Plan::default());
        let early = run.spawn(ThreadId::MAIN);
        run.advance(ThreadId::MAIN, sleep);
        let late = run.spawn(ThreadId::MAIN);
        assert_eq!((run.time_ns(early), run.time_ns(late)), (0, sleep));
        run.advance_to(late, 70);
        run.advance_to(late, 60);
        assert_eq!(run.time_ns(late), 70);
    }
}

#[test]
fn pauses_are_counted_until_the_next_event() {
    let mut run = Run::default();
    run.begin(&Plan::default());
    run.object(Object::Atomic(0));
    let me = ThreadId::MAIN;
    let load = |run: &mut Run| {
        let (op, gate, site) = (Op::Load(X), Gate::Open, Site(1));
        run.announce(
            me,
            Pending {
                gate,
                ..Pending::new(op, site)
            },
        );
        run.step(Choice {
            thread: me,
            outcome: 0,
        });
    };
    assert_eq!([run.pause(me), run.pause(me)], [1, 2]);
    load(&mut run);
    assert_eq!([run.pause(me), run.pause(me)], [1, 2]);
    load(&mut run);
    run.keep_pausing(me);
    assert_eq!(run.pause(me), 3);
    run.begin(&Plan::default());
    assert_eq!(run.pause(me), 1);
}

/// A thread that waits for a semaphore twice, at these objects and places, and one that adds to an atomic: the gate of the
/// second wait, after a time-out, if the thread looks at the atomic between or not.
fn second_gate(second: (ObjectId, Site), looks: bool, ok: bool) -> Gate {
    let mut run = Run::default();
    run.begin(&Plan::default());
    run.object(Object::Atomic(0));
    for _ in 1..=3 {
        run.object(Object::Semaphore(0));
    }
    let (me, other) = (ThreadId::MAIN, run.spawn(ThreadId::MAIN));
    let step = |run: &mut Run, thread, op| {
        let (gate, site) = (Gate::Open, Site(1));
        run.announce(
            thread,
            Pending {
                gate,
                ..Pending::new(op, site)
            },
        );
        run.step(Choice { thread, outcome: 0 });
    };
    let timed = true;
    let object = SEMAPHORE;
    assert_eq!(run.timed_gate(me, object, Site(1)), Gate::Open);
    step(&mut run, me, Op::SemAcquire { object, timed });
    run.timed(me, object, Site(1), ok);
    step(&mut run, other, Op::Store(X, 1));
    if looks {
        step(&mut run, me, Op::Load(X));
    }
    run.timed_gate(me, second.0, second.1)
}

#[test]
fn a_wait_is_late_that_timed_out_before_with_nothing_heard() {
    let same = (SEMAPHORE, Site(1));
    assert_eq!(second_gate(same, false, false), Gate::Late);
    assert_eq!(
        second_gate(same, true, false),
        Gate::Open,
        "it has heard of the store"
    );
    assert_eq!(
        second_gate(same, false, true),
        Gate::Open,
        "it did not time out"
    );
    let elsewhere = (SEMAPHORE, Site(2));
    assert_eq!(
        second_gate(elsewhere, false, false),
        Gate::Open,
        "another place"
    );
    let other = (ObjectId(2), Site(1));
    assert_eq!(
        second_gate(other, false, false),
        Gate::Open,
        "another object"
    );
}

#[test]
fn hidden_objects_are_known_until_the_next_run() {
    let mut run = Run::default();
    for _ in 0..2 {
        run.begin(&Plan::default());
        let hidden = |n: u32| n % 3 == 1;
        for n in 0..200 {
            let id = match hidden(n) {
                true => run.hidden_object(Object::mutex()),
                false => run.object(Object::mutex()),
            };
            assert_eq!(id, ObjectId(n));
        }
        assert!((0..200).all(|n| run.is_hidden(ObjectId(n)) == hidden(n)));
        assert!(!run.is_hidden(ObjectId(200)));
    }
}
