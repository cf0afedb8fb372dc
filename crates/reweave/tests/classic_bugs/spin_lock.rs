//! Check-then-act on a spin lock: the lock is seen free by a load and taken by a separate store.
//! Two threads can both see it free.

use super::plain::Plain;
use crate::prelude::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

fn lock_in_two_steps(locked: &AtomicBool) {
    while locked.load(Ordering::Acquire) {
        hint::spin_loop();
    }
    locked.store(true, Ordering::Relaxed);
}

fn lock(locked: &AtomicBool) {
    while locked
        .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        hint::spin_loop();
    }
}

fn run(lock: fn(&AtomicBool)) {
    let locked = AtomicBool::new(false);
    let count = Plain::new(0);
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                lock(&locked);
                count.write(count.read() + 1);
                locked.store(false, Ordering::Release);
            });
        }
    });
}

pub fn broken() {
    run(lock_in_two_steps);
}

pub fn fixed() {
    run(lock);
}
