//! The locks of OpenMP. A lock's first four bytes name its object; libgomp's initialisers leave zeros there.

use crate::{
    calls::openmp::{
        answer,
        entry_points::{Call, entries},
        regions::release,
    },
    core::objects::{Found, Sort},
    run::{
        accesses,
        operations::misuse,
        spin,
        world::{self, poll},
    },
    shared::held_mutexes::{held, holder},
};
use reweave_model::{Object, ObjectId, Op, Order};

entries! {
    omp_init_lock => init;
    omp_destroy_lock => destroy;
    omp_set_lock => |call: &Call| set(call, false);
    omp_test_lock => |call: &Call| test(call, false);
    omp_unset_lock => |call: &Call| unset(call, false);
    omp_init_nest_lock => init;
    omp_destroy_nest_lock => destroy;
    omp_set_nest_lock => |call: &Call| set(call, true);
    omp_test_nest_lock => |call: &Call| test(call, true);
    omp_unset_nest_lock => |call: &Call| unset(call, true);
    omp_init_lock_ => init;
    omp_destroy_lock_ => destroy;
    omp_set_lock_ => |call: &Call| set(call, false);
    omp_test_lock_ => |call: &Call| test(call, false);
    omp_unset_lock_ => |call: &Call| unset(call, false);
    omp_init_nest_lock_ => init;
    omp_destroy_nest_lock_ => destroy;
    omp_set_nest_lock_ => |call: &Call| set(call, true);
    omp_test_nest_lock_ => |call: &Call| test(call, true);
    omp_unset_nest_lock_ => |call: &Call| unset(call, true);
}

const BYTES: usize = 4;
const NEW: u32 = 0;
const DESTROYED: u32 = u32::MAX;

fn address(call: &Call) -> usize {
    call.argument(0)
}

/// # Safety
///
/// A lock of the program lies at the address.
unsafe fn write(address: usize, word: u32) {
    spin::foreign(address, BYTES);
    // SAFETY: a lock has at least these four bytes, which only functions of OpenMP access.
    unsafe { *(address as *mut u32) = word };
}

fn make(address: usize) -> ObjectId {
    let object = world::borrow().make(address, BYTES, Sort::Mutex, Object::mutex());
    // SAFETY: the program passes the address of a lock to OpenMP's functions.
    unsafe { write(address, object.0 + 1) };
    object
}

fn find(call: &Call) -> ObjectId {
    let address = address(call);
    // SAFETY: the program passes the address of a lock to OpenMP's functions.
    let word = unsafe { *(address as *const u32) };
    let found = world::borrow().objects.find(address, BYTES, Sort::Mutex);
    let message = match (found, word) {
        (Found::Object(object), word) if word == object.0 + 1 => return object,
        (_, NEW) => return make(address),
        (_, DESTROYED) => "{0} is used after it was destroyed",
        _ => "{0} is used and was never initialised",
    };
    misuse("uninitialised", message, address, call.site())
}

fn init(call: &Call) -> usize {
    accesses::range(address(call), BYTES, true, &call.frame);
    let object = make(address(call));
    world::borrow().about(object).made = call.site().0;
    0
}

fn destroy(call: &Call) -> usize {
    let object = find(call);
    if holder(object).is_some() {
        let message = "{0} is destroyed while it is locked";
        misuse("destroyed-in-use", message, address(call), call.site());
    }
    world::borrow().about(object).destroyed = call.site().0;
    accesses::range(address(call), BYTES, true, &call.frame);
    // SAFETY: the program passes the address of a lock, which was found there.
    unsafe { write(address(call), DESTROYED) };
    0
}

/// The running thread locks a lock once more that it holds; how often it holds it then.
fn again(object: ObjectId) -> u32 {
    spin::disturbed();
    let mut world = world::borrow();
    let depth = &mut world.about(object).depth;
    *depth += 1;
    *depth + 1
}

fn set(call: &Call, nests: bool) -> usize {
    let (object, site) = (find(call), call.site());
    if !held(object) {
        poll(Op::Lock(object), &call.frame, site, Order::SeqCst, None);
    } else if nests {
        again(object);
    } else {
        let message = "{0} is locked again by the thread that has it";
        misuse("relock", message, address(call), site);
    }
    0
}

/// How often the running thread holds it then; 0: another thread does.
fn test(call: &Call, nests: bool) -> usize {
    let (object, site) = (find(call), call.site());
    if nests && held(object) {
        return again(object) as usize;
    }
    let done = poll(Op::TryLock(object), &call.frame, site, Order::SeqCst, None);
    answer(done.ok)
}

fn unset(call: &Call, nests: bool) -> usize {
    let (object, site) = (find(call), call.site());
    if !held(object) {
        let message = "{0} is unlocked by a thread that does not have it";
        misuse("unlock-not-owner", message, address(call), site);
    }
    let nested = nests && {
        let mut world = world::borrow();
        let depth = &mut world.about(object).depth;
        let nested = *depth > 0;
        *depth = depth.saturating_sub(1);
        nested
    };
    if nested {
        spin::disturbed();
    } else {
        release(object, call);
    }
    0
}
