//! Programs run on the model alone: the oracle that the native runtime is cross-checked against.

use super::{
    code::{Act, Code, If, compile},
    language::{Ending, How, Kind, Objects, Program, Stmt, Storage, Test, Value, each},
    parking::{Row, Variables},
};
use reweave_conduct::{IN_A_ROW, Next, Run};
use reweave_explore::{Target, TargetError};
use reweave_model::{
    End, Event, Execution, Gate, Object, ObjectId, OnceState, Op, Pending, Plan, Rmw, Site,
    ThreadId,
};

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

/// Runs a program.
pub struct Machine {
    objects: Objects,
    bodies: Vec<Vec<Code>>,
    /// Where readers go first, writers take the lock in one step, as they really do.
    one_step: bool,
    /// The first thread's own variables are what all use.
    on_stack: bool,
    run: Run,
    threads: Vec<Thread>,
    bases: Bases,
    plains: Vec<u64>,
    /// Of recursive mutexes: how often their holder has them beyond the first time.
    depths: Vec<u32>,
    /// What threads that have ended had folded, by their numbers in the program.
    folded: Vec<u64>,
    /// How many threads nobody has joined.
    live: usize,
    joined: Vec<bool>,
    /// Some thread has ended the process.
    ended: bool,
    /// So many timeouts in a row are let through in a round that repeats.
    free: u32,
    /// What runs came to, if that is of interest.
    outcomes: Option<Arc<Mutex<Outcomes>>>,
}

/// What runs came to: how they ended, what is in shared memory, and what each thread has got.
pub type Outcomes = BTreeSet<String>;

#[derive(Default)]
struct Thread {
    /// Its number in the program.
    number: usize,
    pc: usize,
    /// Second and later parts of an act.
    part: u32,
    t: u64,
    u: u64,
    v: u64,
    acc: u64,
    /// `v` and `acc` of the functions that it is in.
    frames: Vec<(u64, u64)>,
    variables: Variables,
    /// Its children, by their numbers in the program.
    children: Vec<(usize, ThreadId)>,
    row: Row,
    /// What a loop that is parked saw, and the operation to go on with: it first guesses what will change, then waits for that.
    parked: Option<(Vec<(ObjectId, u64)>, Pending)>,
    waits: bool,
    /// Operations that timed out the last time, where, and how often in a row.
    late: Vec<(Op, Site, u32)>,
}

/// Where objects of each sort begin.
#[derive(Default)]
struct Bases {
    mutexes: u32,
    rwlocks: u32,
    condvars: u32,
    semaphores: u32,
    barriers: u32,
    onces: u32,
    exit: u32,
    main_exit: u32,
    result: u32,
}

const EBUSY: u64 = 16;
const EAGAIN: u64 = 11;
const EDEADLK: u64 = 35;
const ETIMEDOUT: u64 = 110;

/// What comes next in a thread.
enum Step {
    /// This operation.
    Come(Pending),
    /// The act is done, or has nothing to do.
    Go,
    /// The thread is at its end.
    End,
}

impl Machine {
    pub fn new(program: &Program, one_step: bool) -> Machine {
        Machine {
            objects: program.objects.clone(),
            bodies: compile(program),
            one_step,
            on_stack: program.storage == Storage::Stack,
            run: Run::default(),
            threads: Vec::new(),
            bases: Bases::default(),
            plains: Vec::new(),
            depths: Vec::new(),
            folded: Vec::new(),
            live: 0,
            joined: Vec::new(),
            ended: false,
            free: 0,
            outcomes: None,
        }
    }

    /// As [`Machine::new`], letting through so many timeouts in a row where a round repeats, and saying what runs came to.
    pub fn lenient(program: &Program, free: u32, outcomes: Arc<Mutex<Outcomes>>) -> Machine {
        Machine {
            free,
            outcomes: Some(outcomes),
            ..Machine::new(program, false)
        }
    }

    fn note_outcome(&self, end: End) {
        let Some(outcomes) = self.outcomes.as_ref().filter(|_| end != End::Redundant) else {
            return;
        };
        let got: Vec<_> = self.threads.iter().map(|it| (it.number, it.acc)).collect();
        let objects = &self.run.state().objects()[..self.objects.atomics.len()];
        let outcome = format!("{end:?} {got:?} {:?} {objects:?}", self.plains);
        outcomes
            .lock()
            .expect("nobody panics with it")
            .insert(outcome);
    }

    fn start(&mut self, plan: &Plan) {
        self.run.begin(plan);
        self.plains = vec![0; self.objects.plains.len()];
        self.depths = vec![0; self.objects.mutexes.len()];
        self.folded = vec![0; self.bodies.len()];
        self.live = 1;
        self.joined = vec![false];
        self.ended = false;
        self.create_objects();
        self.threads.clear();
        self.threads.push(Thread {
            number: self.bodies.len() - 1,
            ..Thread::default()
        });
    }

    fn create_objects(&mut self) {
        let objects = &self.objects;
        let run = &mut self.run;
        let mut next = 0;
        let mut all = |made: &mut dyn Iterator<Item = Object>| {
            let base = next;
            for object in made {
                run.object(object);
                next += 1;
            }
            base
        };
        all(&mut objects
            .atomics
            .iter()
            .map(|(_, first)| Object::Atomic(*first)));
        let b = &mut self.bases;
        b.mutexes = all(&mut objects.mutexes.iter().map(|_| Object::mutex()));
        let rwlock = |writers_first: &bool| match writers_first {
            true => Object::rwlock(),
            false => Object::rwlock_readers_first(),
        };
        b.rwlocks = all(&mut objects.rwlocks.iter().map(rwlock));
        b.condvars = all(&mut objects.condvars.iter().map(|_| Object::condvar()));
        b.semaphores = all(&mut objects.semaphores.iter().copied().map(Object::Semaphore));
        b.barriers = all(&mut objects.barriers.iter().copied().map(Object::barrier));
        b.onces = all(&mut (0..objects.onces).map(|_| Object::Once(OnceState::New)));
        b.exit = all(&mut [Object::mutex()].into_iter());
        b.main_exit = all(&mut [Object::Semaphore(0)].into_iter());
        b.result = all(&mut [Object::Atomic(0)].into_iter());
    }

    fn spawn(&mut self, parent: ThreadId, number: usize) {
        let child = self.run.spawn(parent);
        self.live += 1;
        self.joined.push(false);
        self.threads.push(Thread {
            number,
            ..Thread::default()
        });
        self.threads[parent.index()].children.push((number, child));
        self.proceed(child);
    }

    /// Runs a thread on to its next operation.
    fn proceed(&mut self, id: ThreadId) {
        loop {
            let thread = &mut self.threads[id.index()];
            let code = self.bodies[thread.number][thread.pc];
            let site = Site((thread.number * 1000 + thread.pc + 1) as u32);
            thread.pc += 1;
            match code {
                Code::Act(act) => match self.act(id, act, site) {
                    Step::Come(pending) => {
                        self.threads[id.index()].pc -= 1;
                        return self.run.announce(id, pending);
                    }
                    _ => self.threads[id.index()].part = 0,
                },
                Code::End(ending) => {
                    thread.pc -= 1;
                    match self.end(id, ending, site) {
                        Step::Come(pending) => self.run.announce(id, pending),
                        _ => {
                            let thread = &self.threads[id.index()];
                            self.folded[thread.number] = thread.acc;
                            self.run.finish(id);
                        }
                    }
                    return;
                }
                Code::Spawn(number) => self.spawn(id, number),
                Code::Get(plain) => thread.t = self.plains[plain],
                Code::Set(plain, value) => {
                    self.plains[plain] = thread.value(value, 32);
                    match self.on_stack && id == ThreadId::MAIN {
                        true => thread.row.wrote_own = true,
                        false => thread.row.wrote = true,
                    }
                }
                Code::Unless(condition, target) => {
                    let holds = match condition {
                        If::T(test) => test.holds(thread.t),
                        If::V(test) => test.holds(thread.v),
                        If::Plain(plain, value) => self.plains[plain] == value,
                    };
                    if !holds {
                        thread.pc = target;
                    }
                }
                Code::FoldThread(number) => thread.fold(self.folded[number]),
                other => thread.own(other),
            }
        }
    }

    fn holder(&self, mutex: ObjectId) -> Option<ThreadId> {
        match self.run.state().object(mutex) {
            Object::Mutex { holder, .. } => *holder,
            _ => None,
        }
    }

    /// Whether a thread has a read-write lock for writing.
    fn writes(&self, id: ThreadId, lock: ObjectId) -> bool {
        matches!(
            self.run.state().object(lock),
            Object::RwLock { writer, acquired: true, .. } if *writer == Some(id)
        )
    }

    /// What an act comes to next.
    fn act(&mut self, id: ThreadId, act: Act, site: Site) -> Step {
        if let Some(step) = self.without_event(id, act) {
            return step;
        }
        let thread = &mut self.threads[id.index()];
        let clean = match act {
            Act::Unlock(m) => {
                let mutex = ObjectId(self.bases.mutexes + m as u32);
                let now = thread.variables.clone();
                thread.row.clean(mutex, site, now)
            }
            _ => false,
        };
        // What is expected stands in a variable whose address is passed on.
        thread.row.wrote_own |= matches!(act, Act::Compare(..));
        let b = &self.bases;
        let at = |base: u32, n: usize| ObjectId(base + n as u32);
        let mutex = |m| at(b.mutexes, m);
        let lock = |l| at(b.rwlocks, l);
        let semaphore = |s| at(b.semaphores, s);
        let thread = &self.threads[id.index()];
        let bits = |x: usize| self.objects.atomics[x].0;
        let part = thread.part;
        let late = |op: Op| (op, Gate::Late, false);
        let open = |op| (op, Gate::Open, false);
        let look = |op| (op, Gate::Open, true);
        let (op, gate, looks) = match act {
            Act::Load(x) => look(Op::Load(at(0, x))),
            Act::Store(x, value) => {
                let value = thread.value(value, bits(x));
                open(Op::Store(at(0, x), value))
            }
            Act::Modify(x, kind, operand) => {
                let rmw = Rmw {
                    kind,
                    operand,
                    bits: bits(x),
                };
                look(Op::Rmw(at(0, x), rmw))
            }
            Act::Compare(x, expected, new, weak) => look(Op::CompareExchange {
                object: at(0, x),
                expected,
                new,
                weak,
            }),
            Act::Lock(m) => look(Op::Lock(mutex(m))),
            Act::TryLock(m) => look(Op::TryLock(mutex(m))),
            Act::TimedLock(m) => late(Op::TryLock(mutex(m))),
            Act::Unlock(m) if clean => open(Op::UnlockClean(mutex(m))),
            Act::Unlock(m) => open(Op::Unlock(mutex(m))),
            Act::Read(l) => look(Op::ReadLock(lock(l))),
            Act::TryRead(l) => look(Op::TryReadLock(lock(l))),
            Act::TimedRead(l) => late(Op::TryReadLock(lock(l))),
            Act::TryWrite(l) => open(Op::TryWriteLock(lock(l))),
            // Goes when the lock is free.
            Act::Write(l) if self.one_step && !self.objects.rwlocks[l] => {
                (Op::TryWriteLock(lock(l)), Gate::Word(0), false)
            }
            Act::Write(l) if part == 0 => open(Op::WriteBegin(lock(l))),
            Act::Write(l) => open(Op::WriteAcquire(lock(l))),
            Act::TimedWrite(l) if part == 1 => late(Op::WriteAcquire(lock(l))),
            Act::TimedWrite(l) => late(Op::TryWriteLock(lock(l))),
            Act::RwUnlock(l) => open(match self.writes(id, lock(l)) {
                true => Op::WriteUnlock(lock(l)),
                false => Op::ReadUnlock(lock(l)),
            }),
            Act::Wait(c, timed) => {
                let condvar = at(b.condvars, c);
                let mutex = mutex(self.objects.condvars[c]);
                match part {
                    0 => open(Op::Enqueue { condvar, mutex }),
                    1 if timed => late(Op::Wake { condvar, timed }),
                    1 => open(Op::Wake { condvar, timed }),
                    _ => open(Op::Lock(mutex)),
                }
            }
            Act::Signal(c) => open(Op::NotifyOne(at(b.condvars, c))),
            Act::Broadcast(c) => open(Op::NotifyAll(at(b.condvars, c))),
            Act::Down(s) => open(Op::SemAcquire {
                object: semaphore(s),
                timed: false,
            }),
            Act::TryDown(s) => look(Op::SemTryAcquire(semaphore(s))),
            Act::TimedDown(s) => late(Op::SemAcquire {
                object: semaphore(s),
                timed: true,
            }),
            Act::Up(s) => open(Op::SemRelease(semaphore(s))),
            Act::Count(s) => look(Op::Load(semaphore(s))),
            Act::Arrive(n) if part == 0 => open(Op::Arrive(at(b.barriers, n))),
            Act::Arrive(n) => open(Op::Leave(at(b.barriers, n))),
            Act::OnceBegin(o) => open(Op::OnceBegin {
                object: at(b.onces, o),
                force: true,
            }),
            Act::OnceEnd(o) => open(Op::OnceEnd(at(b.onces, o), true)),
            Act::Any(n) => open(Op::Any(n)),
            // The runtime leaves the row alone: the thread is not heard of again.
            Act::Assume(_) => open(Op::Assume(false)),
            Act::Join(number) => {
                let mut children = thread.children.iter();
                let child = children.find(|child| child.0 == number);
                open(Op::Join(child.expect("it was created").1))
            }
            Act::Result => open(Op::Store(ObjectId(b.result), thread.acc)),
        };
        let (op, gate) = self.timed_step(id, op, gate, site);
        let pending = Pending {
            gate,
            ..Pending::new(op, site)
        };
        Step::Come(self.announced(id, pending, looks))
    }

    /// The operation and gate of a step that may time out where the gate is late; else as they are.
    fn timed_step(&mut self, id: ThreadId, op: Op, gate: Gate, site: Site) -> (Op, Gate) {
        if gate != Gate::Late {
            return (op, gate);
        }
        if let Op::WriteAcquire(lock) = op {
            let row = &mut self.threads[id.index()].row;
            row.pass();
            row.still_timed(Op::TryWriteLock(lock));
            return (op, Gate::Late);
        }
        match (op, self.late(id, op, site)) {
            // A try must not wait for several readers.
            (Op::TryWriteLock(lock), Gate::Late) => (Op::WriteBegin(lock), Gate::Late),
            (op, gate) => (op, gate),
        }
    }

    /// Acts that are no operation as things are.
    fn without_event(&mut self, id: ThreadId, act: Act) -> Option<Step> {
        let part = self.threads[id.index()].part;
        let mutex = |m: usize| ObjectId(self.bases.mutexes + m as u32);
        let mine = |m: usize| part == 0 && self.holder(mutex(m)) == Some(id);
        let lock = |l: usize| ObjectId(self.bases.rwlocks + l as u32);
        let (result, deeper) = match act {
            Act::Assume(test) => {
                let holds = test.holds(self.threads[id.index()].v);
                return holds.then_some(Step::Go);
            }
            Act::Lock(m) | Act::TryLock(m) | Act::TimedLock(m) if mine(m) => {
                match (self.objects.mutexes[m], act) {
                    (Kind::Recursive, _) => (0, Some((m, 1))),
                    (Kind::Checking, Act::Lock(_) | Act::TimedLock(_)) => (EDEADLK, None),
                    (_, Act::TryLock(_)) => return self.after(id, act),
                    _ => panic!("a mutex is locked again"),
                }
            }
            Act::Unlock(m) if part == 0 && self.depths[m] > 0 => {
                self.depths[m] -= 1;
                self.threads[id.index()].row.wrote = true;
                return Some(Step::Go);
            }
            Act::Read(l) | Act::TimedRead(l) | Act::Write(l) | Act::TimedWrite(l)
                if part == 0 && self.writes(id, lock(l)) =>
            {
                (EDEADLK, None)
            }
            _ => return self.after(id, act),
        };
        let thread = &mut self.threads[id.index()];
        thread.t = result;
        if let Some((m, more)) = deeper {
            self.depths[m] += more;
            thread.row.wrote = true;
        }
        Some(Step::Go)
    }

    /// Whether the act is done with all its parts.
    fn after(&self, id: ThreadId, act: Act) -> Option<Step> {
        let parts = match act {
            Act::Wait(..) => 3,
            Act::Write(l) if self.one_step && !self.objects.rwlocks[l] => 1,
            Act::Write(_) | Act::Arrive(_) => 2,
            Act::TimedWrite(_) => match self.run.execution().events.last() {
                Some(Event {
                    op: Op::WriteBegin(_),
                    ok: true,
                    thread,
                    ..
                }) if *thread == id => 2,
                _ => 1,
            },
            _ => 1,
        };
        (self.threads[id.index()].part >= parts).then_some(Step::Go)
    }

    /// An operation as it is announced: a loop may be parked at it.
    fn announced(&mut self, id: ThreadId, pending: Pending, looks: bool) -> Pending {
        let thread = &mut self.threads[id.index()];
        if !looks {
            thread.row.pass();
            return pending;
        }
        let now = thread.variables.clone();
        let Some(seen) = thread.row.come(pending.op, pending.site, now) else {
            return pending;
        };
        if let [(_, word)] = seen[..] {
            return Pending {
                gate: Gate::Word(word),
                ..pending
            };
        }
        let guess = Op::Any(seen.len() as u32);
        thread.parked = Some((seen, pending));
        Pending {
            op: guess,
            ..pending
        }
    }

    /// After an event of a loop that guesses or waits; `None`: it was no such event.
    fn guessed(&mut self, event: &Event) -> Option<Pending> {
        let id = event.thread;
        let thread = &mut self.threads[id.index()];
        let (mut seen, pending) = thread.parked.take()?;
        let now = thread.variables.clone();
        if std::mem::take(&mut thread.waits) {
            thread.row.resume(now);
            return Some(pending);
        }
        let (object, word) = seen.remove(event.result as usize);
        self.run.watch(id, seen);
        let gate = Gate::Word(word);
        if pending.op.object() == Some(object) {
            thread.row.resume(now);
            return Some(Pending { gate, ..pending });
        }
        thread.waits = true;
        thread.parked = Some((Vec::new(), pending));
        Some(Pending {
            op: Op::Await(object, word),
            gate,
            ..pending
        })
    }

    /// The gate of an operation that may time out: late in a round that repeats, and after some timeouts in a row at one place.
    fn late(&mut self, id: ThreadId, key: Op, site: Site) -> Gate {
        let thread = &mut self.threads[id.index()];
        let (counts, mut kept) = thread.variables.clone();
        kept.extend([thread.v, thread.acc]);
        let repeats = thread.row.timed(key, site, (counts, kept));
        let mut late = thread.late.iter();
        let late = late.find(|(known, place, _)| (*known, *place) == (key, site));
        let times = late.map_or(0, |(.., times)| *times);
        let cut = repeats && times > self.free;
        let gate = match cut || times >= IN_A_ROW {
            true => Gate::Late,
            false => Gate::Open,
        };
        // The run has to know for its end. It decides the same.
        assert_eq!(self.run.timed_gate(id, key, site, cut), gate);
        gate
    }

    /// How an operation that may time out ended.
    fn timed(&mut self, id: ThreadId, key: Op, site: Site, ok: bool) {
        let late = &mut self.threads[id.index()].late;
        let is_it = |(known, place, _): &(Op, Site, u32)| (*known, *place) == (key, site);
        let times = late
            .iter()
            .find(|late| is_it(late))
            .map_or(0, |late| late.2);
        self.run.timed(id, key, site, ok);
        late.retain(|late| !is_it(late));
        if !ok {
            late.push((key, site, times + 1));
        }
    }

    /// The end of a thread, which may be the end of the process.
    fn end(&mut self, id: ThreadId, ending: Ending, site: Site) -> Step {
        let open = |op| Step::Come(Pending::new(op, site));
        let main = id == ThreadId::MAIN;
        let thread = &mut self.threads[id.index()];
        thread.row.pass();
        let exit = ObjectId(self.bases.exit);
        match ending {
            Ending::Return | Ending::Exit if !main => Step::End,
            // It ends the process, and is not heard of again.
            Ending::Return | Ending::Quit if self.live > 1 => {
                self.ended |= thread.part > 0;
                open(Op::Lock(exit))
            }
            Ending::Exit if thread.part == 0 => {
                open(Op::SemRelease(ObjectId(self.bases.main_exit)))
            }
            Ending::Exit => {
                // Joins everybody, creators before those they created.
                let threads = &self.run.execution().threads;
                let mut others: Vec<_> = (1..threads.len()).collect();
                others.sort_by_key(|thread| &threads[*thread].path);
                let next = match self.run.execution().events.last().map(|event| event.op) {
                    Some(Op::Join(last)) if thread.part > 1 => {
                        let path = &threads[last.index()].path;
                        others
                            .into_iter()
                            .find(|other| threads[*other].path > *path)
                    }
                    _ => others.first().copied(),
                };
                match next {
                    Some(next) => open(Op::Join(ThreadId(next as u32))),
                    None => {
                        self.ended = true;
                        Step::End
                    }
                }
            }
            Ending::Return | Ending::Quit => {
                self.ended = true;
                Step::End
            }
        }
    }

    /// What a thread makes of what happened, and its next operation.
    fn digest(&mut self, event: &Event) {
        let id = event.thread;
        let (state, threads) = (self.run.state(), &mut self.threads);
        let thread = &mut threads[id.index()];
        thread.row.done(event, state);
        if let Op::Join(other) = event.op {
            let joined = &mut self.joined[other.index()];
            self.live -= usize::from(!std::mem::replace(joined, true));
        }
        if let Some(pending) = self.guessed(event) {
            return self.run.announce(id, pending);
        }
        let thread = &mut self.threads[id.index()];
        thread.part += 1;
        if let Code::Act(act) = self.bodies[thread.number][thread.pc] {
            thread.result(act, event);
            let timed = match (act, event.op) {
                (Act::TimedWrite(_), op) => op.object().map(Op::TryWriteLock),
                (Act::TimedLock(_) | Act::TimedRead(_) | Act::TimedDown(_), op) => Some(op),
                (Act::Wait(_, true), op @ Op::Wake { .. }) => Some(op),
                _ => None,
            };
            if let Some(key) = timed {
                self.timed(id, key, event.site, event.ok);
            }
        }
        self.proceed(id);
    }

    /// How a run really ended.
    fn verdict(&self, end: End) -> End {
        let parked = |pending: &Pending| {
            let write = matches!(pending.op, Op::TryWriteLock(_));
            pending.gate != Gate::Open && !write
        };
        let mut waiting =
            (0..self.threads.len()).filter_map(|thread| self.run.pending(ThreadId(thread as u32)));
        match end {
            // The end of the process ends those who wait.
            End::Deadlock | End::Livelock if self.ended => End::Done,
            End::Livelock if !waiting.any(parked) => End::Deadlock,
            end => end,
        }
    }
}

impl Test {
    fn holds(self, value: u64) -> bool {
        match self {
            Test::Is(other) => value == other,
            Test::IsNot(other) => value != other,
        }
    }
}

/// A number as so many bits hold it.
pub fn cut(value: u64, bits: u8) -> u64 {
    value & (u64::MAX >> (64 - u32::from(bits)))
}

impl Thread {
    fn value(&self, value: Value, bits: u8) -> u64 {
        match value {
            Value::Const(value) => cut(value, bits),
            Value::Last(more) => cut(self.v.wrapping_add(more), bits),
        }
    }

    fn fold(&mut self, value: u64) {
        self.acc = self
            .acc
            .wrapping_mul(31)
            .wrapping_add(value)
            .wrapping_add(1);
    }

    /// Instructions that concern nobody else.
    fn own(&mut self, code: Code) {
        let (counts, kept) = &mut self.variables;
        let room = |slot: usize| slot + 1;
        match code {
            Code::Fold => {
                self.v = self.t;
                self.fold(self.t);
            }
            Code::FoldFound => self.fold(self.u),
            Code::Touch => self.row.wrote = true,
            Code::Keep(slot) => {
                kept.resize(kept.len().max(room(slot)), 0);
                kept[slot] = self.t;
            }
            Code::Jump(target) => self.pc = target,
            Code::Begin(slot) => {
                counts.resize(counts.len().max(room(slot)), 0);
                counts[slot] = 0;
            }
            Code::Again(slot, times, target) => {
                counts[slot] += 1;
                if counts[slot] < times {
                    self.pc = target;
                }
            }
            Code::Enter => {
                self.frames.push((self.v, self.acc));
                (self.v, self.acc) = (0, 0);
            }
            Code::Exit => (self.v, self.acc) = self.frames.pop().expect("entered before"),
            _ => unreachable!("not a thread's own business"),
        }
    }

    /// What an act returns.
    fn result(&mut self, act: Act, event: &Event) {
        let failed = |error: u64| if event.ok { 0 } else { error };
        self.t = match act {
            Act::Load(_) | Act::Modify(..) | Act::Any(_) | Act::Count(_) => event.result,
            Act::Compare(..) => {
                self.u = event.result;
                u64::from(event.ok)
            }
            Act::TryLock(_) | Act::TryRead(_) | Act::TryWrite(_) => failed(EBUSY),
            Act::TryDown(_) => failed(EAGAIN),
            Act::TimedLock(_) | Act::TimedRead(_) | Act::TimedWrite(_) | Act::TimedDown(_) => {
                failed(ETIMEDOUT)
            }
            Act::Wait(..) => match event.op {
                Op::Wake { .. } => failed(ETIMEDOUT),
                _ => return,
            },
            Act::Arrive(_) | Act::OnceBegin(_) => event.result,
            Act::Lock(_) | Act::Read(_) | Act::Write(_) | Act::Down(_) => 0,
            _ => return,
        };
    }
}

impl Target for Machine {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.start(plan);
        self.proceed(ThreadId::MAIN);
        loop {
            match self.run.next() {
                Next::Go(choice) => {
                    let event = self.run.step(choice);
                    self.digest(&event);
                }
                Next::End(end) => {
                    let end = self.verdict(end);
                    self.note_outcome(end);
                    return Ok(self.run.end(end));
                }
                Next::Diverged => {
                    return Err(self.run.divergence().expect("it diverged").clone().into());
                }
            }
        }
    }
}

/// Whether a program may come to a write lock whose time limit is late: that one cannot be told in one step.
pub fn needs_two_steps(program: &Program) -> bool {
    let mut found = false;
    each(&program.main, &mut |stmt| {
        found |= matches!(stmt, Stmt::Writing(_, How::Timed, _));
    });
    found
}
