//! Locks of OpenMP, which are mutexes; those that nest are held by a thread as often as it likes.

use super::{Arguments, openmp};
use crate::{
    calls::{callers, misuse, visible},
    hooks::Frame,
    objects::{Found, Sort},
    spin,
    world::{self, poll},
};
use reweave_model::{Object, ObjectId, Op, Order, Site};

openmp! {
    omp_init_lock => init;
    omp_init_lock_ => init;
    omp_destroy_lock => destroy;
    omp_destroy_lock_ => destroy;
    omp_set_lock => set;
    omp_set_lock_ => set;
    omp_unset_lock => unset;
    omp_unset_lock_ => unset;
    omp_test_lock => test;
    omp_test_lock_ => test;
    omp_init_nest_lock => init;
    omp_destroy_nest_lock => destroy;
    omp_set_nest_lock => set_nested;
    omp_unset_nest_lock => unset_nested;
    omp_test_nest_lock => test_nested;
}

/// Bytes of one that are looked at; what is in them is nobody's business.
const BYTES: usize = 4;

extern "C" fn init(arguments: &Arguments, frame: &Frame) -> usize {
    crate::accesses::range(arguments[0], BYTES, true, frame);
    world::get().make(arguments[0], BYTES, Sort::Mutex, Object::mutex());
    0
}

extern "C" fn destroy(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    if holder(object).is_some() {
        let message = "{0} is destroyed while it is locked";
        misuse("destroyed-in-use", message, arguments[0], site);
    }
    world::get().about(object).destroyed = site.0;
    crate::accesses::range(arguments[0], BYTES, true, frame);
    0
}

fn find(lock: usize, frame: &Frame) -> (ObjectId, Site) {
    let site = callers::site(&frame.return_address);
    let world = world::get();
    let message = match world.objects.find(lock, BYTES, Sort::Mutex) {
        Found::Object(object) if world.about(object).destroyed == 0 => return (object, site),
        Found::Object(_) => "{0} is used after it was destroyed",
        _ => "{0} is used and was never initialised",
    };
    misuse("uninitialised", message, lock, site)
}

fn holder(object: ObjectId) -> Option<bool> {
    let world = world::get();
    match world.run.state().object(object) {
        Object::Mutex { holder, .. } => holder.map(|holder| holder == world.current),
        _ => None,
    }
}

fn mine(object: ObjectId) -> bool {
    holder(object) == Some(true)
}

extern "C" fn set(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    if mine(object) {
        let message = "{0} is locked again by the thread that has it";
        misuse("relock", message, arguments[0], site);
    }
    poll(Op::Lock(object), frame, site, Order::SeqCst, None);
    0
}

extern "C" fn test(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    let op = Op::TryLock(object);
    poll(op, frame, site, Order::SeqCst, None).ok.into()
}

extern "C" fn unset(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    check_mine(object, arguments[0], site);
    visible(Op::Unlock(object), site);
    0
}

fn check_mine(object: ObjectId, lock: usize, site: Site) {
    if !mine(object) {
        let message = "{0} is unlocked by a thread that does not have it";
        misuse("unlock-not-owner", message, lock, site);
    }
}

/// Takes it once more, if the running thread has it: how often it has it then.
fn again(object: ObjectId) -> Option<usize> {
    if !mine(object) {
        return None;
    }
    spin::disturbed();
    let depth = &mut world::get().about(object).depth;
    *depth += 1;
    Some(*depth as usize + 1)
}

extern "C" fn set_nested(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    if again(object).is_none() {
        poll(Op::Lock(object), frame, site, Order::SeqCst, None);
    }
    0
}

extern "C" fn test_nested(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    let op = Op::TryLock(object);
    let first = || usize::from(poll(op, frame, site, Order::SeqCst, None).ok);
    again(object).unwrap_or_else(first)
}

extern "C" fn unset_nested(arguments: &Arguments, frame: &Frame) -> usize {
    let (object, site) = find(arguments[0], frame);
    check_mine(object, arguments[0], site);
    let depth = &mut world::get().about(object).depth;
    if *depth == 0 {
        visible(Op::Unlock(object), site);
    } else {
        spin::disturbed();
        *depth -= 1;
    }
    0
}
