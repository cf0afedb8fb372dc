//! Atomics, by the names and signatures of [`std::sync::atomic`].
//!
//! In a check the value is the model's, read from std's atomic inside at first use and written back to it after each change, so that
//! `get_mut`, `into_inner` and `Debug` agree. Exploration is sequentially consistent; declared orders count for race detection.
//! What is written through `as_ptr` in a check is not seen.

mod integer;
mod pointer;

pub use self::{
    integer::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
        AtomicU32, AtomicU64, AtomicUsize,
    },
    pointer::AtomicPtr,
};
pub use std::sync::atomic::Ordering;

use crate::rt::{self, Slot};
use Ordering::{AcqRel, Acquire, Relaxed, Release};
use reweave_model::{Object, ObjectId, Op, RmwKind};

/// As [`std::sync::atomic::fence`]. In a check it is no event.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(
        order != Relaxed,
        "there is no such thing as a relaxed fence"
    );
    if rt::active() {
        rt::fence(order);
    } else {
        std::sync::atomic::fence(order);
    }
}

/// As [`std::sync::atomic::compiler_fence`].
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    std::sync::atomic::compiler_fence(order);
}

/// A value that the model keeps as 64 bits.
trait Word: Copy {
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

#[inline(always)]
#[track_caller]
fn id(slot: &Slot, initial: impl FnOnce() -> u64) -> ObjectId {
    slot.id(|| Object::Atomic(initial()))
}

#[inline(always)]
#[track_caller]
fn load(object: ObjectId, order: Ordering) -> u64 {
    match order {
        Release => panic!("there is no such thing as a release load"),
        AcqRel => panic!("there is no such thing as an acquire-release load"),
        _ => rt::poll::load(object, order),
    }
}

/// Its owner has it to itself and looks at the value: a load, or nobody would have read what was stored last.
#[inline]
#[track_caller]
fn look(slot: &Slot) {
    if let Some(object) = slot.known().filter(|_| rt::active()) {
        rt::op(Op::Load(object));
    }
}

#[inline(always)]
#[track_caller]
fn store(object: ObjectId, value: u64, order: Ordering) {
    match order {
        Acquire => panic!("there is no such thing as an acquire store"),
        AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => rt::op_ordered(Op::Store(object, value), order, None),
    };
}

/// The value before.
#[inline(always)]
#[track_caller]
fn modify(object: ObjectId, kind: RmwKind, operand: u64, bits: u8, order: Ordering) -> u64 {
    rt::poll::modify(object, kind, operand, bits, order)
}

/// The value before, and whether it was exchanged.
#[inline(always)]
#[track_caller]
fn exchange(
    object: ObjectId,
    words: (u64, u64),
    weak: bool,
    (success, failure): (Ordering, Ordering),
) -> (u64, bool) {
    match failure {
        Release => panic!("there is no such thing as a release failure ordering"),
        AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
        _ => {}
    }
    let weak = weak && rt::weak_failures();
    rt::poll::exchange(object, words, weak, (success, failure))
}
