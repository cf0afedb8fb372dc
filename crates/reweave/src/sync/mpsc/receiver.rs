//! The receiving end of a channel.

use super::{Channel, DISCONNECTED, Half, outside};
use crate::{
    rt::{
        self,
        poll::{Attempt, Frame},
    },
    time,
};
use reweave_model::Op;
use std::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    mem,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::{
        Arc,
        mpsc::{self, RecvError, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

/// As `std::sync::mpsc::Receiver`.
pub struct Receiver<T> {
    half: Half<T, mpsc::Receiver<T>>,
    /// Belongs to one thread at a time, as std's.
    not_sync: PhantomData<Cell<()>>,
}

/// As `std::sync::mpsc::Iter`.
#[derive(Debug)]
pub struct Iter<'a, T: 'a>(&'a Receiver<T>);

/// As `std::sync::mpsc::TryIter`.
#[derive(Debug)]
pub struct TryIter<'a, T: 'a>(&'a Receiver<T>);

/// As `std::sync::mpsc::IntoIter`.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Channel<T> {
    /// What a receive operation brings, one with a time limit at this frame; `Err` with what it found instead.
    #[track_caller]
    fn take(&self, op: Op, timed: Option<&Frame>) -> Result<T, u64> {
        let event = match timed {
            Some(frame) => rt::op_timed(op, frame),
            None => rt::op(op),
        };
        self.taken(event.ok, event.result)
    }

    fn taken(&self, ok: bool, result: u64) -> Result<T, u64> {
        if !ok {
            return Err(if rt::active() { result } else { DISCONNECTED });
        }
        let message = self.queue().pop_front();
        Ok(message.expect("the queue is the model's").1)
    }

    /// The channel to receive from, unless the execution is over: then it is as if all senders were gone.
    fn open(&self) -> Option<&Channel<T>> {
        if rt::active() {
            return Some(self);
        }
        rt::inert();
        None
    }
}

impl<T> Receiver<T> {
    pub(super) fn checked(channel: Arc<Channel<T>>) -> Receiver<T> {
        Receiver {
            half: Half::Checked(channel),
            not_sync: PhantomData,
        }
    }

    pub(super) fn plain(receiver: mpsc::Receiver<T>) -> Receiver<T> {
        Receiver {
            half: Half::Std(receiver),
            not_sync: PhantomData,
        }
    }

    /// Receives, waiting for a message.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.half {
            Half::Checked(channel) => {
                let channel = channel.open().ok_or(RecvError)?;
                let object = channel.id();
                let op = Op::Recv {
                    object,
                    timed: false,
                };
                channel.take(op, None).map_err(|_| RecvError)
            }
            Half::Std(receiver) => {
                if rt::inert() {
                    return Err(RecvError);
                }
                outside(receiver).recv()
            }
        }
    }

    /// Receives a message that is there.
    #[inline(always)]
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.half {
            Half::Checked(channel) => {
                let channel = channel.open().ok_or(TryRecvError::Disconnected)?;
                let (ok, result) = rt::poll::attempt(Attempt::Receive, channel.id());
                let found = channel.taken(ok, result);
                found.map_err(|found| match found {
                    DISCONNECTED => TryRecvError::Disconnected,
                    _ => TryRecvError::Empty,
                })
            }
            Half::Std(receiver) => outside(receiver).try_recv(),
        }
    }

    /// Receives, waiting no longer than this. In a check a timeout is one of the ways it can go, whatever the duration.
    #[inline(always)]
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let frame = Frame::here();
        let result = self.recv_timeout_at(timeout, &frame);
        rt::poll::sweep();
        result
    }

    #[inline(never)]
    #[track_caller]
    fn recv_timeout_at(&self, timeout: Duration, frame: &Frame) -> Result<T, RecvTimeoutError> {
        match &self.half {
            Half::Checked(channel) => {
                let channel = channel.open().ok_or(RecvTimeoutError::Disconnected)?;
                let object = channel.id();
                let op = Op::Recv {
                    object,
                    timed: true,
                };
                channel.take(op, Some(frame)).map_err(|found| {
                    if found == DISCONNECTED {
                        return RecvTimeoutError::Disconnected;
                    }
                    time::advance(timeout);
                    RecvTimeoutError::Timeout
                })
            }
            Half::Std(receiver) => {
                if rt::inert() {
                    return Err(RecvTimeoutError::Disconnected);
                }
                outside(receiver).recv_timeout(timeout)
            }
        }
    }

    /// Messages until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.half.leave(Op::ReceiverDrop);
        if let Half::Checked(channel) = &self.half {
            // Messages that nobody will receive go now, as in std; those of waiting senders go back to them.
            if channel.capacity != Some(0) {
                let messages = mem::take(&mut *channel.queue());
                drop(messages);
            }
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
