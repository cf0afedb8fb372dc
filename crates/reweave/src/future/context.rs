//! Polling one future to its end.
//!
//! *Decides:* when a task is polled: first at once, then after each wake-up, and never more often than its wakers were used.
//! *Called by:* [`block_on`](super::block_on) and the threads that [`spawn`](super::spawn) starts. *Owns:* for each future that is being
//! driven what its leaves have registered.
//!
//! *Single waits.* A future that only awaits one thing (the end of a task, a message) would cost many events: a look that finds nothing, a
//! wait for the waker, the use of the waker, another look. And each order of them with other events would be explored. So such a leaf
//! does not look. It registers the operation that waits ([`Leaf::poll`]) and returns `Pending`. If the whole future returns `Pending` at
//! once, with no other leaf met and nothing else done, the driver performs the operation, polls again, and the leaf returns its outcome. That
//! stands for all ways in which the leaf could have been polled, since what lies between it and the task does nothing.
//!
//! If anything else happens (a second leaf, an event, a use of the waker, a result, the leaf dropped, another waker), the wait was not a
//! single one. Then the execution is discarded, and the search restarts with all that was created at that place *exact*: its
//! leaves look, keep wakers, and wake. The leaf never returns its outcome at its first poll, so this does not depend on the order of other threads'
//! events.
//!
//! *Limit.* A future written by hand that counts its own polls, and does nothing else that can be seen, counts the first poll and the
//! second, though it might have been ready at the first. With [`Builder::spurious_polls`](crate::Builder::spurious_polls) all is exact.

use super::wakes::Wakes;
use crate::{
    rt::{self, poll::Frame},
    sync::Semaphore,
    time::Instant,
};
use reweave_model::{Event, ObjectId, Op};
use std::{
    cell::{Cell, RefCell},
    future::Future,
    panic::Location,
    pin::Pin,
    ptr,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

/// Where the program does something.
#[doc(hidden)]
pub type Place = &'static Location<'static>;

/// One future being driven. Leaves find it while they are polled.
pub(crate) struct Driver {
    wakes: Arc<Wakes>,
    place: Place,
    /// May end by an abort, and looks for one.
    abortable: bool,
    /// Polled only while no other future of the same thread is.
    turn: Option<Arc<Semaphore>>,
    /// It is its turn.
    polls: Cell<bool>,
    intent: Cell<Option<Intent>>,
    /// The outcome for a leaf.
    given: Cell<Option<Given>>,
    /// It gave way to others by itself.
    yielded: Cell<bool>,
    timers: RefCell<Vec<Timer>>,
    /// Polled once more than its wakers asked for.
    polled_spuriously: Cell<bool>,
    outer: Cell<*const Driver>,
}

/// The outcome of a wait.
struct Given {
    leaf: u64,
    event: Event,
    origin: Place,
}

/// A wait that may turn out to be the only one.
#[derive(Clone, Copy)]
struct Intent {
    leaf: u64,
    op: Op,
    /// Of the await.
    place: Place,
    /// Where what it waits for was created.
    origin: Place,
    moment: Moment,
}

/// How much the running thread has done.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Moment {
    events: u32,
    threads: usize,
}

struct Timer {
    deadline: Instant,
    place: Place,
    fired: Weak<AtomicBool>,
    /// `None`: the driver's own.
    waker: Option<Waker>,
}

thread_local! {
    static CURRENT: Cell<*const Driver> = const { Cell::new(ptr::null()) };
    /// How many combinators are being polled.
    static COMBINED: Cell<u32> = const { Cell::new(0) };
}

/// Polls something whose leaves are not single waits.
#[doc(hidden)]
pub fn combined<R>(poll: impl FnOnce() -> R) -> R {
    struct Reset(u32);
    impl Drop for Reset {
        fn drop(&mut self) {
            COMBINED.set(self.0);
        }
    }
    let before = COMBINED.get();
    let _reset = Reset(before);
    COMBINED.set(before + 1);
    poll()
}

fn current<'a>() -> Option<&'a Driver> {
    // SAFETY: set in `poll_once` to a driver on the stack below, and reset before that returns.
    unsafe { CURRENT.get().as_ref() }
}

fn moment() -> Moment {
    let task = rt::task().expect("in a check");
    let (world, thread) = (task.world(), task.thread);
    Moment {
        events: world.run.borrow().moment(thread).count,
        threads: world.threads.borrow().len(),
    }
}

/// Whether what was created at this place is exact: see the module. Outside of a check all is.
#[doc(hidden)]
pub fn is_exact(place: Place) -> bool {
    rt::task().is_none_or(|task| {
        let visible = task.world().visible.borrow();
        visible.spurious_polls || visible.exact(place)
    })
}

/// The execution restarts with all that was created at this place exact.
#[doc(hidden)]
#[cold]
pub fn want_exact(place: Place) {
    if rt::active() {
        rt::want_exact(place);
    }
}

/// An object of the model, made at its first use in an execution.
#[doc(hidden)]
pub struct Object(rt::Slot);

impl Object {
    /// One that was not used.
    #[allow(clippy::new_without_default, reason = "for this workspace")]
    pub const fn new() -> Object {
        Object(rt::Slot::new())
    }

    /// Its number. Only in a check.
    #[track_caller]
    pub fn id(&self, make: impl FnOnce() -> reweave_model::Object) -> ObjectId {
        self.0.id(make)
    }
}

/// Does an operation: whether it succeeded, and what it returned. While an execution is unwound it fails.
#[doc(hidden)]
#[track_caller]
pub fn perform(op: impl FnOnce() -> Op) -> (bool, u64) {
    if !rt::active() {
        rt::inert();
        return (false, 0);
    }
    let event = rt::op(op());
    (event.ok, event.result)
}

/// The object to use: for one in static memory, while in a check, this execution's copy.
#[doc(hidden)]
pub fn here<T: ?Sized>(object: &T) -> &T {
    rt::here(object)
}

/// A future that waits for one thing.
#[doc(hidden)]
#[derive(Default)]
pub struct Leaf {
    /// Its number, and where what it waits for was created.
    registered: Option<(u64, Place)>,
}

impl Leaf {
    /// One that has not been polled.
    pub const fn new() -> Leaf {
        Leaf { registered: None }
    }

    /// Registers the operation, or returns what `then` makes of its outcome: whether it succeeded, and what it returned. Nothing runs between
    /// the operation and `then`. Only in a check.
    pub fn poll<R>(
        &mut self,
        context: &mut Context<'_>,
        op: Op,
        place: Place,
        origin: Place,
        then: impl FnOnce(bool, u64) -> R,
    ) -> Poll<R> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let Some(driver) = current().filter(|driver| driver.wakes.is_behind(context.waker()))
        else {
            rt::want_exact(origin);
        };
        if let Some((number, _)) = self.registered {
            return match driver.given.take() {
                Some(Given { leaf, event, .. }) if leaf == number => {
                    self.registered = None;
                    let result = then(event.ok, event.result);
                    if driver.wakes.used() {
                        // Wake-ups until now would only have polled the leaf, which would have waited on.
                        driver.wakes.clear(driver.place);
                    }
                    Poll::Ready(result)
                }
                _ => rt::want_exact(origin),
            };
        }
        if COMBINED.get() > 0 || driver.intent.get().is_some() || !driver.single() {
            rt::want_exact(origin);
        }
        let leaf = NUMBER.fetch_add(1, Relaxed);
        self.registered = Some((leaf, origin));
        driver.intent.set(Some(Intent {
            leaf,
            op,
            place,
            origin,
            moment: moment(),
        }));
        Poll::Pending
    }

    /// Whether it waits.
    pub fn waits(&self) -> bool {
        self.registered.is_some()
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Some((_, origin)) = self.registered {
            want_exact(origin);
        }
    }
}

/// Ready at this time, by the clock of the task. `fired` belongs to the future.
#[doc(hidden)]
pub fn pass_time(
    context: &mut Context<'_>,
    deadline: Instant,
    place: Place,
    fired: &Arc<AtomicBool>,
) -> Poll<()> {
    if fired.load(Relaxed) || crate::time::passed() >= deadline {
        return Poll::Ready(());
    }
    let Some(driver) = current() else {
        panic!("a timer is polled by what is no task of reweave");
    };
    let own = driver.wakes.is_behind(context.waker());
    let waker = (!own).then(|| context.waker().clone());
    let mut timers = driver.timers.borrow_mut();
    let known = |timer: &&mut Timer| ptr::eq(timer.fired.as_ptr(), Arc::as_ptr(fired));
    match timers.iter_mut().find(known) {
        Some(timer) => {
            timer.waker = waker;
            timer.deadline = deadline;
        }
        None => timers.push(Timer {
            deadline,
            place,
            fired: Arc::downgrade(fired),
            waker,
        }),
    }
    Poll::Pending
}

/// The running task gives way once, if this is its waker: it is polled again at once.
pub(super) fn gives_way(context: &Context<'_>) -> bool {
    let driver = current().filter(|driver| driver.wakes.is_behind(context.waker()));
    let Some(driver) = driver.filter(|driver| !driver.wakes.used()) else {
        return false;
    };
    driver.yielded.set(true);
    true
}

impl Driver {
    pub(super) fn new(place: Place, abortable: bool) -> Driver {
        Driver::with(Wakes::new(abortable), place, abortable, None)
    }

    pub(super) fn in_turn(place: Place, turn: Arc<Semaphore>) -> Driver {
        Driver::with(Wakes::new(false), place, false, Some(turn))
    }

    pub(super) fn with(
        wakes: Arc<Wakes>,
        place: Place,
        abortable: bool,
        turn: Option<Arc<Semaphore>>,
    ) -> Driver {
        Driver {
            wakes,
            place,
            abortable,
            turn,
            polls: Cell::new(false),
            intent: Cell::new(None),
            given: Cell::new(None),
            yielded: Cell::new(false),
            timers: RefCell::default(),
            polled_spuriously: Cell::new(false),
            outer: Cell::new(ptr::null()),
        }
    }

    /// Whether leaves may wait by themselves.
    fn single(&self) -> bool {
        !self.abortable && self.turn.is_none()
    }

    /// To its end, or (`None`) to its abort.
    #[inline(never)]
    pub(super) fn drive<F: Future>(&self, mut future: Pin<&mut F>) -> Option<F::Output> {
        let waker = self.wakes.clone().waker();
        if self.abortable {
            self.wakes.wait(self.place);
        }
        loop {
            if let Some(turn) = &self.turn {
                turn.acquire();
                self.polls.set(true);
                if rt::active() && self.wakes.used() {
                    self.wakes.clear(self.place);
                }
            }
            if self.abortable && self.wakes.aborted() {
                return None;
            }
            if let Poll::Ready(value) = self.poll_once(future.as_mut(), &waker) {
                if let Some(intent) = self.intent.take() {
                    want_exact(intent.origin);
                }
                return Some(value);
            }
            self.leave();
            let frame = Frame::here();
            self.pend(&frame);
        }
    }

    /// Other futures of the thread may be polled.
    pub(super) fn leave(&self) {
        if let Some(turn) = self.turn.as_ref().filter(|_| self.polls.replace(false)) {
            turn.release();
        }
    }

    fn poll_once<F: Future>(&self, future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
        struct Reset(*const Driver, u32);
        impl Drop for Reset {
            fn drop(&mut self) {
                CURRENT.set(self.0);
                COMBINED.set(self.1);
            }
        }
        let reset = Reset(CURRENT.get(), COMBINED.replace(0));
        self.outer.set(reset.0);
        CURRENT.set(self);
        self.wakes.poll_begins();
        future.poll(&mut Context::from_waker(waker))
    }

    /// Waits until the future is to be polled again.
    #[inline(never)]
    fn pend(&self, frame: &Frame) {
        if let Some(given) = self.given.take() {
            // The leaf that it was meant for was not polled.
            rt::want_exact(given.origin);
        }
        if let Some(intent) = self.intent.take() {
            return self.wait_for(&intent);
        }
        if self.yielded.replace(false) {
            if !self.wakes.used() {
                crate::thread::yield_now();
                return;
            }
            self.wakes.wake();
        }
        if self.polls_spuriously() {
            return;
        }
        self.timers
            .borrow_mut()
            .retain(|timer| timer.fired.strong_count() > 0);
        match self.timers.borrow().is_empty() {
            true => self.wakes.wait(self.place),
            false => self.wait_for_time(frame),
        }
    }

    /// The single wait of the poll that has just ended.
    fn wait_for(&self, intent: &Intent) {
        let alone = intent.moment == moment()
            && !self.wakes.used_now()
            && !self.yielded.get()
            && self.timers.borrow().is_empty();
        if !alone {
            rt::want_exact(intent.origin);
        }
        let event = rt::op_at(intent.op, intent.place);
        if !rt::active() {
            rt::give_up();
        }
        self.given.set(Some(Given {
            leaf: intent.leaf,
            event,
            origin: intent.origin,
        }));
    }

    /// Whether the task is polled though nothing woke it, where the check asks for that: once.
    fn polls_spuriously(&self) -> bool {
        let asked = rt::active()
            && rt::task().is_some_and(|task| task.world().visible.borrow().spurious_polls);
        if !asked || self.polled_spuriously.get() {
            return false;
        }
        let polls = rt::op_at(Op::Any(2), self.place).result == 1;
        self.polled_spuriously.set(polls);
        polls
    }

    /// Waits for the waker or for the first timer.
    fn wait_for_time(&self, frame: &Frame) {
        let timers = self.timers.borrow();
        let first = timers.iter().enumerate();
        let (first, timer) = first
            .min_by_key(|(_, timer)| timer.deadline)
            .expect("there is one");
        let (deadline, place) = (timer.deadline, timer.place);
        drop(timers);
        let left = deadline.saturating_duration_since(crate::time::passed());
        if rt::active() {
            let alone = !self.wakes.used();
            if rt::op_timer(self.wakes.timed_wait(), place, frame, alone).ok {
                return;
            }
            if !rt::active() {
                rt::give_up();
            }
            crate::time::advance(left);
        } else {
            if rt::inert() {
                rt::give_up();
            }
            self.wakes.wait_outside(left);
            if crate::time::passed() < deadline {
                return;
            }
        }
        let timer = self.timers.borrow_mut().swap_remove(first);
        if let Some(fired) = timer.fired.upgrade() {
            fired.store(true, Relaxed);
        }
        if let Some(waker) = timer.waker {
            waker.wake();
            // Its future is polled by way of this waker, which has woken this task too, or polls at once.
        }
    }
}
