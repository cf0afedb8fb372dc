//! What programs tell the compiler's own sanitizer when they find it on: dynamic annotations and its public interface.
//!
//! An order that the program vouches for is one, by an operation on the address. All else is passed over: locks that a program makes of atomics
//! are understood without being pointed out, and a race that is called benign is a race.

use crate::{
    core::{
        call_sites,
        objects::Sort,
        world::{self, perform},
    },
    hooks::Frame,
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

unsafe extern "C" fn happens_before(_: *const c_char, _: c_int, at: *mut c_void, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { release(at, frame) };
}

unsafe extern "C" fn happens_after(_: *const c_char, _: c_int, at: *mut c_void, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { acquire(at, frame) };
}

unsafe extern "C" fn release(at: *mut c_void, frame: &Frame) {
    let rmw = Rmw {
        kind: RmwKind::Add,
        operand: 0,
        bits: 64,
    };
    order(at, frame, Order::Release, |object| Op::Rmw(object, rmw));
}

unsafe extern "C" fn acquire(at: *mut c_void, frame: &Frame) {
    order(at, frame, Order::Acquire, Op::Load);
}

fn order(at: *mut c_void, frame: &Frame, order: Order, op: impl FnOnce(ObjectId) -> Op) {
    if !world::active() {
        return;
    }
    let site = call_sites::site(&frame.return_address);
    // Beside the memory itself, whose accesses this is not one of.
    const ELSEWHERE: usize = 1 << 48;
    let address = ELSEWHERE | at as usize & !7;
    let object = world::get().object(address, 8, Sort::Vouched, || Object::Atomic(0));
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

/// How often a recursive mutex was given up at once: once.
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
