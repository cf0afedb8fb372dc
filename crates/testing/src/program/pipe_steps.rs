//! What a program does with a pipe.

use reweave_model::{ObjectId, Op};

/// See [`I::Pipe`](super::I::Pipe).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PipeStep {
    /// Waits for room for all.
    Put(u64),
    TryPut(u64),
    /// Puts as many as there is room for.
    PutSome(u64),
    TryPutSome(u64),
    Get(u64),
    TryGet(u64),
    /// Waits until there is something, and takes nothing.
    Peek,
    Look,
    AddWriter,
    DropWriter,
    DropWriters,
    AddReader,
    DropReader,
    DropReaders,
}

impl PipeStep {
    pub(super) fn operation(self, object: ObjectId) -> Op {
        let put = |count, least, tries| Op::Put {
            object,
            count,
            least,
            tries,
        };
        let get = |most, tries| Op::Get {
            object,
            most,
            tries,
        };
        match self {
            PipeStep::Put(count) => put(count, count, false),
            PipeStep::TryPut(count) => put(count, count, true),
            PipeStep::PutSome(count) => put(count, 1, false),
            PipeStep::TryPutSome(count) => put(count, 1, true),
            PipeStep::Get(most) => get(most, false),
            PipeStep::TryGet(most) => get(most, true),
            PipeStep::Peek => get(0, false),
            PipeStep::Look => Op::Load(object),
            PipeStep::AddWriter => Op::WriterAdd(object),
            PipeStep::DropWriter => Op::WriterDrop(object, false),
            PipeStep::DropWriters => Op::WriterDrop(object, true),
            PipeStep::AddReader => Op::ReaderAdd(object),
            PipeStep::DropReader => Op::ReaderDrop(object, false),
            PipeStep::DropReaders => Op::ReaderDrop(object, true),
        }
    }
}
