//! Threads. As in loom, what they run and return need not be `Send`: all threads of a model share one thread of the system.

pub use reweave::thread::{AccessError, LocalKey, Thread, ThreadId, current, park, yield_now};

use std::{fmt, io};

/// Moves to another thread of the same model, which is run by the same thread of the system.
struct Stays<T>(T);

// SAFETY: made in a model only (asserted in `Builder::spawn`), whose threads are all run by one thread of the system.
unsafe impl<T> Send for Stays<T> {}

impl<T> Stays<T> {
    /// By a method, so that a closure captures all of it.
    fn inner(self) -> T {
        self.0
    }
}

/// As loom's.
pub struct JoinHandle<T>(reweave::thread::JoinHandle<Stays<T>>);

impl<T> JoinHandle<T> {
    /// As [`std::thread::JoinHandle::join`].
    ///
    /// # Errors
    /// The payload of the panic that ended the thread.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join().map(Stays::inner)
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

/// As [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder(reweave::thread::Builder);

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
    pub fn stack_size(self, size: usize) -> Builder {
        Builder(self.0.stack_size(size))
    }

    /// As [`std::thread::Builder::spawn`].
    ///
    /// # Errors
    /// None in a model.
    ///
    /// # Panics
    /// Outside of a model.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        assert!(
            reweave::__macro::in_check(),
            "a thread is created outside of a model"
        );
        let f = Stays(f);
        let handle = self.0.spawn(move || Stays(f.inner()()))?;
        Ok(JoinHandle(handle))
    }
}

/// As [`std::thread::spawn`].
///
/// # Panics
/// Outside of a model.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    Builder::new().spawn(f).expect("a model makes threads")
}
