//! One predicate, two mutexes: the condition is changed under one mutex and waited for under
//! another. It can change, and be announced, between the waiter's look and its wait.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

pub fn broken() {
    let ready = Mutex::new(false);
    let waiting = Mutex::new(());
    let changed = Condvar::new();
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        let mut guard = waiting.lock().unwrap();
        while !*ready.lock().unwrap() {
            guard = changed.wait(guard).unwrap();
        }
    });
}

pub fn fixed() {
    let ready = Mutex::new(false);
    let changed = Condvar::new();
    thread::scope(|s| {
        s.spawn(|| {
            *ready.lock().unwrap() = true;
            changed.notify_one();
        });
        drop(
            changed
                .wait_while(ready.lock().unwrap(), |ready| !*ready)
                .unwrap(),
        );
    });
}
