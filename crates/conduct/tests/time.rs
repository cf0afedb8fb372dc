//! Virtual time and late timeouts: all interleavings of small programs.

use reweave_conduct::{IN_A_ROW, LOOK, Next, Run};
use reweave_model::{
    Choice, End, Gate, Object, ObjectId, OnceState, Op, Pending, Plan, Rmw, RmwKind, Site, ThreadId,
};
use std::collections::BTreeMap;

const X: ObjectId = ObjectId(0);
const LOCK: ObjectId = ObjectId(1);
const READ_WRITE: ObjectId = ObjectId(2);
const SEMAPHORE: ObjectId = ObjectId(3);
const CLOCK: ObjectId = ObjectId(4);
const BARRIER: ObjectId = ObjectId(5);
const ONCE: ObjectId = ObjectId(6);
const EMPTY: ObjectId = ObjectId(7);

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
    /// The time of each event.
    times: Vec<u64>,
}

impl<'a> Machine<'a> {
    fn new(program: &'a [Vec<Do>]) -> Machine<'a> {
        let mut run = Run::default();
        run.begin(&Plan::default());
        run.object(Object::Atomic(0));
        run.object(Object::mutex());
        run.object(Object::rwlock());
        run.object(Object::Semaphore(1));
        run.object(Object::Atomic(0));
        run.object(Object::barrier(2));
        run.object(Object::Once(OnceState::New));
        run.object(Object::Semaphore(0));
        for _ in program {
            run.spawn(ThreadId::MAIN);
        }
        let threads = program.len() + 1;
        let mut machine = Machine {
            program,
            run,
            at: vec![0; threads],
            looks: vec![vec![]; threads],
            times: vec![],
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
                Some(Do::Look) => break Op::Rmw(CLOCK, LOOK),
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
        let event = self.run.step(Choice { thread, outcome: 0 });
        if let Op::Rmw(CLOCK, LOOK) = event.op {
            let time = self.run.look_at_clock(thread);
            self.looks[thread.index()].push(time);
        }
        self.times.push(self.run.time_ns(thread));
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

    /// For each event the events that it learns of: of an atomic the write that it reads, of other objects all
    /// that it depends on.
    fn sources(&self) -> Vec<Vec<Vec<(ThreadId, usize)>>> {
        let events = &self.run.execution().events;
        let mut places: Vec<(ThreadId, usize)> = vec![];
        let mut sources = vec![vec![]; self.at.len()];
        for (at, event) in events.iter().enumerate() {
            let own: &mut Vec<_> = &mut sources[event.thread.index()];
            let mut learned: Vec<_> = (0..at)
                .filter(|before| events[*before].conflicts(event))
                .collect();
            if let Some(X | CLOCK) = event.op.object() {
                let writes = |before: &usize| !matches!(events[*before].op, Op::Load(_));
                learned.retain(writes);
                learned = learned.pop().into_iter().collect();
                if let Op::Store(..) = event.op {
                    learned.clear();
                }
            }
            let mut learned: Vec<_> = learned.into_iter().map(|at| places[at]).collect();
            learned.sort();
            places.push((event.thread, own.len()));
            own.push(learned);
        }
        sources
    }

    /// Every event is at least as late as those it comes after.
    fn assert_forwards(&self) {
        let events = &self.run.execution().events;
        for (later, event) in events.iter().enumerate() {
            for (earlier, other) in events[..later].iter().enumerate() {
                let atomic = event.op.object() == Some(X);
                let after = event.conflicts(other) && !atomic || event.thread == other.thread;
                assert!(
                    !after || self.times[earlier] <= self.times[later],
                    "{event:?} after {other:?}"
                );
            }
        }
        let mut all: Vec<_> = self.looks.iter().flatten().collect();
        let looks = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), looks, "no two looks are at the same time");
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
        machine.assert_forwards();
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

/// One thread sleeps and then lets another one go on, which looks at the clock.
#[test]
fn who_is_let_go_is_as_late_as_who_lets_it_go() {
    let step = Do::Step;
    let acquire = |object| {
        let timed = false;
        step(Op::SemAcquire { object, timed })
    };
    let begin = step(Op::OnceBegin {
        object: ONCE,
        force: true,
    });
    let read = [
        step(Op::ReadLock(READ_WRITE)),
        Do::Sleep(500),
        step(Op::ReadUnlock(READ_WRITE)),
    ];
    let write = [
        step(Op::WriteBegin(READ_WRITE)),
        step(Op::WriteAcquire(READ_WRITE)),
        Do::Sleep(500),
        step(Op::WriteUnlock(READ_WRITE)),
    ];
    let meet = [step(Op::Arrive(BARRIER)), step(Op::Leave(BARRIER))];
    let pairs = [
        (
            vec![Do::Sleep(500), step(Op::SemRelease(EMPTY))],
            vec![acquire(EMPTY)],
        ),
        (read.to_vec(), write.to_vec()),
        (write.to_vec(), read.to_vec()),
        (write.to_vec(), write.to_vec()),
        ([&[Do::Sleep(500)], &meet[..]].concat(), meet.to_vec()),
        (meet.to_vec(), [&[Do::Sleep(500)], &meet[..]].concat()),
        (
            vec![begin, Do::Sleep(500), step(Op::OnceEnd(ONCE, true))],
            vec![begin, step(Op::OnceEnd(ONCE, true))],
        ),
    ];
    for (first, second) in pairs {
        let program = [
            [&first[..], &[Do::Look]].concat(),
            [&second[..], &[Do::Look]].concat(),
        ];
        // Elsewhere the second may be the first to come; `explore` looks at the order of all events.
        let waits = |op: &Do| matches!(op, Do::Step(Op::SemAcquire { .. } | Op::Arrive(_)));
        let waits = second.iter().any(waits);
        explore(&program, |machine| {
            let looks = machine.looks.concat();
            let late = looks.iter().all(|look| *look >= 500);
            assert!(late || !waits, "{program:?}: {looks:?}");
        });
    }
}

#[test]
fn looks_take_little_until_a_thread_does_nothing_else() {
    let look = |run: &mut Run| {
        run.announce(ThreadId::MAIN, Pending::new(Op::Rmw(X, LOOK), Site(1)));
        run.step(Choice {
            thread: ThreadId::MAIN,
            outcome: 0,
        });
        run.look_at_clock(ThreadId::MAIN)
    };
    let mut run = Run::default();
    run.begin(&Plan::default());
    run.object(Object::Atomic(0));
    run.object(Object::Semaphore(9));
    assert_eq!([look(&mut run), look(&mut run)], [100, 200]);
    let rounds = (0..).take_while(|_| look(&mut run) < 1_000_000_000).count();
    assert!(
        (20..50).contains(&rounds),
        "{rounds} looks until a second is over"
    );
    // A wait in between: looks are cheap again.
    let (object, timed) = (ObjectId(1), true);
    let acquire = Op::SemAcquire { object, timed };
    run.announce(ThreadId::MAIN, Pending::new(acquire, Site(2)));
    run.step(Choice {
        thread: ThreadId::MAIN,
        outcome: 0,
    });
    let before = run.time_ns(ThreadId::MAIN);
    assert_eq!(look(&mut run), before + 100);
}

/// The creator of two threads looks at a coarse clock before and after, the threads look at it or not.
#[test]
fn unordered_looks_at_a_coarse_clock_are_told() {
    for (first, second) in [(false, false), (true, false), (true, true)] {
        let mut run = Run::default();
        run.begin(&Plan::default());
        let main = ThreadId::MAIN;
        run.look_at_coarse_clock(main);
        let threads = [run.spawn(main), run.spawn(main)];
        for (thread, looks) in threads.into_iter().zip([first, second]) {
            if looks {
                run.look_at_coarse_clock(thread);
            }
            run.finish(thread);
        }
        for thread in threads {
            run.announce(main, Pending::new(Op::Join(thread), Site(1)));
            run.step(Choice {
                thread: main,
                outcome: 0,
            });
        }
        run.look_at_coarse_clock(main);
        assert_eq!(run.execution().clocks_cut, first && second);
    }
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

#[test]
fn a_wait_is_late_in_a_round_that_repeats_or_after_some_timeouts() {
    let mut run = Run::default();
    run.begin(&Plan::default());
    let me = ThreadId::MAIN;
    let (here, there) = (Site(1), Site(2));
    let acquire = |object| {
        let timed = true;
        Op::SemAcquire { object, timed }
    };
    let other = acquire(EMPTY);
    let acquire = acquire(SEMAPHORE);
    assert_eq!(run.timed_gate(me, acquire, here, true), Gate::Late);
    for _ in 0..IN_A_ROW {
        assert_eq!(run.timed_gate(me, acquire, here, false), Gate::Open);
        run.timed(me, acquire, here, false);
    }
    assert_eq!(run.timed_gate(me, acquire, there, false), Gate::Open);
    assert_eq!(run.timed_gate(me, other, here, false), Gate::Open);
    assert!(!run.execution().timeouts_cut);
    assert_eq!(run.timed_gate(me, acquire, here, false), Gate::Late);
    assert!(run.execution().timeouts_cut);
    run.timed(me, acquire, here, true);
    assert_eq!(run.timed_gate(me, acquire, here, false), Gate::Open);
    run.begin(&Plan::default());
    assert!(!run.execution().timeouts_cut);
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
