//! Tasks: how they start and end, and the handles that wait for them.
//!
//! *Decides:* what of a task's end is an event. *Called by:* the program. *Owns:* the state that a task shares with its handles.
//!
//! A task's end is no event for handles that only wait for it: such a wait is the model's `join`. Once a program aborts a task, or awaits one
//! together with something else, the search restarts, and ends of tasks spawned at that place are events (see `context`).

use super::{
    context::{Driver, Leaf, is_exact, want_exact},
    wakes::Wakes,
};
use crate::{
    rt::{self, Slot},
    sync::Semaphore,
    thread,
};
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, ThreadId};
use std::{
    any::Any,
    fmt,
    future::Future,
    io,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};

type Place = &'static Location<'static>;

/// Why a task has no result.
pub struct JoinError(Why);

enum Why {
    Cancelled,
    Panicked(Mutex<Box<dyn Any + Send + 'static>>),
}

impl JoinError {
    /// It was aborted.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Why::Cancelled)
    }

    /// It panicked.
    pub fn is_panic(&self) -> bool {
        !self.is_cancelled()
    }

    /// The payload of its panic.
    ///
    /// # Panics
    /// If it was aborted.
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(_) => panic!("the task was aborted, and has not panicked"),
        }
    }

    /// The payload of its panic.
    ///
    /// # Errors
    /// If it was aborted.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.0 {
            Why::Panicked(payload) => {
                Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Why::Cancelled => Err(self),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Why::Cancelled => "JoinError::Cancelled",
            Why::Panicked(_) => "JoinError::Panic(..)",
        })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Why::Cancelled => "task was cancelled",
            Why::Panicked(_) => "task panicked",
        })
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> io::Error {
        io::Error::other(error.to_string())
    }
}

/// What a task shares with its handles.
struct Shared<T> {
    control: Arc<Control>,
    result: Mutex<Option<Result<T, JoinError>>>,
}

/// That which does not depend on the type of its result.
struct Control {
    wakes: Arc<Wakes>,
    origin: Place,
    exact: bool,
    /// Which thread of the check it is.
    thread: Option<ThreadId>,
    end: Slot,
    ended: AtomicBool,
    waiter: Mutex<Option<Waker>>,
}

/// What the end of a task, and a look that keeps a waker, do to its object: each learns of those before.
const MORE: Rmw = Rmw {
    kind: RmwKind::Add,
    operand: 1,
    bits: 64,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control {
    #[track_caller]
    fn end(&self) -> ObjectId {
        self.end.id(|| Object::Atomic(0))
    }

    /// Whether the task has ended; an event.
    #[inline(always)]
    #[track_caller]
    fn has_ended(&self) -> bool {
        if rt::active() {
            rt::poll::load(self.end(), SeqCst);
        }
        self.look(None)
    }

    /// As [`Control::has_ended`]; a waker is kept if it has not. The task learns of that, so this is a change.
    #[track_caller]
    fn has_ended_or_wakes(&self, waker: &Waker) -> bool {
        if rt::active() {
            rt::op(Op::Rmw(self.end(), MORE));
        }
        self.look(Some(waker))
    }

    fn look(&self, waker: Option<&Waker>) -> bool {
        let mut waiter = lock(&self.waiter);
        let ended = self.ended.load(SeqCst);
        if let (false, Some(waker)) = (ended, waker) {
            *waiter = Some(waker.clone());
        }
        ended
    }

    /// The task ends: an event, if it is exact.
    fn ends(&self) {
        if rt::active() && self.exact {
            rt::op_at(Op::Rmw(self.end(), MORE), self.origin);
        }
        let waiter = {
            let mut waiter = lock(&self.waiter);
            self.ended.store(true, SeqCst);
            waiter.take()
        };
        if let Some(waker) = waiter {
            waker.wake();
        }
    }

    #[track_caller]
    fn abort(&self) {
        if !self.exact {
            want_exact(self.origin);
        }
        self.wakes.abort();
    }

    /// Its panic is the program's business from now on.
    fn joined(&self) {
        if let (Some(thread), Some(task)) = (self.thread, rt::task())
            && let Ok(mut threads) = task.world().threads.try_borrow_mut()
        {
            threads[thread.index()].joined = true;
        }
    }
}

/// A task under way. Dropping it detaches the task.
pub struct JoinHandle<T> {
    shared: Arc<Shared<T>>,
    leaf: Leaf,
}

/// Aborts a task.
#[derive(Clone)]
pub struct AbortHandle(Arc<Control>);

impl AbortHandle {
    /// The task is dropped at its next await, if it has not ended by then.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Whether the task has ended. In a check it is an event.
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        finished(&self.0)
    }
}

#[inline(always)]
#[track_caller]
fn finished(control: &Control) -> bool {
    if !control.exact {
        want_exact(control.origin);
    }
    control.has_ended()
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}

impl<T> JoinHandle<T> {
    /// The task is dropped at its next await, if it has not ended by then.
    #[track_caller]
    pub fn abort(&self) {
        self.shared.control.abort();
    }

    /// Aborts the task without the handle.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(self.shared.control.clone())
    }

    /// Whether the task has ended. In a check it is an event.
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        finished(&self.shared.control)
    }

    fn result(&self) -> Result<T, JoinError> {
        self.shared.control.joined();
        let result = lock(&self.shared.result).take();
        result.expect("JoinHandle polled after completion")
    }
}

impl<T> Unpin for JoinHandle<T> {}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let control = self.shared.control.clone();
        let single = control.thread.filter(|_| !control.exact && rt::active());
        if let Some(thread) = single {
            let place = control.origin;
            let (op, leaf) = (Op::Join(thread), &mut self.leaf);
            let waited = leaf.poll(context, op, place, place, |_, _| ());
            return waited.map(|()| self.result());
        }
        if !rt::active() && rt::inert() {
            return Poll::Pending;
        }
        match control.has_ended_or_wakes(context.waker()) {
            true => Poll::Ready(self.result()),
            false => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// How a task is started.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// A task without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// What it is called in reports.
    pub fn name(mut self, name: impl Into<String>) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// Starts it.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let start = Start {
            name: self.name,
            origin: Location::caller(),
            detached: false,
            turn: None,
        };
        // SAFETY: the future and its result are `Send`, so any thread may run it.
        unsafe { start.spawn(future) }
    }
}

/// Starts a task, which runs at the same time as its creator.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Builder::new().spawn(future)
}

/// As [`spawn`], of a task that need not end; with `turn`, polled only while its holder is not.
#[doc(hidden)]
#[track_caller]
pub fn spawn_detached<F>(
    name: Option<String>,
    turn: Option<Arc<Semaphore>>,
    future: F,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let start = Start {
        name,
        origin: Location::caller(),
        detached: true,
        turn,
    };
    // SAFETY: the future and its result are `Send`, so any thread may run it.
    unsafe { start.spawn(future) }
}

/// As [`spawn_detached`], of a future that must stay on its thread.
///
/// # Panics
/// Outside of a check, where it would not.
#[doc(hidden)]
#[track_caller]
pub fn spawn_local_detached<F>(turn: Option<Arc<Semaphore>>, future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    assert!(rt::task().is_some(), "local tasks are for checks");
    let start = Start {
        name: None,
        origin: Location::caller(),
        detached: true,
        turn,
    };
    // SAFETY: asserted above: in a check, whose threads are all run by one thread of the system.
    unsafe { start.spawn(future) }
}

struct Start {
    name: Option<String>,
    origin: Place,
    detached: bool,
    turn: Option<Arc<Semaphore>>,
}

impl Start {
    /// # Safety
    /// Outside of a check the future and its result must be `Send`.
    unsafe fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let checked = rt::active();
        let exact = !checked || is_exact(self.origin);
        let mut control = Control {
            wakes: Wakes::new(exact),
            origin: self.origin,
            exact,
            thread: None,
            end: Slot::new(),
            ended: AtomicBool::new(false),
            waiter: Mutex::new(None),
        };
        if !checked {
            let shared = Shared::new(control);
            let (theirs, turn) = (shared.clone(), self.turn);
            let life = Sends(move || theirs.live(turn, future));
            let started = std::thread::Builder::new().spawn(move || life.run());
            started.expect("failed to spawn thread");
            return JoinHandle::new(shared);
        }
        let id = thread::reserve(self.name.map(Into::into), self.origin);
        control.thread = Some(id);
        let shared = Shared::new(control);
        let (theirs, turn) = (shared.clone(), self.turn);
        let task = rt::task().expect("in a check");
        if self.detached {
            task.world().run.borrow_mut().detach(id);
        }
        let world = std::ptr::from_ref(task.world());
        let work = move || {
            theirs.live(turn, future);
            None
        };
        let life = move || {
            // SAFETY: the world outlives its fibers, and this runs on one of them.
            rt::live(unsafe { &*world }, id, work);
        };
        task.world().start(id, Box::new(life));
        JoinHandle::new(shared)
    }
}

/// Moves to another thread of the system.
struct Sends<F>(F);

// SAFETY: what is moved is `Send` outside of checks, as `Start::spawn` demands; in a check all threads are run by one thread of the system.
unsafe impl<F> Send for Sends<F> {}

impl<F: FnOnce()> Sends<F> {
    fn run(self) {
        (self.0)();
    }
}

impl<T> JoinHandle<T> {
    fn new(shared: Arc<Shared<T>>) -> JoinHandle<T> {
        JoinHandle {
            shared,
            leaf: Leaf::new(),
        }
    }
}

impl<T> Shared<T> {
    fn new(control: Control) -> Arc<Shared<T>> {
        Arc::new(Shared {
            control: Arc::new(control),
            result: Mutex::new(None),
        })
    }

    /// The life of the task.
    fn live<F: Future<Output = T>>(&self, turn: Option<Arc<Semaphore>>, future: F) {
        let control = &self.control;
        let driver = Driver::with(control.wakes.clone(), control.origin, control.exact, turn);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let future = pin!(future);
            driver.drive(future)
        }));
        if rt::task().is_some() && !rt::active() {
            // The execution is over.
            return;
        }
        let result = match ended {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(JoinError(Why::Cancelled)),
            Err(payload) => {
                rt::died(&*payload);
                Err(JoinError(Why::Panicked(Mutex::new(payload))))
            }
        };
        *lock(&self.result) = Some(result);
        control.ends();
        driver.leave();
    }
}
