//! Combinations of futures, and futures that give way or end early.

use super::context;
use crate::any::any;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// Which of two came first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Either<A, B> {
    /// The first.
    Left(A),
    /// The second.
    Right(B),
}

/// See [`select`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Select<A, B>(Option<Branches<A, B>>);

#[derive(Debug)]
struct Branches<A, B> {
    a: Pin<Box<A>>,
    b: Pin<Box<B>>,
}

/// The first of two futures that is ready, with the other one. If both are, either: both are explored.
pub fn select<A: Future, B: Future>(a: A, b: B) -> Select<A, B> {
    Select(Some(Branches {
        a: Box::pin(a),
        b: Box::pin(b),
    }))
}

impl<A: Future, B: Future> Future for Select<A, B> {
    type Output = Either<(A::Output, Pin<Box<B>>), (B::Output, Pin<Box<A>>)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let branches = self.0.take().expect("polled after it was ready");
        let Branches { mut a, mut b } = branches;
        let first = any(2);
        for turn in 0..2 {
            if turn == first {
                if let Poll::Ready(value) = context::combined(|| a.as_mut().poll(context)) {
                    return Poll::Ready(Either::Left((value, b)));
                }
            } else if let Poll::Ready(value) = context::combined(|| b.as_mut().poll(context)) {
                return Poll::Ready(Either::Right((value, a)));
            }
        }
        self.0 = Some(Branches { a, b });
        Poll::Pending
    }
}

/// See [`join`].
#[must_use = "futures do nothing unless polled"]
pub struct Join<A: Future, B: Future>(Half<A>, Half<B>);

enum Half<F: Future> {
    Runs(Pin<Box<F>>),
    Ready(Option<F::Output>),
}

impl<F: Future> Half<F> {
    fn poll(&mut self, context: &mut Context<'_>) -> bool {
        if let Half::Runs(future) = self {
            match context::combined(|| future.as_mut().poll(context)) {
                Poll::Ready(value) => *self = Half::Ready(Some(value)),
                Poll::Pending => return false,
            }
        }
        true
    }

    fn take(&mut self) -> F::Output {
        match self {
            Half::Ready(value) => value.take().expect("polled after it was ready"),
            Half::Runs(_) => unreachable!("it was ready"),
        }
    }
}

impl<A: Future, B: Future> Unpin for Join<A, B> {}

impl<A: Future, B: Future> fmt::Debug for Join<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join").finish_non_exhaustive()
    }
}

/// Both, at the same time.
pub fn join<A: Future, B: Future>(a: A, b: B) -> Join<A, B> {
    Join(Half::Runs(Box::pin(a)), Half::Runs(Box::pin(b)))
}

impl<A: Future, B: Future> Future for Join<A, B> {
    type Output = (A::Output, B::Output);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (a, b) = (self.0.poll(context), self.1.poll(context));
        match a && b {
            true => Poll::Ready((self.0.take(), self.1.take())),
            false => Poll::Pending,
        }
    }
}

/// See [`yield_now`].
#[derive(Debug, Default)]
#[must_use = "futures do nothing unless polled"]
pub struct YieldNow(bool);

/// Gives way to other tasks once.
pub fn yield_now() -> YieldNow {
    YieldNow(false)
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        if !context::gives_way(context) {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

/// See [`cancel_anywhere`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct CancelAnywhere<F>(Option<Pin<Box<F>>>);

/// The future's result, or `None`: it was dropped at one of its awaits. In a check all of these are explored: after each poll that is not
/// ready, at once and after any later wake-up. Outside it is never dropped.
pub fn cancel_anywhere<F: Future>(future: F) -> CancelAnywhere<F> {
    CancelAnywhere(Some(Box::pin(future)))
}

impl<F: Future> Future for CancelAnywhere<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.0.as_mut().expect("polled after it was ready");
        match context::combined(|| future.as_mut().poll(context)) {
            Poll::Ready(value) => {
                self.0 = None;
                Poll::Ready(Some(value))
            }
            Poll::Pending if any(2) == 1 => {
                self.0 = None;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
