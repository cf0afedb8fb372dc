//! Spin locks: as mutexes, but nothing is answered that is forbidden.

use crate::{
    core::{
        objects::Sort,
        operations::misuse,
        spin,
        world::{self, perform, poll},
    },
    hooks::{Frame, accesses},
    real, trampoline,
};
use core::ffi::c_int;
use libc::pthread_spinlock_t as Spin;
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

trampoline! {
    pthread_spin_init => init, "rdx";
    pthread_spin_destroy => destroy, "rsi";
    pthread_spin_lock => lock, "rsi";
    pthread_spin_trylock => try_lock, "rsi";
    pthread_spin_unlock => unlock, "rsi";
}

/// What glibc writes into one that is free, locked or not from then on. There is no room for a mark.
const FREE: Spin = 1;
/// What we leave behind.
const DESTROYED: Spin = -0x5a5a;

fn find(lock: *const Spin, site: Site) -> ObjectId {
    let world = world::get();
    // SAFETY: the program says that a spin lock lies there.
    let word = unsafe { *lock };
    if word != FREE {
        let message = match word {
            DESTROYED => "{0} is used after it was destroyed",
            _ => "{0} is used and was never initialised",
        };
        misuse("uninitialised", message, lock as usize, site);
    }
    world.object(lock as usize, size_of::<Spin>(), Sort::Mutex, Object::mutex)
}

fn holder(object: ObjectId) -> Option<reweave_model::ThreadId> {
    match world::get().run.state().object(object) {
        Object::Mutex { holder, .. } => *holder,
        _ => None,
    }
}

fn held(object: ObjectId) -> bool {
    holder(object) == Some(world::get().current)
}

unsafe extern "C" fn init(lock: *mut Spin, shared: c_int, frame: &Frame) -> c_int {
    // SAFETY: the program's own arguments.
    let result = unsafe { real!(pthread_spin_init: fn(*mut Spin, c_int) -> c_int)(lock, shared) };
    if result == 0 && world::active() {
        let bytes = size_of::<Spin>();
        accesses::range(lock as usize, bytes, true, frame);
        let world = world::get();
        let object = world.make(lock as usize, bytes, Sort::Mutex, Object::mutex());
        world.about(object).made = world.site(frame.return_address).0;
    }
    result
}

unsafe extern "C" fn destroy(lock: *mut Spin, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_spin_destroy: fn(*mut Spin) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    if holder(object).is_some() {
        misuse(
            "destroyed-in-use",
            "{0} is destroyed while it is locked",
            lock as usize,
            site,
        );
    }
    world::get().about(object).destroyed = site.0;
    accesses::range(lock as usize, size_of::<Spin>(), true, frame);
    // SAFETY: the program's own.
    unsafe { *lock = DESTROYED };
    0
}

unsafe extern "C" fn lock(lock: *mut Spin, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_spin_lock: fn(*mut Spin) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    if held(object) {
        misuse(
            "relock",
            "{0} is locked again by the thread that has it",
            lock as usize,
            site,
        );
    }
    poll(Op::Lock(object), frame, site, Order::SeqCst, None);
    0
}

unsafe extern "C" fn try_lock(lock: *mut Spin, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_spin_trylock: fn(*mut Spin) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let op = Op::TryLock(find(lock, site));
    match poll(op, frame, site, Order::SeqCst, None).ok {
        true => 0,
        false => libc::EBUSY,
    }
}

unsafe extern "C" fn unlock(lock: *mut Spin, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_spin_unlock: fn(*mut Spin) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    if !held(object) {
        misuse(
            "unlock-not-owner",
            "{0} is unlocked by a thread that does not have it",
            lock as usize,
            site,
        );
    }
    let op = match spin::clean(object, site, frame) {
        true => Op::UnlockClean(object),
        false => Op::Unlock(object),
    };
    perform(op, Gate::Open, site, Order::SeqCst, None);
    0
}
