//! Spinning on `try_lock` with a lock in hand: nobody blocks, but two threads that hold what the
//! other tries for try for ever. One order for both ends it.

use crate::prelude::{
    hint,
    sync::{Mutex, MutexGuard},
    thread,
};

fn spin(lock: &Mutex<u32>) -> MutexGuard<'_, u32> {
    loop {
        if let Ok(guard) = lock.try_lock() {
            return guard;
        }
        hint::spin_loop();
    }
}

fn add_to_both(first: &Mutex<u32>, second: &Mutex<u32>) {
    let mut one = spin(first);
    let mut two = spin(second);
    *one += 1;
    *two += 1;
}

fn run(turned: bool) {
    let (a, b) = (Mutex::new(0), Mutex::new(0));
    thread::scope(|s| {
        s.spawn(|| add_to_both(&a, &b));
        s.spawn(|| {
            if turned {
                add_to_both(&b, &a)
            } else {
                add_to_both(&a, &b)
            }
        });
    });
    assert_eq!((*a.lock().unwrap(), *b.lock().unwrap()), (2, 2));
}

pub fn broken() {
    run(true);
}

pub fn fixed() {
    run(false);
}
