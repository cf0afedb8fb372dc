//! `std::sync::{Once, OnceLock, LazyLock}` under control.
//!
//! *Decides:* nothing; the model says who initialises and who waits for it. *Called by:* the program under test. *Owns:* the std
//! object, which keeps value and poisoning: the one thread that the model lets begin runs its initialiser inside std's.
//!
//! *Invariant:* in a check nobody else is inside the std object then, so std never blocks. Looking whether a value is there is an
//! operation of its own (a load of the state), so executions in which it came a moment too early are run too.

use crate::rt;
use reweave_model::{Object, ObjectId, OnceState, Op};
use std::{
    fmt,
    ops::Deref,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::atomic::{
        AtomicU8,
        Ordering::{Relaxed, SeqCst},
    },
};

/// What the model's word of an initialised object is, and of one whose initialiser failed.
const DONE: u64 = 2;
const FAILED: u64 = 3;

/// What [`Op::OnceBegin`] returns when it was done before, and when it failed before and may not be tried again.
const ALREADY: u64 = 1;
const POISONED: u64 = 2;

/// The model's side of a one-time initialisation.
struct Gate {
    slot: rt::Slot,
    /// Whether somebody is inside the std object, or has been: what an abandoned thread may look at, and what the model
    /// begins with.
    state: AtomicU8,
}

const IDLE: u8 = 0;
const BUSY: u8 = 1;
const READY: u8 = 2;

impl Gate {
    const fn new() -> Gate {
        Gate {
            slot: rt::Slot::new(),
            state: AtomicU8::new(IDLE),
        }
    }

    #[track_caller]
    fn id(&self) -> ObjectId {
        self.slot.id(|| {
            Object::Once(match self.state.load(Relaxed) {
                READY => OnceState::Done,
                _ => OnceState::New,
            })
        })
    }

    /// Runs what initialises the std object, or looks at it when that was done: in a check when the model says so.
    #[track_caller]
    fn enter<R>(&self, force: bool, run: impl FnOnce() -> R) -> R {
        if rt::active() {
            let object = self.id();
            let begun = rt::op(Op::OnceBegin { object, force });
            if begun.ok {
                if matches!(begun.result, ALREADY | POISONED) {
                    // std returns at once, or panics.
                    return run();
                }
                let mut end = End(Some((self, object)));
                self.state.store(BUSY, Relaxed);
                let result = run();
                self.state.store(READY, Relaxed);
                end.0 = None;
                rt::op(Op::OnceEnd(object, true));
                return result;
            }
        }
        if rt::inert() && self.state.load(Relaxed) == BUSY {
            rt::give_up();
        }
        let result = run();
        self.state.store(READY, Relaxed);
        result
    }

    /// The state, without waiting; only in a check. `None`: the execution is over.
    #[inline(always)]
    #[track_caller]
    fn look(&self) -> Option<u64> {
        let word = rt::poll::load(self.id(), SeqCst);
        rt::active().then_some(word)
    }

    /// Waits for the end of the initialisation: the word it ended with.
    #[track_caller]
    fn wait(&self, force: bool) -> Option<u64> {
        loop {
            let word = self.look()?;
            if word == DONE || (word == FAILED && !force) {
                return Some(word);
            }
            if !rt::op(Op::Await(self.id(), word)).ok {
                return None;
            }
        }
    }
}

/// Tells the model of an initialiser that panicked.
struct End<'a>(Option<(&'a Gate, ObjectId)>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        if let Some((gate, object)) = self.0 {
            gate.state.store(IDLE, Relaxed);
            if rt::active() {
                rt::op(Op::OnceEnd(object, false));
            }
        }
    }
}

/// As `std::sync::Once`.
pub struct Once {
    gate: Gate,
    inner: std::sync::Once,
}

impl Once {
    /// Nothing was run yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Once {
        Once {
            gate: Gate::new(),
            inner: std::sync::Once::new(),
        }
    }

    /// Runs the closure if it is the first one, else waits until that has ended. Panics when that one panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        let this = rt::here(self);
        this.gate.enter(false, || this.inner.call_once(f));
    }

    /// As [`call_once`](Once::call_once), and runs again after one that panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&std::sync::OnceState)>(&self, f: F) {
        let this = rt::here(self);
        this.gate.enter(true, || this.inner.call_once_force(f));
    }

    /// Whether a closure ran to its end.
    #[inline(always)]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let this = rt::here(self);
        if rt::active() {
            return this.gate.look() == Some(DONE);
        }
        this.inner.is_completed()
    }

    /// Waits until a closure ran to its end. Panics when one panicked.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for(false);
    }

    /// As [`wait`](Once::wait), and goes on waiting after one that panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for(true);
    }

    #[track_caller]
    fn wait_for(&self, force: bool) {
        let this = rt::here(self);
        if rt::active() && this.gate.wait(force).is_none() {
            return;
        }
        if rt::inert() && !this.inner.is_completed() {
            return;
        }
        // In a check it returns, or panics, at once.
        if force {
            this.inner.wait_force();
        } else {
            this.inner.wait();
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

/// As `std::sync::OnceLock`.
pub struct OnceLock<T> {
    gate: Gate,
    inner: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    /// Without a value.
    pub const fn new() -> OnceLock<T> {
        OnceLock {
            gate: Gate::new(),
            inner: std::sync::OnceLock::new(),
        }
    }

    /// The value, if it is there already.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let this = rt::here(self);
        if rt::active() && this.gate.look().is_some_and(|word| word != DONE) {
            return None;
        }
        this.inner.get()
    }

    /// The value, by a reference that nobody else has.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.inner.get_mut()
    }

    /// Waits for the value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let this = rt::here(self);
        if rt::active() {
            this.gate.wait(true);
        }
        if rt::inert() && this.inner.get().is_none() {
            rt::give_up();
        }
        this.inner.wait()
    }

    /// Sets the value; gives it back if there is one already, or somebody else's initialiser came first.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let this = rt::here(self);
        let mut value = Some(value);
        this.gate.enter(true, || {
            this.inner
                .get_or_init(|| value.take().expect("taken at most once"));
        });
        value.map_or(Ok(()), Err)
    }

    /// The value, made now if there is none. A panic of the initialiser leaves it without one.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        let this = rt::here(self);
        this.gate.enter(true, || this.inner.get_or_init(f))
    }

    /// Takes the value out.
    pub fn into_inner(self) -> Option<T> {
        self.inner.into_inner()
    }

    /// Takes the value out and leaves none.
    pub fn take(&mut self) -> Option<T> {
        self.gate = Gate::new();
        self.inner.take()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rt::here(self).inner.fmt(f)
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get()
            .cloned()
            .map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let mut gate = Gate::new();
        *gate.state.get_mut() = READY;
        OnceLock {
            gate,
            inner: std::sync::OnceLock::from(value),
        }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

/// As `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    gate: Gate,
    inner: std::sync::LazyLock<T, F>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that is made at first use.
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock {
            gate: Gate::new(),
            inner: std::sync::LazyLock::new(f),
        }
    }

    /// The value, made now if this is the first use. Panics when making it panicked before.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let this = rt::here(this);
        this.gate
            .enter(false, || std::sync::LazyLock::force(&this.inner))
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rt::here(self).inner.fmt(f)
    }
}
