//! A run in memory that two processes share.
//!
//! The global allocator of this test can take memory from an arena that is mapped shared at a fixed address, and the
//! state of that allocator lies in the arena too. A [`Run`] made there is used by a parent and a forked child in turn:
//! each of them has half of the program's threads, whose registers are in its own memory. The executions must be those
//! of a single process.

use reweave_conduct::{Next, Run};
use reweave_model::{
    Choice, Divergence, Execution, Gate, Mark, Object, ObjectId, Op, Pending, Plan, Policy, Rmw,
    RmwKind, Site, Step, ThreadId,
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::*},
};

/// Where the arena is mapped: far from where programs and libraries are.
const ARENA: usize = 0x2345_0000_0000;
const BYTES: usize = 256 << 20;

/// The beginning of the arena, as several processes see it.
struct Header {
    /// How many bytes are in use; what is given back is not used again.
    used: AtomicUsize,
    /// The process whose turn it is: 0 the parent, 1 the child.
    turn: AtomicU32,
    /// What the run said to the process that asked last, for the other one.
    next: Cell<Option<Next>>,
    run: Cell<*mut Run>,
}

fn header() -> &'static Header {
    // SAFETY: callers have mapped the arena; zeros are a valid header (`None` is written before it is read), and the
    // cells are used only by the process that has the turn.
    unsafe { &*(ARENA as *const Header) }
}

thread_local! {
    /// What this thread allocates lies in the arena.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: blocks of the arena do not overlap, because each is taken by one atomic addition; all else is the system's.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !INSIDE.get() {
            // SAFETY: the layout is the caller's, who promises that it is not of size 0.
            return unsafe { System.alloc(layout) };
        }
        let bytes = layout.size() + layout.align();
        let start = ARENA + header().used.fetch_add(bytes, Relaxed);
        assert!(start + bytes <= ARENA + BYTES, "the arena is full");
        start.next_multiple_of(layout.align()) as *mut u8
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !(ARENA..ARENA + BYTES).contains(&(pointer as usize)) {
            // SAFETY: not from the arena, so from the system, with this layout.
            unsafe { System.dealloc(pointer, layout) }
        }
    }
}

/// Does something with the run in the arena.
fn inside<T>(work: impl FnOnce(&mut Run) -> T) -> T {
    INSIDE.set(true);
    // SAFETY: made before the fork. Only the process that has the turn comes here, with one thread, and the hand-over
    // orders memory.
    let result = work(unsafe { &mut *header().run.get() });
    INSIDE.set(false);
    result
}

fn map_arena() {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping that replaces none.
    let place = unsafe { libc::mmap(ARENA as *mut _, BYTES, protection, flags, -1, 0) };
    assert_eq!(
        place as usize, ARENA,
        "the arena is mapped where it is wanted"
    );
    header().used.store(size_of::<Header>(), Relaxed);
    header().next.set(None);
    INSIDE.set(true);
    header().run.set(Box::into_raw(Box::default()));
    INSIDE.set(false);
}

fn futex(operation: i32, value: u32) {
    let word = header().turn.as_ptr();
    // Only for the case that the other process has died.
    let limit = libc::timespec {
        tv_sec: 60,
        tv_nsec: 0,
    };
    // SAFETY: the word is in the arena; the limit outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_futex, word, operation, value, &raw const limit) };
    let error = std::io::Error::last_os_error().raw_os_error();
    assert!(
        result >= 0 || error != Some(libc::ETIMEDOUT),
        "the other process does not answer"
    );
}

/// Waits for the turn of a process.
fn wait_for(me: u32) {
    while header().turn.load(Acquire) != me {
        futex(libc::FUTEX_WAIT, 1 - me);
    }
}

fn hand_over(me: u32) {
    header().turn.store(1 - me, Release);
    futex(libc::FUTEX_WAKE, 1);
}

/// Two atomics, a mutex and a semaphore.
fn objects() -> [Object; 4] {
    [
        Object::Atomic(0),
        Object::Atomic(1),
        Object::mutex(),
        Object::Semaphore(0),
    ]
}

/// A thread of the program: what it does next depends on what it read, which only its process knows.
#[derive(Clone, Copy, Default)]
struct Registers {
    at: u32,
    sum: u64,
    /// What the sum was when it timed out the last time.
    late: Option<u64>,
}

const THREADS: u32 = 4;

impl Registers {
    fn op(&self, thread: ThreadId) -> Option<Op> {
        let [x, y, lock, semaphore] = [0, 1, 2, 3].map(ObjectId);
        let add = Rmw {
            kind: RmwKind::Add,
            operand: self.sum + 1,
            bits: 64,
        };
        Some(match (thread.0, self.at) {
            (0, 0) => Op::SemAcquire {
                object: semaphore,
                timed: true,
            },
            (0, 1..THREADS) => Op::Join(ThreadId(self.at)),
            (_, 0) => Op::Load(if thread.0 == 1 { x } else { y }),
            (_, 1) => Op::Lock(lock),
            (_, 2) if self.sum.is_multiple_of(2) => Op::Store(x, self.sum + 1),
            (_, 2) => Op::Rmw(y, add),
            (_, 3) => Op::Unlock(lock),
            (_, 4) => Op::SemRelease(semaphore),
            _ => return None,
        })
    }
}

/// The threads of one process.
struct Process {
    /// The process of each thread.
    of: fn(ThreadId) -> u32,
    me: u32,
    registers: [Registers; THREADS as usize],
}

impl Process {
    fn new(me: u32, of: fn(ThreadId) -> u32) -> Process {
        let registers = [Registers::default(); THREADS as usize];
        Process { of, me, registers }
    }

    /// All threads of this process announce what they have come to, or end.
    fn announce(&self, run: &mut Run) {
        for thread in (0..THREADS).map(ThreadId) {
            if (self.of)(thread) == self.me {
                self.announce_one(run, thread);
            }
        }
    }

    fn announce_one(&self, run: &mut Run, thread: ThreadId) {
        let registers = self.registers[thread.index()];
        let Some(op) = registers.op(thread) else {
            return run.finish(thread);
        };
        let gate = match op {
            Op::SemAcquire { .. } => {
                let repeats = registers.late == Some(registers.sum);
                run.timed_gate(thread, op, Site::ANY, repeats)
            }
            _ => Gate::Open,
        };
        let site = Site(registers.at + 1);
        run.announce(
            thread,
            Pending {
                gate,
                ..Pending::new(op, site)
            },
        );
    }

    /// A thread of this process goes.
    fn step(&mut self, run: &mut Run, choice: Choice) {
        let event = run.step(choice);
        let registers = &mut self.registers[choice.thread.index()];
        registers.sum += event.result;
        registers.at += 1;
        if let Op::SemAcquire { .. } = event.op {
            run.timed(choice.thread, event.op, Site::ANY, event.ok);
            if !event.ok {
                // It waits again: with a late gate if it has seen nothing new.
                registers.at = 0;
                registers.late = Some(registers.sum);
                run.advance(choice.thread, 1000);
            }
        }
        self.announce_one(run, choice.thread);
    }
}

fn begin(run: &mut Run, plan: &Plan) {
    run.begin(plan);
    for object in objects() {
        run.object(object);
    }
    for _ in 1..THREADS {
        run.spawn(ThreadId::MAIN);
    }
}

/// One execution in one process.
fn alone(run: &mut Run, plan: &Plan) -> Result<Execution, Divergence> {
    begin(run, plan);
    let mut process = Process::new(0, |_| 0);
    process.announce(run);
    loop {
        match run.next() {
            Next::Go(choice) => process.step(run, choice),
            Next::End(end) => return Ok(run.end(end).clone()),
            Next::Diverged => return Err(run.divergence().expect("it did").clone()),
        }
    }
}

/// One execution as one of two processes sees it. The parent has the turn before and after it; the odd ones are begun by
/// the child.
fn together(me: u32, number: u32, plan: &Plan) -> Next {
    let mut process = Process::new(me, |thread| thread.0 % 2);
    let first = number % 2;
    if (me, first) == (0, 1) {
        hand_over(me);
    }
    if me == first {
        wait_for(me);
        inside(|run| begin(run, plan));
        inside(|run| process.announce(run));
        hand_over(me);
        wait_for(me);
    } else {
        wait_for(me);
        inside(|run| process.announce(run));
    }
    loop {
        let told = header().next.take();
        match told.unwrap_or_else(|| inside(Run::next)) {
            Next::Go(choice) if choice.thread.0 % 2 == me => {
                inside(|run| process.step(run, choice));
            }
            next => {
                let over = !matches!(next, Next::Go(_));
                if told.is_none() {
                    header().next.set(Some(next));
                    hand_over(me);
                } else if me == 1 {
                    hand_over(me);
                }
                if !over || (me == 0 && told.is_none()) {
                    wait_for(me);
                }
                if over {
                    return next;
                }
            }
        }
    }
}

/// Plans with different policies; and each execution found so as a plan of all its steps.
fn plans() -> Vec<Plan> {
    let mut run = Run::default();
    let mut plans = vec![];
    for seed in 0..30 {
        let pct = Policy::Pct {
            seed,
            changes: 2,
            steps: 20,
        };
        for policy in [Policy::Random(seed), pct] {
            let plan = Plan {
                policy,
                ..Plan::default()
            };
            let execution = alone(&mut run, &plan).expect("no steps are planned");
            let steps = execution.events.iter().map(|event| Step {
                choice: Choice {
                    thread: event.thread,
                    outcome: event.outcome,
                },
                kind: event.op.kind(),
                site: event.site,
                ok: Some(event.ok),
                mark: Mark::Default,
            });
            let steps = steps.collect();
            plans.push(plan);
            plans.push(Plan {
                steps,
                ..Plan::default()
            });
        }
    }
    plans
}

#[test]
fn two_processes_conduct_one_run() {
    map_arena();
    let plans = plans();
    let numbered = || (0..).zip(&plans);
    // SAFETY: the child uses nothing that another thread of this process could have locked but the system's allocator,
    // which is usable after a fork.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        let done = std::panic::catch_unwind(|| {
            for (number, plan) in numbered() {
                together(1, number, plan);
            }
        });
        // SAFETY: leaves at once, without the destructors of the parent's threads.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let mut reference = Run::default();
    let mut late = 0;
    for (number, plan) in numbered() {
        let over = together(0, number, plan);
        let Next::End(end) = over else {
            panic!("{plan:?} ends as {over:?}");
        };
        let shared = inside(|run| run.end(end).clone());
        assert_eq!(
            Ok(&shared),
            alone(&mut reference, plan).as_ref(),
            "{plan:?}"
        );
        let gates = shared.events.iter().map(|event| event.gate);
        late += gates.filter(|gate| *gate == Gate::Late).count();
        let events = inside(|run| run.execution().events.as_ptr() as usize);
        assert!(
            (ARENA..ARENA + BYTES).contains(&events),
            "the run lies in the arena"
        );
    }
    assert!(late > 0, "some waits were late");
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0, "the child came to its end");
}
