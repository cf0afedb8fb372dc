//! Double-checked locking: the first check reads the flag without ordering, so a thread that sees
//! it set reads the value with nothing between its initialisation and its use. Release on the store
//! and acquire on the check make it right.

use super::plain::Plain;
use crate::prelude::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

struct Lazy {
    ready: AtomicBool,
    lock: Mutex<()>,
    value: Plain<u32>,
}

impl Lazy {
    fn get(&self, check: Ordering, publish: Ordering) -> u32 {
        if !self.ready.load(check) {
            let _guard = self.lock.lock().unwrap();
            if !self.ready.load(Ordering::Relaxed) {
                self.value.write(42);
                self.ready.store(true, publish);
            }
        }
        self.value.read()
    }
}

fn run(check: Ordering, publish: Ordering) {
    let lazy = Lazy {
        ready: AtomicBool::new(false),
        lock: Mutex::new(()),
        value: Plain::new(0),
    };
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| assert_eq!(lazy.get(check, publish), 42));
        }
    });
}

pub fn broken() {
    run(Ordering::Relaxed, Ordering::Relaxed);
}

pub fn fixed() {
    run(Ordering::Acquire, Ordering::Release);
}
