//! Threads. As in shuttle, a panic of a thread fails the check: a join hands it on.

pub use reweave::thread::{
    AccessError, LocalKey, Result, Thread, ThreadId, current, panicking, park, park_timeout, sleep,
    yield_now,
};

use crate::context;
use reweave::thread;
use std::{fmt, io, panic::resume_unwind};

/// As [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(thread::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// As [`std::thread::JoinHandle::join`], but panics if the thread has.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join().or_else(|payload| resume_unwind(payload))
    }

    /// As [`std::thread::JoinHandle::thread`].
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// As [`std::thread::spawn`].
///
/// # Panics
/// If the system refuses another thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// As [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder(thread::Builder);

impl Builder {
    /// As [`std::thread::Builder::new`].
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// As [`std::thread::Builder::name`].
    #[must_use]
    pub fn name(self, name: String) -> Builder {
        Builder(self.0.name(name))
    }

    /// As [`std::thread::Builder::stack_size`].
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Builder {
        Builder(self.0.stack_size(stack_size))
    }

    /// As [`std::thread::Builder::spawn`].
    ///
    /// # Errors
    /// None in a check.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let data = context::inherit();
        let handle = self.0.spawn(move || context::with(data, f))?;
        Ok(JoinHandle(handle))
    }
}

/// As [`std::thread::Scope`].
#[derive(Debug)]
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(thread::Scope<'scope, 'env>);

/// As [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(thread::ScopedJoinHandle<'scope, T>);

/// As [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    thread::scope(|scope| {
        // SAFETY: the type is transparent over the one that the reference points to.
        f(unsafe { &*std::ptr::from_ref(scope).cast::<Scope<'_, '_>>() })
    })
}

impl<'scope> Scope<'scope, '_> {
    /// As [`std::thread::Scope::spawn`].
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let data = context::inherit();
        ScopedJoinHandle(self.0.spawn(move || context::with(data, f)))
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As [`std::thread::ScopedJoinHandle::join`], but panics if the thread has.
    ///
    /// # Errors
    /// None.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join().or_else(|payload| resume_unwind(payload))
    }

    /// As [`std::thread::ScopedJoinHandle::thread`].
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// As [`std::thread::ScopedJoinHandle::is_finished`].
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
