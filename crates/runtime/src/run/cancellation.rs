//! Cancellation of threads, of the deferred kind: a cancelled thread leaves at its next cancellation point.
//!
//! Whether a thread is cancelled is an atomic of the model, one for each thread: `pthread_cancel` stores to it, a cancellation
//! point that does not block loads it. Cancellation points that block are in `kernel/waits.rs`. A cancelled thread leaves as by
//! `pthread_exit`. The calls that cancel and that enable or disable cancellation are in `calls/threads/cancellation.rs`.
//!
//! A program that cannot cancel threads does without all this: see [`used`].

use crate::{
    core::{cell::ASIDE, families::Birth, objects::Sort, per_thread::PerThread, trampoline::Frame},
    run::{
        call_sites,
        operations::visible,
        unwinding,
        world::{self, poll},
    },
};
use core::{
    ffi::c_void,
    sync::atomic::{AtomicBool, Ordering},
};
use reweave_model::{Identity, Object, ObjectId, Op, Order, Site, ThreadId};

/// What a thread says about its own cancellation.
#[derive(Clone, Copy, Default)]
pub struct Cancelability {
    pub disabled: bool,
    pub asynchronous: bool,
    /// It leaves already, so a cancellation has no effect any more.
    leaving: bool,
}

static CANCELABILITY: PerThread<Cancelability, ASIDE> = PerThread::new();

/// The result of a thread that was cancelled.
const CANCELED: *mut c_void = usize::MAX as *mut c_void;

static USED: AtomicBool = AtomicBool::new(false);

/// Whether the program can cancel threads, or ask whether they have ended: it names a function for that.
#[inline]
pub fn used() -> bool {
    USED.load(Ordering::Relaxed)
}

/// The program can cancel threads, or ask whether they have ended. Called before the first run.
pub fn use_it() {
    USED.store(true, Ordering::Relaxed);
}

/// A new run.
pub fn clear() {
    CANCELABILITY.clear();
}

pub fn thread_begins(birth: &Birth) {
    CANCELABILITY.take_over_or_copy(birth);
}

/// What a state holds of the settings of all threads.
pub fn identify(out: &mut Identity) {
    CANCELABILITY.identify(out);
}

/// Uses the running thread's settings. The closure must not switch threads.
pub fn with_own<R>(what: impl FnOnce(&mut Cancelability) -> R) -> R {
    let me = world::borrow().current;
    CANCELABILITY.with(me, what)
}

/// The atomic that says whether a thread is cancelled.
pub fn flag(thread: ThreadId) -> ObjectId {
    let mut world = world::borrow();
    let address = world.threads[thread.index()].handle;
    world.object(address, 8, Sort::Atomic, || Object::Atomic(0))
}

fn own_flag() -> ObjectId {
    let me = world::borrow().current;
    flag(me)
}

/// Whether the running thread would leave if it were cancelled.
pub fn enabled() -> bool {
    with_own(|own| !own.disabled && !own.leaving)
}

/// Whether the running thread is to leave, now that it has come to a cancellation point.
pub fn asked(site: Site) -> bool {
    enabled() && visible(Op::Load(own_flag()), site).result == 1
}

/// A cancellation point that does not block. A loop around it may wait for a cancellation.
#[inline]
pub fn point(frame: &Frame) {
    if world::active() && possible() && asked_at(frame) {
        go();
    }
}

/// Whether the running thread can be cancelled at a cancellation point.
pub fn possible() -> bool {
    used() && enabled()
}

/// Whether the running thread, for which that is [`possible`], is cancelled. A loop around it may wait for that.
pub fn asked_at(frame: &Frame) -> bool {
    let site = call_sites::site(&frame.return_address);
    let op = Op::Load(own_flag());
    poll(op, frame, site, Order::SeqCst, None).result == 1
}

/// As [`point`], where only the return address of the call is known.
pub fn point_at(return_address: &usize) {
    if used() && asked(call_sites::site(return_address)) {
        go();
    }
}

/// The running thread is cancelled, and leaves.
pub fn go() -> ! {
    world::borrow().me().result = CANCELED;
    unwinding::unwind()
}

/// The running thread leaves: it cannot be cancelled any more.
pub fn leaving() {
    with_own(|own| own.leaving = true);
}
