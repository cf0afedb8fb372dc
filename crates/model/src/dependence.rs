//! Dependence: what an event touches and which two touches of one object do not commute.
//!
//! Here are the ways to touch an object; which of them conflict is said in the file of each object (`CONFLICTS` in `objects/`).

use crate::{
    objects::{atomic, barrier, channel, pipe, pool, rwlock, semaphore},
    op::ObjectId,
};
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
    /// Announces and acquires in one step, or acquires what was only predicted, or withdraws an announcement.
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
    /// Adds an address to a pool.
    GiveBack,
    /// Looks at a pool.
    LookBack,
    /// Takes an address from a pool, if it is still there.
    TakeBack,
    /// Looks at a pipe.
    Look,
    /// Puts bytes into a pipe, and waits until it can.
    Put,
    /// Takes bytes from a pipe, and waits until it can.
    Take,
}

/// Classes that do not commute with the first, each pair once. Each object has its own, in its file.
pub(crate) type Conflicts = &'static [(Class, &'static [Class])];

const CONFLICTS: [Conflicts; 7] = [
    atomic::CONFLICTS,
    rwlock::CONFLICTS,
    semaphore::CONFLICTS,
    barrier::CONFLICTS,
    channel::CONFLICTS,
    pool::CONFLICTS,
    pipe::CONFLICTS,
];

const TABLE: [u64; Class::ALL.len()] = {
    let mut table = [0; Class::ALL.len()];
    let mut object = 0;
    while object < CONFLICTS.len() {
        let mut i = 0;
        while i < CONFLICTS[object].len() {
            let (a, others) = CONFLICTS[object][i];
            let mut j = 0;
            while j < others.len() {
                let b = others[j];
                table[a as usize] |= 1 << b as u64;
                table[b as usize] |= 1 << a as u64;
                j += 1;
            }
            i += 1;
        }
        object += 1;
    }
    table
};

impl Class {
    /// All of them; the place is the number.
    const ALL: [Class; 32] = [
        Class::Read,
        Class::Write,
        Class::ReadLock,
        Class::ReadUnlock,
        Class::WriteBegin,
        Class::WriteAcquire,
        Class::WriteUnlock,
        Class::TryWrite,
        Class::ReadProbe,
        Class::WriteProbe,
        Class::Acquire,
        Class::Release,
        Class::AcquireProbe,
        Class::ArriveEven,
        Class::ArriveOdd,
        Class::TripEven,
        Class::TripOdd,
        Class::Send,
        Class::Recv,
        Class::Poll,
        Class::Empty,
        Class::Full,
        Class::Handle,
        Class::Hangup,
        Class::Deaf,
        Class::Refused,
        Class::GiveBack,
        Class::LookBack,
        Class::TakeBack,
        Class::Look,
        Class::Put,
        Class::Take,
    ];

    /// From its number, `class as u8`.
    #[inline]
    pub fn of_number(number: u8) -> Option<Class> {
        Class::ALL.get(usize::from(number)).copied()
    }

    /// Takes one of a number of equal places: the order of takers is immaterial, but not which of them gets the last one.
    #[inline]
    pub const fn takes_place(self) -> bool {
        matches!(self, Class::Acquire | Class::ArriveEven | Class::ArriveOdd)
    }

    /// Whether two such touches of one object by different threads depend on each other.
    ///
    /// Messages and slots of a channel order a send and a receive by an [`Edge`](crate::Edge), not here; so do joins,
    /// notifications and the leader of a barrier.
    #[inline]
    pub const fn conflicts(self, other: Class) -> bool {
        TABLE[self as usize] & (1 << other as u64) != 0
    }
}

const _: () = {
    let mut place = 0;
    while place < Class::ALL.len() {
        assert!(
            Class::ALL[place] as usize == place,
            "in the order of the enum"
        );
        place += 1;
    }
};

impl Access {
    /// Whether the two depend on each other.
    #[inline]
    pub fn conflicts(self, other: Access) -> bool {
        self.object == other.object && self.class.conflicts(other.class)
    }
}
