//! A tiny language whose programs are targets: threads of instructions with one register each, no operating system.

mod pipe_steps;
mod watching;

pub use pipe_steps::PipeStep;

use reweave_conduct::{Next, Run};
use reweave_explore::{Target, TargetError};
use reweave_model::*;
use std::hash::Hash;

/// One instruction. Objects are named by index within their kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum I {
    Load(u32),
    Store(u32, u64),
    /// Stores register + constant.
    StoreReg(u32, u64),
    Add(u32, u64),
    Cas(u32, u64, u64),
    CasWeak(u32, u64, u64),
    Lock(u32),
    /// Skips so many instructions when it fails.
    TryLock(u32, usize),
    Unlock(u32),
    /// Of a section that changed nothing.
    UnlockClean(u32),
    /// Locks behind the first `rwlocks` ones let readers go first.
    ReadLock(u32),
    ReadUnlock(u32),
    WriteLock(u32),
    WriteUnlock(u32),
    TryRead(u32, usize),
    TryWrite(u32, usize),
    /// Time out only when nothing else can run, and then skip so many instructions.
    LockLate(u32, usize),
    ReadLate(u32, usize),
    WriteLate(u32, usize),
    Wait(u32, u32),
    WaitTimeout(u32, u32),
    /// Waits on the condition variable if the atomic has this value.
    WaitIf(u32, u32, u64),
    WaitIfTimeout(u32, u32, u64),
    WaitIfLate(u32, u32, u64),
    NotifyOne(u32),
    NotifyAll(u32),
    Acquire(u32),
    TryAcquire(u32),
    AcquireTimeout(u32),
    AcquireLate(u32),
    Release(u32),
    /// Looks at the semaphore's count.
    Count(u32),
    /// Takes at most so much of the semaphore's count; waits while it is 0.
    Take(u32, u64),
    TryTake(u32, u64),
    /// Adds so much to it; waits while there is no room.
    Increase(u32, u64),
    TryIncrease(u32, u64),
    /// Frees this address.
    Free(u64),
    /// Frees the address in the register, or another one if that is none.
    FreeReg,
    /// Allocates a block; the register gets its address, 0 if that is new.
    Allocate,
    Barrier(u32),
    OnceBegin(u32),
    OnceEnd(u32),
    OnceFail(u32),
    OnceForce(u32),
    Send(u32),
    TrySend(u32),
    Recv(u32),
    RecvTimeout(u32),
    TryRecv(u32),
    AddSender(u32),
    DropSender(u32),
    DropReceiver(u32),
    Park,
    ParkTimeout,
    /// Unparks the thread that runs this body.
    Unpark(usize),
    Any(u32),
    /// Creates a thread that runs this body.
    Spawn(usize),
    /// Joins the n-th thread created by this one.
    Join(usize),
    /// Skips so many instructions unless the register has this value.
    SkipUnless(u64, usize),
    /// As their namesakes, but time out only when nothing else can run.
    WaitLate(u32, u32),
    ParkLate,
    RecvLate(u32),
    /// Spins until the atomic has this value.
    SpinUntil(u32, u64),
    /// Looks under the mutex until sections have changed something so many times.
    PollUntil(u32, u64),
    /// The same under the read lock.
    ReadUntil(u32, u64),
    /// Looks at the atomic, then under the mutex, until either has come so far.
    PollEither(u32, u32, u64),
    /// Looks at the mutex, or writes to it, without taking it.
    Look(u32),
    Heal(u32),
    /// Tries to take the mutex until it gets it.
    SpinLock(u32),
    /// Tries to take all of the semaphore's count until there is some.
    SpinTake(u32),
    /// The same with the read-write lock, for reading. For writing, `optimal` is known to miss classes when several readers
    /// are to be waited for.
    SpinRead(u32),
    /// What is done with a pipe.
    Pipe(u32, PipeStep),
    /// Looks at both pipes until there is something to get from one of them, or all writers of it are gone.
    PollPipes(u32, u32),
}

/// How many objects of each kind there are.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub atomics: u32,
    pub mutexes: u32,
    pub rwlocks: u32,
    pub readers_first: u32,
    pub condvars: u32,
    /// With their first counts.
    pub semaphores: Vec<u64>,
    /// With their sizes.
    pub barriers: Vec<u32>,
    pub onces: u32,
    /// With their capacities.
    pub channels: Vec<Option<u32>>,
    /// With their capacities; behind the first two are pipes of messages.
    pub pipes: Vec<u64>,
}

/// A program: bodies, the first of which is the first thread's.
#[derive(Clone, Default)]
pub struct Program {
    pub objects: Objects,
    /// Whether waits may end without a notification.
    pub spurious: bool,
    /// Where readers go first, writers take the lock in one step, as they really do.
    pub one_step: bool,
    pub bodies: Vec<Vec<I>>,
}

impl Program {
    fn one_step(&self, lock: u32) -> bool {
        self.one_step && lock >= self.objects.rwlocks
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        writeln!(
            f,
            "semaphores {:?}, spurious {}",
            self.objects.semaphores, self.spurious
        )?;
        self.bodies
            .iter()
            .try_for_each(|body| writeln!(f, "{body:?}"))
    }
}

struct Thread {
    body: usize,
    pc: usize,
    /// Second and later parts of a compound instruction.
    part: u8,
    register: u64,
    /// What a loop that looks at two objects saw of them, and which it guesses will change.
    seen: [u64; 2],
    guess: u64,
    children: Vec<ThreadId>,
}

/// Runs a program.
pub struct Machine {
    program: Program,
    run: Run,
    threads: Vec<Thread>,
    bases: Bases,
    /// Whether states are recorded whatever the plan says.
    states: bool,
}

#[derive(Default)]
struct Bases {
    mutexes: u32,
    rwlocks: u32,
    condvars: u32,
    semaphores: u32,
    barriers: u32,
    onces: u32,
    channels: u32,
    parkers: u32,
    pool: u32,
    pipes: u32,
}

impl Machine {
    pub fn new(program: &Program) -> Machine {
        Machine {
            program: program.clone(),
            run: Run::default(),
            threads: Vec::new(),
            bases: Bases::default(),
            states: false,
        }
    }

    /// Records states whatever the plan says.
    pub fn with_states(mut self) -> Machine {
        self.states = true;
        self
    }

    /// The last execution.
    pub fn last(&self) -> &Execution {
        self.run.execution()
    }

    /// Where the threads are now, and the values of objects that have one: the same however threads are numbered.
    pub fn place(&self) -> String {
        let state = self.run.state();
        let thread = |(id, thread): (u32, &Thread)| {
            let place = (thread.body, thread.pc, thread.part, thread.register);
            (state.path(ThreadId(id)).to_vec(), place)
        };
        let mut threads: Vec<_> = (0..).zip(&self.threads).map(thread).collect();
        threads.sort();
        let values = state.objects().iter();
        let values: Vec<_> = values
            .filter(|it| matches!(it, Object::Atomic(_) | Object::Semaphore(_)))
            .collect();
        format!("{threads:?} {values:?}")
    }

    /// All that the future depends on. (A loop that looks under a lock depends on how often that was released: its states are not known.)
    fn state(&self) -> StateId {
        let mut identity = Identity::default();
        let name = |object: ObjectId| u64::from(object.0);
        self.run.identify(name, |_| false, &mut identity);
        for thread in &self.threads {
            let place = (thread.body, thread.pc, thread.part);
            let values = (thread.register, thread.seen, thread.guess);
            (place, values, &thread.children).hash(&mut identity);
        }
        identity.id()
    }

    fn create_objects(&mut self) {
        let objects = &self.program.objects;
        let run = &mut self.run;
        let mut next = 0;
        let mut many = |n: u32, make: &dyn Fn(usize) -> Object| {
            let base = next;
            for i in 0..n {
                run.object(make(i as usize));
            }
            next += n;
            base
        };
        many(objects.atomics, &|_| Object::Atomic(0));
        self.bases.mutexes = many(objects.mutexes, &|_| Object::mutex());
        self.bases.rwlocks = many(objects.rwlocks, &|_| Object::rwlock());
        many(objects.readers_first, &|_| Object::rwlock_readers_first());
        self.bases.condvars = many(objects.condvars, &|_| Object::condvar());
        self.bases.semaphores = many(objects.semaphores.len() as u32, &|i| {
            Object::Semaphore(objects.semaphores[i])
        });
        // Every other one has no leader.
        self.bases.barriers = many(objects.barriers.len() as u32, &|i| match i % 2 {
            0 => Object::barrier(objects.barriers[i]),
            _ => Object::barrier_without_leader(objects.barriers[i]),
        });
        self.bases.onces = many(objects.onces, &|_| Object::Once(OnceState::New));
        self.bases.channels = many(objects.channels.len() as u32, &|i| {
            Object::channel(objects.channels[i])
        });
        self.bases.parkers = many(16, &|_| Object::Parker(false));
        self.bases.pool = many(1, &|_| Object::pool());
        self.bases.pipes = many(objects.pipes.len() as u32, &|i| match i {
            0 | 1 => Object::pipe(objects.pipes[i]),
            _ => Object::message_pipe(objects.pipes[i]),
        });
    }

    /// Runs a thread on to its next operation.
    fn proceed(&mut self, id: ThreadId, newborn: &mut Vec<ThreadId>) {
        loop {
            let thread = &mut self.threads[id.index()];
            let Some(&instruction) = self.program.bodies[thread.body].get(thread.pc) else {
                self.run.finish(id);
                return;
            };
            match instruction {
                I::Spawn(body) => {
                    let child = self.run.spawn(id);
                    thread.children.push(child);
                    thread.pc += 1;
                    newborn.push(child);
                    self.threads.push(Thread {
                        body,
                        pc: 0,
                        part: 0,
                        register: 0,
                        seen: [0; 2],
                        guess: 0,
                        children: Vec::new(),
                    });
                }
                I::SkipUnless(value, skip) => {
                    thread.pc += if thread.register == value {
                        1
                    } else {
                        1 + skip
                    };
                }
                _ => {
                    let site = Site((thread.body * 100 + thread.pc + 1) as u32);
                    let pending = self.decode(id, instruction, site);
                    if let Op::Await(..) = pending.op {
                        let thread = &self.threads[id.index()];
                        let other = 1 - thread.guess as usize;
                        let object = watching::objects(instruction, &self.bases)[other];
                        self.run.watch(id, vec![(object, thread.seen[other])]);
                    }
                    self.run.announce(id, pending);
                    return;
                }
            }
        }
    }

    fn decode(&self, id: ThreadId, instruction: I, site: Site) -> Pending {
        let thread = &self.threads[id.index()];
        let b = &self.bases;
        let at = |base: u32, n: u32| ObjectId(base + n);
        let channel = |n| at(b.channels, n);
        let mut gate = Gate::Open;
        let op = match (instruction, thread.part) {
            (I::Load(x), _) => Op::Load(ObjectId(x)),
            (I::Store(x, v), _) => Op::Store(ObjectId(x), v),
            (I::StoreReg(x, v), _) => Op::Store(ObjectId(x), v + thread.register),
            (I::Add(x, operand), _) => Op::Rmw(ObjectId(x), add(operand)),
            (I::Cas(x, expected, new) | I::CasWeak(x, expected, new), _) => Op::CompareExchange {
                object: ObjectId(x),
                expected,
                new,
                weak: matches!(instruction, I::CasWeak(..)),
            },
            (I::SpinUntil(x, _), part) => {
                if part > 0 {
                    gate = Gate::Word(thread.register);
                }
                Op::Load(ObjectId(x))
            }
            (I::Lock(m), _) => Op::Lock(at(b.mutexes, m)),
            (I::TryLock(m, _), _) => Op::TryLock(at(b.mutexes, m)),
            (I::Unlock(m), _) => Op::Unlock(at(b.mutexes, m)),
            (I::Look(m), _) => Op::Load(at(b.mutexes, m)),
            (I::Heal(m), _) => Op::Store(at(b.mutexes, m), 0),
            (I::UnlockClean(m), _) => Op::UnlockClean(at(b.mutexes, m)),
            (I::PollUntil(m, _), part) if part % 2 == 0 => {
                if part > 0 {
                    gate = Gate::Word(thread.register);
                }
                Op::Lock(at(b.mutexes, m))
            }
            (I::PollUntil(m, _), _) => Op::UnlockClean(at(b.mutexes, m)),
            (I::ReadUntil(l, _), part) if part % 2 == 0 => {
                if part > 0 {
                    gate = Gate::Word(thread.register);
                }
                Op::ReadLock(at(b.rwlocks, l))
            }
            (I::ReadUntil(l, _), _) => Op::ReadUnlock(at(b.rwlocks, l)),
            (I::SpinLock(_) | I::SpinRead(_) | I::SpinTake(_), part) => {
                if part > 0 {
                    gate = Gate::Word(thread.register);
                }
                match instruction {
                    I::SpinLock(m) => Op::TryLock(at(b.mutexes, m)),
                    I::SpinRead(l) => Op::TryReadLock(at(b.rwlocks, l)),
                    _ => counting(instruction, b.semaphores),
                }
            }
            (I::PollEither(..) | I::PollPipes(..), _) => {
                let (op, passes) = watching::operation(instruction, thread, b);
                gate = passes;
                op
            }
            (I::Pipe(p, step), _) => step.operation(at(b.pipes, p)),
            (I::ReadLock(l), _) => Op::ReadLock(at(b.rwlocks, l)),
            (I::ReadUnlock(l), _) => Op::ReadUnlock(at(b.rwlocks, l)),
            (I::WriteLock(l), _) if self.program.one_step(l) => {
                // Goes when the lock is free.
                gate = Gate::Word(0);
                Op::TryWriteLock(at(b.rwlocks, l))
            }
            (I::WriteLock(l) | I::WriteLate(l, _), part) => {
                if let I::WriteLate(..) = instruction {
                    gate = Gate::Late;
                }
                match part {
                    0 => Op::WriteBegin(at(b.rwlocks, l)),
                    _ => Op::WriteAcquire(at(b.rwlocks, l)),
                }
            }
            (I::LockLate(m, _), _) => {
                gate = Gate::Late;
                Op::TryLock(at(b.mutexes, m))
            }
            (I::ReadLate(l, _), _) => {
                gate = Gate::Late;
                Op::TryReadLock(at(b.rwlocks, l))
            }
            (I::WriteUnlock(l), _) => Op::WriteUnlock(at(b.rwlocks, l)),
            (I::TryRead(l, _), _) => Op::TryReadLock(at(b.rwlocks, l)),
            (I::TryWrite(l, _), _) => Op::TryWriteLock(at(b.rwlocks, l)),
            (I::Wait(c, m) | I::WaitTimeout(c, m) | I::WaitLate(c, m), 0) => Op::Enqueue {
                condvar: at(b.condvars, c),
                mutex: at(b.mutexes, m),
            },
            (I::Wait(c, _) | I::WaitTimeout(c, _) | I::WaitLate(c, _), 1) => {
                if let I::WaitLate(..) = instruction {
                    gate = Gate::Late;
                }
                Op::Wake {
                    condvar: at(b.condvars, c),
                    timed: !matches!(instruction, I::Wait(..)),
                }
            }
            (I::Wait(_, m) | I::WaitTimeout(_, m) | I::WaitLate(_, m), _) => {
                Op::Lock(at(b.mutexes, m))
            }
            (
                I::WaitIf(c, atomic, expected)
                | I::WaitIfTimeout(c, atomic, expected)
                | I::WaitIfLate(c, atomic, expected),
                0,
            ) => Op::EnqueueIf {
                condvar: at(b.condvars, c),
                atomic: ObjectId(atomic),
                expected,
            },
            (I::WaitIf(c, ..) | I::WaitIfTimeout(c, ..) | I::WaitIfLate(c, ..), _) => {
                if let I::WaitIfLate(..) = instruction {
                    gate = Gate::Late;
                }
                Op::Wake {
                    condvar: at(b.condvars, c),
                    timed: !matches!(instruction, I::WaitIf(..)),
                }
            }
            (I::NotifyOne(c), _) => Op::NotifyOne(at(b.condvars, c)),
            (I::NotifyAll(c), _) => Op::NotifyAll(at(b.condvars, c)),
            (I::Acquire(s), _) => Op::SemAcquire {
                object: at(b.semaphores, s),
                timed: false,
            },
            (I::AcquireTimeout(s) | I::AcquireLate(s), _) => {
                if let I::AcquireLate(_) = instruction {
                    gate = Gate::Late;
                }
                Op::SemAcquire {
                    object: at(b.semaphores, s),
                    timed: true,
                }
            }
            (I::TryAcquire(s), _) => Op::SemTryAcquire(at(b.semaphores, s)),
            (I::Release(s), _) => Op::SemRelease(at(b.semaphores, s)),
            (I::Count(s), _) => Op::Load(at(b.semaphores, s)),
            (I::Free(_) | I::FreeReg | I::Allocate, _) => pooling(instruction, thread, b.pool),
            (I::Barrier(n), 0) => Op::Arrive(at(b.barriers, n)),
            (I::Barrier(n), _) => Op::Leave(at(b.barriers, n)),
            (I::OnceBegin(o) | I::OnceForce(o), _) => Op::OnceBegin {
                object: at(b.onces, o),
                force: matches!(instruction, I::OnceForce(_)),
            },
            (I::OnceEnd(o), _) => Op::OnceEnd(at(b.onces, o), true),
            (I::OnceFail(o), _) => Op::OnceEnd(at(b.onces, o), false),
            (I::Send(c), 0) => Op::Send(channel(c)),
            (I::Send(c), _) => Op::Handoff(channel(c), thread.register),
            (I::TrySend(c), _) => Op::TrySend(channel(c)),
            (I::Recv(c) | I::RecvTimeout(c) | I::RecvLate(c), _) => {
                if let I::RecvLate(_) = instruction {
                    gate = Gate::Late;
                }
                Op::Recv {
                    object: channel(c),
                    timed: !matches!(instruction, I::Recv(_)),
                }
            }
            (I::TryRecv(c), _) => Op::TryRecv(channel(c)),
            (I::AddSender(c), _) => Op::SenderAdd(channel(c)),
            (I::DropReceiver(c), _) => Op::ReceiverDrop(channel(c)),
            (I::DropSender(c), _) => Op::SenderDrop(channel(c)),
            (I::Park | I::ParkTimeout | I::ParkLate, _) => {
                if instruction == I::ParkLate {
                    gate = Gate::Late;
                }
                Op::Park {
                    object: at(b.parkers, thread.body as u32),
                    timed: instruction != I::Park,
                }
            }
            (I::Unpark(body), _) => Op::Unpark(at(b.parkers, body as u32)),
            (I::Any(n), _) => Op::Any(n),
            (I::Join(n), _) => Op::Join(thread.children[n]),
            _ => counting(instruction, b.semaphores),
        };
        Pending {
            gate,
            ..Pending::new(op, site)
        }
    }

    /// What the instruction makes of what happened.
    fn digest(&mut self, event: &Event) {
        let thread = &mut self.threads[event.thread.index()];
        let instruction = self.program.bodies[thread.body][thread.pc];
        thread.part += 1;
        let look = |run: &Run| {
            let object = event.op.object().expect("a loop polls an object");
            run.state().object(object).sees(event.op)
        };
        match instruction {
            _ if looks_again(instruction) => thread.register = look(&self.run),
            _ => watching::note(instruction, thread, event, self.run.state()),
        }
        let channels = &self.program.objects.channels;
        let parts = match instruction {
            I::Wait(..) | I::WaitTimeout(..) | I::WaitLate(..) => 3,
            I::WaitIf(..) | I::WaitIfTimeout(..) | I::WaitIfLate(..) if event.ok => 2,
            I::WriteLock(l) if self.program.one_step(l) => 1,
            I::WriteLate(..) if !event.ok => 1,
            I::WriteLock(_) | I::WriteLate(..) | I::Barrier(_) => 2,
            I::Allocate if thread.part == 1 && event.result != 0 => 2,
            I::Send(c) if channels[c as usize] == Some(0) && event.ok => 2,
            I::SpinUntil(_, value) if event.result != value => u8::MAX,
            I::PollUntil(_, times) | I::ReadUntil(_, times) if version(thread.register) < times => {
                u8::MAX
            }
            I::PollUntil(..) | I::ReadUntil(..) if thread.part % 2 == 1 => u8::MAX,
            _ if tries_again(instruction) && !event.ok => u8::MAX,
            _ => watching::parts(instruction, thread, event, self.run.state()),
        };
        match instruction {
            I::Wait(..) | I::WaitTimeout(..) | I::WaitLate(..) if thread.part != 2 => {}
            I::PollUntil(..) | I::ReadUntil(..) | I::PollEither(..) if thread.part < parts => {}
            _ if tries_again(instruction) && thread.part < parts => {}
            I::PollPipes(..) => thread.register = thread.part.into(),
            I::Allocate if thread.part == 2 => thread.register *= u64::from(event.ok),
            _ if returns(instruction) => thread.register = event.result,
            _ => thread.register = u64::from(event.ok),
        }
        if thread.part >= parts {
            thread.part = 0;
            thread.pc += 1;
            match instruction {
                I::TryLock(_, skip)
                | I::TryRead(_, skip)
                | I::TryWrite(_, skip)
                | I::LockLate(_, skip)
                | I::ReadLate(_, skip)
                | I::WriteLate(_, skip)
                    if !event.ok =>
                {
                    thread.pc += skip;
                }
                _ => {}
            }
        } else if watching::begins_again(instruction, thread.part) {
            thread.part = 0;
        } else if thread.part > 200 {
            thread.part = 200;
        }
    }
}

/// The operation of an instruction that frees or allocates. An address that another thread was faster to take is new after all.
fn pooling(instruction: I, thread: &Thread, pool: u32) -> Op {
    let pool = ObjectId(pool);
    match instruction {
        I::Free(address) => Op::Free(pool, address),
        I::FreeReg => Op::Free(pool, thread.register.max(4)),
        _ if thread.part == 0 => Op::Allocate(pool),
        _ => Op::Reuse(pool, thread.register),
    }
}

/// How often what a lock protects was changed, from what an operation saw of it.
fn version(seen: u64) -> u64 {
    seen >> 2
}

impl Machine {
    fn start(&mut self, plan: &Plan) {
        self.run.allow_spurious(self.program.spurious);
        self.run.begin(plan);
        self.create_objects();
        self.threads.clear();
        self.threads.push(Thread {
            body: 0,
            pc: 0,
            part: 0,
            register: 0,
            seen: [0; 2],
            guess: 0,
            children: Vec::new(),
        });
    }

    /// Brings new threads to their first operation.
    fn settle(&mut self, newborn: &mut Vec<ThreadId>) {
        let mut at = 0;
        while at < newborn.len() {
            self.proceed(newborn[at], newborn);
            at += 1;
        }
        newborn.clear();
    }
}

impl Target for Machine {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.start(plan);
        let mut newborn = vec![ThreadId::MAIN];
        loop {
            self.settle(&mut newborn);
            if self.states || self.run.records_states() {
                self.run.enter_state(self.state());
            }
            match self.run.next() {
                Next::Go(choice) => {
                    let event = self.run.step(choice);
                    self.digest(&event);
                    self.proceed(choice.thread, &mut newborn);
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

/// How often a thread that could have gone on lost its turn. Plays the execution again on a machine of its own.
pub fn preemptions(program: &Program, execution: &Execution) -> u32 {
    let mut machine = Machine::new(program);
    let mut count = 0;
    let mut last: Option<ThreadId> = None;
    let mut newborn = vec![ThreadId::MAIN];
    machine.start(&Plan::default());
    for event in &execution.events {
        machine.settle(&mut newborn);
        if let Some(last) = last.filter(|last| *last != event.thread) {
            let pending = machine.run.pending(last).copied();
            let able = pending.is_some_and(|pending| machine.run.state().goes_on(last, &pending));
            count += u32::from(able);
        }
        // Late timeouts are let go when the machine is asked and nobody can go.
        machine.run.next();
        let event = machine.run.step(Choice {
            thread: event.thread,
            outcome: event.outcome,
        });
        last = Some(event.thread);
        machine.digest(&event);
        machine.proceed(event.thread, &mut newborn);
    }
    count
}

/// Whether an instruction is a loop that looks at one object in each round.
fn looks_again(instruction: I) -> bool {
    matches!(instruction, I::PollUntil(..) | I::ReadUntil(..)) || tries_again(instruction)
}

/// Whether the register gets what the operation returns. Others leave there whether it succeeded.
fn returns(instruction: I) -> bool {
    matches!(
        instruction,
        I::Load(_)
            | I::Count(_)
            | I::Take(..)
            | I::TryTake(..)
            | I::SpinTake(_)
            | I::Any(_)
            | I::Send(_)
            | I::SpinUntil(..)
            | I::OnceBegin(_)
            | I::OnceForce(_)
            | I::Allocate
            | I::Barrier(_)
            | I::Add(..)
            | I::Pipe(..)
    )
}

/// Whether an instruction tries the same operation until that succeeds.
fn tries_again(instruction: I) -> bool {
    matches!(
        instruction,
        I::SpinLock(_) | I::SpinRead(_) | I::SpinTake(_)
    )
}

/// An addition to a word of 64 bits.
fn add(operand: u64) -> Rmw {
    Rmw {
        kind: RmwKind::Add,
        operand,
        bits: 64,
    }
}

/// The operation of an instruction that changes the count of a semaphore by any number; `semaphores` is the number of the first one.
fn counting(instruction: I, semaphores: u32) -> Op {
    let at = |index| ObjectId(semaphores + index);
    let take = |index, most, tries| Op::Take {
        object: at(index),
        most,
        tries,
    };
    let add = |index, count, tries| Op::Add {
        object: at(index),
        count,
        tries,
    };
    match instruction {
        I::Take(index, most) => take(index, most, false),
        I::TryTake(index, most) => take(index, most, true),
        I::SpinTake(index) => take(index, u64::MAX, true),
        I::Increase(index, count) => add(index, count, false),
        I::TryIncrease(index, count) => add(index, count, true),
        _ => unreachable!("{instruction:?} is no operation"),
    }
}
