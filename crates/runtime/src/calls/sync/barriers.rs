//! Barriers.

use crate::{
    calls::sync::sync_objects::Shape,
    core::{
        objects::Sort,
        operations::misuse,
        world::{self, perform},
    },
    hooks::Frame,
    real, trampoline,
};
use core::ffi::{c_int, c_uint};
use libc::{pthread_barrier_t as Barrier, pthread_barrierattr_t as Attributes};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

trampoline! {
    pthread_barrier_init => init, "rcx";
    pthread_barrier_destroy => destroy, "rsi";
    pthread_barrier_wait => wait, "rsi";
}

/// As glibc has it: who came in, the round, the size, a flag, who went out.
pub const SHAPE: Shape = Shape {
    sort: Sort::Barrier,
    bytes: size_of::<Barrier>(),
    mark: 24,
    // SAFETY: the caller's.
    new: |words| unsafe {
        *words == 0 && *words.add(1) == 0 && *words.add(SIZE) != 0 && *words.add(4) == 0
    },
    statically: false,
};

const SIZE: usize = 2;

fn model(barrier: *const Barrier) -> Object {
    // SAFETY: the program says that a barrier lies there.
    Object::barrier(unsafe { *barrier.cast::<u32>().add(SIZE) })
}

fn find(barrier: *const Barrier, site: Site) -> ObjectId {
    SHAPE.find(barrier as usize, site, || model(barrier))
}

unsafe extern "C" fn init(
    barrier: *mut Barrier,
    attributes: *const Attributes,
    count: c_uint,
    frame: &Frame,
) -> c_int {
    let real = real!(pthread_barrier_init: fn(*mut Barrier, *const Attributes, c_uint) -> c_int);
    // SAFETY: the program's own arguments.
    let result = unsafe { real(barrier, attributes, count) };
    if result == 0 {
        SHAPE.made(barrier as usize, frame, || model(barrier));
    }
    result
}

unsafe extern "C" fn destroy(barrier: *mut Barrier, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_barrier_destroy: fn(*mut Barrier) -> c_int)(barrier) };
    }
    let world = world::get();
    let site = world.site(frame.return_address);
    let object = find(barrier, site);
    // Those of a full round do not wait any more.
    let waited_at = match world.run.state().object(object) {
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

unsafe extern "C" fn wait(barrier: *mut Barrier, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_barrier_wait: fn(*mut Barrier) -> c_int)(barrier) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(barrier, site);
    let step = |op| perform(op, Gate::Open, site, Order::SeqCst, None);
    step(Op::Arrive(object));
    match step(Op::Leave(object)).result {
        1 => libc::PTHREAD_BARRIER_SERIAL_THREAD,
        _ => 0,
    }
}
