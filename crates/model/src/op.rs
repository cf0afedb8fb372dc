//! Visible operations: what a thread may ask for.

use serde::{Deserialize, Serialize};

/// A thread of one execution, numbered in order of creation. Across executions threads are matched by creation path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

/// A shared object of one execution, numbered in order of first use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ObjectId(pub u32);

impl ThreadId {
    /// The thread that every execution begins with.
    pub const MAIN: ThreadId = ThreadId(0);

    /// As an index into per-thread tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// In a plan: the n-th child of a thread, where its own number is not known beforehand. `None`: not even that can be said.
    pub fn child(parent: ThreadId, nth: u32) -> Option<ThreadId> {
        let fits = parent.0 < 1 << 15 && nth < 1 << 16;
        fits.then_some(ThreadId(1 << 31 | parent.0 << 16 | nth))
    }

    /// The parent and which of its children it is, if that is all that is known.
    pub fn as_child(self) -> Option<(ThreadId, u32)> {
        let child = self.0 >> 31 == 1;
        child.then_some((ThreadId(self.0 >> 16 & 0x7fff), self.0 & 0xffff))
    }
}

impl ObjectId {
    /// As an index into per-object tables.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation that other threads can notice. A thread runs from one to the next without being interrupted.
///
/// A condition-variable wait is `Enqueue`, `Wake`, `Lock`; taking a write lock is `WriteBegin`, `WriteAcquire`; a
/// barrier is `Arrive`, then `Leave`. Timed operations (`timed: true`) never block: run before what they wait for, they
/// time out.
///
/// Taking a lock with a time limit is trying to take it: `TryLock`, `TryReadLock`, `TryWriteLock`. One that timed out before with
/// nothing changed since is `TryLock` or `TryReadLock` with [`Gate::Late`](crate::Gate::Late), which wait until then; for
/// writing it is `WriteBegin`, then `WriteAcquire`, both with that gate, since `TryWriteLock` must not wait for several readers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Op {
    /// Waits for the end of a thread.
    Join(ThreadId),
    /// An unordered choice: every outcome `0..n` is explored.
    Any(u32),
    /// A false one blocks its thread for ever.
    Assume(bool),

    Load(ObjectId),
    Store(ObjectId, u64),
    Rmw(ObjectId, Rmw),
    CompareExchange {
        object: ObjectId,
        expected: u64,
        new: u64,
        weak: bool,
    },
    /// A parked spin loop waits here until the object differs from what the loop saw: see [`Object::sees`](crate::Object::sees).
    Await(ObjectId, u64),

    Lock(ObjectId),
    TryLock(ObjectId),
    Unlock(ObjectId),
    /// As `Unlock`, after a section that did not change what the mutex protects.
    UnlockClean(ObjectId),

    ReadLock(ObjectId),
    TryReadLock(ObjectId),
    ReadUnlock(ObjectId),
    /// Announces a writer: later readers and writers queue up behind it.
    ///
    /// Where readers go first nobody waits behind a writer. There this step only *foretells* that no other will get
    /// the lock before this writer, and holds back those who would. When that does not come true, because what keeps the lock
    /// depends on somebody who is held back, the run ends as [`End::Redundant`](crate::End::Redundant): those who
    /// were held back go first in another one.
    WriteBegin(ObjectId),
    /// The announced writer has the lock once the last reader is gone.
    WriteAcquire(ObjectId),
    TryWriteLock(ObjectId),
    WriteUnlock(ObjectId),

    /// Gives up the mutex and joins the condition variable's waiters, in one step.
    Enqueue {
        condvar: ObjectId,
        mutex: ObjectId,
    },
    /// Joins the condition variable's waiters if the atomic has this value, in one step: how threads wait for a futex. Otherwise it fails, and
    /// there is no wait to leave.
    EnqueueIf {
        condvar: ObjectId,
        atomic: ObjectId,
        expected: u64,
    },
    /// Leaves the wait: notified, timed out, or (when the run allows it) spuriously.
    Wake {
        condvar: ObjectId,
        timed: bool,
    },
    NotifyOne(ObjectId),
    NotifyAll(ObjectId),

    SemAcquire {
        object: ObjectId,
        timed: bool,
    },
    SemTryAcquire(ObjectId),
    SemRelease(ObjectId),

    Arrive(ObjectId),
    /// Leaves a barrier whose generation is full. The first of the arrived threads (in creation order) leaves first and
    /// settles who is the leader; the others follow in any order.
    Leave(ObjectId),

    OnceBegin {
        object: ObjectId,
        /// Runs again after a failed initialisation.
        force: bool,
    },
    /// `true`: initialised; `false`: the initialiser failed.
    OnceEnd(ObjectId, bool),

    Send(ObjectId),
    TrySend(ObjectId),
    /// The sender on a channel without room waits until its message was taken.
    Handoff(ObjectId, u64),
    Recv {
        object: ObjectId,
        timed: bool,
    },
    TryRecv(ObjectId),
    SenderAdd(ObjectId),
    SenderDrop(ObjectId),
    ReceiverDrop(ObjectId),

    Park {
        object: ObjectId,
        timed: bool,
    },
    Unpark(ObjectId),
}

/// A read-modify-write that always writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Rmw {
    /// What is done.
    pub kind: RmwKind,
    /// With what.
    pub operand: u64,
    /// Width of the value: 8, 16, 32 or 64.
    pub bits: u8,
}

/// The function of a read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum RmwKind {
    Swap,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    /// Maximum of signed values.
    MaxSigned,
    /// Minimum of signed values.
    MinSigned,
}

impl Rmw {
    /// The value after the operation.
    pub fn apply(self, old: u64) -> u64 {
        let shift = 64 - u32::from(self.bits);
        let mask = u64::MAX >> shift;
        let signed = |value: u64| ((value << shift) as i64) >> shift;
        let operand = self.operand;
        let new = match self.kind {
            RmwKind::Swap => operand,
            RmwKind::Add => old.wrapping_add(operand),
            RmwKind::Sub => old.wrapping_sub(operand),
            RmwKind::And => old & operand,
            RmwKind::Nand => !(old & operand),
            RmwKind::Or => old | operand,
            RmwKind::Xor => old ^ operand,
            RmwKind::Max => old.max(operand),
            RmwKind::Min => old.min(operand),
            RmwKind::MaxSigned => signed(old).max(signed(operand)) as u64,
            RmwKind::MinSigned => signed(old).min(signed(operand)) as u64,
        };
        new & mask
    }
}

/// An operation without its operands: enough to notice that a replay went another way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OpKind(pub u8);

/// Names in the order of [`Op::kind`], as reports print them.
const NAMES: [&str; 41] = [
    "join",
    "choose",
    "assume",
    "load",
    "store",
    "read-modify-write",
    "compare-exchange",
    "await",
    "lock",
    "try-lock",
    "unlock",
    "read-lock",
    "try-read-lock",
    "read-unlock",
    "write-announce",
    "write-lock",
    "try-write-lock",
    "write-unlock",
    "wait",
    "wake",
    "notify-one",
    "notify-all",
    "acquire",
    "try-acquire",
    "release",
    "arrive",
    "leave",
    "once-begin",
    "once-end",
    "send",
    "try-send",
    "hand-over",
    "receive",
    "try-receive",
    "sender-clone",
    "sender-drop",
    "receiver-drop",
    "park",
    "unpark",
    "unlock-clean",
    "wait-if",
];

impl OpKind {
    /// A word for people.
    pub fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).copied().unwrap_or("?")
    }
}

impl Op {
    /// The operation without its operands.
    #[inline]
    pub fn kind(self) -> OpKind {
        OpKind(match self {
            Op::Join(_) => 0,
            Op::Any(_) => 1,
            Op::Assume(_) => 2,
            Op::Load(_) => 3,
            Op::Store(..) => 4,
            Op::Rmw(..) => 5,
            Op::CompareExchange { .. } => 6,
            Op::Await(..) => 7,
            Op::Lock(_) => 8,
            Op::TryLock(_) => 9,
            Op::Unlock(_) => 10,
            Op::ReadLock(_) => 11,
            Op::TryReadLock(_) => 12,
            Op::ReadUnlock(_) => 13,
            Op::WriteBegin(_) => 14,
            Op::WriteAcquire(_) => 15,
            Op::TryWriteLock(_) => 16,
            Op::WriteUnlock(_) => 17,
            Op::Enqueue { .. } => 18,
            Op::Wake { .. } => 19,
            Op::NotifyOne(_) => 20,
            Op::NotifyAll(_) => 21,
            Op::SemAcquire { .. } => 22,
            Op::SemTryAcquire(_) => 23,
            Op::SemRelease(_) => 24,
            Op::Arrive(_) => 25,
            Op::Leave(_) => 26,
            Op::OnceBegin { .. } => 27,
            Op::OnceEnd(..) => 28,
            Op::Send(_) => 29,
            Op::TrySend(_) => 30,
            Op::Handoff(..) => 31,
            Op::Recv { .. } => 32,
            Op::TryRecv(_) => 33,
            Op::SenderAdd(_) => 34,
            Op::SenderDrop(_) => 35,
            Op::ReceiverDrop(_) => 36,
            Op::Park { .. } => 37,
            Op::Unpark(_) => 38,
            Op::UnlockClean(_) => 39,
            Op::EnqueueIf { .. } => 40,
        })
    }

    /// The object it is about; a wait is about its condition variable.
    #[inline]
    pub fn object(self) -> Option<ObjectId> {
        match self {
            Op::Join(_) | Op::Any(_) | Op::Assume(_) => None,
            Op::Load(object)
            | Op::Store(object, _)
            | Op::Rmw(object, _)
            | Op::CompareExchange { object, .. }
            | Op::Await(object, _)
            | Op::Lock(object)
            | Op::TryLock(object)
            | Op::Unlock(object)
            | Op::UnlockClean(object)
            | Op::ReadLock(object)
            | Op::TryReadLock(object)
            | Op::ReadUnlock(object)
            | Op::WriteBegin(object)
            | Op::WriteAcquire(object)
            | Op::TryWriteLock(object)
            | Op::WriteUnlock(object)
            | Op::Enqueue {
                condvar: object, ..
            }
            | Op::EnqueueIf {
                condvar: object, ..
            }
            | Op::Wake {
                condvar: object, ..
            }
            | Op::NotifyOne(object)
            | Op::NotifyAll(object)
            | Op::SemAcquire { object, .. }
            | Op::SemTryAcquire(object)
            | Op::SemRelease(object)
            | Op::Arrive(object)
            | Op::Leave(object)
            | Op::OnceBegin { object, .. }
            | Op::OnceEnd(object, _)
            | Op::Send(object)
            | Op::TrySend(object)
            | Op::Handoff(object, _)
            | Op::Recv { object, .. }
            | Op::TryRecv(object)
            | Op::SenderAdd(object)
            | Op::SenderDrop(object)
            | Op::ReceiverDrop(object)
            | Op::Park { object, .. }
            | Op::Unpark(object) => Some(object),
        }
    }

    /// The other object that it touches, if there is one.
    pub fn second(self) -> Option<ObjectId> {
        match self {
            Op::Enqueue { mutex, .. } => Some(mutex),
            Op::EnqueueIf { atomic, .. } => Some(atomic),
            _ => None,
        }
    }

    /// Whether another thread's operation can take away its turn: such an operation competes with every earlier
    /// taker of the same object, not only with the last.
    #[inline]
    pub fn competes(self) -> bool {
        matches!(
            self,
            Op::Await(..)
                | Op::Lock(_)
                | Op::ReadLock(_)
                | Op::TryReadLock(_)
                | Op::WriteBegin(_)
                | Op::TryWriteLock(_)
                | Op::SemAcquire { timed: false, .. }
                | Op::OnceBegin { .. }
                | Op::Send(_)
                | Op::Recv { timed: false, .. }
        )
    }

    /// Whether it does nothing but order (its turn comes by itself and nobody can take it away).
    pub fn only_orders(self) -> bool {
        matches!(self, Op::Join(_) | Op::Leave(_) | Op::Handoff(..))
    }

    /// Whether it is the second half of a lock: the limit on steps never falls before it.
    #[inline]
    pub fn completes(self) -> bool {
        matches!(self, Op::WriteAcquire(_))
    }

    /// The same operation without its time limit.
    pub(crate) fn untimed(self) -> Op {
        match self {
            Op::Wake { condvar, .. } => Op::Wake {
                condvar,
                timed: false,
            },
            Op::SemAcquire { object, .. } => Op::SemAcquire {
                object,
                timed: false,
            },
            Op::Recv { object, .. } => Op::Recv {
                object,
                timed: false,
            },
            Op::Park { object, .. } => Op::Park {
                object,
                timed: false,
            },
            Op::TryLock(mutex) => Op::Lock(mutex),
            Op::TryReadLock(lock) => Op::ReadLock(lock),
            other => other,
        }
    }
}
