//! Dynamic annotations and the public interface of the compiler's thread sanitizer, which programs use when they find it on.
//!
//! An order that the program declares becomes an operation on the address. Everything else is ignored: locks that a program builds
//! from atomics are understood without annotations, and a race that is declared benign is a race.

use crate::{
    core::{objects::Sort, trampoline::Frame},
    run::{
        call_sites,
        world::{self, perform},
    },
    trampoline,
};
use core::ffi::{c_char, c_double, c_int, c_void};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Rmw, RmwKind};

trampoline! {
    AnnotateHappensBefore => happens_before, "rcx";
    AnnotateHappensAfter => happens_after, "rcx";
    WTFAnnotateHappensBefore => happens_before, "rcx";
    WTFAnnotateHappensAfter => happens_after, "rcx";
    __tsan_release => release, "rsi";
    __tsan_acquire => acquire, "rsi";
}

extern "C" fn happens_before(_: *const c_char, _: c_int, at: *mut c_void, frame: &Frame) {
    release(at, frame);
}

extern "C" fn happens_after(_: *const c_char, _: c_int, at: *mut c_void, frame: &Frame) {
    acquire(at, frame);
}

extern "C" fn release(at: *mut c_void, frame: &Frame) {
    let rmw = Rmw {
        kind: RmwKind::Add,
        operand: 0,
        bits: 64,
    };
    order(at, frame, Order::Release, |object| Op::Rmw(object, rmw));
}

extern "C" fn acquire(at: *mut c_void, frame: &Frame) {
    order(at, frame, Order::Acquire, Op::Load);
}

fn order(at: *mut c_void, frame: &Frame, order: Order, op: impl FnOnce(ObjectId) -> Op) {
    if !world::active() {
        return;
    }
    let site = call_sites::site(&frame.return_address);
    // An address of its own, since the operation is not an access to the memory.
    const ELSEWHERE: usize = 1 << 48;
    let address = ELSEWHERE | at as usize & !7;
    let object = world::borrow().object(address, 8, Sort::Vouched, || Object::Atomic(0));
    perform(op(object), Gate::Open, site, order, None);
}

/// Functions that do nothing, with whatever arguments.
macro_rules! nothing {
    ($($name:ident)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub extern "C" fn $name() {}
    )*};
}

nothing! {
    AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotateEnableRaceDetection
    AnnotateBenignRace AnnotateBenignRaceSized WTFAnnotateBenignRaceSized AnnotateExpectRace AnnotateFlushExpectedRaces
    AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateRWLockAcquired AnnotateRWLockReleased
    AnnotateMutexIsUsedAsCondVar AnnotateMutexIsNotPHB
    AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait
    AnnotatePCQCreate AnnotatePCQDestroy AnnotatePCQPut AnnotatePCQGet
    AnnotateNewMemory AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateMemoryIsInitialized AnnotateMemoryIsUninitialized
    AnnotateTraceMemory AnnotateThreadName AnnotateFlushState AnnotateNoOp
    __tsan_ignore_thread_begin __tsan_ignore_thread_end
    __tsan_mutex_create __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_lock
    __tsan_mutex_pre_signal __tsan_mutex_post_signal __tsan_mutex_pre_divert __tsan_mutex_post_divert __tsan_mutex_post_unlock
}

/// How often a recursive mutex is unlocked at once: once.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __tsan_mutex_pre_unlock() -> c_int {
    1
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn RunningOnValgrind() -> c_int {
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn ThreadSanitizerQuery(_: *const c_char) -> *const c_char {
    c"0".as_ptr()
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn ValgrindSlowdown() -> c_double {
    1.0
}
