//! The ends of threads, for programs that ask whether a thread has ended.
//!
//! *Decides:* whether ends are events. *Called by:* `is_finished` of the handles; `target` when a thread ends. *Owns:* a flag that all workers
//! of a search share.
//!
//! Hardly any program asks, and an end that nobody can see is no event: it would cost time and multiply executions for nothing. So
//! ends are invisible until the first question. Then the execution is discarded, and the search restarts with an event at the end of
//! every thread but the first: a store to an object of the thread. The question is a load of it, so both answers are explored, and a
//! loop that asks is parked. A trace says which way it was recorded.

use super::{Task, World, give_up, perform_gated, poll};
use reweave_conduct::Next;
use reweave_model::{End, Gate, Object, ObjectId, Op, Site, ThreadId};
use std::sync::atomic::Ordering::Relaxed;

/// Whether a thread has ended; an event. Relaxed, as std's answer is: that a thread has ended does not order what it did before.
#[inline(always)]
#[track_caller]
pub(crate) fn ended(world: &World, thread: ThreadId) -> bool {
    if !world.ends.get() {
        make_visible(world);
    }
    poll::load(life(world, thread), Relaxed) != 0
}

#[inline(never)]
#[track_caller]
fn life(world: &World, thread: ThreadId) -> ObjectId {
    let threads = world.threads.borrow();
    threads[thread.index()].life.id(|| Object::Atomic(0))
}

/// Somebody asks for the first time: everything so far was run without the events that are needed now.
#[cold]
fn make_visible(world: &World) -> ! {
    world.wanted.borrow().want_ends();
    world.restart.set(true);
    world.next.set(Some(Next::End(End::Redundant)));
    give_up()
}

/// The running thread ends.
pub(crate) fn end(task: &Task) {
    let world = task.world();
    if world.ends.get() && task.thread != ThreadId::MAIN {
        let store = Op::Store(life(world, task.thread), 1);
        perform_gated(task, store, Gate::Open, Site::ANY);
    }
}
