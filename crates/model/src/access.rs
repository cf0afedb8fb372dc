//! Dependence: what an event touches and which two touches of one object do not commute.

use crate::op::ObjectId;
use serde::{Deserialize, Serialize};

/// One touch of one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// What is touched.
    pub object: ObjectId,
    /// In which way.
    pub class: Class,
}

/// The ways to touch an object. Two touches of one object depend on each other as [`Class::conflicts`] says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Class {
    /// Looks and changes nothing: a load, a failed compare-exchange, a failed try-lock.
    Read,
    /// Changes the object, or takes or gives a lock.
    Write,
    ReadLock,
    ReadUnlock,
    WriteBegin,
    WriteAcquire,
    WriteUnlock,
    /// Announces and acquires in one step, or acquires what was only foretold, or gives up an announcement.
    TryWrite,
    /// A reader's failed attempt.
    ReadProbe,
    /// A writer's failed attempt.
    WriteProbe,
    Acquire,
    Release,
    /// Looks at a semaphore, or failed to acquire.
    AcquireProbe,
    /// Arrives at a barrier in an even round; within one round the order is immaterial.
    ArriveEven,
    /// Arrives in an odd round.
    ArriveOdd,
    /// Settles the leader of a full even round.
    TripEven,
    /// Settles the leader of a full odd round.
    TripOdd,
    Send,
    Recv,
    /// Receives without waiting: finds out about senders too.
    Poll,
    /// Found the channel empty.
    Empty,
    /// Found the channel full.
    Full,
    /// A sender came or went.
    Handle,
    /// Found that all senders are gone.
    Hangup,
    /// The receiver went.
    Deaf,
    /// Found that the receiver is gone.
    Refused,
}

use Class::*;

/// Pairs that do not commute, each once.
const CONFLICTS: &[(Class, &[Class])] = &[
    (Read, &[Write]),
    (Write, &[Write]),
    (
        ReadLock,
        &[WriteBegin, WriteAcquire, WriteUnlock, TryWrite, WriteProbe],
    ),
    (ReadUnlock, &[WriteAcquire, TryWrite, WriteProbe]),
    (
        WriteBegin,
        &[
            WriteBegin,
            WriteAcquire,
            WriteUnlock,
            TryWrite,
            ReadProbe,
            WriteProbe,
        ],
    ),
    (WriteAcquire, &[WriteAcquire, WriteUnlock, TryWrite]),
    (WriteUnlock, &[WriteUnlock, TryWrite, ReadProbe, WriteProbe]),
    (TryWrite, &[TryWrite, ReadProbe, WriteProbe]),
    (Acquire, &[Release, AcquireProbe]),
    (Release, &[AcquireProbe]),
    (ArriveEven, &[ArriveOdd, TripEven]),
    (ArriveOdd, &[TripOdd]),
    (Send, &[Send, Empty, Full, Hangup, Deaf]),
    (Recv, &[Recv, Poll, Empty, Full, Hangup, Deaf]),
    (Poll, &[Poll, Empty, Full, Hangup, Deaf, Handle]),
    (Empty, &[Handle]),
    (Handle, &[Hangup]),
    (Full, &[Deaf]),
    (Deaf, &[Refused]),
];

const CLASSES: usize = Refused as usize + 1;

const TABLE: [u32; CLASSES] = {
    let mut table = [0; CLASSES];
    let mut i = 0;
    while i < CONFLICTS.len() {
        let (a, others) = CONFLICTS[i];
        let mut j = 0;
        while j < others.len() {
            let b = others[j];
            table[a as usize] |= 1 << b as u32;
            table[b as usize] |= 1 << a as u32;
            j += 1;
        }
        i += 1;
    }
    table
};

impl Class {
    /// Takes one of a number of equal places: the order of takers is immaterial, who gets the last one is not.
    #[inline]
    pub const fn takes_place(self) -> bool {
        matches!(self, Acquire | ArriveEven | ArriveOdd)
    }

    /// Whether two such touches of one object by different threads depend on each other.
    ///
    /// Messages and slots of a channel order a send and a receive by an [`Edge`](crate::Edge), not here; so do joins,
    /// notifications and the leader of a barrier.
    #[inline]
    pub const fn conflicts(self, other: Class) -> bool {
        TABLE[self as usize] & (1 << other as u32) != 0
    }
}

impl Access {
    /// Whether the two depend on each other.
    #[inline]
    pub fn conflicts(self, other: Access) -> bool {
        self.object == other.object && self.class.conflicts(other.class)
    }
}
