//! Visible operations: what a thread may ask for.
//!
//! `table` lists them, one row each; `generate` makes everything from it that depends on the kind of operation alone. Here are the types of the columns, and the
//! questions about an operation that other crates ask. What an operation does is in the file of its object, in `objects/`.

mod generate;
mod table;

pub use table::Op;

use alloc::string::String;
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

/// Functions with their names in files; the place is the number.
const FUNCTIONS: [(&str, RmwKind); 11] = [
    ("swap", RmwKind::Swap),
    ("add", RmwKind::Add),
    ("sub", RmwKind::Sub),
    ("and", RmwKind::And),
    ("nand", RmwKind::Nand),
    ("or", RmwKind::Or),
    ("xor", RmwKind::Xor),
    ("max", RmwKind::Max),
    ("min", RmwKind::Min),
    ("max-signed", RmwKind::MaxSigned),
    ("min-signed", RmwKind::MinSigned),
];

const _: () = {
    let mut place = 0;
    while place < FUNCTIONS.len() {
        assert!(
            FUNCTIONS[place].1 as usize == place,
            "in the order of the enum"
        );
        place += 1;
    }
};

impl RmwKind {
    /// As files and reports spell it.
    pub fn name(self) -> &'static str {
        FUNCTIONS[self as usize].0
    }

    /// The function with this name.
    pub fn of_name(name: &str) -> Option<RmwKind> {
        let known = FUNCTIONS.iter().find(|(known, _)| *known == name);
        known.map(|(_, kind)| *kind)
    }
}

impl Rmw {
    /// From [`Code::words`]; `None`: no such function or width.
    fn from_words([head, operand]: [u64; 2]) -> Option<Rmw> {
        let (_, kind) = *FUNCTIONS.get((head & 0xff) as usize)?;
        let bits = u8::try_from(head >> 8).ok()?;
        matches!(bits, 8 | 16 | 32 | 64).then_some(Rmw {
            kind,
            operand,
            bits,
        })
    }

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

/// An operation without its operands: enough to notice that a replay went another way. Its number and all that it implies are in
/// the table of operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OpKind(pub u8);

/// When an operation can go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// At once.
    Goes,
    /// It may have to wait, and another thread's operation can take its turn away: it competes with every earlier taker of the same
    /// object, not only with the last. With a time limit it does not wait.
    Competes,
    /// It may have to wait, and does more than order.
    Waits,
    /// It does nothing but order: its turn comes by itself, and no other thread can take it away.
    Follows,
}

/// How an operation that succeeds orders threads: its part in happens-before. One that fails orders nothing, except for atomics
/// and messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchronises {
    /// Not at all.
    Nothing,
    /// By its memory order.
    Atomic,
    /// Comes after all of a finished thread.
    Join,
    /// Comes after the object's releases.
    Acquire,
    /// Comes after the object's releases, shared ones too.
    AcquireAll,
    /// Comes before later acquires. Earlier releases do not count any more: they came before it.
    Release,
    /// Comes before later acquires, as earlier releases do.
    ReleaseMore,
    /// Comes before later acquires of all releases.
    ReleaseShared,
    /// Comes before every [`Synchronises::Leave`] of the same round.
    Arrive,
    /// Comes after every arrival of its round.
    Leave,
    /// By the step that it comes after ([`Event::after`](crate::Event)); found that the other side is gone, by its release.
    Message,
    /// As `Message`. What comes after it comes after all that was put into the object before, too.
    Put,
}

/// What a thread waits for at an operation, for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// A sentence without its subject; `{}` stands for the object, or the thread.
    pub what: &'static str,
    /// Why it does not come, in a few words.
    pub brief: &'static str,
}

impl Waiting {
    /// The sentence with the name of the object, or the thread.
    pub fn about(self, name: &str) -> String {
        self.what.replace("{}", name)
    }
}

/// Operands by their roles; which of them an operation has depends on its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    /// What it is about.
    pub object: Option<ObjectId>,
    /// A mutex that it unlocks besides.
    pub mutex: Option<ObjectId>,
    /// An atomic that it reads besides.
    pub atomic: Option<ObjectId>,
    /// A thread that it waits for.
    pub thread: Option<ThreadId>,
    /// How many ways there are.
    pub count: Option<u32>,
    /// What it writes, saw, or which message it is.
    pub value: Option<u64>,
    /// What it expects.
    pub expected: Option<u64>,
    /// The function of a read-modify-write.
    pub rmw: Option<Rmw>,
    /// Whether it has a time limit.
    pub timed: Option<bool>,
    /// Another yes or no.
    pub flag: Option<bool>,
}

/// An operation as numbers. How many words count depends on the kind: [`OpKind::words`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Code {
    /// See [`OpKind`].
    pub kind: u8,
    pub flag: bool,
    /// The object, or the thread.
    pub object: u32,
    pub words: [u64; 2],
}

/// The most that one of the fields of a row needs.
const fn words_of(fields: &[u8]) -> u8 {
    let (mut most, mut field) = (0, 0);
    while field < fields.len() {
        if fields[field] > most {
            most = fields[field];
        }
        field += 1;
    }
    most
}

impl Op {
    /// The other object that it touches, if there is one.
    pub fn second(self) -> Option<ObjectId> {
        self.mutex().or(self.atomic())
    }

    /// Whether another thread's operation can take away its turn: such an operation competes with every earlier
    /// taker of the same object, not only with the last.
    #[inline]
    pub fn competes(self) -> bool {
        self.kind().turn() == Turn::Competes && self.timed() != Some(true)
    }

    /// Whether it does nothing but order (its turn comes by itself and no other thread can take it away).
    #[inline]
    pub fn only_orders(self) -> bool {
        self.kind().turn() == Turn::Follows
    }

    /// The same operation without its time limit.
    pub(crate) fn untimed(self) -> Op {
        match self {
            Op::TryLock(mutex) => Op::Lock(mutex),
            Op::TryReadLock(lock) => Op::ReadLock(lock),
            other => other.with_timed(false),
        }
    }

    /// The object that it releases to those that acquire it later.
    #[inline]
    pub fn released(self) -> Option<ObjectId> {
        match self.kind().synchronises() {
            Synchronises::Release | Synchronises::ReleaseMore | Synchronises::ReleaseShared => {
                self.mutex().or(self.object())
            }
            _ => None,
        }
    }
}
