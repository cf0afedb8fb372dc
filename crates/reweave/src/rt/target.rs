//! A Rust closure as a target: one plan in, one execution out.
//!
//! *Decides:* when fibers get their turns, by what the run says, and which errors an execution ends with. *Called by:* the search, one
//! target for each worker. *Owns:* the world, the fibers, the closure.
//!
//! *Errors.* A panic of the main closure is an error; so is that of another thread, unless a join or its scope took the result. Threads
//! that cannot go on are an error only when nothing went wrong before: a failed thread leaves others waiting. Memory left behind is
//! looked at on request, and only when nothing else is wrong.

use super::{
    Habit, Task, World, explain,
    panics::{self, Panic},
    statics,
    wanted::Wanted,
    world::Thread,
};
use crate::{allocator::Watch, error::CheckError};
use reweave_conduct::Next;
use reweave_explore::{Target, TargetError};
use reweave_fiber::{Fiber, Resumed, Unwound};
use reweave_model::{End, Error, Execution, Kind, Op, Pending, Plan, Site, ThreadId};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// Stack of each thread of a check. Only what is used takes memory.
const STACK_BYTES: usize = 2 << 20;

/// How often a thread may stop its own unwinding before it is given up.
const UNWIND_ATTEMPTS: u32 = 16;

/// How often in a row an execution must leave the same number of blocks behind when it is run again.
const LEAK_REPETITIONS: usize = 3;

/// See the module.
pub struct ClosureTarget {
    world: Box<World>,
    fibers: Vec<Option<Fiber>>,
    closure: Arc<dyn Fn() + Send + Sync>,
    /// Fibers that would not end.
    leaked: u64,
}

impl ClosureTarget {
    /// It stays on the OS thread that made it.
    pub fn new(closure: Arc<dyn Fn() + Send + Sync>, spurious: bool) -> ClosureTarget {
        panics::install();
        statics::prepare();
        let world = Box::new(World::new(STACK_BYTES));
        world.spurious.set(spurious);
        ClosureTarget {
            world,
            fibers: Vec::new(),
            closure,
            leaked: 0,
        }
    }

    /// Also looks at what executions leave behind.
    ///
    /// # Errors
    /// When [`Allocator`](crate::Allocator) is not the program's global allocator.
    pub fn watch_leaks(mut self) -> Result<ClosureTarget, CheckError> {
        match Watch::new() {
            Some(watch) => {
                self.world.leaks = Some(watch);
                Ok(self)
            }
            None => Err(CheckError::NoAllocator),
        }
    }

    /// What is visible beyond what always is, for all targets of a search: set at once, or when the program first turns out to need it. Then
    /// the executions so far were run without it, and the search has to restart.
    pub fn share(&mut self, wanted: Arc<Wanted>) {
        *self.world.wanted.get_mut() = wanted;
    }

    /// How often something was found that has to be visible.
    pub fn wanted_version(&self) -> u32 {
        self.world.wanted.borrow().version()
    }

    /// How many fibers could not be unwound.
    pub fn leaked(&self) -> u64 {
        self.leaked
    }

    /// How many places of the program asked for less than sequential consistency so far.
    pub fn weak_orders(&self) -> usize {
        self.world.weak_sites().len()
    }

    /// The places of the program that asked for less than sequential consistency so far.
    pub fn weak_sites(&self) -> Vec<Site> {
        self.world.weak_sites()
    }

    /// What the program does that is not wrong but worth a look, with the number of executions that did it.
    pub(crate) fn habits(&self) -> Vec<(Habit, Site, u64)> {
        self.world.habits.all()
    }

    fn begin(&mut self, plan: &Plan) {
        static STAMP: AtomicU32 = AtomicU32::new(1);
        let world = &self.world;
        world.run.borrow_mut().begin(plan);
        let stamp = match STAMP.fetch_add(1, Relaxed) {
            0 => STAMP.fetch_add(1, Relaxed),
            stamp => stamp,
        };
        world.stamp.set(stamp);
        if let Some(watch) = &world.leaks {
            watch.ledger.open(stamp);
        }
        let takes_back = world.run.borrow().takes_back();
        world.takes_back.set(takes_back);
        world.races.borrow_mut().begin(takes_back);
        world.pointers.begin();
        world.ending.set(false);
        world.show_wanted();
        world.next.set(None);
        world.clock.set(None);
        world.threads.borrow_mut().clear();
        world
            .threads
            .borrow_mut()
            .push(Thread::new(None, Site::ANY));
        let (place, closure) = (&raw const **world, self.closure.clone());
        let job = Box::new(move || {
            // SAFETY: the world outlives its fibers.
            live(unsafe { &*place }, ThreadId::MAIN, || {
                closure();
                None
            });
        });
        world.start(ThreadId::MAIN, job);
    }

    /// Lets threads go until the run is over.
    fn conduct(&mut self) -> Next {
        loop {
            while let Some((thread, job)) = self.world.newborn() {
                let fiber = self.world.pool.borrow_mut().spawn(job);
                self.turn(thread, fiber);
            }
            let next = self.world.next.take();
            match next.unwrap_or_else(|| self.world.run.borrow_mut().next()) {
                Next::Go(choice) => {
                    self.world.chosen.set(choice);
                    let fiber = self.fibers[choice.thread.index()].take();
                    let fiber = fiber.expect("a thread that announced an operation is on a fiber");
                    self.turn(choice.thread, fiber);
                }
                over => return over,
            }
        }
    }

    fn turn(&mut self, thread: ThreadId, mut fiber: Fiber) {
        let message = match fiber.resume() {
            Resumed::Suspended => {
                let place = thread.index();
                if place >= self.fibers.len() {
                    self.fibers.resize_with(place + 1, || None);
                }
                self.fibers[place] = Some(fiber);
                return;
            }
            Resumed::Finished => return,
            Resumed::Overflowed => format!(
                "its stack is used up, of {} MiB whatever `stack_size` asks for",
                STACK_BYTES >> 20
            ),
            Resumed::Crashed { signal, address } => {
                format!("signal {signal} at address {address:#x}")
            }
        };
        // Its frames stay as they are; those who wait for it wait for ever.
        self.leaked += 1;
        let never = Pending::new(Op::Assume(false), Site::ANY);
        self.world.run.borrow_mut().announce(thread, never);
        if self.world.crash_told.take() {
            return;
        }
        let error = Error {
            kind: Kind::Crash,
            rule: None,
            message: format!("{} crashed: {message}", explain::name(&self.world, thread)),
            sites: Vec::new(),
            after: None,
        };
        self.world.error(thread, error);
    }

    /// Ends what still runs, children first: they may refer to what their parents own.
    fn unwind(&mut self) {
        self.world.ending.set(true);
        let before = self.leaked;
        while let Some(fiber) = self.fibers.pop() {
            if fiber.is_some_and(|fiber| fiber.unwind(UNWIND_ATTEMPTS) == Unwound::Leaked) {
                self.leaked += 1;
            }
        }
        self.world.copies.end(self.leaked > before);
    }

    fn conclude(&mut self, end: End) {
        let world = &self.world;
        let mut errors = world.errors.take();
        report_panics(world, &mut errors);
        if errors.is_empty() {
            match end {
                End::Deadlock => errors.push((0, explain::stuck(world, Kind::Deadlock))),
                End::Livelock => errors.push((0, explain::stuck(world, Kind::Livelock))),
                _ => {}
            }
        }
        errors.sort_by_key(|(place, _)| *place);
        let mut run = world.run.borrow_mut();
        for (_, error) in errors {
            run.error(error);
        }
        run.end(end);
    }
}

impl ClosureTarget {
    /// One execution, from its beginning to its end.
    fn once(&mut self, plan: &Plan) -> Next {
        let over = loop {
            self.begin(plan);
            let over = self.conduct();
            self.unwind();
            if !self.world.restart.take() {
                break over;
            }
            self.world.errors.take();
            self.world.panics.take();
        };
        match over {
            Next::End(end) => self.conclude(end),
            _ => {
                self.world.errors.take();
                self.world.panics.take();
            }
        }
        over
    }

    /// Whether the execution came to its end with nothing wrong.
    fn clean(&self, over: Next) -> bool {
        let run = self.world.run.borrow();
        over == Next::End(End::Done) && run.execution().errors.is_empty()
    }

    /// Blocks and bytes that the execution left behind, if it came to its end and nothing else is wrong.
    fn left(&self, over: Next) -> Option<(usize, usize)> {
        let watch = self.world.leaks.as_ref()?;
        if !self.clean(over) {
            return None;
        }
        // They hold names that the program made.
        self.world.threads.borrow_mut().clear();
        Some(watch.ledger.balance()).filter(|(blocks, _)| *blocks > 0)
    }

    /// Runs an execution that left something behind again: what was allocated once and kept is not left behind again.
    fn confirm_leak(&mut self, plan: &Plan, mut over: Next) -> Next {
        let Some((mut blocks, _)) = self.left(over) else {
            return over;
        };
        let mut same = 0;
        for _ in 0..2 * LEAK_REPETITIONS {
            over = self.once(plan);
            let Some((again, bytes)) = self.left(over) else {
                return over;
            };
            same = if again == blocks { same + 1 } else { 1 };
            blocks = again;
            if same == LEAK_REPETITIONS {
                self.leaks(blocks, bytes);
                break;
            }
        }
        over
    }

    fn leaks(&mut self, blocks: usize, bytes: usize) {
        let (s, were) = if blocks == 1 {
            ("", "was")
        } else {
            ("s", "were")
        };
        self.world.run.get_mut().error(Error {
            kind: Kind::Memory,
            rule: Some("leak".into()),
            message: format!(
                "{blocks} allocation{s} ({bytes} bytes) of this execution {were} not freed at its end"
            ),
            sites: Vec::new(),
            after: None,
        });
    }
}

impl Target for ClosureTarget {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        let over = self.once(plan);
        if self.clean(over) {
            let world = &self.world;
            let (run, threads) = (world.run.borrow(), world.threads.borrow());
            world.habits.ended(run.execution(), &threads);
        }
        let over = self.confirm_leak(plan, over);
        let run = self.world.run.get_mut();
        match over {
            Next::End(_) => Ok(run.execution()),
            _ => Err(run.divergence().expect("the run diverged").clone().into()),
        }
    }
}

/// The life of a thread: what it does (and the panic it ends by, if so), then its thread-locals, then its end.
pub(crate) fn live(
    world: &World,
    thread: ThreadId,
    work: impl FnOnce() -> Option<Box<dyn Any + Send>>,
) {
    Task::enter(world, thread, |task| {
        let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(Some);
        if !world.ending.get() {
            super::spin::leaves(task);
        }
        if let (Some(payload), false) = (&payload, world.ending.get()) {
            task.died(&**payload);
        }
        // A payload's destructor and those of thread-locals belong to the thread.
        let rest = catch_unwind(AssertUnwindSafe(|| {
            drop(payload);
            super::local::drop_all();
        }));
        if world.ending.get() {
            return;
        }
        if rest.is_err() {
            panics::aborts_at_end(task);
        }
        // The execution may end while this one waits for its turn to do so.
        let ended = catch_unwind(AssertUnwindSafe(|| super::ends::end(task)));
        if world.ending.get() || ended.is_err() {
            return;
        }
        world.run.borrow_mut().finish(thread);
    });
}

impl Task {
    /// Notes the panic that ends the thread.
    pub(crate) fn died(&self, payload: &(dyn Any + Send)) {
        let world = self.world();
        let run = world.run.borrow();
        let (message, site, after) = match self.panic.take() {
            Some(began) => (began.message, Some(began.site), began.after),
            None => (panics::text(payload), None, Some(run.moment(self.thread))),
        };
        let at = run.execution().events.len();
        world.panics.borrow_mut().push(Panic {
            thread: self.thread,
            message,
            site,
            after,
            at,
        });
    }
}

/// Turns panics into errors. A panic that a join handed to the program is reported with the panic it led to.
fn report_panics(world: &World, errors: &mut Vec<(usize, Error)>) {
    let panics = world.panics.take();
    let told = |panic: &Panic, place: &str| {
        let name = explain::name(world, panic.thread);
        format!("{name} panicked{place}: {}", panic.message)
    };
    let place = |panic: &Panic| {
        let place = panic.site.and_then(super::location);
        place.map_or(String::new(), |place| format!(" at {place}"))
    };
    let handled = |panic: &Panic| world.threads.borrow()[panic.thread.index()].joined;
    for (index, panic) in panics.iter().enumerate() {
        if panic.thread != ThreadId::MAIN && handled(panic) {
            continue;
        }
        // The error carries the place of the panic itself.
        let mut message = told(panic, "");
        let mut sites = Vec::from_iter(panic.site);
        for earlier in panics[..index].iter().filter(|earlier| handled(earlier)) {
            message = format!("{message}\nearlier, {}", told(earlier, &place(earlier)));
            sites.extend(earlier.site);
        }
        errors.push((
            panic.at,
            Error {
                kind: Kind::Assertion,
                rule: None,
                message,
                sites,
                after: panic.after,
            },
        ));
    }
}
