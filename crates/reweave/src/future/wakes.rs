//! What wakes a task: the state behind its waker.
//!
//! *Decides:* nothing. *Called by:* whatever holds a waker; the task, which waits. *Owns:* the token of a task: in a check an object of the
//! model, outside a flag and the thread to unpark.

use crate::rt::{self, Slot};
use reweave_model::{Object, ObjectId, Op};
use std::{
    mem::ManuallyDrop,
    panic::Location,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{RawWaker, RawWakerVTable, Waker},
    time::Duration,
};

/// See the module.
pub(super) struct Wakes {
    slot: Slot,
    /// Set before the first poll: such a task looks for an abort first.
    starts_woken: bool,
    /// Its waker was cloned or used: other threads may wake it.
    used: AtomicBool,
    /// Its waker was cloned or used since the last poll began.
    used_now: AtomicBool,
    /// The task is to end. Set with the token, and looked at when that is taken.
    aborted: AtomicBool,
    /// Outside of a check.
    outside: Option<Outside>,
}

/// The token, and its changes.
struct Outside {
    token: Mutex<bool>,
    put: Condvar,
}

impl Wakes {
    pub(super) fn new(starts_woken: bool) -> Arc<Wakes> {
        let outside = rt::task().is_none().then(|| Outside {
            token: Mutex::new(starts_woken),
            put: Condvar::new(),
        });
        Arc::new(Wakes {
            slot: Slot::new(),
            starts_woken,
            used: AtomicBool::new(false),
            used_now: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            outside,
        })
    }

    #[track_caller]
    fn id(&self) -> ObjectId {
        self.slot.id(|| Object::Parker(self.starts_woken))
    }

    /// The task is to be polled again.
    #[track_caller]
    pub(super) fn wake(&self) {
        self.note_use();
        self.put_token();
    }

    #[track_caller]
    fn put_token(&self) {
        if let Some(outside) = &self.outside {
            *outside.lock() = true;
            outside.put.notify_all();
        } else if rt::active() {
            rt::op(Op::Unpark(self.id()));
        } else {
            rt::inert();
        }
    }

    /// The task is to end when it is polled next.
    #[track_caller]
    pub(super) fn abort(&self) {
        if self.outside.is_some() {
            self.aborted.store(true, SeqCst);
        }
        self.put_token();
        // Nothing runs between the event and this.
        self.aborted.store(true, SeqCst);
    }

    pub(super) fn aborted(&self) -> bool {
        self.aborted.load(SeqCst)
    }

    fn note_use(&self) {
        self.used.store(true, SeqCst);
        self.used_now.store(true, SeqCst);
    }

    /// A poll begins.
    pub(super) fn poll_begins(&self) {
        self.used_now.store(false, SeqCst);
    }

    /// Whether its waker was cloned or used since the last poll began.
    pub(super) fn used_now(&self) -> bool {
        self.used_now.load(SeqCst)
    }

    /// Whether other threads may put the token: the task's waker was ever cloned or used, or it may be aborted. The task alone changes that,
    /// since only it has the first waker, so it does not depend on what other threads do meanwhile.
    pub(super) fn used(&self) -> bool {
        self.starts_woken || self.used.load(SeqCst)
    }

    /// Waits for the token and takes it.
    pub(super) fn wait(&self, place: &'static Location<'static>) {
        if let Some(outside) = &self.outside {
            let set = outside.put.wait_while(outside.lock(), |set| !*set);
            *set.unwrap_or_else(PoisonError::into_inner) = false;
            return;
        }
        if rt::active() {
            let (object, timed) = (self.id(), false);
            rt::op_at(Op::Park { object, timed }, place);
        }
        if !rt::active() {
            rt::give_up();
        }
    }

    /// Takes the token if it is there.
    pub(super) fn clear(&self, place: &'static Location<'static>) {
        let (object, timed) = (self.id(), true);
        rt::op_at(Op::Park { object, timed }, place);
    }

    /// The object to park at for some time. Only in a check.
    pub(super) fn timed_wait(&self) -> Op {
        let (object, timed) = (self.id(), true);
        Op::Park { object, timed }
    }

    /// Outside of a check: waits for the token, no longer than this.
    pub(super) fn wait_outside(&self, limit: Duration) {
        if let Some(outside) = &self.outside {
            let waited = outside
                .put
                .wait_timeout_while(outside.lock(), limit, |set| !*set);
            *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
        }
    }

    pub(super) fn waker(self: Arc<Wakes>) -> Waker {
        let data = Arc::into_raw(self).cast::<()>();
        // SAFETY: the functions of the table take data of this kind, and each keeps count of it.
        unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
    }

    /// Whether it is behind this waker.
    pub(super) fn is_behind(&self, waker: &Waker) -> bool {
        std::ptr::eq(waker.data(), std::ptr::from_ref(self).cast())
            && std::ptr::eq(waker.vtable(), &raw const TABLE)
    }
}

impl Outside {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// # Safety
/// The data is what `Arc::into_raw` returned for a `Wakes`, and one count belongs to the waker.
unsafe fn behind(data: *const ()) -> ManuallyDrop<Arc<Wakes>> {
    // SAFETY: the caller's condition; the count stays with the waker.
    ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Wakes>()) })
}

/// # Safety
/// As of [`behind`].
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: called with a live waker's data, as the table's contract says.
    let wakes = unsafe { behind(data) };
    wakes.note_use();
    RawWaker::new(Arc::into_raw(Arc::clone(&wakes)).cast(), &TABLE)
}

/// # Safety
/// As of [`behind`].
unsafe fn wake(data: *const ()) {
    // SAFETY: called with a live waker's data, whose count is given up with it.
    unsafe { Arc::from_raw(data.cast::<Wakes>()) }.wake();
}

/// # Safety
/// As of [`behind`].
unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: called with a live waker's data, as the table's contract says.
    unsafe { behind(data) }.wake();
}

/// # Safety
/// As of [`behind`].
unsafe fn drop_waker(data: *const ()) {
    // SAFETY: called with a live waker's data, whose count is given up with it.
    drop(unsafe { Arc::from_raw(data.cast::<Wakes>()) });
}
