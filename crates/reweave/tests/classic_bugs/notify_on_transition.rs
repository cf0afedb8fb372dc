//! Notify only when the queue was empty: two items that arrive before the first woken consumer has
//! run give one notification. The second of two waiting consumers sleeps beside an item.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

fn run(always: bool) {
    let items = Mutex::new(0);
    let arrived = Condvar::new();
    let consume = || {
        let mut left = items.lock().unwrap();
        while *left == 0 {
            left = arrived.wait(left).unwrap();
        }
        *left -= 1;
    };
    thread::scope(|s| {
        s.spawn(consume);
        s.spawn(consume);
        for _ in 0..2 {
            let mut left = items.lock().unwrap();
            *left += 1;
            if always || *left == 1 {
                arrived.notify_one();
            }
        }
    });
    assert_eq!(*items.lock().unwrap(), 0);
}

pub fn broken() {
    run(false);
}

pub fn fixed() {
    run(true);
}
