//! Futures.

use crate::sync::Notify;
use reweave::sync::{Mutex, PoisonError};
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

struct Wakes(Notify);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

/// Runs a future on this thread. It is polled again only after its waker was used: a lost wake-up is a deadlock.
#[track_caller]
pub fn block_on<F: Future>(f: F) -> F::Output {
    let wakes = Arc::new(Wakes(Notify::new()));
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(f);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => wakes.0.wait(),
        }
    }
}

/// As `futures::task::AtomicWaker`.
#[derive(Debug, Default)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// One without a waker.
    #[must_use]
    pub fn new() -> AtomicWaker {
        AtomicWaker::default()
    }

    /// Keeps a waker in place of the one before.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    /// As [`AtomicWaker::register`].
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Uses the waker that was registered last, if it was not used since.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes it out.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
