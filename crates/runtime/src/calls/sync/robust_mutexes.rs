//! Robust mutexes: one whose holder has ended goes to the next who locks it, who is told so and says when what it protects is whole again.

use crate::{
    calls::sync::mutexes,
    core::{operations::visible, world},
    hooks::Frame,
    real, trampoline,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::pthread_mutex_t as Mutex;
use reweave_model::{ObjectId, Op, Site};

trampoline! {
    pthread_mutex_consistent => consistent, "rsi";
    pthread_mutex_consistent_np => consistent, "rsi";
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// The robust mutexes that it has.
    held: Vec<ObjectId>,
}

/// What has become of a robust mutex. Only its holder looks at that, so its order is that of locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    Whole,
    /// A holder has ended, and nobody has said since that all is well.
    Orphaned,
    /// It was unlocked like that: nobody gets it any more.
    Lost,
}

fn held() -> &'static mut Vec<ObjectId> {
    &mut world::get().me().own_calls.robust.held
}

/// The running thread has just got a robust mutex: what it is told.
pub fn taken(object: ObjectId, site: Site) -> c_int {
    match world::get().about(object).health {
        Health::Lost => {
            visible(Op::Unlock(object), site);
            libc::ENOTRECOVERABLE
        }
        health => {
            held().push(object);
            match health {
                Health::Orphaned => libc::EOWNERDEAD,
                _ => 0,
            }
        }
    }
}

/// The running thread is about to unlock a robust mutex.
pub fn given_up(object: ObjectId) {
    let health = &mut world::get().about(object).health;
    if *health == Health::Orphaned {
        *health = Health::Lost;
    }
    let_go(object);
}

/// The running thread is about to give up a robust mutex for the time of a wait.
pub fn let_go(object: ObjectId) {
    held().retain(|other| *other != object);
}

/// The running thread is at its end, and leaves behind what it holds.
pub fn orphan() {
    let site = Site(world::get().me().created);
    while let Some(object) = held().pop() {
        let world = world::get();
        let known = world.about(object);
        known.health = Health::Orphaned;
        known.depth = 0;
        visible(Op::Unlock(object), site);
    }
}

unsafe extern "C" fn consistent(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_consistent: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = mutexes::find(mutex, site);
    let health = &mut world::get().about(object).health;
    if !mutexes::held(object) || *health != Health::Orphaned {
        return libc::EINVAL;
    }
    *health = Health::Whole;
    0
}
