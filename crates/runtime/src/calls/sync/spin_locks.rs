//! Spin locks: as mutexes, except that no wrong use is answered with an error number.

use crate::{
    core::{modules, objects::Sort, trampoline::Frame},
    outside_run, real,
    run::{
        accesses,
        operations::{misuse, visible},
        spin,
        world::{self, poll},
    },
    shared::held_mutexes::{held, holder},
    trampoline,
};
use core::ffi::c_int;
use libc::pthread_spinlock_t as Spin;
use reweave_model::{Object, ObjectId, Op, Order, Site};

trampoline! {
    pthread_spin_init => init, "rdx";
    pthread_spin_destroy => destroy, "rsi";
    pthread_spin_lock => lock, "rsi";
    pthread_spin_trylock => try_lock, "rsi";
    pthread_spin_unlock => unlock, "rsi";
}

/// What glibc writes into a new one, and what the runtime leaves there. There is no room for a mark.
const FREE: Spin = 1;
/// What the runtime writes into one that is destroyed.
const DESTROYED: Spin = -0x5a5a;

/// The object of a spin lock.
///
/// # Safety
///
/// `lock` points to a number.
unsafe fn find(lock: *const Spin, site: Site) -> ObjectId {
    // SAFETY: `lock` points to a number, by this function's contract.
    let word = unsafe { *lock };
    if word != FREE {
        let message = match word {
            DESTROYED => "{0} is used after it was destroyed",
            _ => "{0} is used and was never initialised",
        };
        misuse("uninitialised", message, lock as usize, site);
    }
    let bytes = size_of::<Spin>();
    world::borrow().object(lock as usize, bytes, Sort::Mutex, Object::mutex)
}

/// # Safety
///
/// As `pthread_spin_init`: `lock` points to room for a spin lock.
unsafe extern "C" fn init(lock: *mut Spin, shared: c_int, frame: &Frame) -> c_int {
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real!(pthread_spin_init: fn(*mut Spin, c_int) -> c_int)(lock, shared) };
    if result == 0 && world::active() {
        let bytes = size_of::<Spin>();
        accesses::range(lock as usize, bytes, true, frame);
        let mut world = world::borrow();
        let object = world.make(lock as usize, bytes, Sort::Mutex, Object::mutex());
        world.about(object).made = modules::site(frame.return_address).0;
    }
    result
}

/// # Safety
///
/// As `pthread_spin_destroy`: `lock` points to a spin lock.
unsafe extern "C" fn destroy(lock: *mut Spin, frame: &Frame) -> c_int {
    outside_run!(pthread_spin_destroy: fn(lock: *mut Spin) -> c_int);
    let site = modules::site(frame.return_address);
    // SAFETY: `lock` points to a spin lock, by this function's contract.
    let object = unsafe { find(lock, site) };
    if holder(object).is_some() {
        misuse(
            "destroyed-in-use",
            "{0} is destroyed while it is locked",
            lock as usize,
            site,
        );
    }
    world::borrow().about(object).destroyed = site.0;
    accesses::range(lock as usize, size_of::<Spin>(), true, frame);
    // SAFETY: `lock` points to a spin lock, by this function's contract.
    unsafe { *lock = DESTROYED };
    0
}

/// # Safety
///
/// As `pthread_spin_lock`: `lock` points to a spin lock.
unsafe extern "C" fn lock(lock: *mut Spin, frame: &Frame) -> c_int {
    outside_run!(pthread_spin_lock: fn(lock: *mut Spin) -> c_int);
    let site = modules::site(frame.return_address);
    // SAFETY: `lock` points to a spin lock, by this function's contract.
    let object = unsafe { find(lock, site) };
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

/// # Safety
///
/// As `pthread_spin_trylock`: `lock` points to a spin lock.
unsafe extern "C" fn try_lock(lock: *mut Spin, frame: &Frame) -> c_int {
    outside_run!(pthread_spin_trylock: fn(lock: *mut Spin) -> c_int);
    let site = modules::site(frame.return_address);
    // SAFETY: `lock` points to a spin lock, by this function's contract.
    let op = Op::TryLock(unsafe { find(lock, site) });
    match poll(op, frame, site, Order::SeqCst, None).ok {
        true => 0,
        false => libc::EBUSY,
    }
}

/// # Safety
///
/// As `pthread_spin_unlock`: `lock` points to a spin lock.
unsafe extern "C" fn unlock(lock: *mut Spin, frame: &Frame) -> c_int {
    outside_run!(pthread_spin_unlock: fn(lock: *mut Spin) -> c_int);
    let site = modules::site(frame.return_address);
    // SAFETY: `lock` points to a spin lock, by this function's contract.
    let object = unsafe { find(lock, site) };
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
    visible(op, site);
    0
}
