//! [`Mutex`].

use crate::rt::{
    self, Slot,
    poll::{Attempt, Section},
};
use reweave_model::{Error, Kind, Object, ObjectId, Op};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    panic::{Location, RefUnwindSafe, UnwindSafe},
    sync::{self, LockResult, PoisonError, TryLockError, TryLockResult, atomic::Ordering},
};

/// As [`std::sync::Mutex`].
pub struct Mutex<T: ?Sized> {
    slot: Slot,
    inner: sync::Mutex<T>,
}

/// As [`std::sync::MutexGuard`].
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) lock: &'a Mutex<T>,
    /// `None` while the guard is being waited with. Dropped after the unlock was done.
    inner: Option<sync::MutexGuard<'a, T>>,
    /// Taken in a check.
    checked: bool,
    /// The data may have changed: somebody had it by a mutable reference.
    changed: bool,
}

impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    /// As [`std::sync::Mutex::new`].
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            slot: Slot::new(),
            inner: sync::Mutex::new(value),
        }
    }

    /// As [`std::sync::Mutex::into_inner`].
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// As [`std::sync::Mutex::lock`].
    ///
    /// # Errors
    /// If it is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let this = rt::here(self);
        if rt::active() {
            rt::poll::attempt(Attempt::WaitLock, this.id());
            this.taken()
        } else if rt::inert() {
            this.taken()
        } else {
            this.wrap(this.inner.lock(), false)
        }
    }

    /// As [`std::sync::Mutex::try_lock`].
    ///
    /// # Errors
    /// If it is held, or poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let this = rt::here(self);
        if rt::active() {
            if !rt::poll::attempt(Attempt::Lock, this.id()).0 {
                return Err(TryLockError::WouldBlock);
            }
            return this.taken().map_err(TryLockError::Poisoned);
        }
        rt::inert();
        match this.inner.try_lock() {
            Ok(inner) => Ok(this.wrap(Ok(inner), false)?),
            Err(TryLockError::Poisoned(error)) => Ok(this.wrap(Err(error), false)?),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }

    /// As [`std::sync::Mutex::is_poisoned`]. In a check it is an event: a look at the mutex.
    #[inline(always)]
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        let this = rt::here(self);
        if rt::active() {
            rt::poll::load(this.id(), Ordering::SeqCst);
        }
        this.inner.is_poisoned()
    }

    /// As [`std::sync::Mutex::clear_poison`]. In a check it is an event: a change of the mutex.
    #[track_caller]
    pub fn clear_poison(&self) {
        let this = rt::here(self);
        if rt::active() {
            rt::op(Op::Store(this.id(), 0));
        }
        this.inner.clear_poison();
    }

    /// As [`std::sync::Mutex::get_mut`].
    ///
    /// # Errors
    /// If it is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.inner.get_mut()
    }

    #[track_caller]
    pub(super) fn id(&self) -> ObjectId {
        self.slot.id(Object::mutex)
    }

    /// The guard of a lock that the model has given.
    #[inline(never)]
    #[track_caller]
    pub(super) fn taken(&self) -> LockResult<MutexGuard<'_, T>> {
        match self.inner.try_lock() {
            Ok(inner) => self.wrap(Ok(inner), true),
            Err(TryLockError::Poisoned(error)) => self.wrap(Err(error), true),
            Err(TryLockError::WouldBlock) => held_elsewhere(),
        }
    }

    fn wrap<'a>(
        &'a self,
        inner: LockResult<sync::MutexGuard<'a, T>>,
        checked: bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        let guard = |inner| MutexGuard {
            lock: self,
            inner: Some(inner),
            checked,
            changed: false,
        };
        match inner {
            Ok(inner) => Ok(guard(inner)),
            Err(error) => Err(PoisonError::new(guard(error.into_inner()))),
        }
    }
}

/// The model has given the lock, but somebody holds it: an abandoned thread, or one outside of this execution.
#[cold]
#[track_caller]
fn held_elsewhere() -> ! {
    if rt::active() {
        rt::error(Error {
            kind: Kind::Misuse,
            rule: Some("object-from-outside".into()),
            message: format!(
                "the mutex locked at {} is held by a thread outside of this execution: make it inside the test closure",
                Location::caller()
            ),
            sites: Vec::new(),
            after: None,
        });
        rt::op(Op::Assume(false));
    }
    rt::give_up()
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// For a wait: the parts, with nothing unlocked yet.
    /// Nobody had the data by a mutable reference.
    pub(super) fn is_clean(&self) -> bool {
        !self.changed
    }

    pub(super) fn split(mut self) -> (&'a Mutex<T>, Option<sync::MutexGuard<'a, T>>) {
        self.checked = false;
        (self.lock, self.inner.take())
    }

    /// For a wait outside of a check.
    pub(super) fn again(
        lock: &'a Mutex<T>,
        inner: LockResult<sync::MutexGuard<'a, T>>,
    ) -> LockResult<MutexGuard<'a, T>> {
        lock.wrap(inner, false)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // The data's own guard goes after this, also when the execution ends here.
        if self.checked && rt::active() {
            let id = self.lock.id();
            // A panic poisons the mutex, which can be seen too.
            let changed = self.changed || std::thread::panicking();
            let section = match changed {
                true => Section::Changed,
                false => Section::Clean,
            };
            rt::poll::leave(section, id);
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner
            .as_ref()
            .expect("held while it is not waited with")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        self.inner
            .as_mut()
            .expect("held while it is not waited with")
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let this = rt::here(self);
        let locks = rt::active() && rt::op(Op::TryLock(this.id())).ok;
        let result = this.inner.fmt(f);
        if locks && rt::active() {
            rt::op(Op::UnlockClean(this.id()));
        }
        result
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}
