//! The runtime inside a check: threads are fibers, operations go to the model.
//!
//! *Decides:* nothing; [`reweave_conduct::Run`] does. It brings each thread to its next operation, asks who goes, and lets that one go.
//! *Called by:* the shims (`sync`, `thread`, ...) from inside a check; [`ClosureTarget`] by the search. *Owns:* one [`World`] for each
//! worker, with the fibers, the run and what is kept for each execution.
//!
//! *Call path of an operation:* shim -> [`op`] -> announce to the run -> ask who is next. If it is this thread, it goes on without a
//! switch; else the fiber suspends, and the loop in `target` resumes the one whose turn it is.
//!
//! *Invariants.*
//! 1. A world and all that runs in it stay on one OS thread, so cells are enough; a borrow never lasts across a suspension or a call
//!    into the program.
//! 2. Threads that have not announced an operation are the running one and those in `World::newborn`.
//! 3. From the moment an execution ends until all its fibers are unwound `World::ending` is set: operations do nothing.

pub(crate) mod arcs;
mod ends;
mod explain;
mod habits;
mod local;
mod panics;
pub(crate) mod pointers;
pub(crate) mod poll;
mod races;
mod site;
mod slot;
mod spin;
mod statics;
mod tag;
mod target;
mod wanted;
mod world;

pub(crate) use self::{
    ends::ended,
    habits::Habit,
    local::local,
    site::location,
    slot::Slot,
    spin::disturbed,
    tag::Tag,
    target::live,
    world::{Task, World, task},
};

pub use self::{
    target::ClosureTarget,
    wanted::{Visible, Wanted},
};

use crate::allocator::Ledger;
use reweave_conduct::{LOOK, Next, SPURIOUS};
use reweave_model::{Error, Event, Gate, Object, ObjectId, Op, Order, Orders, Pending, Site};
use std::{
    any::Any,
    panic::Location,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

/// Running on a fiber of a check, and not while the fiber is being unwound: operations go to the model.
#[inline]
pub(crate) fn active() -> bool {
    task().is_some_and(|task| !task.world().ending.get())
}

/// On a fiber that is being unwound: nothing may block, nothing may panic, nothing is recorded.
///
/// Asked at every operation that finds itself outside of [`active`]: here a job that caught its unwinding is unwound again, and a destructor
/// that asks for ever is given up.
pub(crate) fn inert() -> bool {
    let inert = task().is_some_and(|task| task.world().ending.get());
    if inert {
        reweave_fiber::suspend();
    }
    inert
}

/// For an inert operation that cannot pretend to have succeeded (a lock that an abandoned thread still holds): gives the
/// fiber up.
pub(crate) fn give_up() -> ! {
    loop {
        reweave_fiber::suspend();
    }
}

/// Announces the operation at the caller's source position, waits until it is its turn, does it. When the execution ends
/// meanwhile it unwinds, or (inside a destructor that runs for a panic) returns an event with `ok: false`, [`active`] being false from
/// then on.
///
/// An operation that loops may poll with goes through [`poll`].
#[inline]
#[track_caller]
pub(crate) fn op(op: Op) -> Event {
    perform(op, Location::caller(), Orders::IMPLIED, None)
}

/// As [`op`], at a place that the program named before.
#[inline]
pub(crate) fn op_at(op: Op, place: &'static Location<'static>) -> Event {
    perform(op, place, Orders::IMPLIED, None)
}

/// As [`op`], with the memory order that the program declared: on success, and for a compare-exchange on failure.
#[inline]
#[track_caller]
pub(crate) fn op_ordered(op: Op, order: Ordering, failure: Option<Ordering>) -> Event {
    let orders = Orders::new(order.into(), failure.map(Into::into));
    perform(op, Location::caller(), orders, None)
}

/// As [`op`], for one that may time out. The frame is the program's, at its call.
#[track_caller]
pub(crate) fn op_timed(op: Op, frame: &poll::Frame) -> Event {
    op_timer(op, Location::caller(), frame, false)
}

/// As [`op_timed`], at a place that the program named before. `sleeps`: it always times out, so any number of these in a row is the same.
pub(crate) fn op_timer(
    op: Op,
    place: &'static Location<'static>,
    frame: &poll::Frame,
    sleeps: bool,
) -> Event {
    let task = task().expect("operations go to the model only in a check");
    if task.world().ending.get() {
        return inert_event(task, op, Site::ANY);
    }
    let site = task.world().seen.site(place);
    task.check_stack();
    let gate = match spin::before_timed(task, op, site, frame) {
        spin::Before::Go(gate) => gate,
        spin::Before::Served(event) => return event,
    };
    let (world, thread) = (task.world(), task.thread);
    spin::may_time_out(task, op);
    let event = perform_gated(task, op, gate, site);
    spin::after(task, world, &event);
    let mut run = world.run.borrow_mut();
    run.timed(thread, op, site, event.ok || sleeps);
    event
}

/// Whether a wait on a condition variable that begins now ends without a notification, where the check asks for that. The frame is the
/// program's, at its call.
#[track_caller]
pub(crate) fn ends_spuriously(condvar: ObjectId, frame: &poll::Frame) -> bool {
    let task = task().expect("operations go to the model only in a check");
    let world = task.world();
    if !world.spurious.get() || world.ending.get() {
        return false;
    }
    let timed = false;
    let key = Op::Wake { condvar, timed };
    let site = world.seen.site(Location::caller());
    task.check_stack();
    let gate = match spin::before_timed(task, key, site, frame) {
        spin::Before::Go(gate) => gate,
        spin::Before::Served(_) => return true,
    };
    if gate == Gate::Late {
        return false;
    }
    spin::may_time_out(task, key);
    let event = perform_gated(task, SPURIOUS, gate, site);
    spin::after(task, world, &event);
    let ends = event.result == 1;
    let mut run = world.run.borrow_mut();
    run.timed(task.thread, key, site, !ends);
    ends
}

/// As [`op`], for a wait on a condition variable; `clean`: the section that it ends has changed nothing.
#[track_caller]
pub(crate) fn op_enqueue(op: Op, clean: bool) -> Event {
    if let Some(task) = task().filter(|_| clean) {
        spin::waits_clean(task);
    }
    perform(op, Location::caller(), Orders::IMPLIED, None)
}

/// The running thread looks at the clock: nanoseconds since the beginning of the execution. All looks are ordered.
#[track_caller]
pub(crate) fn look_at_clock(task: &Task) -> u64 {
    disturbed(task);
    let world = task.world();
    if world.ending.get() {
        return world.run.borrow().time_ns(task.thread);
    }
    let clock = world.clock.get().unwrap_or_else(|| {
        let mut run = world.run.borrow_mut();
        let clock = run.hidden_object(Object::Atomic(0));
        world.clock.set(Some(clock));
        clock
    });
    let site = world.seen.site(Location::caller());
    task.check_stack();
    let relaxed = Orders::new(Order::Relaxed, None);
    let event = perform_ordered(task, Op::Rmw(clock, LOOK), Gate::Open, site, relaxed);
    spin::after(task, world, &event);
    disturbed(task);
    world.run.borrow_mut().look_at_clock(task.thread)
}

#[inline]
fn perform(
    op: Op,
    place: &'static Location<'static>,
    orders: Orders,
    frame: Option<&poll::Frame>,
) -> Event {
    let task = task().expect("operations go to the model only in a check");
    let world = task.world();
    let site = world.seen.site(place);
    task.check_stack();
    let gate = match spin::before(task, op, site, frame) {
        spin::Before::Go(gate) => gate,
        spin::Before::Served(event) => return event,
    };
    let event = perform_ordered(task, op, gate, site, orders);
    spin::after(task, world, &event);
    if orders.weak() {
        world.weak_order(site);
    }
    event
}

/// An operation that implies its order.
fn perform_gated(task: &Task, op: Op, gate: Gate, site: Site) -> Event {
    perform_ordered(task, op, gate, site, Orders::IMPLIED)
}

#[inline]
fn perform_ordered(task: &Task, op: Op, gate: Gate, site: Site, orders: Orders) -> Event {
    let world = task.world();
    let thread = task.thread;
    if world.ending.get() {
        return inert_event(task, op, site);
    }
    if task.silent_falls.get() > 0 {
        arcs::visible(task);
    }
    {
        let mut run = world.run.borrow_mut();
        let pending = Pending {
            op,
            gate,
            site,
            order: orders,
        };
        run.announce(thread, pending);
        if world.newborns.get() == 0 {
            match run.next() {
                Next::Go(choice) if choice.thread == thread => {
                    let event = run.step(choice);
                    world.races.borrow_mut().event(&event);
                    return event;
                }
                next => world.next.set(Some(next)),
            }
        }
    }
    reweave_fiber::suspend();
    if world.ending.get() {
        return inert_event(task, op, site);
    }
    let mut run = world.run.borrow_mut();
    let event = run.step(world.chosen.get());
    world.races.borrow_mut().event(&event);
    event
}

/// What an operation of an abandoned thread returns.
#[cold]
fn inert_event(task: &Task, op: Op, site: Site) -> Event {
    inert();
    Event {
        thread: task.thread,
        op,
        gate: Gate::Open,
        outcome: 0,
        outcomes: 1,
        ok: false,
        result: 0,
        after: None,
        access: [None, None],
        site,
        order: Orders::IMPLIED,
    }
}

/// Where a block that the running thread allocates is noted: on a fiber of a check that looks at what is left behind.
pub(crate) fn ledger<'a>() -> Option<&'a Arc<Ledger>> {
    let world = task::<'a>()?.world();
    let watch = world.leaks.as_ref()?;
    (!world.busy()).then_some(&watch.ledger)
}

/// The running thread yields or sleeps: no event.
///
/// A loop of pauses alone would never end: after some of them each takes a millisecond of the thread's own time.
pub(crate) fn pause() {
    let Some(task) = task() else { return };
    let pauses = task.world().run.borrow_mut().pause(task.thread);
    if pauses > 100 {
        crate::time::advance(Duration::from_millis(1));
    }
}

/// The running thread creates another one.
pub(crate) fn before_spawn() {
    if let Some(task) = task() {
        spin::leaves(task);
        if task.silent_falls.get() > 0 {
            arcs::visible(task);
        }
    }
}

/// The running thread ends by a panic.
pub(crate) fn died(payload: &(dyn Any + Send)) {
    if let Some(task) = task().filter(|task| !task.world().ending.get()) {
        task.died(payload);
    }
}

/// The program does something that is not supported: the check is incomplete, and the thread panics.
#[cold]
#[track_caller]
pub(crate) fn unsupported(what: &str) -> ! {
    note_unsupported(what);
    panic!("unsupported: {what}");
}

/// As [`unsupported`], where the thread can go on.
#[cold]
pub(crate) fn note_unsupported(what: &str) {
    if let Some(task) = task() {
        task.world().wanted.borrow().unsupported(what);
    }
}

/// All that is created at this place has to be exact: the execution is discarded, and the search restarts. See `future::context`.
#[cold]
pub(crate) fn want_exact(place: &'static Location<'static>) -> ! {
    if let Some(task) = task().filter(|_| active()) {
        let world = task.world();
        assert!(
            !world.visible.borrow().exact(place),
            "what is created at {place} is exact already"
        );
        world.wanted.borrow().want_count(place, wanted::Level::All);
        world.restart.set(true);
        world
            .next
            .set(Some(Next::End(reweave_model::End::Redundant)));
    }
    give_up()
}

/// Whether a weak compare-exchange may fail for no reason.
#[inline]
pub(crate) fn weak_failures() -> bool {
    task().is_none_or(|task| !task.world().visible.borrow().no_weak_failures)
}

/// A memory fence of the running thread.
pub(crate) fn fence(order: Ordering) {
    if let Some(task) = task() {
        let mut races = task.world().races.borrow_mut();
        races.fence(task.thread, order.into());
    }
}

/// A plain access, checked for races.
#[track_caller]
pub(crate) fn access(address: usize, bytes: usize, write: bool) {
    let Some(task) = task().filter(|task| !task.world().ending.get()) else {
        return;
    };
    if task.silent_falls.get() > 0 {
        arcs::visible(task);
    }
    let world = task.world();
    let site = world.seen.site(Location::caller());
    let race = {
        let run = world.run.borrow();
        let mut races = world.races.borrow_mut();
        let range = (address, bytes);
        races.access(run.execution(), task.thread, range, write, site)
    };
    if let Some(race) = race {
        world.error(task.thread, races::error(world, &race));
    }
}

/// The object to use: for one in static memory, while in a check, this execution's copy.
#[inline]
pub(crate) fn here<T: ?Sized>(object: &T) -> &T {
    if statics::holds(std::ptr::from_ref(object).cast::<u8>() as usize) {
        if let Some(task) = task() {
            return task.world().copies.of(object);
        }
    }
    object
}

/// Records an error of the running thread; the execution goes on.
pub(crate) fn error(error: Error) {
    if let Some(task) = task() {
        task.world().error(task.thread, error);
    }
}
