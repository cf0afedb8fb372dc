//! One operation as a trace file spells it: a name and flat fields, so that a reader needs no knowledge of this crate.
//!
//! Conversions to and from [`Op`] live here and nowhere else. Invariant: `Operation::from(op).to_op() == Some(op)`.

use reweave_model::{ObjectId, Op, Rmw, RmwKind, ThreadId};
use serde::{Deserialize, Serialize};

/// An operation with its operands. Which fields are there depends on `name`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Operation {
    /// What is done, as [`reweave_model::OpKind::name`] says it.
    #[serde(rename = "op")]
    pub name: String,
    /// On what, as an index into the object table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<u32>,
    /// The mutex that a wait gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutex: Option<u32>,
    /// The atomic that decides whether there is a wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic: Option<u32>,
    /// The thread that a join waits for, as an index into the thread table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// What is written, the operand of a read-modify-write, the number of a message, what a parked loop saw, how many
    /// ways a choice has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<u64>,
    /// What a compare-exchange, or a wait, expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// The function of a read-modify-write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Width of a read-modify-write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u8>,
    /// The yes or no of an operation that has one: weak, timed, forced, initialised, holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flag: Option<bool>,
}

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

/// The function's name in a trace file.
pub(crate) fn function_name(kind: RmwKind) -> &'static str {
    FUNCTIONS
        .iter()
        .find(|(_, known)| *known == kind)
        .map_or("?", |(name, _)| name)
}

impl From<Op> for Operation {
    fn from(op: Op) -> Operation {
        let mut to = Operation {
            name: op.kind().name().into(),
            object: op.object().map(|object| object.0),
            ..Operation::default()
        };
        match op {
            Op::Join(thread) => to.of = Some(thread.0),
            Op::Any(n) => to.value = Some(n.into()),
            Op::Store(_, value) | Op::Await(_, value) | Op::Handoff(_, value) => {
                to.value = Some(value);
            }
            Op::Rmw(_, rmw) => {
                to.value = Some(rmw.operand);
                to.function = Some(function_name(rmw.kind).into());
                to.bits = Some(rmw.bits);
            }
            Op::CompareExchange {
                expected,
                new,
                weak,
                ..
            } => {
                to.expected = Some(expected);
                to.value = Some(new);
                to.flag = Some(weak);
            }
            Op::Enqueue { mutex, .. } => to.mutex = Some(mutex.0),
            Op::EnqueueIf {
                atomic, expected, ..
            } => {
                to.atomic = Some(atomic.0);
                to.expected = Some(expected);
            }
            Op::Assume(flag)
            | Op::OnceEnd(_, flag)
            | Op::OnceBegin { force: flag, .. }
            | Op::Wake { timed: flag, .. }
            | Op::SemAcquire { timed: flag, .. }
            | Op::Recv { timed: flag, .. }
            | Op::Park { timed: flag, .. } => to.flag = Some(flag),
            _ => {}
        }
        to
    }
}

impl Operation {
    /// The model's operation; `None` when the fields do not make one.
    pub fn to_op(&self) -> Option<Op> {
        if let Some(op) = self.without_object() {
            return Some(op);
        }
        let object = ObjectId(self.object?);
        let op = match self.name.as_str() {
            "load" => Op::Load(object),
            "store" => Op::Store(object, self.value?),
            "read-modify-write" => Op::Rmw(object, self.rmw()?),
            "compare-exchange" => Op::CompareExchange {
                object,
                expected: self.expected?,
                new: self.value?,
                weak: self.flag?,
            },
            "await" => Op::Await(object, self.value?),
            "lock" => Op::Lock(object),
            "try-lock" => Op::TryLock(object),
            "unlock" => Op::Unlock(object),
            "unlock-clean" => Op::UnlockClean(object),
            "read-lock" => Op::ReadLock(object),
            "try-read-lock" => Op::TryReadLock(object),
            "read-unlock" => Op::ReadUnlock(object),
            "write-announce" => Op::WriteBegin(object),
            "write-lock" => Op::WriteAcquire(object),
            "try-write-lock" => Op::TryWriteLock(object),
            "write-unlock" => Op::WriteUnlock(object),
            "wait" => Op::Enqueue {
                condvar: object,
                mutex: ObjectId(self.mutex?),
            },
            "wait-if" => Op::EnqueueIf {
                condvar: object,
                atomic: ObjectId(self.atomic?),
                expected: self.expected?,
            },
            "wake" => Op::Wake {
                condvar: object,
                timed: self.flag?,
            },
            "notify-one" => Op::NotifyOne(object),
            "notify-all" => Op::NotifyAll(object),
            _ => return self.counted(object),
        };
        Some(op)
    }

    fn without_object(&self) -> Option<Op> {
        match self.name.as_str() {
            "join" => Some(Op::Join(ThreadId(self.of?))),
            "choose" => Some(Op::Any(self.value?.try_into().ok()?)),
            "assume" => Some(Op::Assume(self.flag?)),
            _ => None,
        }
    }

    /// Semaphores, barriers, one-time initialisation, channels, parking.
    fn counted(&self, object: ObjectId) -> Option<Op> {
        let op = match self.name.as_str() {
            "acquire" => Op::SemAcquire {
                object,
                timed: self.flag?,
            },
            "try-acquire" => Op::SemTryAcquire(object),
            "release" => Op::SemRelease(object),
            "arrive" => Op::Arrive(object),
            "leave" => Op::Leave(object),
            "once-begin" => Op::OnceBegin {
                object,
                force: self.flag?,
            },
            "once-end" => Op::OnceEnd(object, self.flag?),
            "send" => Op::Send(object),
            "try-send" => Op::TrySend(object),
            "hand-over" => Op::Handoff(object, self.value?),
            "receive" => Op::Recv {
                object,
                timed: self.flag?,
            },
            "try-receive" => Op::TryRecv(object),
            "sender-clone" => Op::SenderAdd(object),
            "sender-drop" => Op::SenderDrop(object),
            "receiver-drop" => Op::ReceiverDrop(object),
            "park" => Op::Park {
                object,
                timed: self.flag?,
            },
            "unpark" => Op::Unpark(object),
            _ => return None,
        };
        Some(op)
    }

    fn rmw(&self) -> Option<Rmw> {
        let name = self.function.as_deref()?;
        let (_, kind) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
        let bits = self.bits.filter(|bits| (1..=64).contains(bits))?;
        Some(Rmw {
            kind: *kind,
            operand: self.value?,
            bits,
        })
    }
}
