//! Mutexes.

use crate::{
    hooks::Frame,
    objects::Sort,
    real, spin, trampoline,
    world::{self, perform, poll},
};
use core::ffi::c_int;
use libc::pthread_mutex_t as Mutex;
use reweave_model::{Gate, Object, ObjectId, Op, Order};

trampoline! {
    pthread_mutex_lock => lock, "rsi";
    pthread_mutex_unlock => unlock, "rsi";
    pthread_mutex_trylock => try_lock, "rsi";
}

fn object(mutex: *mut Mutex) -> ObjectId {
    world::get().object(
        mutex as usize,
        size_of::<Mutex>(),
        Sort::Mutex,
        Object::mutex,
    )
}

unsafe extern "C" fn lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_lock: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = object(mutex);
    poll(Op::Lock(object), frame, site, Order::SeqCst, None);
    0
}

unsafe extern "C" fn try_lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_trylock: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = object(mutex);
    let event = poll(Op::TryLock(object), frame, site, Order::SeqCst, None);
    if event.ok { 0 } else { libc::EBUSY }
}

unsafe extern "C" fn unlock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_unlock: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = object(mutex);
    let op = match spin::clean(object) {
        true => Op::UnlockClean(object),
        false => Op::Unlock(object),
    };
    perform(op, Gate::Open, site, Order::SeqCst, None);
    0
}
