//! `std::sync::RwLock` under control.
//!
//! *Decides:* nothing; the model says who has the lock. *Called by:* the program under test. *Owns:* a std lock for value and
//! poisoning; in a check the model grants the lock first, so std's is always free then.
//!
//! Writers go first: a reader queues up behind a waiting writer, as with std on Linux. So reading twice in one thread can
//! deadlock, and does.

use crate::rt;
use reweave_model::{Error, Kind, Object, ObjectId, Op};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    panic::{Location, RefUnwindSafe, UnwindSafe},
    sync::{LockResult, PoisonError, TryLockError, TryLockResult},
};

/// As `std::sync::RwLock`.
pub struct RwLock<T: ?Sized> {
    slot: rt::Slot,
    inner: std::sync::RwLock<T>,
}

/// As `std::sync::RwLockReadGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    /// Only when it was taken in a check. (A flag would bring padding into the program's frame: see `rt::poll`.)
    lock: Option<&'a RwLock<T>>,
    /// Dropped right after the unlock in the model, before anybody else gets a turn.
    inner: std::sync::RwLockReadGuard<'a, T>,
}

/// As `std::sync::RwLockWriteGuard`.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    inner: std::sync::RwLockWriteGuard<'a, T>,
    checked: bool,
}

impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            slot: rt::Slot::new(),
            inner: std::sync::RwLock::new(value),
        }
    }

    /// Takes the value out.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    #[track_caller]
    fn id(&self) -> ObjectId {
        self.slot.id(Object::rwlock)
    }

    /// Shares the lock, waiting while a writer has or wants it.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let this = rt::here(self);
        let checked = rt::active();
        if checked {
            rt::poll::attempt(rt::poll::Attempt::WaitRead, this.id());
        } else if !rt::inert() {
            return this.readable(false, this.inner.read());
        }
        this.shared(checked)
    }

    /// Shares the lock if no writer has or wants it.
    #[inline(always)]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let this = rt::here(self);
        let checked = rt::active();
        if checked && !rt::poll::attempt(rt::poll::Attempt::Read, this.id()).0 {
            return Err(TryLockError::WouldBlock);
        }
        match this.inner.try_read() {
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            held => Ok(this.readable(checked, granted(held))?),
        }
    }

    /// Takes the lock, waiting while anybody has it.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let this = rt::here(self);
        let checked = rt::active();
        if checked {
            let id = this.id();
            if rt::op(Op::WriteBegin(id)).ok {
                rt::op(Op::WriteAcquire(id));
            }
        } else if !rt::inert() {
            return this.writable(false, this.inner.write());
        }
        this.writable(checked, granted(this.inner.try_write()))
    }

    /// Takes the lock if nobody has it.
    #[inline(always)]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let this = rt::here(self);
        let checked = rt::active();
        if checked && !rt::poll::attempt(rt::poll::Attempt::Write, this.id()).0 {
            return Err(TryLockError::WouldBlock);
        }
        match this.inner.try_write() {
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            held => Ok(this.writable(checked, granted(held))?),
        }
    }

    /// Whether a thread panicked while it had the lock for writing. In a check it is an event: an attempt to read.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        let this = rt::here(self);
        if rt::active() && rt::op(Op::TryReadLock(this.id())).ok {
            rt::op(Op::ReadUnlock(this.id()));
        }
        this.inner.is_poisoned()
    }

    /// Forgets such a panic. In a check it is an event: an attempt to write.
    #[track_caller]
    pub fn clear_poison(&self) {
        let this = rt::here(self);
        let changes = rt::active() && rt::op(Op::TryWriteLock(this.id())).ok;
        this.inner.clear_poison();
        if changes && rt::active() {
            rt::op(Op::WriteUnlock(this.id()));
        }
    }

    /// The value, by a reference that nobody else has.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }

    /// The guard of a read lock that the model has given.
    #[inline(never)]
    #[track_caller]
    fn shared(&self, checked: bool) -> LockResult<RwLockReadGuard<'_, T>> {
        self.readable(checked, granted(self.inner.try_read()))
    }

    fn readable<'a>(
        &'a self,
        checked: bool,
        held: LockResult<std::sync::RwLockReadGuard<'a, T>>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = |inner| RwLockReadGuard {
            lock: checked.then_some(self),
            inner,
        };
        match held {
            Ok(inner) => Ok(guard(inner)),
            Err(poisoned) => Err(PoisonError::new(guard(poisoned.into_inner()))),
        }
    }

    fn writable<'a>(
        &'a self,
        checked: bool,
        held: LockResult<std::sync::RwLockWriteGuard<'a, T>>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let guard = |inner| RwLockWriteGuard {
            lock: self,
            inner,
            checked,
        };
        match held {
            Ok(inner) => Ok(guard(inner)),
            Err(poisoned) => Err(PoisonError::new(guard(poisoned.into_inner()))),
        }
    }
}

/// What std says of a lock that the model has granted. Somebody else can have it only when the execution is over and an
/// abandoned thread still holds it, or when the lock is used outside of this execution too.
#[track_caller]
fn granted<G>(held: TryLockResult<G>) -> LockResult<G> {
    match held {
        Ok(guard) => Ok(guard),
        Err(TryLockError::Poisoned(poisoned)) => Err(poisoned),
        Err(TryLockError::WouldBlock) => {
            if rt::active() {
                rt::error(Error {
                    kind: Kind::Misuse,
                    rule: Some("object-from-outside".into()),
                    message: format!(
                        "the rwlock taken at {} is held outside of this execution: make it inside the test closure",
                        Location::caller()
                    ),
                    sites: Vec::new(),
                    after: None,
                });
                rt::op(Op::Assume(false));
            }
            rt::give_up()
        }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.filter(|_| rt::active()) {
            rt::poll::leave(rt::poll::Section::Read, lock.id());
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        if self.checked && rt::active() {
            rt::op(Op::WriteUnlock(self.lock.id()));
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // std's prints `RwLock { data: .., poisoned: .. }` and does not wait.
        let this = rt::here(self);
        let reads = rt::active() && rt::op(Op::TryReadLock(this.id())).ok;
        let result = this.inner.fmt(f);
        if reads && rt::active() {
            rt::op(Op::ReadUnlock(this.id()));
        }
        result
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}
