//! What a search costs beside running the program: `cargo run --release -p reweave-explore --example analysis`, or with
//! `-- lastzero 9` (program, size), and `-- lastzero 9 run` for the runs alone.
//!
//! The programs are state machines, so that next to nothing is spent on themselves: the same plans are first explored,
//! then only run. The difference is the analysis.

use reweave_conduct::{Next, Run};
use reweave_explore::{Flow, Options, Search, Target, TargetError};
use reweave_model::{Event, Execution, Object, ObjectId, Op, Pending, Plan, Site, ThreadId};
use std::sync::Mutex;

/// What a thread of a program knows.
#[derive(Clone, Copy, Default)]
struct Local {
    /// Which of the program's threads it is; the first thread is 0.
    id: usize,
    at: usize,
    x: usize,
    y: usize,
}

/// A program: what a thread does next, given what its last operation returned. The first thread creates all others, then
/// goes its own way, then joins them.
trait Program {
    fn threads(&self) -> usize;
    fn objects(&self) -> Vec<Object>;
    fn reset(&mut self) {}
    fn next(&mut self, me: &mut Local, result: u64) -> Option<Op>;
}

fn object(n: usize) -> ObjectId {
    ObjectId(n as u32)
}

/// Scans for the last zero of an array while N threads each fill a place from the one before.
struct LastZero(usize);

impl Program for LastZero {
    fn threads(&self) -> usize {
        self.0
    }

    fn objects(&self) -> Vec<Object> {
        vec![Object::Atomic(0); self.0 + 1]
    }

    fn next(&mut self, me: &mut Local, result: u64) -> Option<Op> {
        me.at += 1;
        match (me.id, me.at) {
            (0, 1) => {
                me.x = self.0;
                Some(Op::Load(object(me.x)))
            }
            (0, _) if result == 0 || me.x == 0 => None,
            (0, _) => {
                me.x -= 1;
                Some(Op::Load(object(me.x)))
            }
            (id, 1) => Some(Op::Load(object(id - 1))),
            (id, 2) => Some(Op::Store(object(id), result + 1)),
            _ => None,
        }
    }
}

/// One writer, N readers.
struct Readers(usize);

impl Program for Readers {
    fn threads(&self) -> usize {
        self.0
    }

    fn objects(&self) -> Vec<Object> {
        vec![Object::Atomic(0)]
    }

    fn next(&mut self, me: &mut Local, _: u64) -> Option<Op> {
        me.at += 1;
        match (me.id, me.at) {
            (0, 1) => Some(Op::Store(object(0), 1)),
            (_, 1) => Some(Op::Load(object(0))),
            _ => None,
        }
    }
}

/// N threads put four messages each into a hash table with a lock a slot.
struct Indexer {
    threads: usize,
    table: [usize; 128],
}

impl Program for Indexer {
    fn threads(&self) -> usize {
        self.threads
    }

    fn objects(&self) -> Vec<Object> {
        vec![Object::mutex(); 128]
    }

    fn reset(&mut self) {
        self.table = [0; 128];
    }

    /// `at`: messages sent, `x`: the slot, `y`: whether it is locked.
    fn next(&mut self, me: &mut Local, _: u64) -> Option<Op> {
        if me.id == 0 {
            return None;
        }
        if me.y == 1 {
            me.y = 0;
            let slot = me.x;
            if self.table[slot] == 0 {
                self.table[slot] = me.id;
                me.at += 1;
                me.x = usize::MAX;
            } else {
                me.x = (slot + 1) % 128;
            }
            return Some(Op::Unlock(object(slot)));
        }
        if me.at == 4 {
            return None;
        }
        if me.x == usize::MAX || (me.at == 0 && me.x == 0) {
            me.x = ((me.at + 1) * 11 + me.id - 1) * 7 % 128;
        }
        me.y = 1;
        Some(Op::Lock(object(me.x)))
    }
}

/// N threads take a block each for their inode: 32 inodes, 26 blocks, a lock each.
struct FsBench {
    threads: usize,
    inodes: [usize; 32],
    busy: [bool; 26],
}

impl Program for FsBench {
    fn threads(&self) -> usize {
        self.threads
    }

    fn objects(&self) -> Vec<Object> {
        vec![Object::mutex(); 32 + 26]
    }

    fn reset(&mut self) {
        self.inodes = [0; 32];
        self.busy = [false; 26];
    }

    fn next(&mut self, me: &mut Local, _: u64) -> Option<Op> {
        if me.id == 0 {
            return None;
        }
        let inode = (me.id - 1) % 32;
        let lock = |block: usize| object(32 + block);
        match me.at {
            0 => {
                me.at = 1;
                Some(Op::Lock(object(inode)))
            }
            1 if self.inodes[inode] == 0 => {
                me.at = 2;
                me.x = (inode * 2) % 26;
                Some(Op::Lock(lock(me.x)))
            }
            2 => {
                let block = me.x;
                if self.busy[block] {
                    me.at = 3;
                    me.x = (block + 1) % 26;
                } else {
                    self.busy[block] = true;
                    self.inodes[inode] = block + 1;
                    me.at = 1;
                }
                Some(Op::Unlock(lock(block)))
            }
            3 => {
                me.at = 2;
                Some(Op::Lock(lock(me.x)))
            }
            1 => {
                me.at = 4;
                Some(Op::Unlock(object(inode)))
            }
            _ => None,
        }
    }
}

/// N threads increment a number, each by compare-exchange until it succeeds.
struct Counter(usize);

impl Program for Counter {
    fn threads(&self) -> usize {
        self.0
    }

    fn objects(&self) -> Vec<Object> {
        vec![Object::Atomic(0)]
    }

    /// `x`: what was seen last.
    fn next(&mut self, me: &mut Local, result: u64) -> Option<Op> {
        if me.id == 0 || (me.at > 1 && result == me.x as u64) {
            return None;
        }
        me.at += 1;
        if me.at == 1 {
            return Some(Op::Load(object(0)));
        }
        me.x = result as usize;
        Some(Op::CompareExchange {
            object: object(0),
            expected: result,
            new: result + 1,
            weak: false,
        })
    }
}

/// Runs a program.
struct Machine {
    program: Box<dyn Program>,
    objects: Vec<Object>,
    run: Run,
    locals: Vec<Local>,
}

impl Machine {
    fn new(program: Box<dyn Program>) -> Machine {
        Machine {
            objects: program.objects(),
            program,
            run: Run::default(),
            locals: Vec::new(),
        }
    }

    fn proceed(&mut self, thread: ThreadId, result: u64) {
        let threads = self.program.threads();
        let me = &mut self.locals[thread.index()];
        let next = if me.id == 0 && me.at > usize::MAX / 2 {
            None
        } else {
            self.program.next(me, result)
        };
        let op = match next {
            Some(op) => op,
            // It has gone its own way.
            None if me.id == 0 => {
                if me.at <= usize::MAX / 2 {
                    me.at = usize::MAX / 2;
                }
                me.at += 1;
                let joined = me.at - usize::MAX / 2;
                if joined > threads {
                    self.run.finish(thread);
                    return;
                }
                Op::Join(ThreadId(joined as u32))
            }
            None => {
                self.run.finish(thread);
                return;
            }
        };
        let pending = Pending::new(op, Site(1));
        self.run.announce(thread, pending);
    }
}

impl Target for Machine {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.run.begin(plan);
        self.program.reset();
        for object in &self.objects {
            self.run.object(object.clone());
        }
        self.locals.clear();
        for id in 0..=self.program.threads() {
            if id > 0 {
                self.run.spawn(ThreadId::MAIN);
            }
            self.locals.push(Local {
                id,
                ..Local::default()
            });
        }
        for id in 0..=self.program.threads() {
            self.proceed(ThreadId(id as u32), 0);
        }
        loop {
            match self.run.next() {
                Next::Go(choice) => {
                    let Event { thread, result, .. } = self.run.step(choice);
                    self.proceed(thread, result);
                }
                Next::End(end) => return Ok(self.run.end(end)),
                Next::Diverged => {
                    return Err(self.run.divergence().expect("it diverged").clone().into());
                }
            }
        }
    }
}

fn program(name: &str, size: usize) -> Box<dyn Program> {
    match name {
        "lastzero" => Box::new(LastZero(size)),
        "readers" => Box::new(Readers(size)),
        "counter" => Box::new(Counter(size)),
        "indexer" => Box::new(Indexer {
            threads: size,
            table: [0; 128],
        }),
        "fsbench" => Box::new(FsBench {
            threads: size,
            inodes: [0; 32],
            busy: [false; 26],
        }),
        other => {
            panic!("no program is called {other}: lastzero, readers, counter, indexer or fsbench")
        }
    }
}

/// What this thread has spent on a processor, in nanoseconds.
fn spent() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).expect("a number")
}

/// What it takes in the best of some rounds, in nanoseconds. A round is long enough for a clock that ticks every few
/// milliseconds.
fn least(rounds: u32, mut work: impl FnMut()) -> f64 {
    let times = (0..rounds).map(|_| {
        let start = spent();
        let mut times = 0.0;
        loop {
            work();
            times += 1.0;
            let taken = spent() - start;
            if taken > 2e8 {
                return taken / times;
            }
        }
    });
    times.fold(f64::INFINITY, f64::min)
}

fn measure(name: &str, size: usize, explores: bool) {
    let kept = Mutex::new((Vec::new(), 0));
    let search = |keep: bool| {
        let after = |plan: &Plan, execution: &Execution| {
            if keep {
                let mut kept = kept.lock().expect("nobody panics here");
                kept.0.push(plan.clone());
                kept.1 += execution.events.len();
            }
            Flow::Continue
        };
        let machine = |_| Machine::new(program(name, size));
        Search::new(Options::default())
            .run(1, machine, || Flow::Continue, after)
            .expect("programs are deterministic");
    };
    search(true);
    let (plans, events) = &*kept.lock().expect("nobody panics here");
    let mut machine = Machine::new(program(name, size));
    let rounds = if explores { 5 } else { 0 };
    let mut run_all = || {
        for plan in plans.iter() {
            machine.run(plan).expect("programs are deterministic");
        }
    };
    run_all();
    let run = least(rounds, run_all);
    let whole = least(rounds, || {
        search(false);
    });
    let count = plans.len() as f64;
    let per = *events as f64 / count;
    println!(
        "{name}({size}): {count} executions of {per:.1} events: {:.0} ns to run ({:.1} an event), {:.0} ns to analyse, {:.2} million events a second",
        run / count,
        run / count / per,
        (whole - run) / count,
        per * count / whole * 1e3,
    );
}

fn main() {
    let arguments = Vec::from_iter(std::env::args().skip(1));
    match arguments.as_slice() {
        [] => {
            for (name, size) in [
                ("lastzero", 9),
                ("readers", 13),
                ("counter", 4),
                ("indexer", 15),
                ("fsbench", 26),
            ] {
                measure(name, size, true);
            }
        }
        [name, size, rest @ ..] => {
            let size = size.parse().expect("a number is expected");
            measure(name, size, rest.is_empty());
        }
        _ => panic!("program and size are expected"),
    }
}
