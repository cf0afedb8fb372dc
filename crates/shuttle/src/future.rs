//! Futures. As in shuttle, a panic of a task fails the check: its handle hands it on.

pub use reweave::future::{AbortHandle, YieldNow, block_on, yield_now};

use crate::context;
use reweave::future;
use std::{
    error::Error,
    fmt,
    future::Future,
    panic::resume_unwind,
    pin::Pin,
    task::{Context, Poll},
};

/// Why a task has no result.
#[derive(Debug)]
pub enum JoinError {
    /// It was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl Error for JoinError {}

/// A task under way. Dropping it detaches the task.
#[derive(Debug)]
pub struct JoinHandle<T>(future::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// The task is dropped at its next await, if it has not ended by then.
    #[track_caller]
    pub fn abort(&self) {
        self.0.abort();
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Aborts the task without the handle.
    pub fn abort_handle(&self) -> AbortHandle {
        self.0.abort_handle()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| {
            result.map_err(|error| match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_) => JoinError::Cancelled,
            })
        })
    }
}

/// Starts a task, which runs at the same time as its creator.
#[track_caller]
pub fn spawn<F>(fut: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let data = context::inherit();
    // A task has a thread of the check to itself, so the first poll sets this for all of them.
    let task = async move {
        context::set(data);
        fut.await
    };
    JoinHandle(future::__rt::spawn_detached(None, None, task))
}

/// As [`spawn`], of a future that is not `Send`.
///
/// # Panics
/// Outside of a check.
#[track_caller]
pub fn spawn_local<F>(fut: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let data = context::inherit();
    let task = async move {
        context::set(data);
        fut.await
    };
    JoinHandle(future::__rt::spawn_local_detached(None, task))
}
