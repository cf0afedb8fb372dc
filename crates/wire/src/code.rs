//! Operations as numbers.

use crate::words::Malformed;
use reweave_model::{Class, ObjectId, Op, Rmw, RmwKind, ThreadId};

/// An operation taken apart: kind, object (or thread), a flag, and operands; how many of them count depends on the kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    pub(crate) kind: u8,
    pub(crate) flag: bool,
    pub(crate) object: u32,
    pub(crate) operands: [u64; 2],
}

/// How many operands the kind has.
#[inline]
pub(crate) fn operands(kind: u8) -> usize {
    match kind {
        LOAD | JOIN => 0,
        STORE | ANY | ENQUEUE | AWAIT => 1,
        RMW | COMPARE_EXCHANGE | ENQUEUE_IF => 2,
        _ => 0,
    }
}

const JOIN: u8 = 0;
const ANY: u8 = 1;
const LOAD: u8 = 3;
const STORE: u8 = 4;
const RMW: u8 = 5;
const COMPARE_EXCHANGE: u8 = 6;
const AWAIT: u8 = 7;
const ENQUEUE: u8 = 18;
const ENQUEUE_IF: u8 = 40;

const RMWS: [RmwKind; 11] = [
    RmwKind::Swap,
    RmwKind::Add,
    RmwKind::Sub,
    RmwKind::And,
    RmwKind::Nand,
    RmwKind::Or,
    RmwKind::Xor,
    RmwKind::Max,
    RmwKind::Min,
    RmwKind::MaxSigned,
    RmwKind::MinSigned,
];

/// Takes an operation apart.
pub(crate) fn of(op: Op) -> Code {
    let mut code = Code {
        kind: op.kind().0,
        flag: false,
        object: op.object().map_or(0, |object| object.0),
        operands: [0; 2],
    };
    match op {
        Op::Join(thread) => code.object = thread.0,
        Op::Any(n) => code.operands[0] = n.into(),
        Op::Assume(holds) => code.flag = holds,
        Op::Store(_, value) | Op::Await(_, value) => code.operands[0] = value,
        Op::Rmw(_, rmw) => {
            let kind = RMWS.iter().position(|kind| *kind == rmw.kind).unwrap_or(0);
            code.operands = [kind as u64 | u64::from(rmw.bits) << 8, rmw.operand];
        }
        Op::CompareExchange {
            expected,
            new,
            weak,
            ..
        } => {
            code.flag = weak;
            code.operands = [expected, new];
        }
        Op::Enqueue { mutex, .. } => code.operands[0] = mutex.0.into(),
        Op::EnqueueIf {
            atomic, expected, ..
        } => code.operands = [atomic.0.into(), expected],
        Op::Wake { timed, .. } | Op::SemAcquire { timed, .. } | Op::Park { timed, .. } => {
            code.flag = timed;
        }
        Op::OnceBegin { force, .. } => code.flag = force,
        Op::OnceEnd(_, done) => code.flag = done,
        _ => {}
    }
    code
}

/// Puts it together again. Channels do not occur in native programs.
pub(crate) fn op(code: Code) -> Result<Op, Malformed> {
    let object = ObjectId(code.object);
    let [a, b] = code.operands;
    let timed = code.flag;
    let op = match code.kind {
        JOIN => Op::Join(ThreadId(code.object)),
        ANY => Op::Any(a as u32),
        2 => Op::Assume(code.flag),
        LOAD => Op::Load(object),
        STORE => Op::Store(object, a),
        RMW => Op::Rmw(
            object,
            Rmw {
                kind: *RMWS.get((a & 0xff) as usize).ok_or(Malformed)?,
                operand: b,
                bits: match a >> 8 {
                    bits @ (8 | 16 | 32 | 64) => bits as u8,
                    _ => return Err(Malformed),
                },
            },
        ),
        COMPARE_EXCHANGE => Op::CompareExchange {
            object,
            expected: a,
            new: b,
            weak: code.flag,
        },
        AWAIT => Op::Await(object, a),
        8 => Op::Lock(object),
        9 => Op::TryLock(object),
        10 => Op::Unlock(object),
        11 => Op::ReadLock(object),
        12 => Op::TryReadLock(object),
        13 => Op::ReadUnlock(object),
        14 => Op::WriteBegin(object),
        15 => Op::WriteAcquire(object),
        16 => Op::TryWriteLock(object),
        17 => Op::WriteUnlock(object),
        ENQUEUE => Op::Enqueue {
            condvar: object,
            mutex: ObjectId(a as u32),
        },
        ENQUEUE_IF => Op::EnqueueIf {
            condvar: object,
            atomic: ObjectId(a as u32),
            expected: b,
        },
        19 => Op::Wake {
            condvar: object,
            timed,
        },
        20 => Op::NotifyOne(object),
        21 => Op::NotifyAll(object),
        22 => Op::SemAcquire { object, timed },
        23 => Op::SemTryAcquire(object),
        24 => Op::SemRelease(object),
        25 => Op::Arrive(object),
        26 => Op::Leave(object),
        27 => Op::OnceBegin {
            object,
            force: code.flag,
        },
        28 => Op::OnceEnd(object, code.flag),
        37 => Op::Park { object, timed },
        38 => Op::Unpark(object),
        39 => Op::UnlockClean(object),
        _ => return Err(Malformed),
    };
    Ok(op)
}

const CLASSES: [Class; 26] = [
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
];

/// A class from its number.
#[inline]
pub(crate) fn class(number: u8) -> Result<Class, Malformed> {
    CLASSES.get(usize::from(number)).copied().ok_or(Malformed)
}
