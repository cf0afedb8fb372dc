//! Robust mutexes. If the holder of one ends, the next thread that locks it learns of that, and declares what the mutex protects
//! consistent again; if it does not, the mutex is lost.

use crate::{
    calls::sync::mutexes,
    core::{families::Birth, modules, objects::Health, per_thread::PerThread, trampoline::Frame},
    outside_run,
    run::{operations::visible, world},
    shared::held_mutexes::held,
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::pthread_mutex_t as Mutex;
use reweave_model::{ObjectId, Op, Site};

trampoline! {
    pthread_mutex_consistent => consistent, "rsi";
    pthread_mutex_consistent_np => consistent, "rsi";
}

/// The robust mutexes that each thread holds.
static HELD: PerThread<Vec<ObjectId>> = PerThread::new();

/// A new run.
pub fn clear() {
    HELD.clear();
}

pub fn thread_begins(birth: &Birth) {
    HELD.take_over(birth);
}

/// Uses the list of the running thread. The closure must not switch threads.
fn with_held<R>(what: impl FnOnce(&mut Vec<ObjectId>) -> R) -> R {
    let me = world::borrow().current;
    HELD.with(me, what)
}

/// The running thread has just locked a robust mutex: what the call returns.
pub fn taken(object: ObjectId, site: Site) -> c_int {
    let health = world::borrow().about(object).health;
    match health {
        Health::Lost => {
            visible(Op::Unlock(object), site);
            libc::ENOTRECOVERABLE
        }
        health => {
            with_held(|held| held.push(object));
            match health {
                Health::Orphaned => libc::EOWNERDEAD,
                _ => 0,
            }
        }
    }
}

/// The running thread is about to unlock a robust mutex.
pub fn released(object: ObjectId) {
    {
        let mut world = world::borrow();
        let health = &mut world.about(object).health;
        if *health == Health::Orphaned {
            *health = Health::Lost;
        }
    }
    released_for_wait(object);
}

/// The running thread is about to release a robust mutex for the time of a wait.
pub fn released_for_wait(object: ObjectId) {
    with_held(|held| held.retain(|other| *other != object));
}

/// The running thread ends, and leaves behind the robust mutexes that it holds.
pub fn orphan_all() {
    let me = world::borrow().current;
    while let Some(object) = HELD.with_known(me, Vec::pop).flatten() {
        let site = {
            let mut world = world::borrow();
            let known = world.about(object);
            known.health = Health::Orphaned;
            known.depth = 0;
            Site(world.me().created)
        };
        visible(Op::Unlock(object), site);
    }
}

/// # Safety
///
/// As `pthread_mutex_consistent`: `mutex` points to a mutex.
unsafe extern "C" fn consistent(mutex: *mut Mutex, frame: &Frame) -> c_int {
    outside_run!(pthread_mutex_consistent: fn(mutex: *mut Mutex) -> c_int);
    let site = modules::site(frame.return_address);
    let object = mutexes::find(mutex, site);
    let holds = held(object);
    let mut world = world::borrow();
    let health = &mut world.about(object).health;
    if !holds || *health != Health::Orphaned {
        return libc::EINVAL;
    }
    *health = Health::Whole;
    0
}
