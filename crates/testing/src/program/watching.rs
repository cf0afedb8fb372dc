//! Instructions that look at two objects until one of them has changed: in each round they look at both, guess which one will change,
//! and wait for that one.

use super::{Bases, I, Thread, version};
use reweave_model::{Event, Gate, Machine, Object, ObjectId, Op};

/// The two objects.
pub(super) fn objects(instruction: I, bases: &Bases) -> [ObjectId; 2] {
    match instruction {
        I::PollEither(x, m, _) => [ObjectId(x), ObjectId(bases.mutexes + m)],
        I::PollPipes(p, q) => [p, q].map(|pipe| ObjectId(bases.pipes + pipe)),
        _ => unreachable!("{instruction:?} watches nothing"),
    }
}

/// The next operation, and its gate.
pub(super) fn operation(instruction: I, thread: &Thread, bases: &Bases) -> (Op, Gate) {
    let objects = objects(instruction, bases);
    let op = match (instruction, thread.part) {
        (_, 0) => Op::Load(objects[0]),
        (I::PollEither(..), 1) => Op::Lock(objects[1]),
        (I::PollEither(..), 2) => Op::UnlockClean(objects[1]),
        (I::PollPipes(..), 1) => Op::Load(objects[1]),
        (I::PollEither(..), 3) | (I::PollPipes(..), 2) => Op::Any(2),
        _ => {
            let guess = thread.guess as usize;
            let word = thread.seen[guess];
            let gate = match instruction {
                I::PollEither(..) => Gate::Word(word),
                // A call that waits is no loop.
                _ => Gate::Open,
            };
            return (Op::Await(objects[guess], word), gate);
        }
    };
    (op, Gate::Open)
}

/// Keeps what a part of the instruction has seen.
pub(super) fn note(instruction: I, thread: &mut Thread, event: &Event, state: &Machine) {
    match (instruction, thread.part) {
        (I::PollEither(..), 2) => {
            let object = event.op.object().expect("it locks a mutex");
            thread.seen[1] = state.object(object).sees(event.op);
        }
        (I::PollEither(..) | I::PollPipes(..), 1) => thread.seen[0] = event.result,
        (I::PollPipes(..), 2) => thread.seen[1] = event.result,
        (I::PollEither(..), 4) | (I::PollPipes(..), 3) => thread.guess = event.result,
        _ => {}
    }
}

/// How many parts the instruction has; as many as can be, if it does not end with this one.
pub(super) fn parts(instruction: I, thread: &Thread, event: &Event, state: &Machine) -> u8 {
    match (instruction, thread.part) {
        (I::PollEither(_, _, times), 1) if thread.seen[0] >= times => 1,
        (I::PollEither(_, _, times), 3) if version(thread.seen[1]) >= times => 3,
        (I::PollPipes(..), part @ (1 | 2)) if can_be_got_from(state, event.op) => part,
        (I::PollEither(..) | I::PollPipes(..), _) => u8::MAX,
        _ => 1,
    }
}

/// Whether the instruction looks at the first object again after so many parts.
pub(super) fn begins_again(instruction: I, part: u8) -> bool {
    matches!(
        (instruction, part),
        (I::PollEither(..), 5) | (I::PollPipes(..), 4)
    )
}

/// Whether a pipe has something, or never will.
fn can_be_got_from(state: &Machine, op: Op) -> bool {
    match op.object().map(|pipe| state.object(pipe)) {
        Some(Object::Pipe(pipe)) => pipe.can_get(),
        _ => false,
    }
}
