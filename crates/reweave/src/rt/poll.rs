//! Operations that loops poll with.
//!
//! *Decides:* what of the program's frame is looked at to recognise a loop. *Called by:* the shims, whose methods are inlined into the
//! program's code as far as here. *Owns:* nothing.
//!
//! Everything goes in and out in registers: an [`Op`] or an event in the program's frame would bring its padding along, bytes that differ
//! from round to round and mean nothing. The registers that a function must preserve are written into that frame before the call, so
//! all that the program's next steps depend on is there or above.

use super::perform;
use reweave_model::{ObjectId, Op, Orders, Rmw, RmwKind};
use std::{panic::Location, sync::atomic::Ordering};

/// Where the program's frame begins, with what its registers held.
#[repr(C)]
pub(crate) struct Frame([usize; 8]);

impl Frame {
    /// Of the function that this is inlined into.
    #[inline(always)]
    pub(crate) fn here() -> Frame {
        let mut frame = Frame([0; 8]);
        // SAFETY: writes seven words of the eight.
        unsafe {
            std::arch::asm!(
                "mov [rdi], rbx",
                "mov [rdi + 8], rbp",
                "mov [rdi + 16], r12",
                "mov [rdi + 24], r13",
                "mov [rdi + 32], r14",
                "mov [rdi + 40], r15",
                "mov [rdi + 48], rsp",
                inout("rdi") frame.0.as_mut_ptr() => _,
                clobber_abi("C"),
                options(nostack, preserves_flags),
            );
        }
        frame
    }

    /// Its lowest address.
    #[inline]
    pub(crate) fn start(&self) -> usize {
        self.0[6]
    }
}

type Place = &'static Location<'static>;

/// The value.
#[inline(always)]
#[track_caller]
pub(crate) fn load(object: ObjectId, order: Ordering) -> u64 {
    let frame = Frame::here();
    load_at(object.0, order, Location::caller(), &frame)
}

#[inline(never)]
fn load_at(object: u32, order: Ordering, place: Place, frame: &Frame) -> u64 {
    let orders = Orders::new(order.into(), None);
    perform(Op::Load(ObjectId(object)), place, orders, Some(frame)).result
}

/// The value before.
#[inline(always)]
#[track_caller]
pub(crate) fn modify(
    object: ObjectId,
    kind: RmwKind,
    operand: u64,
    bits: u8,
    order: Ordering,
) -> u64 {
    let frame = Frame::here();
    let place = Location::caller();
    modify_at(object.0, (kind, bits), operand, order, place, &frame)
}

#[inline(never)]
fn modify_at(
    object: u32,
    (kind, bits): (RmwKind, u8),
    operand: u64,
    order: Ordering,
    place: Place,
    frame: &Frame,
) -> u64 {
    let rmw = Rmw {
        kind,
        operand,
        bits,
    };
    let op = Op::Rmw(ObjectId(object), rmw);
    perform(op, place, Orders::new(order.into(), None), Some(frame)).result
}

/// The value before, and whether it was exchanged.
#[inline(always)]
#[track_caller]
pub(crate) fn exchange(
    object: ObjectId,
    (expected, new): (u64, u64),
    weak: bool,
    (success, failure): (Ordering, Ordering),
) -> (u64, bool) {
    let frame = Frame::here();
    let how = u32::from(weak) << 8 | code(success) << 4 | code(failure);
    exchange_at(object.0, expected, new, how, Location::caller(), &frame)
}

#[inline(never)]
fn exchange_at(
    object: u32,
    expected: u64,
    new: u64,
    how: u32,
    place: Place,
    frame: &Frame,
) -> (u64, bool) {
    let op = Op::CompareExchange {
        object: ObjectId(object),
        expected,
        new,
        weak: how >> 8 != 0,
    };
    let failure = decode(how & 15).into();
    let orders = Orders::new(decode(how >> 4 & 15).into(), Some(failure));
    let event = perform(op, place, orders, Some(frame));
    (event.result, event.ok)
}

#[inline(always)]
fn code(order: Ordering) -> u32 {
    match order {
        Ordering::Relaxed => 0,
        Ordering::Acquire => 1,
        Ordering::Release => 2,
        Ordering::AcqRel => 3,
        _ => 4,
    }
}

fn decode(code: u32) -> Ordering {
    match code {
        0 => Ordering::Relaxed,
        1 => Ordering::Acquire,
        2 => Ordering::Release,
        3 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// Something to get, without waiting or by waiting.
#[derive(Clone, Copy)]
pub(crate) enum Attempt {
    /// Waits for the mutex.
    WaitLock,
    /// Waits for the read lock.
    WaitRead,
    Lock,
    Read,
    Write,
    Semaphore,
    Send,
    Receive,
}

/// Whether it worked, and the event's result.
#[inline(always)]
#[track_caller]
pub(crate) fn attempt(what: Attempt, object: ObjectId) -> (bool, u64) {
    let frame = Frame::here();
    let result = attempt_at(what, object.0, Location::caller(), &frame);
    sweep();
    result
}

/// Words below the program's frame that are swept: more than making a guard needs.
const SWEPT: usize = 64;

/// Clears the stack below the program's frame. What comes next makes a guard; the padding in it is whatever lay there before, and the
/// program's frame gets it with the guard: it must be the same in each round of a loop.
#[inline(never)]
pub(crate) fn sweep() {
    let mut below = [0_u64; SWEPT];
    std::hint::black_box(&mut below);
}

/// The end of a section under a lock.
#[derive(Clone, Copy)]
pub(crate) enum Section {
    /// Of a mutex, after which what it protects is as before.
    Clean,
    /// Of a mutex.
    Changed,
    /// Of a reader.
    Read,
}

/// The section ends; not inlined, so that nothing of the event gets into the program's frame.
#[inline(never)]
#[track_caller]
pub(crate) fn leave(section: Section, object: ObjectId) {
    let op = match section {
        Section::Clean => Op::UnlockClean(object),
        Section::Changed => Op::Unlock(object),
        Section::Read => Op::ReadUnlock(object),
    };
    perform(op, Location::caller(), Orders::IMPLIED, None);
}

#[inline(never)]
fn attempt_at(what: Attempt, object: u32, place: Place, frame: &Frame) -> (bool, u64) {
    let object = ObjectId(object);
    let op = match what {
        Attempt::WaitLock => Op::Lock(object),
        Attempt::WaitRead => Op::ReadLock(object),
        Attempt::Lock => Op::TryLock(object),
        Attempt::Read => Op::TryReadLock(object),
        Attempt::Write => Op::TryWriteLock(object),
        Attempt::Semaphore => Op::SemTryAcquire(object),
        Attempt::Send => Op::TrySend(object),
        Attempt::Receive => Op::TryRecv(object),
    };
    let event = perform(op, place, Orders::IMPLIED, Some(frame));
    (event.ok, event.result)
}
