//! `std::sync::mpsc` under control.
//!
//! *Decides:* nothing; the model says who may send and what a receiver finds. *Called by:* the program under test. *Owns:* for a
//! channel made in a check, the queue of messages: each is put in or taken out right after the model's event, before anybody
//! else gets a turn, so the queue is always the model's. A channel made outside is one of std's.
//!
//! *Limits:* a channel made outside cannot be used in a check (it would block the whole check), nor `try_send` on a channel without
//! capacity: both panic with a text that begins with `unsupported`.

mod receiver;

pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::rt::{self, poll::Attempt};
use reweave_model::{Object, ObjectId, Op};
use std::{
    collections::VecDeque,
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

/// What a failed receive found: nobody is left who could send.
const DISCONNECTED: u64 = 2;

/// A channel made in a check.
struct Channel<T> {
    slot: rt::Slot,
    capacity: Option<u32>,
    /// Messages with their numbers.
    queue: Mutex<VecDeque<(u64, T)>>,
}

impl<T> Channel<T> {
    fn new(capacity: Option<u32>) -> Arc<Channel<T>> {
        Arc::new(Channel {
            slot: rt::Slot::new(),
            capacity,
            queue: Mutex::new(VecDeque::new()),
        })
    }

    #[track_caller]
    fn id(&self) -> ObjectId {
        self.slot.id(|| Object::channel(self.capacity))
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<(u64, T)>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn send(&self, message: T) -> Result<(), SendError<T>> {
        if !rt::active() {
            // The execution is over: as if the receiver were gone, which may have happened.
            rt::inert();
            return Err(SendError(message));
        }
        let id = self.id();
        let sent = rt::op(Op::Send(id));
        if !sent.ok {
            return Err(SendError(message));
        }
        self.queue().push_back((sent.result, message));
        if self.capacity != Some(0) || rt::op(Op::Handoff(id, sent.result)).ok {
            return Ok(());
        }
        // The receiver went without it.
        let mut queue = self.queue();
        match queue.iter().position(|(number, _)| *number == sent.result) {
            Some(place) => {
                let (_, message) = queue.remove(place).expect("it was found there");
                Err(SendError(message))
            }
            None => Ok(()),
        }
    }

    #[inline(always)]
    #[track_caller]
    fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        if !rt::active() {
            rt::inert();
            return Err(TrySendError::Disconnected(message));
        }
        if self.capacity == Some(0) {
            rt::unsupported("try_send on a channel without capacity");
        }
        let (ok, result) = rt::poll::attempt(Attempt::Send, self.id());
        if ok {
            self.queue().push_back((result, message));
            Ok(())
        } else if result == DISCONNECTED || !rt::active() {
            Err(TrySendError::Disconnected(message))
        } else {
            Err(TrySendError::Full(message))
        }
    }
}

/// As `std::sync::mpsc::channel`.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    if rt::active() {
        let channel = Channel::new(None);
        let receiver = Receiver::checked(channel.clone());
        return (Sender(Half::Checked(channel)), receiver);
    }
    rt::inert();
    let (sender, receiver) = mpsc::channel();
    (Sender(Half::Std(sender)), Receiver::plain(receiver))
}

/// As `std::sync::mpsc::sync_channel`.
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    if rt::active() {
        // Nobody sends four thousand million messages in one execution.
        let channel = Channel::new(u32::try_from(bound).ok());
        let receiver = Receiver::checked(channel.clone());
        return (SyncSender(Half::Checked(channel)), receiver);
    }
    rt::inert();
    let (sender, receiver) = mpsc::sync_channel(bound);
    (SyncSender(Half::Std(sender)), Receiver::plain(receiver))
}

/// One end of a channel: of one made in a check, or std's.
enum Half<T, S> {
    Checked(Arc<Channel<T>>),
    Std(S),
}

/// std's end, for use where nothing is checked.
#[track_caller]
fn outside<S>(end: &S) -> &S {
    if rt::active() {
        rt::unsupported("a channel made outside of the check");
    }
    end
}

impl<T, S: Clone> Half<T, S> {
    #[track_caller]
    fn again(&self) -> Half<T, S> {
        match self {
            Half::Checked(channel) => {
                if rt::active() {
                    rt::op(Op::SenderAdd(channel.id()));
                }
                Half::Checked(channel.clone())
            }
            Half::Std(sender) => Half::Std(sender.clone()),
        }
    }
}

impl<T, S> Half<T, S> {
    #[track_caller]
    fn leave(&self, op: fn(ObjectId) -> Op) {
        if let Half::Checked(channel) = self
            && rt::active()
        {
            rt::op(op(channel.id()));
        }
    }
}

/// As `std::sync::mpsc::Sender`.
pub struct Sender<T>(Half<T, mpsc::Sender<T>>);

/// As `std::sync::mpsc::SyncSender`.
pub struct SyncSender<T>(Half<T, mpsc::SyncSender<T>>);

impl<T> Sender<T> {
    /// Sends without waiting.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Half::Checked(channel) => channel.send(t),
            Half::Std(sender) => outside(sender).send(t),
        }
    }
}

impl<T> SyncSender<T> {
    /// Sends, waiting for room; on a channel without capacity, until the message was received.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        match &self.0 {
            Half::Checked(channel) => channel.send(t),
            Half::Std(sender) => {
                if rt::inert() {
                    return Err(SendError(t));
                }
                outside(sender).send(t)
            }
        }
    }

    /// Sends if there is room.
    ///
    /// # Panics
    /// In a check on a channel without capacity: that is not supported.
    #[inline(always)]
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        match &self.0 {
            Half::Checked(channel) => channel.try_send(t),
            Half::Std(sender) => outside(sender).try_send(t),
        }
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Sender(self.0.again())
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        SyncSender(self.0.again())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.leave(Op::SenderDrop);
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.0.leave(Op::SenderDrop);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}
