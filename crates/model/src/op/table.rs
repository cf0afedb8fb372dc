//! The table of operations: one row for each. All that other crates know of an operation by its kind comes from here.
//!
//! *A new operation* is a new last row here, its meaning in the file of its object (`objects/`), and, where the words "name object"
//! are not enough, its sentence in `report/src/text/phrase.rs`.
//!
//! Numbers and names are stored in files: a row keeps both for ever. `generate` explains the columns.

use super::{
    Code, ObjectId, OpKind, Operands, Rmw, Synchronises, ThreadId, Turn, Waiting,
    generate::{decode, encode, object_kind, operations, pick, replace_timed, waiting, words},
    words_of,
};
use crate::objects::ObjectKind;
use serde::{Deserialize, Serialize};

operations! {
    /// Waits for the end of a thread.
    0 Join(ThreadId) [0: thread]
        "join" Nothing Follows Join ("waits for the end of {}", "it does not end");
    /// An unordered choice: every outcome `0..n` is explored.
    1 Any(u32) [0: count]
        "choose" Nothing Goes Nothing;
    /// A false one blocks its thread for ever.
    2 Assume(bool) [0: flag]
        "assume" Nothing Waits Nothing ("stands at an assumption that does not hold", "does not hold");

    3 Load(ObjectId) [0: object]
        "load" Any Goes Atomic;
    4 Store(ObjectId, u64) [0: object, 1: value]
        "store" Any Goes Atomic;
    5 Rmw(ObjectId, Rmw) [0: object, 1: rmw]
        "read-modify-write" Atomic Goes Atomic;
    6 CompareExchange { object: ObjectId, expected: u64, new: u64, weak: bool }
        [object: object, expected: expected, new: value, weak: flag]
        "compare-exchange" Atomic Goes Atomic;
    /// A parked spin loop, or a call that waits for one of several objects, waits here until the object differs from what it saw: see
    /// [`Object::sees`](crate::Object::sees).
    7 Await(ObjectId, u64) [0: object, 1: value]
        "await" Any Competes Atomic ("spins until {} changes", "nobody changes it");

    8 Lock(ObjectId) [0: object]
        "lock" Mutex Competes Acquire ("waits for {}", "cannot be had");
    9 TryLock(ObjectId) [0: object]
        "try-lock" Mutex Goes Acquire;
    10 Unlock(ObjectId) [0: object]
        "unlock" Mutex Goes Release;

    11 ReadLock(ObjectId) [0: object]
        "read-lock" RwLock Competes Acquire ("waits for {}", "cannot be had");
    12 TryReadLock(ObjectId) [0: object]
        "try-read-lock" RwLock Competes Acquire;
    13 ReadUnlock(ObjectId) [0: object]
        "read-unlock" RwLock Goes ReleaseShared;
    /// Announces a writer: later readers and writers queue up behind it.
    ///
    /// Where readers go first no thread waits behind a writer. There this step only *predicts* that no other thread gets
    /// the lock before this writer, and holds back those that would. If the predicted writer cannot acquire the lock, because what
    /// keeps the lock depends on a thread that is held back, the run ends as [`End::Redundant`](crate::End::Redundant): the threads
    /// that were held back go first in another one.
    14 WriteBegin(ObjectId) [0: object]
        "write-announce" RwLock Competes Nothing ("waits for {}", "cannot be had");
    /// The announced writer has the lock once the last reader is gone.
    15 WriteAcquire(ObjectId) [0: object]
        "write-lock" RwLock Waits AcquireAll ("waits for the readers of {}", "cannot be had");
    16 TryWriteLock(ObjectId) [0: object]
        "try-write-lock" RwLock Competes AcquireAll;
    17 WriteUnlock(ObjectId) [0: object]
        "write-unlock" RwLock Goes Release;

    /// Unlocks the mutex and joins the condition variable's waiters, in one step.
    18 Enqueue { condvar: ObjectId, mutex: ObjectId } [condvar: object, mutex: mutex]
        "wait" Condvar Goes Release;
    /// Leaves the wait: notified, timed out, or (when the run allows it) spuriously.
    19 Wake { condvar: ObjectId, timed: bool } [condvar: object, timed: timed]
        "wake" Condvar Waits Nothing ("waits for a notification of {}", "nobody notifies any more");
    20 NotifyOne(ObjectId) [0: object]
        "notify-one" Condvar Goes Nothing;
    21 NotifyAll(ObjectId) [0: object]
        "notify-all" Condvar Goes Nothing;

    22 SemAcquire { object: ObjectId, timed: bool } [object: object, timed: timed]
        "acquire" Semaphore Competes Acquire ("waits for {}, which has none left", "none left");
    23 SemTryAcquire(ObjectId) [0: object]
        "try-acquire" Semaphore Goes Acquire;
    24 SemRelease(ObjectId) [0: object]
        "release" Semaphore Goes ReleaseMore;

    25 Arrive(ObjectId) [0: object]
        "arrive" Barrier Goes Arrive ("waits at {}", "others are missing");
    /// Leaves a barrier whose generation is full. The first of the arrived threads (in creation order) leaves first and
    /// settles which of them is the leader; the others follow in any order.
    26 Leave(ObjectId) [0: object]
        "leave" Barrier Follows Leave ("waits at {}", "others are missing");

    27 OnceBegin {
        object: ObjectId,
        /// Runs again after a failed initialisation.
        force: bool,
    } [object: object, force: flag]
        "once-begin" Once Competes Acquire ("waits for {} to be initialised", "cannot be had");
    /// `true`: initialised; `false`: the initialiser failed.
    28 OnceEnd(ObjectId, bool) [0: object, 1: flag]
        "once-end" Once Goes Release;

    29 Send(ObjectId) [0: object]
        "send" Channel Competes Message ("waits for room in {}, which is full", "full");
    30 TrySend(ObjectId) [0: object]
        "try-send" Channel Goes Message;
    /// The sender on a channel without room waits until its message was taken.
    31 Handoff(ObjectId, u64) [0: object, 1: value]
        "hand-over" Channel Follows Message ("waits for its message to be taken from {}", "nobody takes it");
    32 Recv { object: ObjectId, timed: bool } [object: object, timed: timed]
        "receive" Channel Competes Message ("waits for a message in {}, which is empty", "empty");
    33 TryRecv(ObjectId) [0: object]
        "try-receive" Channel Goes Message;
    34 SenderAdd(ObjectId) [0: object]
        "sender-clone" Channel Goes Nothing;
    35 SenderDrop(ObjectId) [0: object]
        "sender-drop" Channel Goes ReleaseMore;
    36 ReceiverDrop(ObjectId) [0: object]
        "receiver-drop" Channel Goes ReleaseShared;

    37 Park { object: ObjectId, timed: bool } [object: object, timed: timed]
        "park" Parker Waits Acquire ("is parked, and nobody unparks it", "nobody unparks it");
    38 Unpark(ObjectId) [0: object]
        "unpark" Parker Goes ReleaseMore;

    /// As `Unlock`, after a section that did not change what the mutex protects.
    39 UnlockClean(ObjectId) [0: object]
        "unlock-clean" Mutex Goes Release;
    /// Joins the condition variable's waiters if the atomic has this value, in one step: how threads wait for a futex. Otherwise it
    /// fails, and there is no wait to leave.
    40 EnqueueIf { condvar: ObjectId, atomic: ObjectId, expected: u64 }
        [condvar: object, atomic: atomic, expected: expected]
        "wait-if" Condvar Goes Nothing;

    /// Takes all of a semaphore's count that there is, but at most so much, and returns how much that was. It waits while there is
    /// none; one that only tries fails then.
    41 Take { object: ObjectId, most: u64, tries: bool } [object: object, most: value, tries: flag]
        "take" Semaphore Competes Acquire ("waits for {}, whose count is 0", "count is 0");
    /// Adds to a semaphore's count. It waits while the sum would exceed [`MOST_COUNTED`](crate::MOST_COUNTED); one that only tries
    /// fails then.
    42 Add { object: ObjectId, count: u64, tries: bool } [object: object, count: value, tries: flag]
        "add" Semaphore Competes ReleaseMore ("waits for room in the count of {}", "no room");

    /// Frees a block: allocations may return its address again.
    43 Free(ObjectId, u64) [0: object, 1: value]
        "free" Pool Goes Nothing;
    /// Decides on the address of a block: 0 stands for a new one, others are of the pool, to be taken by `Reuse`.
    44 Allocate(ObjectId) [0: object]
        "allocate" Pool Goes Nothing;
    /// Takes an address from the pool. It fails if another thread has taken it.
    45 Reuse(ObjectId, u64) [0: object, 1: value]
        "reuse" Pool Goes Nothing;

    /// Puts units into a pipe, as many as there is room for but at most `count`, and returns how many. It waits while there is no
    /// room for `least` of them; one that only tries fails then. It fails if all readers are gone, or if nothing is to be put into the pipe any more.
    46 Put { object: ObjectId, count: u64, least: u64, tries: bool }
        [object: object, count: value, least: expected, tries: flag]
        "put" Pipe Competes Put ("waits for room in {}, which is full", "full");
    /// Takes units from a pipe, as many as there are but at most so many, and returns how many. It waits while there are none; one
    /// that only tries fails then. It fails if there are none and all writers are gone. One of 0 units waits, takes nothing, and
    /// returns how many there are.
    47 Get { object: ObjectId, most: u64, tries: bool } [object: object, most: value, tries: flag]
        "get" Pipe Competes Message ("waits for data in {}, which is empty", "empty");
    48 WriterAdd(ObjectId) [0: object]
        "writer-add" Pipe Goes Nothing;
    /// One writer is gone, which puts nothing any more. `true`: all of them, whatever they are about to put.
    49 WriterDrop(ObjectId, bool) [0: object, 1: flag]
        "writer-drop" Pipe Goes ReleaseMore;
    50 ReaderAdd(ObjectId) [0: object]
        "reader-add" Pipe Goes Nothing;
    /// One reader is gone, which gets nothing any more. `true`: all of them, whatever they wait for.
    51 ReaderDrop(ObjectId, bool) [0: object, 1: flag]
        "reader-drop" Pipe Goes ReleaseShared;
    /// Looks which of a process's children have ended, and decides on one of them, to be taken by `Reuse`. It waits while there is
    /// none; one that only tries returns 0 then.
    52 Reap { object: ObjectId, tries: bool } [object: object, tries: flag]
        "reap" Pool Competes Nothing ("waits for the end of a child process", "no child ends");
    /// As `Recv`, of a thread that wants to know when nothing else can run. Then it ends without a message, whatever is sent after that: so
    /// it does not matter which of the threads that learn of it goes on first. It is announced with [`Gate::Late`](crate::Gate::Late).
    53 Expect(ObjectId) [0: object]
        "expect" Channel Competes Message ("waits for a message in {}, which is empty", "empty");
}

const _: () = {
    let mut row = 0;
    while row < NUMBERS.len() {
        assert!(
            NUMBERS[row] as usize == row,
            "rows are numbered from 0, without gaps"
        );
        row += 1;
    }
};

/// What an operation is like whatever its operands are.
impl OpKind {
    /// How many kinds there are: their numbers are `0..COUNT`.
    pub const COUNT: u8 = NUMBERS.len() as u8;

    /// As files and reports spell it.
    pub fn name(self) -> &'static str {
        NAMES.get(usize::from(self.0)).copied().unwrap_or("?")
    }

    /// The kind with this name.
    pub fn of_name(name: &str) -> Option<OpKind> {
        let number = NAMES.iter().position(|known| *known == name)?;
        Some(OpKind(number as u8))
    }

    /// The kind of its object; `None`: it has none, or any will do.
    #[inline]
    pub fn object_kind(self) -> Option<ObjectKind> {
        KINDS.get(usize::from(self.0)).copied().flatten()
    }

    /// When it can go.
    #[inline]
    pub fn turn(self) -> Turn {
        TURNS[usize::from(self.0)]
    }

    /// How it orders threads.
    #[inline]
    pub fn synchronises(self) -> Synchronises {
        SYNCHRONISES[usize::from(self.0)]
    }

    /// What a thread at this operation waits for, if it can wait there.
    pub fn waiting(self) -> Option<Waiting> {
        WAITING.get(usize::from(self.0)).copied().flatten()
    }

    /// How many words of its [`Code`] count.
    #[inline]
    pub fn words(self) -> usize {
        WORDS.get(usize::from(self.0)).copied().unwrap_or(0).into()
    }
}
