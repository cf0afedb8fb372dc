//! Lost update: two threads add one by a load and a store. Both can load the same value, and one
//! addition is gone.

use crate::prelude::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};

fn run(increment: fn(&AtomicU32)) {
    let counter = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&counter);
    let other = thread::spawn(move || increment(&theirs));
    increment(&counter);
    other.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2);
}

pub fn broken() {
    run(|counter| counter.store(counter.load(SeqCst) + 1, SeqCst));
}

pub fn fixed() {
    run(|counter| {
        counter.fetch_add(1, SeqCst);
    });
}
