//! One operation as a trace file spells it: a name and flat fields, so that a reader needs no knowledge of this crate.
//!
//! Which fields there are follows from the roles of operands in the model's table of operations. Invariant: `Operation::from(op).to_op() == Some(op)`.

use reweave_model::{ObjectId, Op, OpKind, Operands, Rmw, RmwKind, ThreadId};
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
    /// The mutex that a wait unlocks.
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

impl From<Op> for Operation {
    fn from(op: Op) -> Operation {
        let Operands {
            object,
            mutex,
            atomic,
            thread,
            count,
            value,
            expected,
            rmw,
            timed,
            flag,
        } = op.operands();
        Operation {
            name: op.kind().name().into(),
            object: object.map(|object| object.0),
            mutex: mutex.map(|mutex| mutex.0),
            atomic: atomic.map(|atomic| atomic.0),
            of: thread.map(|thread| thread.0),
            value: value
                .or(count.map(u64::from))
                .or(rmw.map(|rmw| rmw.operand)),
            expected,
            function: rmw.map(|rmw| rmw.kind.name().into()),
            bits: rmw.map(|rmw| rmw.bits),
            flag: timed.or(flag),
        }
    }
}

impl Operation {
    /// The model's operation; `None` when the fields do not make one.
    pub fn to_op(&self) -> Option<Op> {
        let kind = OpKind::of_name(&self.name)?;
        kind.with(&Operands {
            object: self.object.map(ObjectId),
            mutex: self.mutex.map(ObjectId),
            atomic: self.atomic.map(ObjectId),
            thread: self.of.map(ThreadId),
            count: self.value.and_then(|value| value.try_into().ok()),
            value: self.value,
            expected: self.expected,
            rmw: self.rmw(),
            timed: self.flag,
            flag: self.flag,
        })
    }

    fn rmw(&self) -> Option<Rmw> {
        Some(Rmw {
            kind: RmwKind::of_name(self.function.as_deref()?)?,
            operand: self.value?,
            bits: self.bits.filter(|bits| (1..=64).contains(bits))?,
        })
    }
}
