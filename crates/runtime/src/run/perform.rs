//! How the running thread performs an operation: it is announced, waits for its turn, and is done by the model.

use crate::{
    core::{channel, objects::Sort, trampoline::Frame},
    run::{
        debugger, dooms,
        racy_units::Part,
        spin, turns,
        world::{World, borrow},
    },
};
use core::sync::atomic::Ordering;
use reweave_conduct::Run;
use reweave_memory::Kind as Access;
use reweave_model::{Class, Event, Gate, ObjectId, Op, Order, Orders, Pending, Site, ThreadId};

/// What came of an operation.
#[derive(Clone, Copy)]
pub struct Done {
    pub ok: bool,
    pub result: u64,
}

/// As [`perform`], for an operation that a loop may wait with.
#[inline]
pub fn poll(op: Op, frame: &Frame, site: Site, order: Order, failure: Option<Order>) -> Done {
    let gate = spin::before(op, site, Some(frame));
    done(op, gate, site, order, failure)
}

/// As [`poll`], for a plain access.
pub fn poll_access(op: Op, frame: &Frame, site: Site, part: Part) {
    let gate = spin::before(op, site, Some(frame));
    borrow().me().access = Some(part);
    done(op, gate, site, Order::SeqCst, None);
}

/// Announces an operation of the running thread, waits for its turn and does it.
#[inline]
pub fn perform(op: Op, gate: Gate, site: Site, order: Order, failure: Option<Order>) -> Done {
    spin::before(op, site, None);
    done(op, gate, site, order, failure)
}

/// As [`perform`], for an operation that may time out and is known by `key`. [`spin::repeats`] was asked before.
pub fn perform_timed(op: Op, key: Op, gate: Gate, site: Site) -> Done {
    borrow().me().spin.may_time_out(key);
    done(op, gate, site, Order::SeqCst, None)
}

#[inline]
fn done(op: Op, gate: Gate, site: Site, order: Order, failure: Option<Order>) -> Done {
    let mut world = borrow();
    world.settle();
    let me = world.current;
    let pending = Pending {
        op,
        gate,
        site,
        order: Orders::new(order, failure),
    };
    world.run.announce(me, pending);
    turns::turn(world);
    let mut world = borrow();
    if world.debugged {
        let step = debugger::next_step(&world);
        drop(world);
        debugger::at_step(step);
        world = borrow();
    }
    let choice = world.choice;
    let event = world.run.go(choice);
    let (op, done) = (
        event.op,
        Done {
            ok: event.ok,
            result: event.result,
        },
    );
    let looks = event.access[0].is_some_and(|access| access.class == Class::Read);
    world.note_done(op.kind().0, done.ok, done.result);
    world.follow(me, op, done.result, looks, site);
    world.count_step();
    let doomed = !world.dooms.is_empty();
    drop(world);
    if doomed {
        dooms::meet(Some(op), site);
    }
    done
}

/// The words that an operation on an atomic reads, writes or compares.
#[inline]
fn words(op: Op, result: u64) -> [u64; 3] {
    match op {
        Op::Load(_) => [result, 0, 0],
        Op::Store(_, value) => [value, 0, 0],
        Op::Rmw(_, rmw) => [result, rmw.operand, 0],
        Op::CompareExchange { expected, new, .. } => [result, expected, new],
        _ => [0; 3],
    }
}

/// The event that was done last.
#[inline]
pub(super) fn last_event(run: &Run) -> &Event {
    let events = &run.execution().events;
    events.last().expect("an event was just done")
}

impl World {
    /// What follows from the event that the running thread has just done: clocks, shadow, time, loops.
    #[inline]
    fn follow(&mut self, me: ThreadId, op: Op, result: u64, looks: bool, site: Site) {
        let epoch = self.races.epoch(me);
        self.me().acted = epoch;
        if let Op::Store(object, _) = op {
            self.stored(object, epoch);
        }
        let access = self.me().access.take();
        let object = op.object();
        let quiet = object.is_some_and(|object| self.run.is_hidden(object));
        match quiet || access.is_some_and(|part| part.races) {
            true => self.races.plain(me),
            false => {
                let event = last_event(&self.run);
                self.races.event(event);
            }
        }
        // After waking, a waiter never accesses the object again: its memory may be gone by then.
        let leaves = matches!(op, Op::Wake { .. } | Op::Leave(_));
        if let Some(part) = access {
            self.touch(part.address, part.bytes, part.kind(), site);
        } else if let Some(object) = object.filter(|_| !leaves && !quiet) {
            self.touch_object(object, looks, site);
        }
        self.use_words(words(op, result), epoch, site);
        self.record_poll();
        self.refresh();
        if self.detail {
            self.watch_event(site);
        }
    }

    /// The running thread's operation accessed the memory of an object.
    #[inline]
    fn touch_object(&mut self, object: ObjectId, looks: bool, site: Site) {
        let known = self.objects.about(object);
        let most = if known.sort == Sort::Wide {
            u32::MAX
        } else {
            8
        };
        let (address, sort, all) = (known.address, known.sort, known.bytes as usize);
        let bytes = known.bytes.min(most) as usize;
        let kind = match looks {
            true => Access::AtomicRead,
            false => Access::AtomicWrite,
        };
        if kind == Access::AtomicWrite {
            self.foreign(address, all);
        }
        if sort != Sort::Futex && bytes > 0 {
            self.touch(address, bytes, kind, site);
        }
    }

    /// Tells the driver that the program makes progress, and how far the running thread has come.
    #[inline]
    fn count_step(&self) {
        let steps = &channel::header().steps;
        steps.store(steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.mark();
    }
}
