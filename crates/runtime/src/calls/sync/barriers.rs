//! Barriers.

use crate::{
    calls::sync::sync_objects::{Shape, word},
    core::{modules, objects::Sort, trampoline::Frame},
    outside_run, real,
    run::{
        accesses,
        operations::misuse,
        world::{self, perform},
    },
    trampoline,
};
use core::ffi::{c_int, c_uint};
use libc::{pthread_barrier_t as Barrier, pthread_barrierattr_t as Attributes};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

trampoline! {
    pthread_barrier_init => init, "rcx";
    pthread_barrier_destroy => destroy, "rsi";
    pthread_barrier_wait => wait, "rsi";
}

/// As glibc has it: threads that came in, the round, the size, a flag, threads that went out.
pub const SHAPE: Shape = Shape {
    sort: Sort::Barrier,
    bytes: size_of::<Barrier>(),
    mark: 24,
    new: |word| word(0) == 0 && word(1) == 0 && word(SIZE) != 0 && word(4) == 0,
    statically: false,
};

const SIZE: usize = 2;

fn model(barrier: *const Barrier) -> Object {
    Object::barrier(word(barrier as usize, SIZE))
}

fn find(barrier: *const Barrier, site: Site) -> ObjectId {
    SHAPE.find(barrier as usize, site, || model(barrier))
}

/// # Safety
///
/// As `pthread_barrier_init`: `barrier` points to room for a barrier, `attributes` is null or points to attributes.
unsafe extern "C" fn init(
    barrier: *mut Barrier,
    attributes: *const Attributes,
    count: c_uint,
    frame: &Frame,
) -> c_int {
    let real = real!(pthread_barrier_init: fn(*mut Barrier, *const Attributes, c_uint) -> c_int);
    let from = frame.return_address;
    accesses::argument(attributes as usize, size_of::<Attributes>(), false, from);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(barrier, attributes, count) };
    if result == 0 {
        SHAPE.made(barrier as usize, frame, || model(barrier));
    }
    result
}

/// # Safety
///
/// As `pthread_barrier_destroy`: `barrier` points to a barrier.
unsafe extern "C" fn destroy(barrier: *mut Barrier, frame: &Frame) -> c_int {
    outside_run!(pthread_barrier_destroy: fn(barrier: *mut Barrier) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(barrier, site);
    // Threads of a full round do not wait any more.
    let waited_at = match world::borrow().run.state().object(object) {
        Object::Barrier { arrived, .. } => !arrived.is_empty(),
        _ => false,
    };
    if waited_at {
        misuse(
            "destroyed-in-use",
            "{0} is destroyed while a thread waits at it",
            barrier as usize,
            site,
        );
    }
    SHAPE.destroyed(object, frame);
    0
}

/// # Safety
///
/// As `pthread_barrier_wait`: `barrier` points to a barrier.
unsafe extern "C" fn wait(barrier: *mut Barrier, frame: &Frame) -> c_int {
    outside_run!(pthread_barrier_wait: fn(barrier: *mut Barrier) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(barrier, site);
    let step = |op| perform(op, Gate::Open, site, Order::SeqCst, None);
    step(Op::Arrive(object));
    match step(Op::Leave(object)).result {
        1 => libc::PTHREAD_BARRIER_SERIAL_THREAD,
        _ => 0,
    }
}
